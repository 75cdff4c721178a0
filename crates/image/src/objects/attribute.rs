//! Attributes and their keys.

use super::Head;
use crate::cell::{W32, W64};
use crate::layout::codes;
use std::mem::{offset_of, size_of};

/// The `handle` of a keyval's record: the keyval in the lower 32 bits, and above them the
/// [`SectionKind`](crate::layout::SectionKind) of the objects it is for (`COMMS`, `DATATYPES` or `WINDOWS`),
/// since the numbers of the three may overlap.
pub const fn keyval_handle(kind: crate::layout::SectionKind, keyval: i32) -> u64 {
    (kind.0 as u64) << 32 | keyval as u32 as u64
}

/// A key for attributes. `head.handle` is computed by [`keyval_handle`]. `head.flags`: `FORTRAN`.
#[repr(C)]
#[derive(Debug, Clone)]
pub struct Keyval {
    #[allow(missing_docs)]
    pub head: Head,
    /// Address of the program's copy function; small numbers and the library's own addresses are predefined
    /// functions.
    pub copy: W64,
    /// Address of the delete function, likewise.
    pub delete: W64,
    /// The extra state.
    pub extra: W64,
}

codes! {
    /// How an attribute was set: [`Attribute::form`].
    AttributeForm {
        POINTER = 0 => "pointer",
        /// By Fortran, `INTEGER(KIND=MPI_ADDRESS_KIND)`: C receives the address of the value.
        ADDRESS_INTEGER = 1 => "integer as wide as an address",
        /// By an MPI-1 function in Fortran, `INTEGER`: likewise.
        INTEGER = 2 => "integer",
    }
}

/// An attribute that is set. `head.parent` is the uid of the object. Deleting the attribute frees the record.
#[repr(C)]
#[derive(Debug, Clone)]
pub struct Attribute {
    /// `head.handle` has no meaning outside of the preload library.
    pub head: Head,
    /// The keyval (sign-extended).
    pub keyval: W64,
    /// Uid of the keyval; zero if it is predefined or its creation was not seen.
    pub keyval_uid: W64,
    /// The value: a pointer, or an integer stored in its place.
    pub value: W64,
    /// Offset of the next attribute of the same object; zero if there is none.
    pub next: W64,
    /// 1 if the library copied the attribute when the object was duplicated.
    pub copied: W32,
    /// An [`AttributeForm`].
    pub form: W32,
}

const _: () = {
    assert!(size_of::<Keyval>() == 120);
    assert!(offset_of!(Attribute, value) == 112);
    assert!(size_of::<Attribute>() == 136);
};
