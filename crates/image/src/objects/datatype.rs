//! Datatypes: constructors and their arguments. A reader builds the type map from these.

use super::Head;
use crate::cell::{W16, W32, W64};
use crate::layout::{Text, Words, codes};
use crate::mixture::Mixture;
use crate::signature::Signature;
use std::mem::{offset_of, size_of};

codes! {
    /// The constructor of a datatype: [`Datatype::combiner`]. Determines the contents of [`Datatype::args`]
    /// and [`Datatype::array`].
    ///
    /// Integers are sign-extended to 64 bits. Constants (order, distribution, type class) have the ABI's
    /// values. "n" is `args[0]`.
    Combiner {
        /// The object exists in the library, but its creation was not seen.
        UNKNOWN = 0 => "unknown",
        /// Predefined; see [`Datatype::name`].
        NAMED = 1 => "named",
        /// No arguments.
        DUP = 2 => "dup",
        /// args: count.
        CONTIGUOUS = 3 => "contiguous",
        /// args: count, block length, stride in elements.
        VECTOR = 4 => "vector",
        /// args: count, block length, stride in bytes.
        HVECTOR = 5 => "hvector",
        /// args: n; array: n block lengths, n displacements in elements.
        INDEXED = 6 => "indexed",
        /// args: n; array: n block lengths, n displacements in bytes.
        HINDEXED = 7 => "hindexed",
        /// args: n, block length; array: n displacements in elements.
        INDEXED_BLOCK = 8 => "indexed_block",
        /// args: n, block length; array: n displacements in bytes.
        HINDEXED_BLOCK = 9 => "hindexed_block",
        /// args: n; array: n block lengths, n displacements in bytes, n handles of datatypes, their n uids,
        /// and n offsets of their records.
        STRUCT = 10 => "struct",
        /// args: n dimensions, order; array: n sizes, n subsizes, n starts.
        SUBARRAY = 11 => "subarray",
        /// args: n dimensions, order, size and rank of the process grid; array: n global sizes, n distributions,
        /// n distribution arguments, n process grid sizes.
        DARRAY = 12 => "darray",
        /// args: lower bound, extent.
        RESIZED = 13 => "resized",
        /// args: precision, range. Predefined, without a name.
        F90_REAL = 14 => "f90_real",
        /// args: precision, range. Predefined, without a name.
        F90_COMPLEX = 15 => "f90_complex",
        /// args: range. Predefined, without a name.
        F90_INTEGER = 16 => "f90_integer",
        /// args: handles of value type and index type.
        VALUE_INDEX = 17 => "value_index",
    }
}

/// A datatype. `head.flags`: `PREDEFINED`, `COMMITTED`. `head.made_by` is the exact function
/// (`MPI_Type_struct` or `MPI_Type_create_struct_c`).
///
/// A freed datatype keeps its record as long as there is a record of another datatype derived from it
/// ([`users`](Self::users)), so a type map can always be built.
#[repr(C)]
#[derive(Debug, Default, Clone)]
pub struct Datatype {
    /// `head.parent` is the uid of the old type, for constructors with one.
    pub head: Head,
    /// A [`Combiner`].
    pub combiner: W32,
    /// Number of existing records of datatypes derived from this one.
    pub users: W32,
    /// Handle of the old type, for constructors with one.
    pub old: W64,
    /// Offset of the old type's record.
    pub old_at: W64,
    /// See [`Combiner`].
    pub args: [W64; 4],
    /// See [`Combiner`].
    pub array: Words,
    /// Size in bytes; `u64::MAX` if not queried.
    pub size: W64,
    /// Lower bound in bytes as reported by the library (signed); `i64::MIN` if not queried. It is queried
    /// when the type is committed.
    pub lb: W64,
    /// Extent in bytes as reported by the library (signed); valid if `lb` is.
    pub extent: W64,
    /// The name, if the program set one or the type is predefined.
    pub name: Text,
    /// Number of handles that the program must free: `MPI_Type_get_contents` returns additional ones.
    pub handles: W32,
    /// The stored form of its [`Mixture`](crate::mixture::Mixture), if its signature is known.
    pub mixture: [W16; 2],
    /// Offset of the first [`Attribute`](super::Attribute); zero if there is none.
    pub attributes: W64,
    /// The stored form of its [`Signature`](crate::signature::Signature); zero until a call needs it, and
    /// [`ANY`](crate::signature::Signature::ANY) if it is unknown or matches anything.
    pub signature: W64,
    /// Number of elements in the signature.
    pub elements: W64,
    /// True extent in bytes as reported by the library; zero if not queried. It is queried with the signature, while the
    /// contents of buffers are compared.
    pub true_extent: W64,
}

