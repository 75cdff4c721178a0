//! Every C function of MPI, with the kind, direction and length of each parameter.
//!
//! The table comes from the standard's machine-readable description. `kind`, `direction` and `length`
//! together describe what a call does with an argument: a `REQUEST` with direction out is a new request, a
//! `COMMUNICATOR` that goes in and out is freed, and a `DATATYPE` array of length `count` has as many
//! elements as the parameter `count` says.

use std::fmt;

use crate::generated::functions::{FUNCTIONS, KINDS};
use crate::predefined::ObjectKind;
use crate::properties::{Class, Fields, Flags, Properties};

/// The number of a function: its index in [`FUNCTIONS`]. Numbers are specific to a build; across builds, use
/// names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct FunctionId(pub u16);

/// A C function.
#[derive(Debug)]
pub struct Function {
    /// The standard's name. Large-count variants such as `MPI_Send_c` are functions in their own right.
    pub name: &'static str,
    /// Kind of the return value; [`Kind::ERROR_CODE`] for nearly all.
    pub returns: Kind,
    /// The properties of its calls.
    pub properties: Properties,
    /// The fields of a call's record that it sets.
    pub fields: Fields,
    /// The function's large-count variant, or the function whose large-count variant it is.
    pub twin: Option<FunctionId>,
    /// The blocking function with `int` counts that performs the same operation: `MPI_Send` for `MPI_Isend_c`
    /// and `MPI_Send_init`, `MPI_Waitall` for `MPI_Testall`, and the function itself for most others.
    pub operation: FunctionId,
    /// Index of the parameter with the object that a call operates on: communicator, window, file or session,
    /// otherwise the first input handle.
    pub object: Option<u8>,
    /// The parameters of the C binding, in order.
    pub params: &'static [Param],
}

/// A parameter of a function.
#[derive(Debug)]
pub struct Param {
    /// The standard's name.
    pub name: &'static str,
    /// The standard's kind.
    pub kind: Kind,
    /// The direction.
    pub dir: Dir,
    /// The number of values.
    pub len: Len,
    /// The pointers of the C declaration, such as `const*`; for callbacks, preceded by their type; empty for
    /// a value.
    pub shape: &'static str,
}

/// The direction of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dir {
    /// Read by the call.
    In,
    /// Written by the call.
    Out,
    /// Read and written, such as a handle that is freed.
    InOut,
}

/// The number of values a parameter points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Len {
    /// One: a value, a pointer to one, a buffer, a string.
    One,
    /// As many as the parameter with this index specifies.
    Param(u8),
    /// Triples, as many as the parameter with this index specifies.
    Triples(u8),
    /// At most this constant of the standard.
    Constant(&'static str),
    /// Defined by the text of the standard: mostly the size of the communicator.
    Text,
}

/// The kind of a parameter: one of the standard's kinds, such as `COMMUNICATOR` or `POLYXFER_NUM_ELEM_NNI`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Kind(pub u8);

