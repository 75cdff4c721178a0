//! One-sided operations: their number, and how many are not known to be complete.

use super::moment;
use super::sync::no_window;
use crate::interpose::frame::{Call, handle_word};
use crate::record::objects::tables::{self, WINDOWS};
use crate::record::objects::{arena, ops, succeeded};
use mpi_abi::Abi;
use mpiscope_image::objects::Window;
use mpiscope_image::{W64, Writer};
use std::ffi::c_int;
use std::sync::atomic::Ordering;

/// Windows with more ranks have no count per target.
const MOST_TARGETS: u32 = 4096;

#[inline(always)]
fn operation<A: Abi>(
    call: &Call<A>,
    result: c_int,
    win: A::Handle,
    rank: c_int,
    count: impl FnOnce(&Window) -> &W64,
) {
    let Some(writer) = succeeded::<A>(result) else { return };
    let Some(record) = tables::window::<A>(win) else { return no_window(call, win) };
    // `MPI_PROC_NULL`: no operation, nothing to complete.
    let Ok(target) = usize::try_from(rank) else { return };
    moment::access(writer, call, record, rank);
    count(record).atomic().fetch_add(1, Ordering::Relaxed);
    record.pending.atomic().fetch_add(1, Ordering::Relaxed);
    if record.targets.offset.get() == 0 {
        make_targets(writer, record);
    }
    if let Some(target) = arena::get(writer, &record.targets).get(target) {
        target.atomic().fetch_add(1, Ordering::Relaxed);
    }
}

#[cold]
fn make_targets(writer: &'static Writer, record: &'static Window) {
    let size = tables::COMMS.find(record.comm.get()).map_or(0, |comm| comm.size.get());
    if size <= MOST_TARGETS {
        WINDOWS.locked(|| {
            if record.targets.offset.get() == 0 {
                arena::put(writer, &record.targets, size as usize, std::iter::repeat_n(0, size as usize));
            }
        });
    }
}

/// `MPI_Put`, `MPI_Rput`.
pub fn put<A: Abi>(call: &Call<A>, result: c_int, rank: c_int, win: A::Handle) {
    operation(call, result, win, rank, |window| &window.puts);
}

/// `MPI_Get`, `MPI_Rget`.
pub fn get<A: Abi>(call: &Call<A>, result: c_int, rank: c_int, win: A::Handle) {
    operation(call, result, win, rank, |window| &window.gets);
}

/// `MPI_Accumulate` and all other functions that combine values.
pub fn accumulate<A: Abi>(call: &Call<A>, result: c_int, rank: c_int, win: A::Handle) {
    operation(call, result, win, rank, |window| &window.accumulates);
}

/// `MPI_Fetch_and_op`, `MPI_Get_accumulate`, `MPI_Rget_accumulate`: the fetched bytes are received, and as
/// many are sent unless nothing is combined.
pub fn fetched<A: Abi>(call: &Call<A>, result: c_int, op: A::Handle) {
    came_in(call, result, !ops::is_no_op(handle_word(op)));
}

/// `MPI_Compare_and_swap`: as many bytes are sent as received.
pub fn swapped<A: Abi>(call: &Call<A>, result: c_int) {
    came_in(call, result, true);
}

/// Half of the call's bytes are received; the other half counts as sent if `out`.
#[inline(always)]
fn came_in<A: Abi>(call: &Call<A>, result: c_int, out: bool) {
    if result == A::SUCCESS {
        let half = call.bytes() / 2;
        call.name_bytes(if out { half } else { 0 });
        call.add_received(half);
    }
}
