//! Corrupted data: words changed at random, or truncation. Deterministic.

/// Values likely to provoke errors.
const VALUES: [u64; 10] =
    [0, 1, u64::MAX, i64::MAX as u64, i64::MIN as u64, 0xffff_ffff, 1 << 40, 64, 0x7fff_ffff, 4096];
/// Bytes at the start that are left intact: damage to an image's magic or version alone would decide the
/// outcome too often.
const SPARED: usize = 24;

/// A deterministic sequence of random numbers.
#[derive(Debug, Clone)]
pub struct Dice(pub u64);

impl Dice {
    /// Returns the next number.
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.roll() % limit.max(1) as u64) as usize
    }
}

/// The changes, each an offset and a word. An offset of `u64::MAX` truncates the bytes to the length given by
/// the word.
pub type Damage = Vec<(u64, u64)>;

/// Creates random damage to non-zero words of `bytes`.
///
/// # Panics
/// If all of them are zero.
pub fn damage(bytes: &[u8], dice: &mut Dice) -> Damage {
    let word = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap());
    let used: Vec<usize> =
        (SPARED..bytes.len().saturating_sub(7)).step_by(8).filter(|at| word(*at) != 0).collect();
    let mut damage = Damage::new();
    if dice.below(10) == 0 {
        damage.push((u64::MAX, dice.below(bytes.len()) as u64));
    }
    for _ in 0..=dice.below(40) {
        let at = used[dice.below(used.len())];
        let changed = match dice.below(4) {
            0 => VALUES[dice.below(VALUES.len())],
            1 => dice.roll(),
            // Plausible values: that of another record, or nearly the right one.
            2 => word(used[dice.below(used.len())]),
            _ => word(at) ^ 1 << dice.below(64),
        };
        damage.push((at as u64, changed));
    }
    damage
}

/// Returns the bytes with the damage applied.
#[must_use]
pub fn done(mut bytes: Vec<u8>, damage: &Damage) -> Vec<u8> {
    for (at, word) in damage {
        match usize::try_from(*at).ok().filter(|at| at.saturating_add(8) <= bytes.len()) {
            Some(at) => bytes[at..at + 8].copy_from_slice(&word.to_ne_bytes()),
            None if *at == u64::MAX => bytes.truncate(*word as usize),
            None => {}
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_deterministic_spares_the_first_bytes_and_changes_data() {
        let bytes: Vec<u8> = (0..=255).collect();
        for seed in 0..200 {
            let found = damage(&bytes, &mut Dice(seed));
            assert_eq!(found, damage(&bytes, &mut Dice(seed)));
            let changed = done(bytes.clone(), &found);
            assert!(changed != bytes, "seed {seed}");
            assert!(changed.iter().zip(&bytes).take(SPARED).all(|(now, before)| now == before));
        }
    }

    #[test]
    fn words_beyond_a_truncation_are_not_changed() {
        assert_eq!(
            done(vec![7; 64], &vec![(u64::MAX, 20), (32, 1), (8, 0)]),
            [[7; 8], [0; 8]].concat().into_iter().chain([7; 4]).collect::<Vec<u8>>()
        );
    }
}
