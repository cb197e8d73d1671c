//! Values that tell their own type: one byte for it, then the value. `docs/row-format.md` lists them.

use crate::rowcodec::wire::Damage;

/// How deep values may be nested.
pub const DEPTH: usize = 64;

pub mod tag {
    pub const NONE: u8 = b'N';
    pub const TRUE: u8 = b'T';
    pub const FALSE: u8 = b'F';
    pub const INT: u8 = b'i';
    pub const FLOAT: u8 = b'd';
    pub const STR: u8 = b's';
    pub const BYTES: u8 = b'b';
    pub const BYTEARRAY: u8 = b'a';
    pub const DATE: u8 = b'D';
    pub const DATETIME: u8 = b't';
    pub const TIMEDELTA: u8 = b'e';
    pub const DECIMAL: u8 = b'm';
    pub const UUID: u8 = b'u';
    pub const NUMPY: u8 = b'n';
    pub const LIST: u8 = b'[';
    pub const TUPLE: u8 = b'(';
    pub const DICT: u8 = b'{';
    pub const RECORD: u8 = b'R';
    pub const PICKLE: u8 = b'P';
    pub const NO_ZONE: u8 = b'N';
    pub const NAMED_ZONE: u8 = b'z';
    pub const OFFSET: u8 = b'o';
    pub const NAMED_OFFSET: u8 = b'n';
}

/// The zone of a datetime; offsets are in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zone<'a> {
    None,
    Named(&'a str),
    Offset(i64),
    NamedOffset(i64, &'a str),
}

/// Makes values of what is read.
pub trait Build {
    type Value;
    type Error: From<Damage>;

    fn none(&mut self) -> Result<Self::Value, Self::Error>;
    fn bool(&mut self, value: bool) -> Result<Self::Value, Self::Error>;
    /// Two's complement, little-endian.
    fn int(&mut self, bytes: &[u8]) -> Result<Self::Value, Self::Error>;
    fn float(&mut self, value: f64) -> Result<Self::Value, Self::Error>;
    /// UTF-8, in which lone surrogates have three bytes.
    fn text(&mut self, bytes: &[u8], at: usize) -> Result<Self::Value, Self::Error>;
    fn bytes(&mut self, bytes: &[u8]) -> Result<Self::Value, Self::Error>;
    fn bytearray(&mut self, bytes: &[u8]) -> Result<Self::Value, Self::Error>;
    fn date(&mut self, days: i32, at: usize) -> Result<Self::Value, Self::Error>;
    /// Microseconds of the clock on the wall.
    fn datetime(
        &mut self,
        micros: i64,
        fold: bool,
        zone: Zone<'_>,
        at: usize,
    ) -> Result<Self::Value, Self::Error>;
    fn timedelta(
        &mut self,
        days: i32,
        seconds: i32,
        micros: i32,
        at: usize,
    ) -> Result<Self::Value, Self::Error>;
    fn decimal(&mut self, text: &str, at: usize) -> Result<Self::Value, Self::Error>;
    fn uuid(&mut self, bytes: &[u8; 16]) -> Result<Self::Value, Self::Error>;
    fn numpy(&mut self, code: &str, bytes: &[u8], at: usize) -> Result<Self::Value, Self::Error>;
    fn list(&mut self, values: Vec<Self::Value>) -> Result<Self::Value, Self::Error>;
    fn tuple(&mut self, values: Vec<Self::Value>) -> Result<Self::Value, Self::Error>;
    fn dict(&mut self, pairs: Vec<(Self::Value, Self::Value)>, at: usize)
    -> Result<Self::Value, Self::Error>;
    fn record(
        &mut self,
        kind: &str,
        class: &str,
        fields: Vec<(&str, Self::Value)>,
        at: usize,
    ) -> Result<Self::Value, Self::Error>;
    fn pickle(&mut self, bytes: &[u8], at: usize) -> Result<Self::Value, Self::Error>;
}

/// The value that bytes hold, all of them. Args: `at` is where they begin in the input.
pub fn read<B: Build>(bytes: &[u8], at: usize, build: &mut B) -> Result<B::Value, B::Error> {
    let mut reader = Reader {
        bytes,
        position: 0,
        at,
    };
    let value = reader.value(build, DEPTH)?;
    if reader.position != bytes.len() {
        return Err(reader.damage("a value is followed by more bytes").into());
    }
    Ok(value)
}

struct Reader<'a> {
    bytes: &'a [u8],
    position: usize,
    at: usize,
}

impl<'a> Reader<'a> {
    fn place(&self) -> usize {
        self.at + self.position
    }

    fn damage(&self, what: &str) -> Damage {
        Damage::new(self.place(), what)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Damage> {
        let end = self.position.checked_add(length);
        let found = end.and_then(|end| self.bytes.get(self.position..end));
        let found = found.ok_or_else(|| self.damage("a value ends too early"))?;
        self.position += length;
        Ok(found)
    }

    fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], Damage> {
        Ok(self.take(N)?.try_into().unwrap())
    }

    fn i32(&mut self) -> Result<i32, Damage> {
        self.array().copied().map(i32::from_le_bytes)
    }

    fn i64(&mut self) -> Result<i64, Damage> {
        self.array().copied().map(i64::from_le_bytes)
    }

