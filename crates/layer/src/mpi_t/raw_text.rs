//! Keeps texts of the library that need not be UTF-8 as Rust strings.
//!
//! Each byte that is not valid UTF-8 is mapped to a distinct character at the end of the last private-use
//! plane, which nothing else uses. If a text contains such a character itself, its bytes are mapped. So every
//! text has exactly one representation, and the original bytes can be recovered.

use std::borrow::Cow;

/// The character of byte 0.
const FIRST: u32 = 0x0010_ff00;

/// The byte that a character represents.
pub fn byte_of(c: char) -> Option<u8> {
    u8::try_from((c as u32).checked_sub(FIRST)?).ok().filter(|byte| *byte >= 0x80)
}

/// Represents these bytes as text.
pub fn keep(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = str::from_utf8(bytes)
        && !text.contains(|c| byte_of(c).is_some())
    {
        return Cow::Borrowed(text);
    }
    let mut kept = String::new();
    let put = |kept: &mut String, bytes: &[u8]| {
        kept.extend(bytes.iter().filter_map(|byte| char::from_u32(FIRST + u32::from(*byte))));
    };
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match byte_of(c) {
                Some(_) => put(&mut kept, c.encode_utf8(&mut [0; 4]).as_bytes()),
                None => kept.push(c),
            }
        }
        put(&mut kept, chunk.invalid());
    }
    Cow::Owned(kept)
}

/// Recovers the bytes from a text made by [`keep`].
pub fn bytes(text: &str) -> Cow<'_, [u8]> {
    if !text.contains(|c| byte_of(c).is_some()) {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut bytes = Vec::with_capacity(text.len());
    for c in text.chars() {
        match byte_of(c) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Cow::Owned(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_is_returned_unchanged() {
        let all: Vec<u8> = (1..=255).collect();
        let own = keep(b"\xe9").into_owned();
        for given in
            [&b"plain"[..], b"", b"caf\xe9 \xff\xc3", "caf\u{e9} \u{10ff00}".as_bytes(), &all, own.as_bytes()]
        {
            assert_eq!(*bytes(&keep(given)), *given);
        }
    }

    #[test]
    fn different_texts_are_kept_apart() {
        let stands_for_it = keep(b"\xe9").into_owned();
        assert_ne!(keep(stands_for_it.as_bytes()), stands_for_it);
        assert!(matches!(keep("caf\u{e9}".as_bytes()), Cow::Borrowed("caf\u{e9}")));
    }
}
