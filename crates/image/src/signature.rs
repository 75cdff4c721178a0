//! Type signatures as numbers: the sequence of basic elements that a datatype contains.
//!
//! Both ends of a transfer must specify the same sequence; `2 x {int, int}` and `4 x int` are the same. The
//! hash is a polynomial over the prime field of 2^61 - 1, so that the hash of two concatenated sequences
//! follows from their hashes, and that of a sequence repeated a billion times takes thirty steps. Types that
//! match anything (`MPI_BYTE`, `MPI_PACKED`) or are unknown have no hash and agree with everything.

use crate::mixture::Mixture;
use mpi_abi::Element;

const PRIME: u64 = (1 << 61) - 1;
/// Base of the polynomial: any element of the field that is not small will do.
const BASE: u64 = 0x11f0_5c3a_9e37_79b9 % PRIME;
/// Set in the stored hash of a known signature: zero is the value of a record that was never filled in.
const KNOWN: u64 = 1 << 63;

/// The elements of a datatype, or of several ones concatenated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Signature {
    hash: u64,
    elements: u64,
    /// The same elements, unordered.
    mixture: Mixture,
}

const fn times(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    let sum = (product & PRIME as u128) as u64 + (product >> 61) as u64;
    if sum >= PRIME { sum - PRIME } else { sum }
}

const fn plus(a: u64, b: u64) -> u64 {
    let sum = a + b;
    if sum >= PRIME { sum - PRIME } else { sum }
}

impl Signature {
    /// No elements.
    pub const EMPTY: Self = Self { hash: 0, elements: 0, mixture: Mixture::EMPTY };
    /// Stored for a signature that is unknown or agrees with everything.
    pub const ANY: u64 = u64::MAX;

    /// One element.
    #[must_use]
    pub const fn one(element: Element) -> Self {
        let code = element.code();
        // Scrambled, so that no sequence of small numbers looks like another one.
        let hash = times(code as u64 + 1, 0x9e37_79b9_7f4a_7c15 % PRIME);
        Self { hash, elements: 1, mixture: Mixture::one(element) }
    }

    /// These elements followed by those of `next`.
    #[must_use]
    pub fn then(self, next: Self) -> Option<Self> {
        let elements = self.elements.checked_add(next.elements)?;
        let hash = plus(times(self.hash, power(next.elements)), next.hash);
        Some(Self { hash, elements, mixture: self.mixture.and(next.mixture) })
    }

    /// These elements `count` times in succession.
    #[must_use]
    pub fn repeated(self, count: u64) -> Option<Self> {
        self.elements.checked_mul(count)?;
        let (mut all, mut block, mut left) = (Self::EMPTY, self, count);
        while left != 0 {
            if left & 1 != 0 {
                all = all.then(block)?;
            }
            left >>= 1;
            if left != 0 {
                block = block.then(block)?;
            }
        }
        Some(all)
    }

    /// Number of elements.
    #[must_use]
    pub const fn elements(self) -> u64 {
        self.elements
    }

    /// The same elements, unordered.
    #[must_use]
    pub const fn mixture(self) -> Mixture {
        self.mixture
    }

    /// The hash as stored in records: never zero, never [`ANY`](Self::ANY).
    #[must_use]
    pub const fn stored(self) -> u64 {
        self.hash | KNOWN
    }

    /// Restores a signature from the values in a record; `None` if it is unknown or agrees with everything.
    #[must_use]
    pub fn from_stored(hash: u64, elements: u64, mixture: Mixture) -> Option<Self> {
        let known = hash != Self::ANY && hash & KNOWN != 0;
        known.then_some(Self { hash: hash & !KNOWN, elements, mixture })
    }
}

/// Returns [`BASE`] to the power of a number of elements.
fn power(mut exponent: u64) -> u64 {
    if exponent == 1 {
        return BASE;
    }
    let (mut result, mut base) = (1, BASE);
    while exponent != 0 {
        if exponent & 1 != 0 {
            result = times(result, base);
        }
        base = times(base, base);
        exponent >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const INT: Signature = Signature::one(Element::new(b'i', 4));
    const DOUBLE: Signature = Signature::one(Element::new(b'f', 8));

    fn sequence(parts: &[Signature]) -> Signature {
        parts.iter().fold(Signature::EMPTY, |all, part| all.then(*part).unwrap())
    }

    #[test]
    fn signatures_with_the_same_elements_are_equal_however_they_were_built() {
        let pair = sequence(&[INT, INT]);
        assert_eq!(pair.repeated(2), INT.repeated(4));
        let mixed = sequence(&[INT, DOUBLE]);
        assert_eq!(mixed.repeated(3).unwrap(), sequence(&[INT, DOUBLE, INT, DOUBLE, INT, DOUBLE]));
        assert_eq!(INT.repeated(0), Some(Signature::EMPTY));
    }

    #[test]
    fn order_number_and_kind_of_elements_matter() {
        assert_ne!(sequence(&[INT, DOUBLE]).stored(), sequence(&[DOUBLE, INT]).stored());
        assert_ne!(INT.repeated(3), INT.repeated(4));
        assert_ne!(INT.stored(), DOUBLE.stored());
        assert_ne!(sequence(&[INT, DOUBLE]), sequence(&[DOUBLE, INT]));
        assert_eq!(sequence(&[INT, DOUBLE]).mixture(), sequence(&[DOUBLE, INT]).mixture());
    }

    #[test]
    fn signatures_with_too_many_elements_are_unknown_and_unknown_ones_are_not_stored() {
        assert_eq!(sequence(&[INT, INT]).repeated(u64::MAX / 2 + 1), None);
        assert_eq!(Signature::from_stored(0, 1, Mixture::EMPTY), None);
        assert_eq!(Signature::from_stored(Signature::ANY, 1, Mixture::EMPTY), None);
        let pair = sequence(&[INT, DOUBLE]);
        assert_eq!(Signature::from_stored(pair.stored(), 2, pair.mixture()), Some(pair));
    }

    proptest! {
        #[test]
        fn different_sequences_have_different_hashes_and_equal_ones_equal_hashes(
            a in proptest::collection::vec(0u8..4, 0..12), b in proptest::collection::vec(0u8..4, 0..12), cut in 0usize..12
        ) {
            let of = |letters: &[u8]| {
                sequence(&letters.iter().map(|l| Signature::one(Element::new(b'f', *l))).collect::<Vec<_>>())
            };
            prop_assert_eq!(of(&a).stored() == of(&b).stored() && a.len() == b.len(), a == b);
            let (head, tail) = a.split_at(cut.min(a.len()));
            prop_assert_eq!(of(head).then(of(tail)).unwrap(), of(&a));
        }
    }
}
