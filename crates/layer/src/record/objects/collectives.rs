//! Numbers collective calls on windows and files, like those on communicators. All members make them in the
//! same order (MPI 5.0, sections "Window Creation" and "File Manipulation" to "Data Access"), so the others
//! wait for a member that has not reached a number. Arrival and departure times are kept as for
//! communicators. While a thread is in the call, the number is in `extra[3]` of the call's record.

use super::{output, recorder};
use crate::interpose::frame::Call;
use crate::record::objects::tables;
use crate::record::traffic::rejected::rejected;
use crate::record::traffic::{history, scratch};
use libc::c_int;
use mpi_abi::Abi;
use mpiscope_image::W64;
use mpiscope_image::layout::SectionKind;
use std::sync::atomic::Ordering;

/// A thread enters a collective call on a window.
#[inline(never)]
pub fn on_window<A: Abi>(call: &Call<A>, win: A::Handle) {
    number(call, tables::window::<A>(win).map(|record| (&record.collectives, &record.history)), None);
}

/// Like [`on_window`], with an argument that must be the same on all members.
#[inline(never)]
pub fn on_window_with<A: Abi>(call: &Call<A>, win: A::Handle, argument: c_int) {
    let record = tables::window::<A>(win).map(|record| (&record.collectives, &record.history));
    number(call, record, Some(argument.into()));
}

/// Like [`on_window`], for a function that takes a pointer to the handle.
pub fn on_window_at<A: Abi>(call: &Call<A>, win: *mut A::Handle) {
    let record = output(win).and_then(|win| tables::WINDOWS.find(win));
    number(call, record.map(|record| (&record.collectives, &record.history)), None);
}

/// A thread enters a collective call on a file.
#[inline(never)]
pub fn on_file<A: Abi>(call: &Call<A>, file: usize) {
    number(call, tables::file(file).map(|record| (&record.collectives, &record.history)), None);
}

/// Like [`on_file`], with an argument that must be the same on all members.
#[inline(never)]
pub fn on_file_with<A: Abi>(call: &Call<A>, file: usize, argument: impl Into<i64>) {
    let record = tables::file(file).map(|record| (&record.collectives, &record.history));
    number(call, record, Some(argument.into()));
}

/// Like [`on_file`], for a function that takes a pointer to the handle.
pub fn on_file_at<A: Abi>(call: &Call<A>, file: *mut usize) {
    let record = output(file).and_then(|file| tables::FILES.find(file));
    number(call, record.map(|record| (&record.collectives, &record.history)), None);
}

fn number<A: Abi>(call: &Call<A>, record: Option<(&W64, &W64)>, argument: Option<i64>) {
    let entered =
        record.map_or(0, |(count, _)| count.atomic().fetch_add(1, Ordering::Relaxed).wrapping_add(1));
    call.set_sequence(entered);
    let Some(scratch) = scratch::of(call) else { return };
    let known = recorder().zip(record);
    scratch.entered =
        known.and_then(|(writer, (_, ring))| history::write_on_object(writer, call, ring, entered, argument));
}

/// A call on a window returns.
#[inline(never)]
pub fn left_window<A: Abi>(call: &Call<A>, result: c_int) {
    left(call);
    if result != A::SUCCESS && rejected::<A>(result, SectionKind::WINDOWS) {
        take_back(
            call,
            tables::WINDOWS.find(call.thread().call.object.get()).map(|record| &record.collectives),
        );
    }
}

/// A call on a file returns.
#[inline(never)]
pub fn left_file<A: Abi>(call: &Call<A>, result: c_int) {
    left(call);
    if result != A::SUCCESS && rejected::<A>(result, SectionKind::FILES) {
        take_back(
            call,
            tables::FILES.find(call.thread().call.object.get()).map(|record| &record.collectives),
        );
    }
}

/// The library rejected the call: unless another thread has begun the next one, its number is free again.
#[cold]
fn take_back<A: Abi>(call: &Call<A>, count: Option<&W64>) {
    if let (Some(count), number @ 1..) = (count, call.sequence()) {
        let _ = count.atomic().compare_exchange(number, number - 1, Ordering::Relaxed, Ordering::Relaxed);
    }
}

fn left<A: Abi>(call: &Call<A>) {
    let entered = scratch::of(call).and_then(|scratch| scratch.entered.take());
    if let Some(entered) = entered.filter(|_| call.since != 0) {
        history::object_left(call, entered);
    }
}
