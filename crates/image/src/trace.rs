//! What a thread called, call by call: only where a trace was asked for.
//!
//! The record of each thread has a [`Ring`] of its own, which the thread alone writes. The call with number `n` (from 1) is at
//! `(n - 1) % capacity` until one that comes a whole ring later takes its place; how many calls were ever written says how many
//! are gone.

use crate::cell::{W16, W32, W64};
use crate::layout::SectionKind;
use crate::{Error, Image, Source};
use std::mem::{offset_of, size_of};
use std::ops::Range;
use std::sync::atomic::{Ordering, fence};

/// More rings than this are not made, and not looked at.
pub const MOST_RINGS: u64 = 1024;
/// More calls than this no ring has.
pub const MOST_CALLS: u64 = 1 << 26;

/// The ring of a thread's record.
#[repr(C, align(64))]
#[derive(Debug, Default, Clone)]
pub struct Ring {
    /// Index of the thread's record plus one; zero: nothing here. Written last.
    pub thread: W64,
    /// Index of its first call among [`SectionKind::TRACE`].
    pub first: W64,
    /// Calls that it has room for, a power of two.
    pub capacity: W64,
    /// Calls that were ever written.
    pub written: W64,
}

/// A call that has ended.
#[repr(C, align(64))]
#[derive(Debug, Default, Clone)]
pub struct Called {
    /// Its number in the ring, from 1; zero while the record is being written.
    pub number: W64,
    /// The address behind the call in the program.
    pub from: W64,
    /// When it began, in ticks.
    pub began: W64,
    /// When it ended, in ticks.
    pub ended: W64,
    /// Uid of the communicator, window or file; zero for a call that has none, or one that was freed by it.
    pub object: W64,
    /// Bytes that this process moved by it.
    pub bytes: W64,
    /// Destination, source or root, as the program gave it. Which of these fields mean something follows from the function.
    pub peer: W32,
    /// The tag, as the program gave it.
    pub tag: W32,
    /// A collective: its number on the communicator, modulo 2^32.
    pub collective: W32,
    /// Function number plus one.
    pub function: W16,
    /// Open calls of the thread below this one, which a user callback made.
    pub nested: W16,
}

/// Bytes of a thread's trace where nothing but that there is to be one is said.
pub const USUAL: u64 = 16 << 20;

/// Reads how many bytes the trace of each thread is to have, as `MPISCOPE_TRACE` and `mpiscope run --trace=SIZE` say it: a number,
/// with K, M or G behind it; `on`; or `off`, which is zero. Nothing for anything else.
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

/// Reads from when until when calls are kept, as `MPISCOPE_TRACE_WINDOW` says it: two numbers of milliseconds with a comma between
/// them, of which the second may be left out. In nanoseconds; nothing for anything else.
#[must_use]
pub fn window(text: &str) -> Option<Range<u64>> {
    let (from, until) = text.split_once(',')?;
    let ns = |text: &str| text.trim().parse::<u64>().ok()?.checked_mul(1_000_000);
    let until = if until.trim().is_empty() { Some(u64::MAX) } else { ns(until) };
    Some(ns(from)?..until?).filter(|window| window.start < window.end)
}

impl Ring {
    /// Writes the next call over the oldest one. Only the thread that the ring is of may do so; `calls` are the ring's.
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

/// What is left of one thread's calls.
#[derive(Debug, Default)]
pub struct Kept {
    /// Index of the thread's record.
    pub thread: u64,
    /// In the order in which they ended.
    pub calls: Vec<Called>,
    /// Calls that later ones have overwritten, or that changed while they were read.
    pub gone: u64,
}

/// Reads all rings. An image without a trace has none.
///
/// # Errors
/// When the image is damaged or cannot be read.
pub fn read<S: Source>(image: &Image<S>) -> Result<Vec<Kept>, Error> {
    let rings = image.table::<Ring>(SectionKind::TRACE_RINGS)?;
    let calls = image.table::<Called>(SectionKind::TRACE)?;
    let mut all = Vec::new();
    // Rings that claim the same calls would be read again and again: together they cannot have more than there are.
    let mut left = calls.len();
    for index in 0..rings.len().min(MOST_RINGS) {
        let Ok(ring) = image.get::<Ring>(&rings, index) else { continue };
        let ring = ring.value;
        let Some(thread) = ring.thread.get().checked_sub(1) else { continue };
        let (first, capacity, written) = (ring.first.get(), ring.capacity.get(), ring.written.get());
        let fits = first.checked_add(capacity).is_some_and(|end| end <= calls.len()) && capacity <= left;
        if !fits || !capacity.is_power_of_two() || capacity > MOST_CALLS {
            return Err(Error::Corrupt(format!("the trace of thread {thread} lies outside of the image")));
        }
        left -= capacity;
        let kept = written.min(capacity);
        let one = |number: u64| {
            let at = first.checked_add(number.checked_sub(1)? & (capacity - 1))?;
            let before = image.get::<Called>(&calls, at).ok()?.value;
            // Overwritten while it was copied.
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
    fn a_window_has_a_beginning_and_perhaps_an_end() {
        let read = ["0,5", "60000, ", "5,5", "7,3", "5", ",5", "x,5", "1,99999999999999999"].map(window);
        let (first, open) = (Some(0..5_000_000), Some(60_000_000_000..u64::MAX));
        assert_eq!(read, [first, open, None, None, None, None, None, None]);
    }

    #[test]
    fn a_trace_has_a_size_or_the_usual_one_or_is_off() {
        let sizes = ["64K", "2m", "1", "on", "off", "5000", "", "M", "1X", "99999999999G"].map(size);
        let usual = Some(USUAL);
        let (k64, m2) = (Some(64 << 10), Some(2 << 20));
        assert_eq!(sizes, [k64, m2, usual, usual, Some(0), Some(5000), Some(0), None, None, None]);
    }
}
