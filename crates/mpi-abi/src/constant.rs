//! Integer constants of the three ABIs as data: for readers that need the name of a value.
//!
//! Code for a known ABI uses the modules [`standard`](crate::standard), [`mpich`](crate::mpich) and
//! [`openmpi`](crate::openmpi), or the constants of [`Abi`](crate::Abi).

use std::fmt;

use crate::abi::AbiKind;
use crate::generated::constants::{CATEGORIES, CONSTANTS};

/// A named integer.
#[derive(Debug)]
pub struct Constant {
    /// The standard's name; `SIZEOF_` and `OFFSETOF_` names for the layout of types.
    pub name: &'static str,
    /// The category of the constant.
    pub category: Category,
    pub(crate) values: [Option<i64>; 3],
}

/// The category of a constant: error classes, combiners, topologies and so on. Values are unique within a
/// category, except in those that list limits, addresses or layouts.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Category(pub u8);

impl Category {
    /// The category's name as in `constants.tsv`.
    pub fn name(self) -> &'static str {
        CATEGORIES.get(usize::from(self.0)).copied().unwrap_or("?")
    }
}

impl fmt::Debug for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Constant {
    /// The value in an ABI; `None` if that ABI has no such constant.
    pub fn value(&self, abi: AbiKind) -> Option<i64> {
        let column = match abi {
            AbiKind::STANDARD => 0,
            AbiKind::MPICH => 1,
            AbiKind::OPENMPI => 2,
            _ => return None,
        };
        self.values.get(column).copied().flatten()
    }
}

/// Returns the value of the constant with this name.
pub fn value_of(abi: AbiKind, name: &str) -> Option<i64> {
    CONSTANTS.iter().find(|c| c.name == name)?.value(abi)
}

/// Returns the name of a value, such as `MPI_COMBINER_VECTOR` or `MPI_ERR_TRUNCATE`.
pub fn name_of(abi: AbiKind, category: Category, value: i64) -> Option<&'static str> {
    let mut all = CONSTANTS.iter().filter(|c| c.category == category);
    all.find(|c| c.value(abi) == Some(value)).map(|c| c.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_different_names_in_different_abis() {
        assert_eq!(name_of(AbiKind::STANDARD, Category::ERROR, 19), Some("MPI_ERR_IN_STATUS"));
        assert_eq!(name_of(AbiKind::MPICH, Category::ERROR, 19), Some("MPI_ERR_REQUEST"));
        assert_eq!(name_of(AbiKind::UNKNOWN, Category::ERROR, 19), None);
        assert_eq!(value_of(AbiKind::OPENMPI, "MPI_CART"), Some(1));
        assert_eq!(value_of(AbiKind::MPICH, "MPI_UNWEIGHTED"), None);
    }

    #[test]
    fn values_are_unique_in_categories_where_readers_look_up_names() {
        let listed =
            [Category::LENGTH, Category::LAYOUT, Category::ADDRESS, Category::VERSION, Category::TOOL_HANDLE];
        for abi in AbiKind::ALL {
            for c in CONSTANTS.iter().filter(|c| !listed.contains(&c.category)) {
                if let Some(value) = c.value(abi) {
                    assert_eq!(name_of(abi, c.category, value), Some(c.name), "{abi:?}");
                }
            }
        }
    }
}
