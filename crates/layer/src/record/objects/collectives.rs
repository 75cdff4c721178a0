//! Collective calls on windows and files get numbers, as those on communicators do: all members make them in the same order
//! (MPI 5.0, sections "Window Creation" and "File Manipulation" to "Data Access"), so whoever has not reached a number is waited
//! for. The number stands in `extra[3]` of the call's record while a thread is in it.

use super::{files, output, windows};
use crate::interpose::frame::Call;
use mpi_abi::Abi;
use mpiscope_image::W64;
use std::sync::atomic::Ordering;

/// A thread enters a collective call on a window.
#[inline(never)]
pub fn on_window<A: Abi>(call: &Call<A>, win: A::Handle) {
    number(call, windows::find::<A>(win).map(|record| &record.collectives));
}

/// The same for a function that gets the place of the handle.
pub fn on_window_at<A: Abi>(call: &Call<A>, win: *mut A::Handle) {
    let record = output(win).and_then(|win| windows::WINDOWS.find(win));
    number(call, record.map(|record| &record.collectives));
}

/// A thread enters a collective call on a file.
#[inline(never)]
pub fn on_file<A: Abi>(call: &Call<A>, file: usize) {
    number(call, files::find(file).map(|record| &record.collectives));
}

/// The same for a function that gets the place of the handle.
pub fn on_file_at<A: Abi>(call: &Call<A>, file: *mut usize) {
    let record = output(file).and_then(|file| files::FILES.find(file));
    number(call, record.map(|record| &record.collectives));
}

fn number<A: Abi>(call: &Call<A>, entered: Option<&W64>) {
    let entered = entered.map_or(0, |count| count.atomic().fetch_add(1, Ordering::Relaxed).wrapping_add(1));
    call.set_sequence(entered);
}
