//! The MPI ABIs as facts: functions, constants, status layouts, predefined handles.
//!
//! # The three ABIs
//!
//! An MPI program is compiled against one of three C ABIs, and what its values mean depends on which:
//!
//! * **MPICH's**, shared by MPICH, Intel MPI, Cray MPICH and MVAPICH: handles are `int`s with bits for kind and size, the
//!   status has 20 bytes and begins with the byte count, `MPI_STATUS_IGNORE` is the address 1.
//! * **Open MPI's**: handles are pointers, the predefined ones addresses of exported objects; the status has 24 bytes.
//! * the **standard's**, of MPI 5.0 (`libmpi_abi.so`), which MPICH 5, Intel MPI and Open MPI 6 also offer: handles
//!   are pointers, the predefined ones numbers below 4096; the status has 32 bytes; thread levels are 0, 1024, 2048, 4096.
//!
//! Nearly all enumerations differ too. What is equal: the prototypes, and on LP64 the registers that arguments are passed in,
//! so that one generic source serves all three. `MPI_File` is a pointer in each.
//!
//! # What is here
//!
//! * [`Abi`] with [`Standard`], [`Mpich`], [`OpenMpi`]: types and constants for code that is generic over the ABI;
//! * [`standard`], [`mpich`], [`openmpi`]: every integer constant under its own name;
//!   [`constant`]: the same as data, for readers that meet a value and want a name;
//! * [`FUNCTIONS`] and [`f`]: every C function, with `_c` variants, with kind, direction and length of each parameter;
//! * [`Properties`] and [`Fields`] of each: what its calls do, what they wait for, whose participation they need;
//! * [`predefined`]: the predefined handles, and the sizes of the datatypes among them;
//! * [`binding`]: which libraries are Fortran bindings.
//!
//! # Where it comes from
//!
//! `spec/functions.tsv` from the machine-readable description of MPI 5.0, `spec/constants.tsv` from the libraries' headers,
//! `spec/properties.tsv`, `spec/predefined.tsv`, `spec/kinds.tsv` and `spec/extra.tsv` by hand. `cargo xtask gen` makes
//! `src/generated` from them. The tests compile programs against the headers, and read the symbols of the libraries, that are on
//! the machine.
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