impl Datatype {
    /// Whether it is a predefined type of a single element, so that several of it follow one another without
    /// gaps. Its signature must be known.
    #[must_use]
    #[inline]
    pub fn is_one_element(&self) -> bool {
        self.combiner.get() == Combiner::NAMED.0 && self.elements.get() == 1
    }

    /// Whether a buffer of `bytes` bytes of data with this type certainly contains a byte of memory twice: there are
    /// fewer bytes between its first and its last one.
    #[must_use]
    pub fn repeats_memory(&self, bytes: u64) -> bool {
        let (size, own) = (self.size.get(), self.true_extent.get());
        if own == 0 || size == 0 || size == SIZE_UNKNOWN || self.lb.get() == BOUND_UNKNOWN {
            return false;
        }
        let more = bytes.div_ceil(size).saturating_sub(1);
        let stride = self.extent.get().cast_signed().unsigned_abs();
        bytes > more.saturating_mul(stride).saturating_add(own)
    }

    /// The signature; `None` if it is unknown or agrees with everything.
    #[must_use]
    pub fn signature(&self) -> Option<Signature> {
        let [sum, kind] = &self.mixture;
        let mixture = Mixture::from_stored([sum.get(), kind.get()]);
        Signature::from_stored(self.signature.get(), self.elements.get(), mixture)
    }
}

/// Value of [`Datatype::size`] that means "not queried".
pub const SIZE_UNKNOWN: u64 = u64::MAX;
/// Value of [`Datatype::lb`] that means "not queried".
pub const BOUND_UNKNOWN: u64 = i64::MIN as u64;

const _: () = {
    assert!(offset_of!(Datatype, old) == 104);
    assert!(offset_of!(Datatype, args) == 120);
    assert!(offset_of!(Datatype, array) == 152);
    assert!(offset_of!(Datatype, name) == 192);
    assert!(offset_of!(Datatype, signature) == 224);
    assert!(size_of::<Datatype>() == 248);
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_repeated_for_certain_if_there_is_less_of_it_than_data() {
        let repeats = |size: u64, extent: i64, true_extent: u64, bytes: u64| {
            let datatype = Datatype::default();
            datatype.size.set(size);
            datatype.extent.set(extent.cast_unsigned());
            datatype.true_extent.set(true_extent);
            datatype.repeats_memory(bytes)
        };
        assert!(repeats(48, 32, 32, 48), "blocks that overlap");
        assert!(repeats(16, 4, 16, 48) && repeats(16, -4, 16, 48), "elements that overlap");
        assert!(!repeats(16, 4, 16, 16), "one of them alone");
        assert!(!repeats(32, 4, 228, 256), "columns of a matrix");
        assert!(!repeats(16, 4, 0, 48) && !repeats(SIZE_UNKNOWN, 4, 16, 48) && !repeats(0, 4, 16, 48));
        let unknown = Datatype::default();
        unknown.size.set(16);
        unknown.true_extent.set(8);
        unknown.lb.set(BOUND_UNKNOWN);
        assert!(!unknown.repeats_memory(16), "the extent is not known");
    }
}
