//! Bytes that should be text.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Converts bytes to text; bytes that are not UTF-8 are written as `\xff`, so that nothing is lost and
/// different names stay different.
#[must_use]
pub fn text(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _infallible = write!(text, "\\x{byte:02x}");
        }
    }
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn bytes_that_are_not_utf8_are_shown_and_not_lost() {
        assert_eq!(text("Löser".as_bytes()), "Löser");
        assert_eq!(text(b"a\xffb\xc3"), r"a\xffb\xc3");
        assert_ne!(text(b"\xfe"), text(b"\xff"));
    }
}
