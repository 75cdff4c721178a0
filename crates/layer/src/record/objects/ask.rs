//! Library queries that the objects' hooks make, beyond [`crate::interpose::real`].
#![allow(unsafe_code)]

use crate::interpose::real::{self, function, wrap};
use mpi_abi::{Abi, f};
use std::ffi::{c_char, c_int};

wrap! {
    /// `MPI_Type_size_x`.
    type_size_x = MPI_Type_size_x(datatype: A::Handle, size: &mut i64);
    /// `MPI_Type_get_extent`.
    type_extent = MPI_Type_get_extent(datatype: A::Handle, lb: &mut i64, extent: &mut i64);
    /// `MPI_Type_get_true_extent`.
    type_true_extent = MPI_Type_get_true_extent(datatype: A::Handle, lb: &mut i64, extent: &mut i64);
    /// `MPI_Type_get_envelope`.
    type_get_envelope = MPI_Type_get_envelope(
        datatype: A::Handle, integers: &mut c_int, addresses: &mut c_int, datatypes: &mut c_int,
        combiner: &mut c_int);
    /// `MPI_Comm_get_attr`.
    comm_get_attr = MPI_Comm_get_attr(comm: A::Handle, keyval: c_int, value: *mut u64, flag: &mut c_int);
    /// `MPI_Type_get_attr`.
    type_get_attr = MPI_Type_get_attr(datatype: A::Handle, keyval: c_int, value: *mut u64, flag: &mut c_int);
    /// `MPI_Win_get_attr`.
    win_get_attr = MPI_Win_get_attr(win: A::Handle, keyval: c_int, value: *mut u64, flag: &mut c_int);
    /// `MPI_Info_get_nkeys`.
    info_get_nkeys = MPI_Info_get_nkeys(info: A::Handle, keys: &mut c_int);
    /// `MPI_Info_get_nthkey`; the buffer has room for the longest key of any ABI.
    info_get_nthkey = MPI_Info_get_nthkey(info: A::Handle, n: c_int, key: *mut c_char);
    /// `MPI_Info_get_valuelen`.
    info_get_valuelen = MPI_Info_get_valuelen(info: A::Handle, key: *const c_char, len: &mut c_int, flag: &mut c_int);
    /// `MPI_Info_get`; the buffer has room for `len` bytes and a terminating zero.
    info_get = MPI_Info_get(info: A::Handle, key: *const c_char, len: c_int, value: *mut c_char, flag: &mut c_int);
    /// `MPI_Group_rank`.
    group_rank = MPI_Group_rank(group: A::Handle, rank: &mut c_int);
    /// `MPI_Group_from_session_pset`.
    group_from_session_pset = MPI_Group_from_session_pset(session: A::Handle, name: *const c_char, group: &mut A::Handle);
    /// `MPI_Cart_get`.
    cart_get = MPI_Cart_get(comm: A::Handle, max: c_int, dims: *mut c_int, periods: *mut c_int, coords: *mut c_int);
    /// `MPI_Graphdims_get`.
    graphdims_get = MPI_Graphdims_get(comm: A::Handle, nnodes: &mut c_int, nedges: &mut c_int);
    /// `MPI_Graph_get`.
    graph_get = MPI_Graph_get(
        comm: A::Handle, max_index: c_int, max_edges: c_int, index: *mut c_int, edges: *mut c_int);
    /// `MPI_Dist_graph_neighbors`.
    dist_graph_neighbors = MPI_Dist_graph_neighbors(
        comm: A::Handle, max_in: c_int, sources: *mut c_int, source_weights: *mut c_int,
        max_out: c_int, destinations: *mut c_int, destination_weights: *mut c_int);
}

/// Whether a datatype is predefined, as some are that only one library has.
pub fn is_predefined_type<A: Abi>(datatype: A::Handle) -> bool {
    let (mut integers, mut addresses, mut datatypes, mut combiner) = (0, 0, 0, 0);
    let asked =
        type_get_envelope::<A>(datatype, &mut integers, &mut addresses, &mut datatypes, &mut combiner);
    // Derived ones have at least one old type, except those for a precision in Fortran, which have numbers.
    asked == Some(A::SUCCESS) && (integers, addresses, datatypes) == (0, 0, 0)
}

/// Returns the size of a datatype in bytes.
pub fn size<A: Abi>(datatype: A::Handle) -> Option<u64> {
    let mut long = 0;
    if type_size_x::<A>(datatype, &mut long) == Some(A::SUCCESS) {
        return u64::try_from(long).ok();
    }
    let mut short = 0;
    (real::type_size::<A>(datatype, &mut short) == Some(A::SUCCESS)).then(|| u64::try_from(short).ok())?
}
