//! The bytes of a file, by positioned reads.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

use crate::error::{self, Error};

/// Headers of pages take tens of bytes, and statistics in them hundreds.
const HEADER_BYTES: usize = 4096;

/// Where the bytes of a file come from.
pub trait Source: Send + Sync {
    /// Fills the buffer from a position on; an error if the file ends before.
    fn read_exact_at(&self, buffer: &mut [u8], position: u64) -> io::Result<()>;
}

/// A file that is read by many, each from positions of its own.
#[derive(Clone)]
pub struct Input {
    source: Arc<dyn Source>,
    length: u64,
}

impl Input {
    pub fn new(source: impl Source + 'static, length: u64) -> Self {
        Input {
            source: Arc::new(source),
            length,
        }
    }

    /// A local file.
    ///
    /// It is read and not mapped: were it cut short under a map, the whole JVM would be ended by SIGBUS.
    pub fn local(path: &str) -> error::Result<Self> {
        let file = File::open(path).map_err(|why| Error::io(path, &why))?;
        let length = file.metadata().map_err(|why| Error::io(path, &why))?.len();
        Ok(Input::new(file, length))
    }
}

impl Source for File {
    fn read_exact_at(&self, buffer: &mut [u8], position: u64) -> io::Result<()> {
        FileExt::read_exact_at(self, buffer, position)
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
        // A damaged length would have memory asked for that there is not, which ends the process.
        if start
            .checked_add(length as u64)
            .is_none_or(|end| end > self.length)
        {
            return Err(ParquetError::EOF(format!(
                "{length} bytes at {start} lie beyond its end"
            )));
        }
        let mut page = vec![0; length];
        self.source.read_exact_at(&mut page, start)?;
        Ok(page.into())
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
        let length = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        self.input
            .source
            .read_exact_at(&mut buffer[..length], self.position)?;
        self.position += length as u64;
        Ok(length)
    }
}
