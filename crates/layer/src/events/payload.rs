//! The elements of an event as bytes, laid out like a C structure with the same fields.

use mpit::Datatype;

/// The bytes of an event.
#[derive(Clone, Copy)]
#[repr(align(8))]
pub struct Payload([u8; Payload::ROOM]);

impl Payload {
    /// Size of the largest payload of our event types.
    pub const ROOM: usize = 64;

    /// Creates a payload of zeros.
    #[inline(always)]
    pub const fn new() -> Self {
        Self([0; Self::ROOM])
    }

    #[inline(always)]
    fn put<const N: usize>(&mut self, at: usize, element: [u8; N]) {
        if let Some(to) = self.0.get_mut(at..at + N) {
            to.copy_from_slice(&element);
        }
    }
}

impl AsRef<[u8]> for Payload {
    #[inline(always)]
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// A type that an event's elements can have.
pub trait Element {
    /// The corresponding MPI datatype.
    const DATATYPE: Datatype;

    /// Writes the element at offset `at`.
    fn put(self, at: usize, payload: &mut Payload);
}

impl Element for i32 {
    const DATATYPE: Datatype = Datatype::INT;

    #[inline(always)]
    fn put(self, at: usize, payload: &mut Payload) {
        payload.put(at, self.to_ne_bytes());
    }
}

impl Element for u64 {
    const DATATYPE: Datatype = Datatype::UINT64_T;

    #[inline(always)]
    fn put(self, at: usize, payload: &mut Payload) {
        payload.put(at, self.to_ne_bytes());
    }
}