    fn size(&mut self) -> Result<usize, Damage> {
        let mut size = 0;
        for shift in (0..35).step_by(7) {
            let byte = self.array::<1>()?[0];
            size |= usize::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(size);
            }
        }
        Err(self.damage("a size is out of range"))
    }

    /// How many values follow, of at least one byte each.
    fn count(&mut self) -> Result<usize, Damage> {
        let count = self.size()?;
        if count > self.bytes.len() - self.position {
            return Err(self.damage("a value has fewer elements than it tells"));
        }
        Ok(count)
    }

    fn sized(&mut self) -> Result<&'a [u8], Damage> {
        let size = self.size()?;
        self.take(size)
    }

    fn str(&mut self) -> Result<&'a str, Damage> {
        std::str::from_utf8(self.sized()?).map_err(|_| self.damage("a name is not UTF-8"))
    }

    fn zone(&mut self) -> Result<Zone<'a>, Damage> {
        match self.array::<1>()?[0] {
            tag::NO_ZONE => Ok(Zone::None),
            tag::NAMED_ZONE => Ok(Zone::Named(self.str()?)),
            tag::OFFSET => Ok(Zone::Offset(self.i64()?)),
            tag::NAMED_OFFSET => Ok(Zone::NamedOffset(self.i64()?, self.str()?)),
            _ => Err(self.damage("a zone is of an unknown kind")),
        }
    }

    fn value<B: Build>(&mut self, build: &mut B, depth: usize) -> Result<B::Value, B::Error> {
        let at = self.place();
        if depth == 0 {
            return Err(self.damage("values are nested too deep").into());
        }
        match self.array::<1>()?[0] {
            tag::NONE => build.none(),
            tag::TRUE => build.bool(true),
            tag::FALSE => build.bool(false),
            tag::INT => build.int(self.sized()?),
            tag::FLOAT => build.float(f64::from_bits(self.i64()? as u64)),
            tag::STR => build.text(self.sized()?, at),
            tag::BYTES => build.bytes(self.sized()?),
            tag::BYTEARRAY => build.bytearray(self.sized()?),
            tag::DATE => build.date(self.i32()?, at),
            tag::DATETIME => {
                let (micros, fold) = (self.i64()?, self.array::<1>()?[0] != 0);
                build.datetime(micros, fold, self.zone()?, at)
            }
            tag::TIMEDELTA => build.timedelta(self.i32()?, self.i32()?, self.i32()?, at),
            tag::DECIMAL => build.decimal(self.str()?, at),
            tag::UUID => build.uuid(self.array()?),
            tag::NUMPY => {
                let code = self.str()?;
                build.numpy(code, self.sized()?, at)
            }
            tag::LIST => {
                let values = self.values(build, depth)?;
                build.list(values)
            }
            tag::TUPLE => {
                let values = self.values(build, depth)?;
                build.tuple(values)
            }
            tag::DICT => {
                let count = self.count()?;
                let mut pairs = Vec::new();
                for _ in 0..count {
                    pairs.push((self.value(build, depth - 1)?, self.value(build, depth - 1)?));
                }
                build.dict(pairs, at)
            }
            tag::RECORD => {
                let (kind, class, count) = (self.str()?, self.str()?, self.count()?);
                let mut fields = Vec::new();
                for _ in 0..count {
                    fields.push((self.str()?, self.value(build, depth - 1)?));
                }
                build.record(kind, class, fields, at)
            }
            tag::PICKLE => build.pickle(self.sized()?, at),
            _ => Err(Damage::new(at, "a value is of an unknown kind").into()),
        }
    }

    fn values<B: Build>(&mut self, build: &mut B, depth: usize) -> Result<Vec<B::Value>, B::Error> {
        let count = self.count()?;
        (0..count).map(|_| self.value(build, depth - 1)).collect()
    }
}

/// Checks what it reads, and makes nothing of it.
pub struct Checked;

impl Build for Checked {
    type Value = ();
    type Error = Damage;

    fn none(&mut self) -> Result<(), Damage> {
        Ok(())
    }
    fn bool(&mut self, _: bool) -> Result<(), Damage> {
        Ok(())
    }
    fn int(&mut self, _: &[u8]) -> Result<(), Damage> {
        Ok(())
    }
    fn float(&mut self, _: f64) -> Result<(), Damage> {
        Ok(())
    }
    fn text(&mut self, _: &[u8], _: usize) -> Result<(), Damage> {
        Ok(())
    }
    fn bytes(&mut self, _: &[u8]) -> Result<(), Damage> {
        Ok(())
    }
    fn bytearray(&mut self, _: &[u8]) -> Result<(), Damage> {
        Ok(())
    }
    fn date(&mut self, _: i32, _: usize) -> Result<(), Damage> {
        Ok(())
    }
    fn datetime(&mut self, _: i64, _: bool, _: Zone<'_>, _: usize) -> Result<(), Damage> {
        Ok(())
    }
    fn timedelta(&mut self, _: i32, _: i32, _: i32, _: usize) -> Result<(), Damage> {
        Ok(())
    }
    fn decimal(&mut self, _: &str, _: usize) -> Result<(), Damage> {
        Ok(())
    }
    fn uuid(&mut self, _: &[u8; 16]) -> Result<(), Damage> {
        Ok(())
    }
    fn numpy(&mut self, _: &str, _: &[u8], _: usize) -> Result<(), Damage> {
        Ok(())
    }
    fn list(&mut self, _: Vec<()>) -> Result<(), Damage> {
        Ok(())
    }
    fn tuple(&mut self, _: Vec<()>) -> Result<(), Damage> {
        Ok(())
    }
    fn dict(&mut self, _: Vec<((), ())>, _: usize) -> Result<(), Damage> {
        Ok(())
    }
    fn record(&mut self, _: &str, _: &str, _: Vec<(&str, ())>, _: usize) -> Result<(), Damage> {
        Ok(())
    }
    fn pickle(&mut self, _: &[u8], _: usize) -> Result<(), Damage> {
        Ok(())
    }
}
