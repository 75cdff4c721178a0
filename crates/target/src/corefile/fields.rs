//! Reads a note of a core file, field by field.

use crate::ByteOrder;

/// What determines the layout of a note.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    pub width: usize,
    pub order: ByteOrder,
    pub machine: u16,
}

/// The bytes of a note, read field by field; a field past the end is `None`.
#[derive(Clone, Copy)]
pub struct Fields<'a> {
    pub bytes: &'a [u8],
    pub kind: Kind,
}

impl Fields<'_> {
    pub fn number(&self, at: usize, size: usize) -> Option<u64> {
        Some(self.kind.order.number(self.bytes.get(at..at.checked_add(size)?)?))
    }

    pub fn int(&self, at: usize) -> Option<i32> {
        Some(self.number(at, 4)? as i32)
    }

    pub fn word(&self, index: usize) -> Option<u64> {
        self.number(index.checked_mul(self.kind.width)?, self.kind.width)
    }

    pub fn text(&self, at: usize, size: usize) -> Option<String> {
        let bytes = self.bytes.get(at..at.checked_add(size)?)?;
        let bytes = bytes.split(|byte| *byte == 0).next()?;
        Some(String::from_utf8_lossy(bytes).trim_end().to_owned())
    }
}
