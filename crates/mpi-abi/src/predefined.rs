//! Predefined handles: names, values, and the contents of the predefined datatypes.
//!
//! In the standard ABI and in MPICH's, a predefined handle is a number. In Open MPI's it is the address of an
//! exported object, so a process must first look up the symbol; see [`by_symbol`]. A value identifies an
//! object only together with its kind: `MPI_MESSAGE_NULL` and `MPI_REQUEST_NULL` are the same number in
//! MPICH.

use crate::abi::AbiKind;
use crate::generated::predefined::PREDEFINED;
pub use crate::object_kind::ObjectKind;

/// A predefined handle.
#[derive(Debug)]
pub struct Predefined {
    /// The standard's name.
    pub name: &'static str,
    /// The kind of object.
    pub kind: ObjectKind,
    /// Its value in the standard ABI.
    pub standard: Option<u64>,
    /// Its value in MPICH's ABI. Libraries that lack a type, for example `MPI_REAL2`, define it as
    /// `MPI_DATATYPE_NULL`.
    pub mpich: Option<u64>,
    /// In Open MPI's ABI, the symbol whose address is the handle.
    pub openmpi: Option<&'static str>,
    /// Size of a datatype in bytes on LP64 with Fortran's default sizes, without padding, as returned by
    /// `MPI_Type_size`.
    pub size: Option<u64>,
    /// The corresponding type in C or Fortran.
    pub meaning: Option<&'static str>,
    /// The elements of a datatype; empty for a datatype that matches any other (`MPI_BYTE`, `MPI_PACKED`),
    /// and for other objects.
    pub elements: &'static [Element],
}

/// An element of a predefined datatype, to the extent that both ends of a transfer must agree on it: no
/// distinction between C and Fortran, or signed and unsigned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Element {
    /// `i` for integer or character, `f` real, `c` complex, `l` logical.
    pub class: u8,
    /// The size in bytes.
    pub bytes: u8,
}

impl Element {
    /// Creates an element of this class and size.
    #[must_use]
    pub const fn new(class: u8, bytes: u8) -> Self {
        Self { class, bytes }
    }

    /// The element as a number, which is never zero.
    #[must_use]
    pub const fn code(self) -> u16 {
        u16::from_le_bytes([self.class, self.bytes])
    }

    /// Converts a number back to an element.
    #[must_use]
    pub const fn of_code(code: u16) -> Self {
        let [class, bytes] = code.to_le_bytes();
        Self { class, bytes }
    }
}

/// Formats as `4-byte integer`, `8-byte real` and so on.
impl std::fmt::Display for Element {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let class = match self.class {
            b'i' => "integer",
            b'f' => "real",
            b'c' => "complex",
            b'l' => "logical",
            _ => "element",
        };
        write!(f, "{}-byte {class}", self.bytes)
    }
}

impl Predefined {
    /// The value in an ABI; `None` for Open MPI, where it is not a number.
    pub fn value(&self, abi: AbiKind) -> Option<u64> {
        match abi {
            AbiKind::STANDARD => self.standard,
            AbiKind::MPICH => self.mpich,
            _ => None,
        }
    }
}

/// Returns the predefined object with this handle. Always `None` for Open MPI, whose handles are addresses.
pub fn name_of(abi: AbiKind, kind: ObjectKind, raw: u64) -> Option<&'static Predefined> {
    PREDEFINED.iter().find(|p| p.kind == kind && p.value(abi) == Some(raw))
}

/// Returns the predefined object with this symbol of Open MPI.
pub fn by_symbol(symbol: &str) -> Option<&'static Predefined> {
    PREDEFINED.iter().find(|p| p.openmpi == Some(symbol))
}

/// Returns the predefined object with this name.
pub fn by_name(name: &str) -> Option<&'static Predefined> {
    PREDEFINED.iter().find(|p| p.name == name)
}

/// Returns the size of a predefined datatype in bytes, from its handle alone.
///
/// MPICH's built-in types, including those missing from this table, encode the size in bits 8 to 15. Decoding
/// it is safer than asking the library, because old ones abort on an unknown type.
pub fn datatype_size(abi: AbiKind, raw: u64) -> Option<u64> {
    const BUILT_IN: u64 = 0x4c;
    if abi == AbiKind::MPICH && raw >> 24 == BUILT_IN {
        return Some(raw >> 8 & 0xff);
    }
    name_of(abi, ObjectKind::DATATYPE, raw)?.size
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_number_is_a_different_object_for_each_kind() {
        let name = |kind| name_of(AbiKind::MPICH, kind, 0x2c00_0000).map(|p| p.name);
        assert_eq!(name(ObjectKind::REQUEST), Some("MPI_REQUEST_NULL"));
        assert_eq!(name(ObjectKind::MESSAGE), Some("MPI_MESSAGE_NULL"));
        assert_eq!(name(ObjectKind::COMM), None);
    }

    #[test]
    fn no_two_objects_of_a_kind_share_a_value() {
        for abi in AbiKind::ALL {
            for p in &PREDEFINED {
                if let Some(value) = p.value(abi) {
                    assert_eq!(name_of(abi, p.kind, value).map(|q| q.name), Some(p.name));
                }
            }
        }
        for p in &PREDEFINED {
            if let Some(symbol) = p.openmpi {
                assert_eq!(by_symbol(symbol).map(|q| q.name), Some(p.name));
            }
        }
    }

    #[test]
    fn the_size_in_an_mpich_handle_equals_the_size_in_the_table() {
        for p in PREDEFINED.iter().filter(|p| p.kind == ObjectKind::DATATYPE) {
            if let (Some(handle), Some(size)) = (p.mpich, p.size) {
                assert_eq!(datatype_size(AbiKind::MPICH, handle), Some(size), "{}", p.name);
            }
        }
        assert_eq!(datatype_size(AbiKind::MPICH, 0x4c00_0246), Some(2), "a type of MPICH's own");
        assert_eq!(datatype_size(AbiKind::STANDARD, 0x20a), Some(8));
        assert_eq!(datatype_size(AbiKind::STANDARD, 0x12345), None);
    }

    #[test]
    fn the_elements_of_a_datatype_fill_it() {
        for p in PREDEFINED.iter().filter(|p| !p.elements.is_empty()) {
            let bytes = p.elements.iter().map(|element| u64::from(element.bytes)).sum();
            assert_eq!(p.size, Some(bytes), "{}", p.name);
        }
        assert_eq!(by_name("MPI_INT").unwrap().elements, by_name("MPI_INTEGER").unwrap().elements);
        assert_ne!(by_name("MPI_INT").unwrap().elements, by_name("MPI_FLOAT").unwrap().elements);
        assert!(by_name("MPI_BYTE").unwrap().elements.is_empty());
    }

    #[test]
    fn kinds_are_found_by_their_c_types() {
        assert_eq!(ObjectKind::from_c_type("MPI_Win"), Some(ObjectKind::WIN));
        assert_eq!(ObjectKind::from_c_type("int"), None);
    }
}
