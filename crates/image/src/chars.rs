//! Fixed-length text in records.

use std::sync::atomic::{AtomicU8, Ordering};

/// Fixed-length text: the bytes up to the first zero; those after it have no meaning. Like words, the bytes
/// are relaxed atomics, since other threads may read them while they are written.
#[repr(transparent)]
pub struct Chars<const N: usize>([AtomicU8; N]);

impl<const N: usize> Chars<N> {
    /// Creates a text with as much of `text` as fits, always terminated by a zero.
    pub fn new(text: &[u8]) -> Self {
        let mut chars = Self::default();
        let room = N.saturating_sub(1);
        for (to, from) in chars.0.iter_mut().take(room).zip(text) {
            *to.get_mut() = *from;
        }
        chars
    }

    /// Copies another text, including its terminating zero.
    pub fn set(&self, text: &Self) {
        for (to, from) in self.0.iter().zip(&text.0) {
            let byte = from.load(Ordering::Relaxed);
            to.store(byte, Ordering::Relaxed);
            if byte == 0 {
                break;
            }
        }
    }

    /// The bytes of the text.
    pub fn bytes(&self) -> impl Iterator<Item = u8> {
        self.0.iter().map(|byte| byte.load(Ordering::Relaxed)).take_while(|byte| *byte != 0)
    }

    /// The text; bytes that are not UTF-8 are shown individually.
    pub fn text(&self) -> std::borrow::Cow<'static, str> {
        let bytes: Vec<u8> = self.bytes().collect();
        crate::text(&bytes).into_owned().into()
    }
}

impl<const N: usize> PartialEq for Chars<N> {
    fn eq(&self, other: &Self) -> bool {
        self.bytes().eq(other.bytes())
    }
}

impl<const N: usize> Clone for Chars<N> {
    fn clone(&self) -> Self {
        Self(std::array::from_fn(|at| {
            AtomicU8::new(self.0.get(at).map_or(0, |byte| byte.load(Ordering::Relaxed)))
        }))
    }
}

impl<const N: usize> Default for Chars<N> {
    fn default() -> Self {
        Self([const { AtomicU8::new(0) }; N])
    }
}

impl<const N: usize> std::fmt::Debug for Chars<N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_replaces_a_longer_one_through_a_shared_reference() {
        let (chars, other) = (Chars::<8>::new(b"longer than that"), Chars::<8>::default());
        let seen = &chars;
        assert_eq!((seen.text(), seen == &other), ("longer ".into(), false));
        chars.set(&Chars::new(b"new"));
        assert_eq!((seen.text(), seen), ("new".into(), &Chars::new(b"new")));
        assert_eq!(seen.clone(), chars, "bytes after the zero are ignored");
        chars.set(&other);
        assert_eq!(seen.bytes().count(), 0);
    }
}
