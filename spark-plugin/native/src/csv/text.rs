//! The text of a part of a file, a piece at a time.

use std::io::{ErrorKind, Read};

use flate2::read::MultiGzDecoder;
use memchr::{memchr_iter, memchr2};
use parquet::file::reader::{ChunkReader, Length};

use super::record::NEWLINE;
use crate::error::{Error, Result};
use crate::read::DataFile;

/// Text that is read at once: it stays in the processor's caches until it is taken apart.
const PIECE: usize = 256 * 1024;

/// What one line, or one record, may take at most.
const LONGEST: usize = 256 * 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Endings of files that are compressed in a way that is not read here.
const FOREIGN: [&str; 5] = [".bz2", ".deflate", ".lz4", ".snappy", ".zst"];

/// Whether a file is compressed, so that it is read from its start alone.
pub fn compressed(path: &str) -> Result<bool> {
    if let Some(ending) = FOREIGN.iter().find(|ending| path.ends_with(**ending)) {
        return Err(Error::Unsupported(format!(
            "{path} is compressed as {ending}, which is not read as CSV: gzip is"
        )));
    }
    Ok(path.ends_with(".gz"))
}

/// Text from the first line that begins in a part on.
pub struct Text {
    path: String,
    source: Box<dyn Read>,
    bytes: Vec<u8>,
    /// How many of the bytes are done with.
    done: usize,
    /// Whether a last line without an end is given one.
    by_lines: bool,
    /// Where the first of the bytes lies in the text.
    offset: u64,
    /// Where lines begin that are others' to read.
    end: u64,
    /// Whether all has been read.
    over: bool,
    /// Line ends before the first of the bytes; none where the part does not begin where the file does.
    lines: Option<u64>,
}

impl Text {
    pub fn open(file: &DataFile, start: u64, length: u64, by_lines: bool) -> Result<Self> {
        let DataFile { path, input } = file;
        let packed = compressed(path)?;
        // The byte before tells whether a line begins with the part.
        let from = if packed { 0 } else { start.saturating_sub(1) };
        let end = if packed {
            u64::MAX
        } else {
            start.saturating_add(length)
        };
        let chunk = || vec![vec![from..end.min(input.len()).max(from)]];
        let plain = input.planned(chunk).get_read(from);
        let plain = plain.map_err(|why| Error::corrupt(path, why))?;
        let source: Box<dyn Read> = if packed {
            Box::new(MultiGzDecoder::new(plain))
        } else {
            Box::new(plain)
        };
        let mut text = Text {
            path: path.clone(),
            source,
            bytes: Vec::with_capacity(PIECE + 1),
            done: 0,
            by_lines,
            offset: from,
            end,
            over: false,
            lines: (from == 0 && start == 0).then_some(0),
        };
        if start == 0 {
            text.more()?;
            if text.bytes.starts_with(BYTE_ORDER_MARK) {
                text.done = BYTE_ORDER_MARK.len();
            }
        } else if !packed {
            text.skip_line()?;
        } else {
            text.over = true;
        }
        Ok(text)
    }

    /// What has been read and is kept; of it, what comes after [`Text::done`] is new.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn done(&self) -> usize {
        self.done
    }

    /// The place in [`Text::bytes`] from which on lines are others' to read.
    pub fn limit(&self) -> usize {
        usize::try_from(self.end.saturating_sub(self.offset)).unwrap_or(usize::MAX)
    }

    /// Whether there is nothing to be read any more.
    pub fn over(&self) -> bool {
        self.over
    }

    /// What comes before this place in [`Text::bytes`] is done with.
    pub fn pass(&mut self, place: usize) {
        self.done = place;
    }

    /// Reads on, and drops what is done with; false if there was nothing more.
    pub fn more(&mut self) -> Result<bool> {
        if self.over {
            return Ok(false);
        }
        self.lines = self
            .lines
            .map(|lines| lines + count_lines(&self.bytes[..self.done]));
        self.offset += self.done as u64;
        self.bytes.drain(..self.done);
        self.done = 0;
        let kept = self.bytes.len();
        if kept >= LONGEST {
            return Err(Error::Unsupported(format!(
                "{}: the line at byte {} is longer than {LONGEST} bytes, which is not read",
                self.path, self.offset
            )));
        }
        // Twice as much each time, so that a long line is not gone through too often.
        self.bytes.resize(kept + PIECE.max(kept), 0);
        let mut filled = kept;
        while filled < self.bytes.len() {
            match self.source.read(&mut self.bytes[filled..]) {
                Ok(0) => {
                    self.over = true;
                    break;
                }
                Ok(read) => filled += read,
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                Err(why) => return Err(Error::io(&self.path, &why)),
            }
        }
        self.bytes.truncate(filled);
        if self.by_lines && self.over && filled > 0 && self.bytes[filled - 1] != NEWLINE {
            self.bytes.push(NEWLINE);
        }
        Ok(self.bytes.len() > kept)
    }

    fn skip_line(&mut self) -> Result<()> {
        loop {
            let left = &self.bytes[self.done..];
            if let Some(at) = memchr2(b'\n', b'\r', left) {
                let pair = left[at..].starts_with(b"\r\n");
                if pair || left.len() > at + 1 || self.over {
                    self.done += at + 1 + usize::from(pair);
                    return Ok(());
                }
                self.done += at;
            } else {
                self.done = self.bytes.len();
            }
            if !self.more()? {
                return Ok(());
            }
        }
    }

    /// Where a byte of [`Text::bytes`] lies, as users find it in the file.
    pub fn place(&self, at: usize) -> String {
        match self.lines {
            Some(before) => format!("line {}", before + count_lines(&self.bytes[..at]) + 1),
            None => format!("the line at byte {}", self.offset + at as u64),
        }
    }
}

fn count_lines(text: &[u8]) -> u64 {
    let newlines = memchr_iter(b'\n', text).count();
    let returns = memchr_iter(b'\r', text).filter(|at| text.get(at + 1) != Some(&b'\n'));
    (newlines + returns.count()) as u64
}
