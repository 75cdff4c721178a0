//! What the objects' hooks ask the library, beyond [`crate::real`].
#![allow(unsafe_code)]

use crate::real::{function, wrap};
use mpi_abi::{Abi, f};
use std::ffi::c_int;

wrap! {
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
