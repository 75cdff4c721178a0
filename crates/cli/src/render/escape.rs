//! Escapes text from untrusted sources.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Makes text safe to print: it cannot control the terminal or disguise itself as other text. Control
/// characters, line breaks and bidirectional formatting characters are shown as `\n`, `\x1b` or `\u{202e}`.
/// (Bytes that are not UTF-8 become `\xff` where bytes are converted to text: `mpiscope_image::text`.)
#[must_use]
pub fn escape(text: &str) -> Cow<'_, str> {
    if !text.chars().any(harmful) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        let _infallible = match c {
            '\n' | '\r' | '\t' => write!(shown, "{}", c.escape_default()),
            c if harmful(c) && c.is_ascii() => write!(shown, "\\x{:02x}", u32::from(c)),
            c if harmful(c) => write!(shown, "{}", c.escape_unicode()),
            c => write!(shown, "{c}"),
        };
    }
    Cow::Owned(shown)
}

/// Whether a character controls the terminal, separates lines, or reorders or hides characters around it.
fn harmful(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn external_text_cannot_control_the_terminal() {
        assert_eq!(escape("a\x1b[2Jb\nc\td\x7f\u{9b}31m"), r"a\x1b[2Jb\nc\td\x7f\u{9b}31m");
        assert_eq!(escape("innocent\u{202e}txt.exe"), r"innocent\u{202e}txt.exe");
    }

    #[test]
    fn text_in_any_language_is_unchanged() {
        for text in ["Löser", "求解器", "a b", r"C:\temp", ""] {
            assert!(matches!(escape(text), Cow::Borrowed(same) if same == text));
        }
    }
}
