//! The elements of an event, laid out as the engine's event types are: each aligned for its size.

/// Largest payload of our event types.
const ROOM: usize = 48;

/// Bytes of an event.
#[derive(Clone, Copy)]
#[repr(align(8))]
pub struct Payload {
    bytes: [u8; ROOM],
    len: usize,
}

impl Payload {
    /// Without elements.
    #[inline(always)]
    pub const fn new() -> Self {
        Self { bytes: [0; ROOM], len: 0 }
    }

    #[inline(always)]
    fn push<const N: usize>(mut self, element: [u8; N]) -> Self {
        let at = self.len.next_multiple_of(N);
        if let Some(to) = self.bytes.get_mut(at..at + N) {
            to.copy_from_slice(&element);
            self.len = at + N;
        }
        self
    }

    /// Appends an `int`.
    #[inline(always)]
    pub fn int(self, value: i32) -> Self {
        self.push(value.to_ne_bytes())
    }

    /// Appends an unsigned 64-bit number.
    #[inline(always)]
    pub fn word(self, value: u64) -> Self {
        self.push(value.to_ne_bytes())
    }
}

impl AsRef<[u8]> for Payload {
    #[inline(always)]
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::events::kinds::KINDS;

    #[test]
    fn elements_lie_where_the_engine_says() {
        let payload = Payload::new().int(7).word(9).int(-1);
        assert_eq!(payload.as_ref()[..4], 7i32.to_ne_bytes());
        assert_eq!(payload.as_ref()[8..16], 9u64.to_ne_bytes());
        assert_eq!(payload.as_ref()[16..20], (-1i32).to_ne_bytes());
    }

    #[test]
    fn every_type_of_event_has_room() {
        for about in KINDS {
            let end = about
                .elements
                .iter()
                .fold(0, |end: usize, (_, datatype)| end.next_multiple_of(datatype.size()) + datatype.size());
            assert!(end <= ROOM, "{} has {end} bytes", about.name);
        }
    }
}
