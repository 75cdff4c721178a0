//! MPI objects as the layer follows them.

use mpi_abi::Abi;

/// Whether a handle is `MPI_DATATYPE_NULL`.
pub fn is_null_datatype<A: Abi>(raw: u64) -> bool {
    crate::real::predefined::<A>("MPI_DATATYPE_NULL").is_some_and(|null| mpi_abi::Handle::raw(null) == raw)
}
