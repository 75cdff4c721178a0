//! Raw values and the bytes that a tool gets.

use crate::codes::{Datatype, Error, Result};

/// What the raw 64-bit words of an instrument mean.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Unit {
    /// Whole numbers, passed on in the datatype: an unsigned one cut to its width, a signed one
    /// saturated at its largest, a `DOUBLE` converted.
    Plain,
    /// Whole numbers of this size; a `DOUBLE` value is raw times the factor. Nanoseconds as seconds: `1e-9`.
    Scaled(f64),
    /// Bits of the value itself: of an `f64` for `DOUBLE`, of a sign-extended integer else. Not for
    /// cumulative classes; for a watermark not for negative values.
    Bits,
}

/// How a variable's raw values become values of its datatype and back.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Encoding {
    datatype: Datatype,
    unit: Unit,
}

impl Encoding {
    /// The encoding of a datatype and unit.
    pub fn new(datatype: Datatype, unit: Unit) -> Self {
        Self { datatype, unit }
    }

    /// Bytes of one element.
    #[inline]
    pub fn width(self) -> usize {
        self.datatype.size()
    }

    /// The factor from raw to `f64`, if a value is that.
    pub(crate) fn factor(self) -> Option<f64> {
        match (self.datatype, self.unit) {
            (Datatype::DOUBLE, Unit::Plain) => Some(1.0),
            (Datatype::DOUBLE, Unit::Scaled(factor)) => Some(factor),
            _ => None,
        }
    }

    /// Largest raw value that a whole number of the datatype shows as itself.
    pub(crate) fn ceiling(self) -> u64 {
        match (self.datatype, self.unit) {
            (_, Unit::Bits) => u64::MAX,
            (Datatype::INT | Datatype::INT32_T, _) => i32::MAX as u64,
            (Datatype::INT64_T | Datatype::COUNT, _) => i64::MAX as u64,
            _ => u64::MAX,
        }
    }

    /// The value's bits, to be cut to [`Encoding::width`] (little-endian machines: the low bytes).
    #[inline]
    pub(crate) fn bits(self, raw: u64) -> u64 {
        match self.factor() {
            Some(factor) => (raw as f64 * factor).to_bits(),
            None => raw.min(self.ceiling()),
        }
    }

    /// Writes one element; `out` has at least [`Encoding::width`] bytes.
    pub(crate) fn put(self, raw: u64, out: &mut [u8]) {
        let bits = self.bits(raw);
        match self.width() {
            1 => copy(&(bits as u8).to_ne_bytes(), out),
            4 => copy(&(bits as u32).to_ne_bytes(), out),
            _ => copy(&bits.to_ne_bytes(), out),
        }
    }

    /// The raw value of one element that a tool writes.
    ///
    /// # Errors
    /// [`Error::INVALID`] for a value that is negative or no number where only a whole number not below 0 fits.
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
    fn nanoseconds_become_seconds_and_come_back() {
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
    fn bits_pass_unchanged() {
        let double = Encoding::new(Datatype::DOUBLE, Unit::Bits);
        assert_eq!(put(double, 0.25f64.to_bits()), 0.25f64.to_ne_bytes());
        let int = Encoding::new(Datatype::INT, Unit::Bits);
        assert_eq!(put(int, -3i64 as u64), (-3i32).to_ne_bytes());
    }

    #[test]
    fn a_buffer_too_short_is_an_error_to_read_from() {
        assert_eq!(Encoding::new(Datatype::UNSIGNED, Unit::Plain).get(&[1, 2]), Err(Error::INVALID));
    }
}
