//! What is known about the frames behind return addresses, kept: a program has a few dozen of them in a binding.

use super::table;
use std::sync::atomic::{AtomicU64, Ordering};

/// The frame of a function at one of its calls, seen from the stack pointer there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Bytes to where the caller's frame begins.
    pub size: u32,
    /// Bytes to the word with the caller's address; inside of the frame.
    pub place: u32,
}

impl Frame {
    /// The address behind the call of the function whose frame begins at `stack`.
    pub fn caller(self, stack: u64) -> u64 {
        let place = stack.wrapping_add(u64::from(self.place)) as *const u64;
        if place.is_null() || !place.is_aligned() {
            return 0;
        }
        // SAFETY: a word of a frame that is open, below the frame of its caller: the stack is mapped there.
        unsafe { place.read() }
    }

    /// As a word that is never zero.
    fn word(self) -> u64 {
        u64::from(self.size) << 32 | u64::from(self.place)
    }
}

/// Stands for an address about whose frame nothing can be said; no frame has no size.
const UNKNOWN: u64 = 1;
/// Addresses that are kept; a power of two.
const ROOM: usize = 512;
/// Entries that are looked at for one address.
const PROBES: usize = 8;
/// Address and [`Frame::word`], which is zero until it is known.
static KEPT: [[AtomicU64; 2]; ROOM] = [const { [const { AtomicU64::new(0) }; 2] }; ROOM];

/// The frame behind a return address.
pub fn of(address: u64) -> Option<Frame> {
    let first = home(address);
    let slots = || (first..first + PROBES).filter_map(|index| KEPT.get(index % ROOM));
    let word = slots()
        .find(|[key, _]| key.load(Ordering::Relaxed) == address)
        .map_or(0, |[_, word]| word.load(Ordering::Relaxed));
    if word != 0 {
        return frame(word);
    }
    let found = table::frame(address);
    let word = found.map_or(UNKNOWN, Frame::word);
    let taken = |key: &AtomicU64| {
        key.compare_exchange(0, address, Ordering::Relaxed, Ordering::Relaxed).unwrap_or_else(|other| other)
    };
    // Without room it is asked again next time.
    if let Some([_, place]) =
        slots().find(|[key, _]| matches!(taken(key), other if other == 0 || other == address))
    {
        place.store(word, Ordering::Relaxed);
    }
    found
}

fn frame(word: u64) -> Option<Frame> {
    let frame = Frame { size: (word >> 32) as u32, place: word as u32 };
    (word != UNKNOWN).then_some(frame)
}

fn home(address: u64) -> usize {
    (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 55) as usize % ROOM
}
