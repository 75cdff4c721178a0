//! A thread's calls, one by one: present only if a trace was requested.
//!
//! Each thread record has a [`Ring`], which only that thread writes. Call number `n` (counting from 1) is at
//! `(n - 1) % capacity` until the call one full ring later replaces it; the number of calls ever written
//! tells how many have been overwritten.

use crate::cell::{W16, W32, W64};
use crate::layout::SectionKind;
use crate::one_sided::OneSided;
use crate::traffic::Entry;
use crate::{Error, Image, Source};
use std::mem::{offset_of, size_of};
use std::ops::Range;
use std::sync::atomic::{Ordering, fence};

/// Maximum number of rings that are created or read.
pub const MOST_RINGS: u64 = 1024;
/// Maximum number of calls in a ring.
pub const MOST_CALLS: u64 = 1 << 26;
/// With a large trace, each ring of messages has room for one message per this many calls of a thread.
const CALLS_PER_MESSAGE: u64 = 4;
/// Number of messages that each ring of messages has room for without a trace or with a smaller one, unless set by
/// `MPISCOPE_LEDGER`.
pub const DEFAULT_MESSAGES: u64 = 4096;

/// The ring of a thread's record.
#[repr(C, align(64))]
#[derive(Debug, Default, Clone)]
pub struct Ring {
    /// Index of the thread's record plus one; zero for an unused ring. Written last.
    pub thread: W64,
    /// Index of the ring's first call in [`SectionKind::TRACE`].
    pub first: W64,
    /// Number of calls that fit, a power of two.
    pub capacity: W64,
    /// Number of calls ever written.
    pub written: W64,
}

/// A call that has ended.
#[repr(C, align(64))]
#[derive(Debug, Default, Clone)]
pub struct Called {
    /// The call's number in the ring, counting from 1; zero while the record is being written.
    pub number: W64,
    /// The call's return address in the program.
    pub from: W64,
    /// When it began, in ticks.
    pub began: W64,
    /// When it ended, in ticks.
    pub ended: W64,
    /// Uid of the communicator, window or file; zero for a call that has none or that freed it.
    pub object: W64,
    /// Bytes that this process moved by the call.
    pub bytes: W64,
    /// Destination, source or root, as passed by the program. The function determines which of these fields
    /// have a meaning.
    pub peer: W32,
    /// The tag, as passed by the program.
    pub tag: W32,
    /// For a collective: its number on the communicator, modulo 2^32.
    pub collective: W32,
    /// Function number plus one.
    pub function: W16,
    /// Number of the thread's open calls below this one, which was made by a user callback.
    pub nested: W16,
}

/// Size of a thread's trace in bytes if no size is specified.
pub const USUAL: u64 = 16 << 20;

/// Parses the size of each thread's trace in bytes, as given by `MPISCOPE_TRACE` and `mpiscope run
/// --trace=SIZE`: a number, optionally followed by K, M or G; `on`; or `off`, which is zero. `None` for
/// anything else.
#[must_use]
pub fn size(text: &str) -> Option<u64> {
    let unit = |letter: char| match letter.to_ascii_uppercase() {
        'K' => Some(1 << 10),
        'M' => Some(1 << 20),
        'G' => Some(1 << 30),
        _ => None,
    };
    match text.trim() {
        "" | "0" | "off" => Some(0),
        "1" | "on" => Some(USUAL),
        text => match text.chars().last().and_then(unit) {
            Some(unit) => text.get(..text.len() - 1)?.parse::<u64>().ok()?.checked_mul(unit),
            None => text.parse().ok(),
        },
    }
}

/// Returns the number of messages that each ring of messages has room for with a trace of so many calls per
/// thread, which may be zero.
#[must_use]
pub const fn messages(calls: u64) -> u64 {
    let messages = calls / CALLS_PER_MESSAGE;
    if messages > DEFAULT_MESSAGES { messages } else { DEFAULT_MESSAGES }
}

/// Returns the room that a process needs at most for the messages and one-sided operations of a trace of this
/// size, in bytes: rings of messages sent, of messages received, of buffers of collectives, and of one-sided
/// operations, all equally long.
#[must_use]
pub const fn messages_size(bytes: u64) -> u64 {
    if bytes == 0 {
        return 0;
    }
    let each = 3 * size_of::<Entry>() + size_of::<OneSided>();
    messages(bytes / size_of::<Called>() as u64).saturating_mul(each as u64)
}

/// Parses the time window in which calls are kept, as given by `MPISCOPE_TRACE_WINDOW`: two numbers of
/// milliseconds, separated by a comma; the second may be omitted. Returns nanoseconds; `None` for anything
/// else.
#[must_use]
pub fn window(text: &str) -> Option<Range<u64>> {
    let (from, until) = text.split_once(',')?;
    let ns = |text: &str| text.trim().parse::<u64>().ok()?.checked_mul(1_000_000);
    let until = if until.trim().is_empty() { Some(u64::MAX) } else { ns(until) };
    Some(ns(from)?..until?).filter(|window| window.start < window.end)
}

