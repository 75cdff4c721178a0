//! Strings returned to callers: MPI 5.0, section "Convention for Returning Strings".
//!
//! The caller passes a buffer and, in `length`, its size in characters. The string is truncated to the buffer
//! and always terminated with NUL; `length` is set to the size that the whole string needs, including the
//! NUL, so that a second call with a larger buffer gets all of it. A length of 0, or no buffer, only asks for
//! the size.

/// Writes as much of `text` as fits into `buffer`, terminated with NUL. Returns the length that the whole
/// string needs, including the NUL.
///
/// ```
/// let mut buffer = [b'x'; 4];
/// assert_eq!(mpit::strings::return_string("counter", &mut buffer), 8);
/// assert_eq!(&buffer, b"cou\0");
/// ```
pub fn return_string(text: impl AsRef<[u8]>, buffer: &mut [u8]) -> usize {
    let bytes = text.as_ref();
    let copied = bytes.len().min(buffer.len().saturating_sub(1));
    for (to, from) in buffer.iter_mut().zip(bytes.iter().take(copied)) {
        *to = *from;
    }
    if let Some(end) = buffer.get_mut(copied) {
        *end = 0;
    }
    bytes.len() + 1
}

/// [`return_string`] with C types: an optional buffer and a signed length.
///
/// The returned length saturates at `i32::MAX`.
pub fn return_c_string(text: impl AsRef<[u8]>, buffer: Option<&mut [u8]>) -> i32 {
    let needed = match buffer {
        Some(buffer) => return_string(text, buffer),
        None => text.as_ref().len() + 1,
    };
    i32::try_from(needed).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_that_fits_gets_the_string_and_its_nul_and_nothing_more() {
        let mut buffer = [b'x'; 6];
        assert_eq!(return_string("abc", &mut buffer), 4);
        assert_eq!(&buffer, b"abc\0xx");
    }

    #[test]
    fn a_short_buffer_gets_a_terminated_part_and_the_full_length_is_returned() {
        let mut buffer = [b'x'; 3];
        assert_eq!(return_string("abc", &mut buffer), 4);
        assert_eq!(&buffer, b"ab\0");
        let mut one = [b'x'; 1];
        assert_eq!(return_string("abc", &mut one), 4);
        assert_eq!(&one, b"\0");
    }

    #[test]
    fn length_zero_or_no_buffer_asks_for_the_length() {
        assert_eq!(return_string("abc", &mut []), 4);
        assert_eq!(return_c_string("abc", None), 4);
    }

    #[test]
    fn no_description_is_a_nul_and_length_one() {
        let mut buffer = [b'x'; 2];
        assert_eq!(return_string("", &mut buffer), 1);
        assert_eq!(buffer[0], 0);
    }
}
