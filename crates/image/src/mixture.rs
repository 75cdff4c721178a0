//! The elements that a member of a collective sends to all members together, or expects from all: basic
//! elements, unordered.
//!
//! If every member may use different counts and datatypes (`MPI_Alltoallw`), the sequences of two members
//! need not match, but all members together must send the elements that they all together expect. To check
//! this, each kind of element has a number, and these are summed up: the sums of two different mixtures
//! differ, except for one case in 65521.

use mpi_abi::Element;

/// The largest prime below 2^16. With 2^16, 65536 elements of one kind would equal as many of another one.
const PRIME: u64 = 65521;

/// Represents elements of several kinds; not the code of any element.
const SEVERAL: u16 = u16::MAX;

/// Marks the kind of elements of which every member is sent some. No class of elements has this bit.
const TO_ALL: u16 = 0x80;

/// A multiset of elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Mixture {
    sum: u16,
    /// [`Element::code`] if all elements are alike, perhaps with [`TO_ALL`]; zero if there are none.
    kind: u16,
}

impl Mixture {
    /// No elements.
    pub const EMPTY: Self = Self { sum: 0, kind: 0 };

    /// One element.
    #[must_use]
    pub const fn one(element: Element) -> Self {
        let code = element.code();
        // Scrambled, so that a few elements of two kinds do not equal a few of two other kinds; never zero.
        Self { sum: (code as u64 * 0x9e37_79b9 % (PRIME - 1) + 1) as u16, kind: code }
    }

    /// Both groups of elements together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        let kind = match (self.kind, other.kind) {
            (0, kind) | (kind, 0) => kind,
            (one, another) if one == another => one,
            _ => SEVERAL,
        };
        Self { sum: plus(self.sum, other.sum), kind }
    }

    /// These elements `count` times.
    #[must_use]
    pub const fn times(self, count: u64) -> Self {
        if count == 0 {
            return Self::EMPTY;
        }
        Self { sum: (self.sum as u64 * (count % PRIME) % PRIME) as u16, ..self }
    }

    /// The same, marked if they are alike and every member is sent some of them.
    #[must_use]
    pub const fn marked(self, to_all: bool) -> Self {
        let kind = if to_all && self.kind != 0 { self.kind | TO_ALL } else { self.kind };
        Self { kind, ..self }
    }

    /// The kind of all elements, if they are alike.
    #[must_use]
    pub fn element(self) -> Option<Element> {
        (self.kind != 0 && self.kind != SEVERAL).then(|| Element::of_code(self.kind & !TO_ALL))
    }

    /// Likewise, if in addition every member is known to be sent some of them.
    #[must_use]
    pub fn element_to_all(self) -> Option<Element> {
        self.element().filter(|_| self.kind & TO_ALL != 0)
    }

    /// Whether there are elements of several kinds.
    #[must_use]
    pub const fn is_of_several_kinds(self) -> bool {
        self.kind == SEVERAL
    }

    /// The two words stored in a record: the sum, and the kind.
    #[must_use]
    pub const fn stored(self) -> [u16; 2] {
        [self.sum, self.kind]
    }

    /// Restores a mixture from the two words of a record.
    #[must_use]
    pub const fn from_stored([sum, kind]: [u16; 2]) -> Self {
        Self { sum, kind }
    }

    /// The difference of the sums; zero if both have the same elements.
    #[must_use]
    pub const fn less(self, others: Self) -> u16 {
        plus(self.sum, (PRIME - others.sum as u64) as u16)
    }
}

/// Adds two numbers, at most one of which is the prime itself.
const fn plus(a: u16, b: u16) -> u16 {
    let sum = a as u64 + b as u64;
    (if sum >= PRIME { sum - PRIME } else { sum }) as u16
}

/// Adds up the results of [`Mixture::less`] of several members.
#[must_use]
pub fn sum(differences: impl IntoIterator<Item = u16>) -> u16 {
    (differences.into_iter().fold(0, |sum, one| (sum + u64::from(one)) % PRIME)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpi_abi::PREDEFINED;
    use std::collections::HashSet;

    const INT: Element = Element::new(b'i', 4);
    const REAL: Element = Element::new(b'f', 4);
    const DOUBLE: Element = Element::new(b'f', 8);

    #[test]
    fn the_same_elements_are_equal_in_any_order() {
        let (int, double) = (Mixture::one(INT), Mixture::one(DOUBLE));
        assert_eq!(int.and(double).times(3), double.times(3).and(int.times(2)).and(int));
        assert_eq!(int.and(Mixture::EMPTY), int);
        assert_eq!(int.times(0), Mixture::EMPTY);
        assert_eq!(int.times(5).element(), Some(INT));
        assert!(int.and(double).is_of_several_kinds() && int.and(double).element().is_none());
    }

    #[test]
    fn elements_of_one_kind_may_be_marked_as_sent_to_all() {
        let (int, double) = (Mixture::one(INT), Mixture::one(DOUBLE));
        let marked = int.times(3).marked(true);
        assert_eq!((marked.element(), marked.element_to_all()), (Some(INT), Some(INT)));
        assert_eq!(int.marked(false).element_to_all(), None);
        assert_eq!(marked.less(int.times(3)), 0);
        assert_eq!(int.and(double).marked(true), int.and(double), "of two kinds, each may go to some only");
        assert_eq!(Mixture::EMPTY.marked(true), Mixture::EMPTY);
        let mut elements = PREDEFINED.iter().flat_map(|one| one.elements);
        assert!(elements.all(|element| element.code() & TO_ALL == 0));
    }

    #[test]
    fn equally_many_elements_of_another_kind_differ_at_any_number() {
        for count in [1, 2, 256, 65536, 1 << 20, 1 << 33] {
            assert_ne!(Mixture::one(INT).times(count).less(Mixture::one(REAL).times(count)), 0, "{count}");
        }
    }

    #[test]
    fn no_two_basic_elements_have_the_same_number() {
        let elements: HashSet<_> = PREDEFINED.iter().flat_map(|known| known.elements).collect();
        let numbers: HashSet<_> = elements.iter().map(|element| Mixture::one(**element).sum).collect();
        assert!(elements.len() > 8 && numbers.len() == elements.len(), "{elements:?}");
        assert!(!numbers.contains(&0));
    }

    #[test]
    fn the_differences_of_all_members_cancel_out_unless_they_mismatch() {
        let (int, real) = (Mixture::one(INT), Mixture::one(REAL));
        let (root, leaf) = (int.less(int.times(3)), int.less(Mixture::EMPTY));
        assert_eq!(sum([root, leaf, leaf]), 0);
        let wrong = int.less(real.times(3));
        assert_ne!(sum([wrong, leaf, leaf]), 0);
    }
}