impl Ring {
    /// Overwrites the oldest call with the next one. Only the ring's thread may call this; `calls` must be
    /// the ring's.
    #[inline(always)]
    pub fn write(&self, calls: &[Called], fill: impl FnOnce(&Called)) {
        let number = self.written.get().wrapping_add(1);
        let place = self.written.get() as usize & calls.len().wrapping_sub(1);
        let Some(call) = calls.get(place) else { return };
        call.number.set(0);
        fence(Ordering::Release);
        fill(call);
        call.number.atomic().store(number, Ordering::Release);
        self.written.atomic().store(number, Ordering::Release);
    }
}

/// The calls of one thread that are still available.
#[derive(Debug, Default)]
pub struct Kept {
    /// Index of the thread's record.
    pub thread: u64,
    /// The calls, in the order in which they ended.
    pub calls: Vec<Called>,
    /// Number of calls that were overwritten, or that changed while being read.
    pub gone: u64,
}

/// Reads all rings. An image without a trace has none.
///
/// # Errors
/// If the image is damaged or cannot be read.
pub fn read<S: Source>(image: &Image<S>) -> Result<Vec<Kept>, Error> {
    let rings = image.table::<Ring>(SectionKind::TRACE_RINGS)?;
    let calls = image.table::<Called>(SectionKind::TRACE)?;
    let mut all = Vec::new();
    // Rings that claim the same calls would be read again and again, so the total is limited to the calls
    // that exist.
    let mut left = calls.len();
    for index in 0..rings.len().min(MOST_RINGS) {
        let Ok(ring) = image.get::<Ring>(&rings, index) else { continue };
        let ring = ring.value;
        let Some(thread) = ring.thread.get().checked_sub(1) else { continue };
        let (first, capacity, written) = (ring.first.get(), ring.capacity.get(), ring.written.get());
        let fits = first.checked_add(capacity).is_some_and(|end| end <= calls.len()) && capacity <= left;
        if !fits || !capacity.is_power_of_two() || capacity > MOST_CALLS {
            return Err(Error::Corrupt(format!("the trace of thread {thread} extends beyond the image")));
        }
        left -= capacity;
        let kept = written.min(capacity);
        let one = |number: u64| {
            let at = first.checked_add(number.checked_sub(1)? & (capacity - 1))?;
            let before = image.get::<Called>(&calls, at).ok()?.value;
            // The call may have been overwritten while it was copied.
            let after = image.get::<Called>(&calls, at).ok()?.value.number.get();
            (before.number.get() == number && after == number).then_some(before)
        };
        let found: Vec<Called> =
            (0..kept).filter_map(|age| one(written.checked_sub(kept - 1 - age)?)).collect();
        all.push(Kept { thread, gone: written.saturating_sub(found.len() as u64), calls: found });
    }
    Ok(all)
}

const _: () = {
    assert!(offset_of!(Ring, written) == 24);
    assert!(size_of::<Ring>() == 64);
    assert!(offset_of!(Called, peer) == 48);
    assert!(offset_of!(Called, function) == 60);
    assert!(size_of::<Called>() == 64);
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_has_a_beginning_and_an_optional_end() {
        let read = ["0,5", "60000, ", "5,5", "7,3", "5", ",5", "x,5", "1,99999999999999999"].map(window);
        let (first, open) = (Some(0..5_000_000), Some(60_000_000_000..u64::MAX));
        assert_eq!(read, [first, open, None, None, None, None, None, None]);
    }

    #[test]
    fn the_rings_of_messages_have_one_record_each_for_four_calls_of_a_large_trace() {
        assert_eq!([0, 4, 16 << 10, 20 << 10].map(messages), [4096, 4096, 4096, 5120]);
        let one = (3 * size_of::<Entry>() + size_of::<OneSided>()) as u64;
        let sizes = [0, 4, 40_000].map(|calls| messages_size(calls * size_of::<Called>() as u64));
        assert_eq!(sizes, [0, 4096 * one, 10_000 * one]);
        assert_eq!(messages_size(u64::MAX), u64::MAX);
    }

    #[test]
    fn a_trace_has_a_given_or_default_size_or_is_off() {
        let sizes = ["64K", "2m", "1", "on", "off", "5000", "", "M", "1X", "99999999999G"].map(size);
        let usual = Some(USUAL);
        let (k64, m2) = (Some(64 << 10), Some(2 << 20));
        assert_eq!(sizes, [k64, m2, usual, usual, Some(0), Some(5000), Some(0), None, None, None]);
    }
}
