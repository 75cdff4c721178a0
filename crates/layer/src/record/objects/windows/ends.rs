//! What the arguments of one-sided operations say about both ends, while messages are recorded: operations
//! whose ends differ in their elements, which one call shows, and the place in the target's memory.

use super::recorded::{self, Place, recorded};
use crate::interpose::frame::{Call, handle_word};
use crate::record::bytes;
use crate::record::counts::Count;
use crate::record::objects::datatypes::{is_gapless, signed};
use crate::record::objects::{ops, succeeded, tables};
use crate::record::traffic::{faults, freed};
use mpi_abi::{Abi, Handle, f};
use mpiscope_image::objects::Window;
use mpiscope_image::signature::Signature;
use std::ffi::c_int;

/// Count and datatype of one end.
type End = (i64, u64);

/// Address, count and datatype of a buffer at the origin.
type Buffer<C, A> = (usize, C, <A as Abi>::Handle);

/// What an operation accesses at its origin.
#[derive(Clone, Copy)]
struct Origin {
    /// Address of what it reads; of what it writes if it is a get.
    buffer: usize,
    /// Address of what it fetches into beside that.
    result: usize,
}

/// An operation: the two ends, the addresses of both.
#[inline(always)]
pub fn moved<A: Abi>(
    call: &Call<A>,
    result: c_int,
    (buffer, sent, sent_type): (usize, impl Count, A::Handle),
    (disp, count, datatype): (i64, impl Count, A::Handle),
    rank: c_int,
    win: A::Handle,
) {
    if rank >= 0 && recorded() {
        let ends = [(sent.count(), sent_type.raw()), (count.count(), datatype.raw())];
        seen(call, result, (ends, ends[0]), (disp, Origin { buffer, result: 0 }), rank, win);
    }
}

/// An operation that also fetches: the ends of the origin and of the result with their addresses, the operation.
#[inline(always)]
pub fn moved_both_ways<A: Abi>(
    call: &Call<A>,
    result: c_int,
    (origin, fetched): (Buffer<impl Count, A>, Buffer<impl Count, A>),
    (disp, count, datatype): (i64, impl Count, A::Handle),
    op: A::Handle,
    rank: c_int,
    win: A::Handle,
) {
    if rank >= 0 && recorded() {
        let target = (count.count(), datatype.raw());
        // Without an operation the origin has no meaning.
        let no_op = ops::is_no_op(handle_word(op));
        let addresses = Origin { buffer: if no_op { 0 } else { origin.0 }, result: fetched.0 };
        let fetched = (fetched.1.count(), fetched.2.raw());
        let origin = if no_op { fetched } else { (origin.1.count(), origin.2.raw()) };
        seen(call, result, ([origin, target], fetched), (disp, addresses), rank, win);
    }
}

/// An operation on one element: the addresses of the origin and of the result.
#[inline(always)]
pub fn moved_one<A: Abi>(
    call: &Call<A>,
    result: c_int,
    (origin, fetched): (usize, usize),
    (disp, datatype): (i64, A::Handle),
    rank: c_int,
    win: A::Handle,
) {
    if rank >= 0 && recorded() {
        let end = (1, datatype.raw());
        let no_op = call.function() == f::MPI_Fetch_and_op && ops::is_no_op(call.operation());
        let addresses = Origin { buffer: if no_op { 0 } else { origin }, result: fetched };
        seen(call, result, ([end; 2], end), (disp, addresses), rank, win);
    }
}

#[inline(never)]
fn seen<A: Abi>(
    call: &Call<A>,
    result: c_int,
    (ends, fetched): ([End; 2], End),
    (disp, addresses): (i64, Origin),
    rank: c_int,
    win: A::Handle,
) {
    let (Some(_), Some(window)) = (succeeded::<A>(result), tables::window::<A>(win)) else { return };
    let [origin, target] = ends;
    freed::sign_all::<A>(call, [origin, fetched, target].map(|end| end.1));
    if !compare(call, [origin, target], rank, window) {
        compare(call, [fetched, target], rank, window);
    }
    let is_get = matches!(call.function().operation(), f::MPI_Get | f::MPI_Rget);
    let place = Place {
        repeats: repeats_memory::<A>(if is_get { origin } else { target }),
        disp,
        count: target.0,
        datatype: target.1,
        buffer: addresses.buffer as u64,
        given: gapless::<A>(origin),
        result: if gapless::<A>(fetched) == 0 { 0 } else { addresses.result as u64 },
    };
    recorded::operation(call, place, rank, window);
}

/// The size of an end in bytes; zero if it is unknown or has gaps.
#[inline(never)]
fn gapless<A: Abi>(end: End) -> u64 {
    let has_none = signed::<A>(end.1).is_some_and(is_gapless);
    size::<A>(end).filter(|_| has_none).unwrap_or(0)
}

/// Whether elements of an end certainly overlap.
fn repeats_memory<A: Abi>(end: End) -> bool {
    let bytes = size::<A>(end).unwrap_or(0);
    signed::<A>(end.1).is_some_and(|datatype| datatype.repeats_memory(bytes))
}

/// Compares two ends of an operation. Returns whether they differ.
fn compare<A: Abi>(call: &Call<A>, ends: [End; 2], rank: c_int, window: &Window) -> bool {
    if ends[0] == ends[1] {
        return false;
    }
    let [Some(origin), Some(target)] = ends.map(size::<A>) else { return false };
    let differ = match ends.map(elements::<A>) {
        [Some(given), Some(taken)] => given != taken,
        _ => origin != target,
    };
    if differ {
        faults::ends_differ(call, window.head.identity.get(), rank, (origin, target));
    }
    differ
}

/// The size of an end in bytes; `None` if it is unknown.
#[inline(never)]
fn size<A: Abi>((count, datatype): End) -> Option<u64> {
    let bytes = bytes::noted_elements::<A>(count.cast_unsigned(), datatype);
    (bytes != 0 || count == 0).then_some(bytes)
}

fn elements<A: Abi>((count, datatype): End) -> Option<Signature> {
    signed::<A>(datatype)?.signature()?.repeated(u64::try_from(count).ok()?)
}
