//! The bytes of a file: of a local one, by positioned reads.

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

/// A local file.
///
/// It is read and not mapped: were it cut short under a map, the whole JVM would be ended by SIGBUS.
#[derive(Clone)]
pub struct LocalFile {
    file: Arc<File>,
    length: u64,
}

impl LocalFile {
    pub fn open(path: &str) -> error::Result<Self> {
        let file = File::open(path).map_err(|why| Error::io(path, &why))?;
        let length = file.metadata().map_err(|why| Error::io(path, &why))?.len();
        Ok(LocalFile {
            file: Arc::new(file),
            length,
        })
    }
}

impl Length for LocalFile {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for LocalFile {
    type T = BufReader<At>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(BufReader::with_capacity(
            HEADER_BYTES,
            At {
                file: self.file.clone(),
                position: start,
            },
        ))
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
        self.file.read_exact_at(&mut page, start)?;
        Ok(page.into())
    }
}

/// Reads on from a position of its own.
pub struct At {
    file: Arc<File>,
    position: u64,
}

impl Read for At {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.position)?;
        self.position += read as u64;
        Ok(read)
    }
}