impl Kind {
    /// The standard's name of the kind.
    pub fn name(self) -> &'static str {
        KINDS.get(usize::from(self.0)).map_or("?", |k| k.0)
    }

    /// The C type in a function with these flags, without pointers; `-` if the parameter's shape contains it.
    pub fn c_type(self, flags: Flags) -> &'static str {
        match KINDS.get(usize::from(self.0)) {
            Some((_, _, large)) if flags.has(Flags::C) && !large.is_empty() => large,
            Some((_, small, _)) => small,
            None => "?",
        }
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FunctionId {
    /// Returns the function with this name; `PMPI_` names are not recognized.
    pub fn from_name(name: &str) -> Option<FunctionId> {
        let index = FUNCTIONS.binary_search_by(|f| f.name.cmp(name)).ok()?;
        u16::try_from(index).ok().map(FunctionId)
    }

    /// The function, if this build has the number.
    pub fn function(self) -> Option<&'static Function> {
        FUNCTIONS.get(usize::from(self.0))
    }

    /// The function's name, or `MPI_?` if this build does not have the number.
    pub fn name(self) -> &'static str {
        self.function().map_or("MPI_?", |f| f.name)
    }

    /// The function with `int` counts: itself, or the function whose large-count variant it is.
    #[must_use]
    pub fn base(self) -> FunctionId {
        let base = |f: &Function| f.twin.filter(|_| f.flags().has(Flags::C));
        self.function().and_then(base).unwrap_or(self)
    }

    /// The blocking function that performs the same operation: see [`Function::operation`].
    #[must_use]
    pub fn operation(self) -> FunctionId {
        self.function().map_or(self, |f| f.operation)
    }

    /// The properties of its calls; unknown if this build does not have the number.
    pub fn properties(self) -> Properties {
        self.function().map(|f| f.properties).unwrap_or_default()
    }

    /// All functions, in order.
    pub fn all() -> impl Iterator<Item = FunctionId> {
        (0..).take(FUNCTIONS.len()).map(FunctionId)
    }
}

impl fmt::Debug for FunctionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name())
    }
}

impl Function {
    /// The flags.
    pub fn flags(&self) -> Flags {
        self.properties.flags
    }

    /// Whether the preload library has a stub for it.
    pub fn is_traced(&self) -> bool {
        self.properties.class != Class::TOOL && !self.flags().has(Flags::UNTRACED)
    }

    /// The kind of the object that a call operates on.
    pub fn object_kind(&self) -> Option<ObjectKind> {
        let param = self.params.get(usize::from(self.object?))?;
        ObjectKind::from_c_type(param.kind.c_type(self.flags()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generated::functions::f;

    #[test]
    fn names_are_sorted_and_map_back_to_their_numbers() {
        assert!(FUNCTIONS.windows(2).all(|w| w[0].name < w[1].name));
        for id in FunctionId::all() {
            assert_eq!(FunctionId::from_name(id.name()), Some(id));
        }
        assert_eq!(FunctionId::from_name("PMPI_Send"), None);
        assert_eq!(FunctionId(u16::MAX).name(), "MPI_?");
    }

    #[test]
    fn every_length_names_a_parameter_that_exists() {
        for function in &FUNCTIONS {
            for param in function.params {
                if let Len::Param(i) | Len::Triples(i) = param.len {
                    assert!(usize::from(i) < function.params.len(), "{} {}", function.name, param.name);
                }
            }
        }
    }

    #[test]
    fn the_object_of_a_call_has_the_kind_it_operates_on() {
        let kind = |id: FunctionId| id.function().unwrap().object_kind();
        assert_eq!(kind(f::MPI_Send), Some(ObjectKind::COMM));
        assert_eq!(kind(f::MPI_Put), Some(ObjectKind::WIN));
        assert_eq!(kind(f::MPI_File_read), Some(ObjectKind::FILE));
        assert_eq!(kind(f::MPI_Type_commit), Some(ObjectKind::DATATYPE));
        assert_eq!(kind(f::MPI_Init), None);
        for function in FUNCTIONS.iter().filter(|f| f.object.is_some()) {
            assert!(function.object_kind().is_some(), "{}", function.name);
        }
    }

    #[test]
    fn send_and_its_large_count_variant_differ_only_in_the_count() {
        let (small, large) = (f::MPI_Send.function().unwrap(), f::MPI_Send_c.function().unwrap());
        assert!(small.flags().has(Flags::HAS_C) && large.flags().has(Flags::C));
        let types = |f: &Function| f.params.iter().map(|p| p.kind.c_type(f.flags())).collect::<Vec<_>>();
        assert_eq!(types(small), ["void", "int", "MPI_Datatype", "int", "int", "MPI_Comm"]);
        assert_eq!(types(large), ["void", "MPI_Count", "MPI_Datatype", "int", "int", "MPI_Comm"]);
    }
}
