//! Conversion between raw values and the bytes that a tool sees.

use crate::codes::{Datatype, Error, Result};

/// The meaning of an instrument's raw 64-bit words.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Unit {
    /// Whole numbers, converted to the datatype: truncated to the width of an unsigned one, saturated at the
    /// maximum of a signed one, and converted to floating point for `DOUBLE`.
    Plain,
    /// Whole numbers; a `DOUBLE` value is the raw value times this factor. Nanoseconds as seconds: `1e-9`.
    Scaled(f64),
    /// The bits of the value itself: of an `f64` for `DOUBLE`, otherwise of a sign-extended integer. Not
    /// allowed for cumulative classes, nor for negative values of a watermark.
    Bits,
}

/// The conversion between a variable's raw values and values of its datatype.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Encoding {
    datatype: Datatype,
    unit: Unit,
}

impl Encoding {
    /// Creates the encoding of a datatype and unit.
    pub fn new(datatype: Datatype, unit: Unit) -> Self {
        Self { datatype, unit }
    }

    /// Size of one element in bytes.
    #[inline]
    pub fn width(self) -> usize {
        self.datatype.size()
    }

    /// The factor from raw value to `f64`, if the value is an `f64`.
    pub(crate) fn factor(self) -> Option<f64> {
        match (self.datatype, self.unit) {
            (Datatype::DOUBLE, Unit::Plain) => Some(1.0),
            (Datatype::DOUBLE, Unit::Scaled(factor)) => Some(factor),
            _ => None,
        }
    }

    /// The largest raw value that a whole number of the datatype can represent.
    pub(crate) fn ceiling(self) -> u64 {
        match (self.datatype, self.unit) {
            (_, Unit::Bits) => u64::MAX,
            (Datatype::INT | Datatype::INT32_T, _) => i32::MAX as u64,
            (Datatype::INT64_T | Datatype::COUNT, _) => i64::MAX as u64,
            _ => u64::MAX,
        }
    }

    /// The value's bits, to be truncated to [`Encoding::width`] (little-endian machines: the low bytes).
    #[inline]
    pub(crate) fn bits(self, raw: u64) -> u64 {
        match self.factor() {
            Some(factor) => (raw as f64 * factor).to_bits(),
            None => raw.min(self.ceiling()),
        }
    }

    /// Writes one element; `out` must have at least [`Encoding::width`] bytes.
    pub(crate) fn put(self, raw: u64, out: &mut [u8]) {
        let bits = self.bits(raw);
        match self.width() {
            1 => copy(&(bits as u8).to_ne_bytes(), out),
            4 => copy(&(bits as u32).to_ne_bytes(), out),
            _ => copy(&bits.to_ne_bytes(), out),
        }
    }

    /// Converts one element written by a tool to a raw value.
    ///
    /// # Errors
    /// [`Error::INVALID`] for a negative or non-finite value where only a whole number from 0 fits.
    pub(crate) fn get(self, from: &[u8]) -> Result<u64> {
        if let Some(factor) = self.factor() {
            let raw = f64::from_bits(word(from)?) / factor;
            return if raw >= 0.0 && raw.is_finite() { Ok(raw.round() as u64) } else { Err(Error::INVALID) };
        }
        let bits = match self.width() {
            1 => u64::from(*from.first().ok_or(Error::INVALID)?),
            4 => u64::from(half(from)?),
            _ => word(from)?,
        };
        if bits > self.ceiling() { Err(Error::INVALID) } else { Ok(bits) }
    }
}

fn copy(from: &[u8], out: &mut [u8]) {
    out.iter_mut().zip(from).for_each(|(to, byte)| *to = *byte);
}

fn half(from: &[u8]) -> Result<u32> {
    from.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes)).ok_or(Error::INVALID)
}

fn word(from: &[u8]) -> Result<u64> {
    from.first_chunk().map(|bytes| u64::from_ne_bytes(*bytes)).ok_or(Error::INVALID)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(encoding: Encoding, raw: u64) -> Vec<u8> {
        let mut out = vec![0; encoding.width()];
        encoding.put(raw, &mut out);
        out
    }

    #[test]
    fn nanoseconds_are_converted_to_seconds_and_back() {
        let encoding = Encoding::new(Datatype::DOUBLE, Unit::Scaled(1e-9));
        assert_eq!(put(encoding, 1_500_000_000), 1.5f64.to_ne_bytes());
        assert_eq!(encoding.get(&1.5f64.to_ne_bytes()), Ok(1_500_000_000));
        assert_eq!(encoding.get(&(-1.0f64).to_ne_bytes()), Err(Error::INVALID));
        assert_eq!(encoding.get(&f64::NAN.to_ne_bytes()), Err(Error::INVALID));
    }

    #[test]
    fn a_signed_value_saturates_and_never_turns_negative() {
        let encoding = Encoding::new(Datatype::INT, Unit::Plain);
        assert_eq!(put(encoding, 5_000_000_000), i32::MAX.to_ne_bytes());
        assert_eq!(encoding.get(&(-1i32).to_ne_bytes()), Err(Error::INVALID));
    }

    #[test]
    fn bits_are_passed_unchanged() {
        let double = Encoding::new(Datatype::DOUBLE, Unit::Bits);
        assert_eq!(put(double, 0.25f64.to_bits()), 0.25f64.to_ne_bytes());
        let int = Encoding::new(Datatype::INT, Unit::Bits);
        assert_eq!(put(int, -3i64 as u64), (-3i32).to_ne_bytes());
    }

    #[test]
    fn reading_from_a_buffer_that_is_too_short_is_an_error() {
        assert_eq!(Encoding::new(Datatype::UNSIGNED, Unit::Plain).get(&[1, 2]), Err(Error::INVALID));
    }
}
