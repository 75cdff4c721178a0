//! Info objects.

use super::Head;
use crate::cell::W64;
use crate::layout::Text;
use std::mem::{offset_of, size_of};

/// An info object. `head.parent` is the uid of the object from which it was obtained or duplicated.
#[repr(C)]
#[derive(Debug, Clone)]
pub struct Info {
    #[allow(missing_docs)]
    pub head: Head,
    /// The pairs in order: key, zero, value, zero, key, zero, …: see [`pairs`].
    pub pairs: Text,
    /// Number of pairs.
    pub count: W64,
    /// Number of changes dropped for lack of space, so that `pairs` is incomplete.
    pub lost: W64,
    /// The name, if it is predefined.
    pub name: Text,
}

/// Splits the bytes of [`Info::pairs`] (or of another object's hints) into keys and values.
pub fn pairs(bytes: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut parts = bytes.split(|byte| *byte == 0);
    std::iter::from_fn(move || Some((parts.next()?, parts.next()?)))
}

const _: () = {
    assert!(offset_of!(Info, name) == 128);
    assert!(size_of::<Info>() == 144);
};

#[cfg(test)]
mod tests {
    use super::pairs;

    #[test]
    fn pairs_are_split_in_order_and_a_truncated_end_is_omitted() {
        let all = |bytes| pairs(bytes).collect::<Vec<_>>();
        assert_eq!(all(b"a\x001\0b\0\0"), [(&b"a"[..], &b"1"[..]), (b"b", b"")]);
        assert_eq!(all(b""), []);
        assert_eq!(all(b"key only"), []);
    }
}
