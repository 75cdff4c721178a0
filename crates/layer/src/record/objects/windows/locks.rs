//! When locks of windows were requested, granted and released; the locks of all members show which process
//! waited for which.

use crate::interpose::frame::Call;
use crate::record::fortran_call_site;
use crate::record::objects::arena;
use mpi_abi::Abi;
use mpiscope_image::objects::{LOCK_RING, LOCK_WORDS, Window};
use mpiscope_image::{W64, Writer};
use std::sync::atomic::{Ordering, fence};

/// A lock was granted. Runs under the lock of the window table.
pub fn granted<A: Abi>(writer: &'static Writer, window: &'static Window, call: &Call<A>, target: u64) {
    if call.since == 0 {
        return;
    }
    if window.lock_epochs.len.get() == 0 {
        // The block may have been used before.
        arena::reserve(writer, &window.lock_epochs, LOCK_RING * LOCK_WORDS)
            .iter()
            .for_each(|word| word.set(0));
    }
    let number = window.locked.get().wrapping_add(1);
    if let Some([count, words @ ..]) = epoch(writer, window, number) {
        count.set(0);
        fence(Ordering::Release);
        let from = fortran_call_site::here(call);
        words
            .iter()
            .zip([target, call.since, call.returned(), from, 0, 0, 0])
            .for_each(|(word, value)| word.set(value));
        count.atomic().store(number, Ordering::Release);
    }
    window.locked.set(number);
}

/// The lock of this target was released. Runs under the lock of the window table.
pub fn released<A: Abi>(writer: &'static Writer, window: &'static Window, call: &Call<A>, target: u64) {
    if call.since == 0 {
        return;
    }
    let newest = window.locked.get();
    for number in (newest.saturating_sub(LOCK_RING as u64 - 1)..=newest).rev() {
        let Some([count, of, _, _, _, releasing, released, from]) = epoch(writer, window, number) else {
            return;
        };
        if count.get() == number && of.get() as u32 == target as u32 && releasing.get() == 0 {
            from.set(fortran_call_site::here(call));
            released.set(call.returned());
            releasing.set(call.since);
            return;
        }
    }
}

/// Returns the words of the lock with this number.
fn epoch(
    writer: &'static Writer,
    window: &'static Window,
    number: u64,
) -> Option<&'static [W64; LOCK_WORDS]> {
    let at = (number % LOCK_RING as u64) as usize * LOCK_WORDS;
    arena::get(writer, &window.lock_epochs).get(at..at.checked_add(LOCK_WORDS)?)?.first_chunk()
}
