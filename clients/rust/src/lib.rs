//! Ids of the PostgreSQL extension sno.
//!
//! The type and the prefixes need only the standard library.  The feature `postgres-types` lets
//! drivers send and receive ids in binary, `serde` writes them as texts, and `feed` reads feeds.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[cfg(feature = "feed")]
mod feed;
#[cfg(feature = "postgres-types")]
mod postgres;
mod prefixes;
#[cfg(feature = "serde")]
mod serde;

#[cfg(feature = "feed")]
pub use feed::{Batch, Feed, Row};
pub use prefixes::Prefixes;

const EPOCH: Duration = Duration::from_secs(1_262_304_000); // 2010-01-01 UTC, since 1970
const UNIT: u64 = 4; // ms
const LAST_UNIT: u64 = (1 << 39) - 1;
const DIGITS: &[u8; 32] = b"23456789abcdefghijklmnopqrstuvwx";

/// An id.  Ids have the same order in Rust and in the database.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sno([u8; 10]);

/// The reason why a value is not an id, or a prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl Sno {
    /// Reads an id from its 10 bytes.
    pub const fn from_bytes(bytes: [u8; 10]) -> Sno {
        Sno(bytes)
    }

    /// Returns the 10 bytes.
    pub const fn to_bytes(self) -> [u8; 10] {
        self.0
    }

    /// Reads an id from a uuid that `to_uuid` or `to_uuidv8` returned.
    pub fn from_uuid(uuid: [u8; 16]) -> Result<Sno, Error> {
        let bits = u128::from_be_bytes(uuid);
        if bits >> 76 & 0xf == 8 && bits >> 62 & 3 == 2 && bits << 86 == 0 {
            return Ok(Sno::from_bits(bits >> 80 << 32 | (bits >> 64 & 0xfff) << 20 | bits >> 42 & 0xf_ffff));
        }
        let text = std::str::from_utf8(&uuid).ok().and_then(parse);
        text.ok_or_else(|| Error(format!("not the uuid of an id: {:032x}", bits)))
    }

    /// Returns the uuid whose bytes are the 16 characters, as `id::uuid` in SQL.
    pub fn to_uuid(self) -> [u8; 16] {
        let bits = self.bits();
        std::array::from_fn(|i| DIGITS[(bits >> (75 - 5 * i) & 31) as usize])
    }

    /// Returns a uuid of version 8 that begins with the id, as `sno_to_uuidv8(id)` in SQL.
    pub fn to_uuidv8(self) -> [u8; 16] {
        let bits = self.bits();
        let (head, next, tail) = (bits >> 32, bits >> 20 & 0xfff, bits & 0xf_ffff);
        (head << 80 | 8 << 76 | next << 64 | 2 << 62 | tail << 42).to_be_bytes()
    }

    /// Returns the lowest id of the 4 ms that contain the time.  As in the database, a time out of
    /// range gives the lowest or the highest of all ids.
    pub fn min(time: SystemTime) -> Sno {
        Sno::bound(time, 0)
    }

    /// Returns the highest id of the 4 ms that contain the time.  A time out of range gives the
    /// same id as in `min`.
    pub fn max(time: SystemTime) -> Sno {
        Sno::bound(time, (1 << 41) - 1)
    }

    fn bound(time: SystemTime, rest: u128) -> Sno {
        match time.duration_since(UNIX_EPOCH + EPOCH) {
            Err(_) => Sno([0; 10]),
            Ok(since) => match since.as_millis() / u128::from(UNIT) {
                unit if unit > u128::from(LAST_UNIT) => Sno([0xff; 10]),
                unit => Sno::from_bits(unit << 41 | rest),
            },
        }
    }

    /// Returns the time of the id: the start of its 4 ms.
    pub fn time(self) -> SystemTime {
        UNIX_EPOCH + EPOCH + Duration::from_millis((self.bits() >> 41) as u64 * UNIT)
    }

    /// Returns the bit that changes when the clock is set back.
    pub const fn tick_tock(self) -> bool {
        self.0[4] & 1 == 1
    }

    /// Returns the metabyte.
    pub const fn meta(self) -> u8 {
        self.0[5]
    }

    /// Returns the partition in which the id was generated.
    pub const fn partition(self) -> u16 {
        u16::from_be_bytes([self.0[6], self.0[7]])
    }

    /// Returns the number of the id within its partition and its 4 ms.
    pub const fn sequence(self) -> u16 {
        u16::from_be_bytes([self.0[8], self.0[9]])
    }

    fn bits(self) -> u128 {
        self.0.iter().fold(0, |bits, &byte| bits << 8 | u128::from(byte))
    }

    fn from_bits(bits: u128) -> Sno {
        let mut bytes = [0; 10];
        bytes.copy_from_slice(&bits.to_be_bytes()[6..]);
        Sno(bytes)
    }
}

impl fmt::Display for Sno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(std::str::from_utf8(&self.to_uuid()).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Sno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sno({})", self)
    }
}

impl FromStr for Sno {
    type Err = Error;

    /// Reads an id from its 16 characters.
    fn from_str(text: &str) -> Result<Sno, Error> {
        parse(text).ok_or_else(|| Error(format!("not an id: {:?}{}", text, advice(text))))
    }
}

fn parse(text: &str) -> Option<Sno> {
    let mut bits = 0;
    for byte in text.bytes() {
        bits = bits << 5 | DIGITS.iter().position(|&digit| digit == byte)? as u128;
    }
    (text.len() == 16).then(|| Sno::from_bits(bits))
}

/// Returns advice for a text that is given as an id by mistake.
fn advice(text: &str) -> &'static str {
    let bytes = text.as_bytes();
    let is_date = |i: usize, byte: &u8| if i == 4 || i == 7 { *byte == b'-' } else { byte.is_ascii_digit() };
    let number = bytes.strip_prefix(b"-").unwrap_or(bytes);
    if !number.is_empty() && number.iter().all(u8::is_ascii_digit) {
        " (it is a number)"
    } else if is_uuid(text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(text)) {
        " (from_uuid converts a uuid)"
    } else if matches!(bytes.len().checked_sub(17), Some(end) if end > 0 && matches!(bytes[end], b'_' | b'-')
        && parse(&text[end + 1..]).is_some())
    {
        " (Prefixes::read converts an id with a prefix)"
    } else if parse(&text.to_ascii_lowercase()).is_some() {
        " (ids are in lower case)"
    } else if bytes.len() >= 10 && bytes[..10].iter().enumerate().all(|(i, byte)| is_date(i, byte)) {
        " (min and max convert a time)"
    } else {
        ""
    }
}

/// Is it a uuid as PostgreSQL reads it: with or without hyphens between its groups of 4 digits?
fn is_uuid(text: &str) -> bool {
    let mut digits = 0;
    let mut after_hyphen = true;
    text.bytes().all(|byte| {
        let good = byte.is_ascii_hexdigit() || byte == b'-' && !after_hyphen && digits % 4 == 0;
        digits += u32::from(byte != b'-');
        after_hyphen = byte == b'-';
        good
    }) && digits == 32
        && !after_hyphen
}
