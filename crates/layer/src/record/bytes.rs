//! Number of bytes that a call's arguments describe: counts times datatype sizes.
#![allow(unsafe_code)]

use crate::interpose::real;
use crate::interpose::tls::Tls;
use crate::record::counts::Counts;
use crate::record::local;
use crate::record::objects::datatypes::{self, built_in};
use crate::record::objects::tables;
use crate::record::objects::{comms, recorder};
use mpi_abi::{Abi, Handle};
use std::ffi::c_int;

/// Returns the size of a datatype in bytes, 0 if unknown.
#[inline(always)]
pub fn size_of<A: Abi>(datatype: A::Handle) -> u64 {
    let raw = datatype.raw();
    if let Some(size) = built_in::size::<A>(raw, || ask::<A>(datatype)) {
        return size;
    }
    datatypes::size_of::<A>(datatype).unwrap_or_else(|| unknown::<A>(datatype, raw))
}

/// Returns the size of a datatype without a record. Some libraries crash on a handle that is not a datatype,
/// so when objects are recorded (and valid datatypes are therefore known) the library is not queried. When
/// they are not, a handle that was passed to a successful call is assumed to be a datatype.
#[inline]
fn unknown<A: Abi>(datatype: A::Handle, raw: u64) -> u64 {
    if recorder().is_some() { 0 } else { remembered::<A>(datatype, raw) }
}

#[inline]
fn remembered<A: Abi>(datatype: A::Handle, raw: u64) -> u64 {
    let Some(local) = local::of(Tls::get()) else { return ask::<A>(datatype) };
    local.sizes.find(raw, || ask::<A>(datatype))
}

/// Queries the library, except about null handles: some libraries abort on them.
#[cold]
fn ask<A: Abi>(datatype: A::Handle) -> u64 {
    if datatype.raw() == 0 || crate::record::objects::is_null_datatype(datatype.raw()) {
        return 0;
    }
    let mut size: c_int = 0;
    if real::type_size::<A>(datatype, &mut size) != Some(A::SUCCESS) {
        return 0;
    }
    if size != A::UNDEFINED {
        return u64::try_from(size).unwrap_or(0);
    }
    // Too large for an `int`.
    let mut size: i64 = 0;
    match real::type_size_x::<A>(datatype, &mut size) {
        Some(code) if code == A::SUCCESS => u64::try_from(size).unwrap_or(0),
        _ => 0,
    }
}

/// Returns the size of `count` elements of a datatype.
#[inline(always)]
pub fn elements<A: Abi>(count: i64, datatype: A::Handle) -> u64 {
    if count <= 0 { 0 } else { (count as u64).wrapping_mul(size_of::<A>(datatype)) }
}

/// The functions that hooks use, with datatype sizes looked up inline.
pub mod inlined {
    pub use super::*;
}

/// The same functions with sizes looked up out of line, for MPI functions that are slow or rarely called.
pub mod outlined {
    #[allow(unused_imports)]
    pub use super::{
        has_a_part, members, neighbors, own, peers, takes_part, to_neighbors, to_neighbors_w, vector,
        vector_w,
    };
    use mpi_abi::Abi;

    /// [`super::elements`].
    #[inline(never)]
    pub fn elements<A: Abi>(count: i64, datatype: A::Handle) -> u64 {
        super::elements::<A>(count, datatype)
    }
}

/// Returns the size of `count` elements of a datatype that was recorded earlier. The image may have been
/// overwritten, so the library is queried only if the handle is known to be a datatype.
#[inline(always)]
pub fn noted_elements<A: Abi>(count: u64, datatype: u64) -> u64 {
    let known = built_in::is_built_in::<A>(datatype) || tables::DATATYPES.find(datatype).is_some();
    if known { elements::<A>(count.cast_signed(), A::Handle::from_raw(datatype)) } else { 0 }
}

/// Returns the number of ranks that each rank of a collective sends to.
pub fn peers<A: Abi>(comm: A::Handle) -> u64 {
    if !comms::may_ask_about::<A>(comm) {
        return 0;
    }
    u64::try_from(real::remote_or_local_size::<A>(comm)).unwrap_or(0)
}

/// Returns the number of ranks in the (local) group.
pub fn members<A: Abi>(comm: A::Handle) -> u64 {
    if !comms::may_ask_about::<A>(comm) {
        return 0;
    }
    let mut size = 0;
    real::comm_size::<A>(comm, &mut size);
    u64::try_from(size).unwrap_or(0)
}

