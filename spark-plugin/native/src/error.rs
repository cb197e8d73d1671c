//! What can go wrong with a file, by what its reader can do about it.

use std::fmt;

pub type Result<T> = std::result::Result<T, Error>;

/// Why a file could not be read. Every message names the file.
#[derive(Debug)]
pub enum Error {
    /// It is not there.
    Missing(String),
    /// The bytes did not come.
    Io(String),
    /// The bytes are not what they have to be: cut short, changed since they were listed, of another format.
    Corrupt(String),
    /// What it holds has no counterpart in Spark, or not the type that was asked for.
    Unsupported(String),
}

impl Error {
    pub fn corrupt(path: &str, why: impl fmt::Display) -> Self {
        Error::Corrupt(format!("{path} cannot be read: {why}"))
    }

    pub fn io(path: &str, why: &std::io::Error) -> Self {
        match why.kind() {
            std::io::ErrorKind::NotFound => Error::Missing(format!("{path} is not there")),
            std::io::ErrorKind::UnexpectedEof => Error::corrupt(path, "it ends before what it says it holds"),
            _ => Error::Io(format!("{path} cannot be read: {why}")),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Error::Missing(text) | Error::Io(text) | Error::Corrupt(text) | Error::Unsupported(text)) = self;
        f.write_str(text)
    }
}

impl std::error::Error for Error {}
