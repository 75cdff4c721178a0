//! The MPI library's functions, as called by this library itself (always inside a call, so at depth 1).
#![allow(unsafe_code)]

use crate::interpose::slots::REAL;
use mpi_abi::{Abi, FunctionId, Handle, f};
use std::ffi::{c_char, c_int};

/// Returns the library's own function, with the type `F`; `None` if the library lacks it.
///
/// # Safety
///
/// `F` must be the C type of the function.
#[inline]
pub unsafe fn function<F: Copy>(function: FunctionId) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<usize>()) };
    let address = REAL.load(2 * usize::from(function.0) + 1);
    // SAFETY: a function of the library, whose type the caller guarantees.
    (address != 0).then(|| unsafe { std::mem::transmute_copy(&address) })
}

/// Wraps functions of the library: `None` if the library lacks them, otherwise the error code.
macro_rules! wrap {
    ($($(#[$doc:meta])* $wrapper:ident = $name:ident($($p:ident: $t:ty),*);)*) => {$(
        $(#[$doc])*
        #[allow(clippy::extra_unused_type_parameters)]
        pub fn $wrapper<A: Abi>($($p: $t),*) -> Option<c_int> {
            // SAFETY: the C type of the function; pointers come from references of the caller.
            unsafe {
                let real: unsafe extern "C" fn($($t),*) -> c_int = function(f::$name)?;
                Some(real($($p),*))
            }
        }
    )*};
}
pub(crate) use wrap;

wrap! {
    /// `MPI_Type_size`.
    type_size = MPI_Type_size(datatype: A::Handle, size: &mut c_int);
    /// `MPI_Type_size_x`.
    type_size_x = MPI_Type_size_x(datatype: A::Handle, size: &mut i64);
    /// `MPI_Comm_rank`.
    comm_rank = MPI_Comm_rank(comm: A::Handle, rank: &mut c_int);
    /// `MPI_Comm_size`.
    comm_size = MPI_Comm_size(comm: A::Handle, size: &mut c_int);
    /// `MPI_Comm_remote_size`.
    comm_remote_size = MPI_Comm_remote_size(comm: A::Handle, size: &mut c_int);
    /// `MPI_Comm_test_inter`.
    comm_test_inter = MPI_Comm_test_inter(comm: A::Handle, flag: &mut c_int);
    /// `MPI_Topo_test`.
    topo_test = MPI_Topo_test(comm: A::Handle, status: &mut c_int);
    /// `MPI_Cartdim_get`.
    cartdim_get = MPI_Cartdim_get(comm: A::Handle, ndims: &mut c_int);
    /// `MPI_Cart_shift`.
    cart_shift = MPI_Cart_shift(
        comm: A::Handle, direction: c_int, by: c_int, source: &mut c_int, dest: &mut c_int);
    /// `MPI_Graph_neighbors_count`.
    graph_neighbors_count = MPI_Graph_neighbors_count(comm: A::Handle, rank: c_int, n: &mut c_int);
    /// `MPI_Dist_graph_neighbors_count`.
    dist_graph_neighbors_count = MPI_Dist_graph_neighbors_count(
        comm: A::Handle, indegree: &mut c_int, outdegree: &mut c_int, weighted: &mut c_int);
    /// `MPI_Query_thread`.
    query_thread = MPI_Query_thread(provided: &mut c_int);
    /// `MPI_Initialized`.
    initialized = MPI_Initialized(flag: &mut c_int);
    /// `MPI_Error_class`.
    error_class = MPI_Error_class(code: c_int, class: &mut c_int);
    /// `MPI_Finalized`.
    finalized = MPI_Finalized(flag: &mut c_int);
    /// `MPI_Comm_get_name`; the buffer must have room for the longest name of any ABI.
    comm_get_name = MPI_Comm_get_name(comm: A::Handle, name: *mut c_char, len: &mut c_int);
    /// `MPI_Comm_get_parent`.
    comm_get_parent = MPI_Comm_get_parent(parent: &mut A::Handle);
    /// `MPI_Comm_group`.
    comm_group = MPI_Comm_group(comm: A::Handle, group: &mut A::Handle);
    /// `MPI_Comm_remote_group`.
    comm_remote_group = MPI_Comm_remote_group(comm: A::Handle, group: &mut A::Handle);
    /// `MPI_Group_free`.
    group_free = MPI_Group_free(group: &mut A::Handle);
    /// `MPI_Group_size`.
    group_size = MPI_Group_size(group: A::Handle, size: &mut c_int);
    /// `MPI_Group_translate_ranks`.
    group_translate_ranks = MPI_Group_translate_ranks(
        from: A::Handle, n: c_int, ranks: *const c_int, to: A::Handle, out: *mut c_int);
}

/// Whether a communicator is an intercommunicator.
pub fn is_inter<A: Abi>(comm: A::Handle) -> bool {
    let mut flag = 0;
    comm_test_inter::<A>(comm, &mut flag) == Some(A::SUCCESS) && flag != 0
}

/// Returns the size of the group that a collective sends to: the remote group of an intercommunicator; 0 on
/// error.
pub fn remote_or_local_size<A: Abi>(comm: A::Handle) -> c_int {
    let mut size = 0;
    let result = if is_inter::<A>(comm) {
        comm_remote_size::<A>(comm, &mut size)
    } else {
        comm_size::<A>(comm, &mut size)
    };
    if result == Some(A::SUCCESS) { size } else { 0 }
}

/// The processes this rank sends to, or receives from, in a neighborhood collective.
pub enum Neighbors<A: Abi> {
    /// Two neighbors in each dimension of a grid; at a non-periodic border, one is missing.
    Grid {
        /// The communicator.
        comm: A::Handle,
        /// Number of dimensions.
        dimensions: usize,
    },
    /// This number of neighbors, none of them missing.
    Graph(usize),
}

impl<A: Abi> Neighbors<A> {
    /// Positions in a neighborhood collective's arguments that have a neighbor.
    pub fn there(&self) -> impl Iterator<Item = usize> {
        let (grid, others) = match *self {
            Self::Grid { comm, dimensions } => (Some((comm, dimensions)), 0),
            Self::Graph(neighbors) => (None, neighbors),
        };
        let directions =
            grid.into_iter().flat_map(|(comm, dimensions)| (0..dimensions).map(move |at| (comm, at)));
        let ends = directions.flat_map(|(comm, direction)| {
            let (mut before, mut behind) = (A::PROC_NULL, A::PROC_NULL);
            let number = c_int::try_from(direction).unwrap_or(c_int::MAX);
            let known = cart_shift::<A>(comm, number, 1, &mut before, &mut behind) == Some(A::SUCCESS);
            let ends = [(2 * direction, before), (2 * direction + 1, behind)];
            ends.into_iter().filter(move |(_, rank)| known && *rank != A::PROC_NULL).map(|(place, _)| place)
        });
        ends.chain(0..others)
    }
}

/// Returns the processes this rank sends to in a neighborhood collective; `None` if the communicator has no
/// topology.
pub fn sends_to<A: Abi>(comm: A::Handle) -> Option<Neighbors<A>> {
    neighbors(comm, |_, out| out)
}

/// Returns the processes this rank receives from in a neighborhood collective; `None` if the communicator has no
/// topology.
pub fn receives_from<A: Abi>(comm: A::Handle) -> Option<Neighbors<A>> {
    neighbors(comm, |from, _| from)
}

/// `number` chooses between the numbers of sources and destinations.
fn neighbors<A: Abi>(comm: A::Handle, number: fn(c_int, c_int) -> c_int) -> Option<Neighbors<A>> {
    let (mut kind, mut n, mut out, mut weighted) = (A::UNDEFINED, 0, 0, 0);
    if topo_test::<A>(comm, &mut kind) != Some(A::SUCCESS) {
        return None;
    }
    let count = |n: c_int| usize::try_from(n).unwrap_or(0);
    if kind == A::CART {
        cartdim_get::<A>(comm, &mut n);
        Some(Neighbors::Grid { comm, dimensions: count(n) })
    } else if kind == A::DIST_GRAPH {
        dist_graph_neighbors_count::<A>(comm, &mut n, &mut out, &mut weighted);
        Some(Neighbors::Graph(count(number(n, out))))
    } else if kind == A::GRAPH {
        comm_rank::<A>(comm, &mut out);
        graph_neighbors_count::<A>(comm, out, &mut n);
        Some(Neighbors::Graph(count(n)))
    } else {
        None
    }
}

/// Returns the class of an error code. If the library does not answer, the code serves as its class.
pub fn class_of<A: Abi>(code: c_int) -> c_int {
    let mut class = code;
    error_class::<A>(code, &mut class);
    class
}

/// `MPI_COMM_WORLD` as this process must name it; `None` if the library hides it.
pub fn comm_world<A: Abi>() -> Option<A::Handle> {
    predefined::<A>("MPI_COMM_WORLD")
}

/// A predefined handle as this process must name it: its number, or the address of the library's variable.
pub fn predefined<A: Abi>(name: &str) -> Option<A::Handle> {
    predefined_raw::<A>(name).map(A::Handle::from_raw)
}

/// [`predefined`] as 64 bits; also for files, whose handles are pointers in every ABI.
pub fn predefined_raw<A: Abi>(name: &str) -> Option<u64> {
    let found = mpi_abi::predefined::by_name(name)?;
    match A::CODE {
        mpi_abi::AbiKind::MPICH => found.mpich,
        mpi_abi::AbiKind::STANDARD => found.standard,
        _ => {
            let symbol = std::ffi::CString::new(found.openmpi?).ok()?;
            crate::interpose::resolver::data_symbol(&symbol).map(|address| address as u64)
        }
    }
}