/// Returns the number of neighbors that a rank of a topology sends to. There are none beyond the border of a
/// grid that is not periodic.
pub fn neighbors<A: Abi>(comm: A::Handle) -> u64 {
    to_whom::<A>(comm).map_or(0, |out| out.there().count() as u64)
}

/// Whether this process takes part in the data of a rooted collective. In the root's group of an
/// intercommunicator only the root does, and the arguments of the other processes are not significant.
#[inline(always)]
pub fn takes_part<A: Abi>(root: c_int) -> bool {
    root != A::PROC_NULL
}

/// Whether one of the blocks that a rooted collective gathers or scatters belongs to this process. None
/// belongs to an intercommunicator's root or to the other processes of its group.
#[inline(always)]
pub fn has_a_part<A: Abi>(root: c_int) -> bool {
    root != A::PROC_NULL && root != A::ROOT
}

/// Returns the sum over `n` counts of one datatype.
///
/// # Safety
///
/// `counts` is null or points to `n` counts.
pub unsafe fn vector<A: Abi>(counts: Counts, datatype: A::Handle, n: u64) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { sum(counts, 0..n as usize) }.wrapping_mul(size_of::<A>(datatype))
}

/// Like [`vector`], over the neighbors that exist.
///
/// # Safety
///
/// `counts` is null or points to a count for each neighbor of the communicator's topology.
pub unsafe fn to_neighbors<A: Abi>(counts: Counts, datatype: A::Handle, comm: A::Handle) -> u64 {
    let Some(out) = to_whom::<A>(comm) else { return 0 };
    // SAFETY: the caller's promise.
    let elements = unsafe { sum(counts, out.there()) };
    elements.wrapping_mul(size_of::<A>(datatype))
}

fn to_whom<A: Abi>(comm: A::Handle) -> Option<real::Neighbors<A>> {
    if comms::may_ask_about::<A>(comm) { real::sends_to::<A>(comm) } else { None }
}

/// # Safety
///
/// `counts` is null or has an element at each of `places`.
unsafe fn sum(counts: Counts, places: impl Iterator<Item = usize>) -> u64 {
    if !counts.is_plausible() {
        return 0;
    }
    // SAFETY: the caller's promise.
    places.map(|at| unsafe { counts.get(at) }.max(0).cast_unsigned()).fold(0, u64::wrapping_add)
}

/// Returns the size of this rank's share, given the counts of all ranks.
///
/// # Safety
///
/// `counts` is null or points to a count for each rank of the communicator.
pub unsafe fn own<A: Abi>(counts: Counts, datatype: A::Handle, comm: A::Handle) -> u64 {
    let mut rank: c_int = 0;
    if !counts.is_plausible()
        || !comms::may_ask_about::<A>(comm)
        || real::comm_rank::<A>(comm, &mut rank) != Some(A::SUCCESS)
    {
        return 0;
    }
    // SAFETY: the caller's promise.
    usize::try_from(rank).map_or(0, |rank| elements::<A>(unsafe { counts.get(rank) }, datatype))
}

/// Returns the sum over `n` counts, each with its own datatype.
///
/// # Safety
///
/// Both are null or point to `n` elements.
pub unsafe fn vector_w<A: Abi>(counts: Counts, datatypes: *const A::Handle, n: u64) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { sum_w::<A>(counts, datatypes, 0..n as usize) }
}

/// Like [`vector_w`], over the neighbors that exist.
///
/// # Safety
///
/// Both are null or point to an element for each neighbor of the communicator's topology.
pub unsafe fn to_neighbors_w<A: Abi>(counts: Counts, datatypes: *const A::Handle, comm: A::Handle) -> u64 {
    let Some(out) = to_whom::<A>(comm) else { return 0 };
    // SAFETY: the caller's promise.
    unsafe { sum_w::<A>(counts, datatypes, out.there()) }
}

/// # Safety
///
/// Both are null or have an element at each of `places`.
unsafe fn sum_w<A: Abi>(
    counts: Counts,
    datatypes: *const A::Handle,
    places: impl Iterator<Item = usize>,
) -> u64 {
    if datatypes.is_null() || !counts.is_plausible() {
        return 0;
    }
    // SAFETY: the caller's promise.
    let bytes = |at| unsafe { elements::<A>(counts.get(at), *datatypes.add(at)) };
    places.map(bytes).fold(0, u64::wrapping_add)
}
