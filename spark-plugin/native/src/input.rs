//! The bytes of a file, by positioned reads.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::Arc;

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

use crate::error::{self, Error};
use crate::windows::Windows;

/// Headers of pages take tens of bytes, and statistics in them hundreds.
const HEADER_BYTES: usize = 4096;

/// Bytes at a file's end that are fetched at once from far away: most footers, and the whole of small files.
const TAIL_BYTES: u64 = 64 << 10;

/// Where the bytes of a file come from.
pub trait Source: Send + Sync {
    /// Fills the buffer from a position on; an error if the file ends before.
    fn read_exact_at(&self, buffer: &mut [u8], position: u64) -> io::Result<()>;

    /// The bytes from a position on; an error if the file ends before.
    fn bytes(&self, position: u64, length: usize) -> io::Result<Bytes> {
        let mut bytes = vec![0; length];
        self.read_exact_at(&mut bytes, position)?;
        Ok(bytes.into())
    }

    /// How many bytes from a position on one request brings, at most.
    fn run(&self, _position: u64) -> u64 {
        u64::MAX
    }
}

/// A file that is read by many, each from positions of its own.
#[derive(Clone)]
pub struct Input {
    source: Arc<dyn Source>,
    length: u64,
    /// Whether each request is a round trip.
    far: bool,
}

/// What was told of a file when it was listed.
#[derive(Clone, Copy)]
pub struct Listed {
    pub length: u64,
    /// Milliseconds since 1970.
    pub modified: i64,
}

impl Input {
    pub fn new(source: impl Source + 'static, length: u64) -> Self {
        Input {
            source: Arc::new(source),
            length,
            far: false,
        }
    }

    /// A file whose every read is a round trip.
    pub fn far(source: impl Source + 'static, length: u64) -> Self {
        let tail = length.saturating_sub(TAIL_BYTES)..length;
        Input {
            source: Arc::new(Windows::new(Arc::new(source), vec![vec![tail]])),
            length,
            far: true,
        }
    }

    pub fn length(&self) -> u64 {
        self.length
    }

    /// The bytes from a position on; an error if the file ends before.
    pub fn bytes(&self, start: u64, length: u64) -> io::Result<Bytes> {
        // A damaged length would have memory asked for that there is not, which ends the process.
        if start.checked_add(length).is_none_or(|end| end > self.length) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.source.bytes(start, length as usize)
    }

    /// Fills the buffer from a position on.
    pub fn read_exact_at(&self, buffer: &mut [u8], position: u64) -> io::Result<()> {
        self.source.read_exact_at(buffer, position)
    }

    /// The same file, for a reader of these chunks, of one group after the other: they are fetched in few requests.
    pub fn planned(&self, groups: impl FnOnce() -> Vec<Vec<Range<u64>>>) -> Self {
        if !self.far {
            return self.clone();
        }
        Input {
            source: Arc::new(Windows::new(self.source.clone(), groups())),
            ..self.clone()
        }
    }

    /// A local file.
    ///
    /// It is read and not mapped: were it cut short under a map, the whole JVM would be ended by SIGBUS.
    pub fn local(path: &str) -> error::Result<Self> {
        let local = Local::open(path).map_err(|why| Error::io(path, &why))?;
        let length = local.stamp.0;
        Ok(Input::new(local, length))
    }

    /// A local file, as it was when it was listed.
    ///
    /// # Errors
    /// Corrupt: it is another one by now.
    pub fn listed(path: &str, listed: Listed) -> error::Result<Self> {
        let local = Local::open(path).map_err(|why| Error::io(path, &why))?;
        let (length, seconds, nanos) = local.stamp;
        if (length, seconds * 1_000 + nanos / 1_000_000) != (listed.length, listed.modified) {
            return Err(Error::corrupt(path, CHANGED));
        }
        Ok(Input::new(local, length))
    }
}

/// What is told of a file that is another one than Spark listed, here and in `HadoopFile.java`.
const CHANGED: &str = "it was changed after Spark had listed it; load it, or refresh the table, once more";

/// A file of this machine, which nobody may change while it is read.
struct Local {
    file: File,
    stamp: Stamp,
}

/// Length, and time of the last change in seconds and nanoseconds.
type Stamp = (u64, i64, i64);

impl Local {
    fn open(path: &str) -> io::Result<Self> {
        let file = File::open(path)?;
        let stamp = stamp(&file)?;
        Ok(Local { file, stamp })
    }
}

fn stamp(file: &File) -> io::Result<Stamp> {
    let found = file.metadata()?;
    Ok((found.len(), found.mtime(), found.mtime_nsec()))
}

impl Source for Local {
    fn read_exact_at(&self, buffer: &mut [u8], position: u64) -> io::Result<()> {
        let read = FileExt::read_exact_at(&self.file, buffer, position);
        if stamp(&self.file)? != self.stamp {
            return Err(io::Error::other(CHANGED));
        }
        read
    }
}

impl Length for Input {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for Input {
    type T = BufReader<At>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        let at = At {
            input: self.clone(),
            position: start,
        };
        Ok(BufReader::with_capacity(HEADER_BYTES, at))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        if start
            .checked_add(length as u64)
            .is_none_or(|end| end > self.length)
        {
            return Err(ParquetError::EOF(format!(
                "{length} bytes at {start} lie beyond its end"
            )));
        }
        Ok(self.bytes(start, length as u64)?)
    }
}

/// Reads on from a position of its own.
pub struct At {
    input: Input,
    position: u64,
}

impl Read for At {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.input.length.saturating_sub(self.position);
        let left = left.min(self.input.source.run(self.position));
        let length = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        self.input
            .source
            .read_exact_at(&mut buffer[..length], self.position)?;
        self.position += length as u64;
        Ok(length)
    }
}
