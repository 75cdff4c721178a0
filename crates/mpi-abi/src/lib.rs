//! The MPI ABIs as data: functions, constants, status layouts, predefined handles.
//!
//! # The three ABIs
//!
//! An MPI program is compiled against one of three C ABIs, which determines the meaning of its values:
//!
//! * **MPICH's**, shared by MPICH, Intel MPI, Cray MPICH and MVAPICH: handles are `int`s that encode kind and
//!   size, the status has 20 bytes and begins with the byte count, and `MPI_STATUS_IGNORE` is the address 1.
//! * **Open MPI's**: handles are pointers, predefined ones the addresses of exported objects; the status has
//!   24 bytes.
//! * the **standard's**, of MPI 5.0 (`libmpi_abi.so`), which MPICH 5, Intel MPI and Open MPI 6 also offer:
//!   handles are pointers, predefined ones numbers below 4096; the status has 32 bytes; thread levels are 0,
//!   1024, 2048 and 4096.
//!
//! Nearly all enumerations differ too. The prototypes are the same, and so, on LP64, are the registers in
//! which arguments are passed, so one generic source serves all three. `MPI_File` is a pointer in each.
//!
//! # Contents
//!
//! * [`Abi`] with [`Standard`], [`Mpich`], [`OpenMpi`]: types and constants for code that is generic over the
//!   ABI;
//! * [`standard`], [`mpich`], [`openmpi`]: every integer constant under its own name; [`constant`]: the same
//!   as data, for readers that need the name of a value;
//! * [`FUNCTIONS`] and [`f`]: every C function, including `_c` variants, with the kind, direction and length
//!   of each parameter;
//! * [`Properties`] and [`Fields`] of each function: what its calls do, what they wait for, whose
//!   participation they need;
//! * [`predefined`]: the predefined handles, and the sizes of the predefined datatypes;
//! * [`binding`]: which libraries are Fortran bindings.
//!
//! # Sources
//!
//! `spec/functions.tsv` comes from the machine-readable description of MPI 5.0 and `spec/constants.tsv` from
//! the libraries' headers; `spec/properties.tsv`, `spec/predefined.tsv`, `spec/kinds.tsv` and
//! `spec/extra.tsv` are written by hand. `cargo xtask gen` generates `src/generated` from them. The tests
//! compile programs against the headers on the machine and read the symbols of its libraries.
//!
//! The crate has no dependencies, does not allocate, and never panics.

pub mod abi;
pub mod binding;
pub mod constant;
mod counted;
pub mod function;
mod generated;
pub mod object_kind;
pub mod predefined;
pub mod properties;

pub use abi::{Abi, AbiKind, FileHandle, Handle, Mpich, OpenMpi, Standard};
pub use constant::{Category, Constant};
pub use counted::COUNTED;
pub use function::{Dir, Function, FunctionId, Kind, Len, Param};
pub use generated::constants::{CONSTANTS, mpich, openmpi, standard};
pub use generated::functions::{COUNT, FUNCTIONS, f};
pub use generated::predefined::PREDEFINED;
pub use object_kind::ObjectKind;
pub use predefined::{Element, Predefined};
pub use properties::{Class, Completes, Fields, Flags, Moves, Partners, Properties, Role, Start, Waits};
