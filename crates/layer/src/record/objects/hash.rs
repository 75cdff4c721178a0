//! Names that all ranks compute alike without communicating.

/// Mixes another word into a name. Never returns 0, which means "no name".
pub const fn mix(name: u64, word: u64) -> u64 {
    let mut x = name ^ word.wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_add(name << 6);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^= x >> 31;
    if x == 0 { 1 } else { x }
}

/// Returns the name of a text.
pub fn text(bytes: &[u8]) -> u64 {
    bytes.iter().fold(bytes.len() as u64 + 1, |name, byte| mix(name, u64::from(*byte)))
}

/// Returns the name of an array.
pub fn words(words: impl IntoIterator<Item = u64>) -> u64 {
    words.into_iter().fold(1, mix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_length_matter_and_zero_is_never_a_hash() {
        assert_ne!(words([1, 2]), words([2, 1]));
        assert_ne!(words([0]), words([0, 0]));
        assert_ne!(text(b"a"), text(b"a\0"));
        assert!((0..10_000).all(|n| mix(n, n) != 0 && mix(0, n) != 0));
    }
}
