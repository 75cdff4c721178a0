//! Handles as opaque 64-bit words that are recognized without being dereferenced.
//!
//! ```text
//!   63     56 55          24 23        0
//!   [  kind ][  generation  ][  index  ]
//! ```
//!
//! The kind byte makes every word an address that no user-space pointer can have (non-canonical on x86-64,
//! and outside the virtual address range on other 64-bit machines). A pointer of the MPI library, a freed
//! handle, a handle of another kind and a small number can therefore be distinguished by the word alone.

const INDEX_BITS: u32 = 24;
const KIND_SHIFT: u32 = 56;

/// Maximum number of slots per kind.
pub(crate) const MAX_SLOTS: usize = 1 << INDEX_BITS;

macro_rules! words {
    ($($(#[$meta:meta])* $name:ident = $kind:literal;)*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub struct $name(pub u64);

        impl $name {
            /// The null handle: no valid handle has this word.
            pub const NULL: Self = Self(0);

            /// Whether the word has the form of a handle of this kind, valid or not.
            pub const fn is_ours(self) -> bool {
                self.0 >> KIND_SHIFT == $kind
            }

            #[allow(dead_code)]
            pub(crate) fn new(index: usize, generation: u32) -> Self {
                Self(($kind << KIND_SHIFT) | (u64::from(generation) << INDEX_BITS) | index as u64)
            }

            /// The index and generation if the word is of this kind.
            #[inline]
            #[allow(dead_code)]
            pub(crate) fn parts(self) -> Option<(usize, u32)> {
                self.is_ours().then_some((self.0 as usize & (MAX_SLOTS - 1), (self.0 >> INDEX_BITS) as u32))
            }
        }
    )*};
}

words! {
    /// A performance experiment session (`MPI_T_pvar_session`).
    SessionWord = 0xA1;
    /// A handle of a performance variable (`MPI_T_pvar_handle`).
    PvarWord = 0xA2;
    /// A handle of a control variable (`MPI_T_cvar_handle`).
    CvarWord = 0xA3;
    /// An event registration (`MPI_T_event_registration`).
    RegistrationWord = 0xA4;
    /// An event instance (`MPI_T_event_instance`); valid only inside its callback.
    InstanceWord = 0xA5;
}

impl PvarWord {
    /// `MPI_T_PVAR_ALL_HANDLES`: every handle of the session, in the calls that allow it.
    pub const ALL_HANDLES: Self = Self(0xA2FF_FFFF_FFFF_FFFF);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_yields_its_parts_and_has_only_one_kind() {
        let word = PvarWord::new(MAX_SLOTS - 1, u32::MAX - 1);
        assert_eq!(word.parts(), Some((MAX_SLOTS - 1, u32::MAX - 1)));
        assert_eq!(SessionWord(word.0).parts(), None);
    }

    #[test]
    fn pointers_and_small_numbers_are_not_ours() {
        let local = 0u8;
        for foreign in [0, 1, u64::MAX, std::ptr::from_ref(&local) as u64, 0x7fff_ffff_ffff] {
            assert!(!PvarWord(foreign).is_ours());
            assert!(!InstanceWord(foreign).is_ours());
        }
    }
}
