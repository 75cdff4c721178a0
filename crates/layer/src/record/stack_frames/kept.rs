//! A cache of what is known about the frames of return addresses. A program has a few dozen of them in a
//! binding, and some thousands in large libraries.

use super::frame::Frame;
use super::owner::{self, Owner};
use super::table;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is known about a return address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// The frame of the function that contains the address, if its end is at a fixed distance.
    pub frame: Option<Frame>,
    /// Whose code the address is in.
    pub owner: Owner,
}

impl Known {
    /// Returns a word that is never zero.
    fn word(self) -> u64 {
        self.frame.map_or(0, Frame::packed) << u8::BITS | u64::from(self.owner.0)
    }

    #[inline]
    fn of(word: u64) -> Self {
        Self { frame: Frame::unpacked(word >> u8::BITS), owner: Owner(word as u8) }
    }
}

/// Number of addresses that are kept; a power of two.
const ROOM: usize = 1 << ROOM_BITS;
const ROOM_BITS: u32 = 12;
/// Number of entries probed for an address.
const PROBES: usize = 8;
/// Address and [`Known::word`], which is zero until it is known.
static KEPT: [[AtomicU64; 2]; ROOM] = [const { [const { AtomicU64::new(0) }; 2] }; ROOM];

/// Returns what is known about a return address.
#[inline]
pub fn of(address: u64) -> Known {
    let first = home(address);
    let slots = || (first..first + PROBES).filter_map(|index| KEPT.get(index % ROOM));
    let found = slots().find(|[key, _]| key.load(Ordering::Relaxed) == address);
    match found.map_or(0, |[_, word]| word.load(Ordering::Relaxed)) {
        0 => learn(address, slots()),
        word => Known::of(word),
    }
}

#[cold]
fn learn(address: u64, mut slots: impl Iterator<Item = &'static [AtomicU64; 2]>) -> Known {
    let known = Known { frame: table::frame(address), owner: owner::of(address) };
    let taken = |key: &AtomicU64| {
        key.compare_exchange(0, address, Ordering::Relaxed, Ordering::Relaxed).unwrap_or_else(|other| other)
    };
    // Without room, it is looked up again next time.
    if let Some([_, place]) =
        slots.find(|[key, _]| matches!(taken(key), other if other == 0 || other == address))
    {
        place.store(known.word(), Ordering::Relaxed);
    }
    known
}

#[inline]
fn home(address: u64) -> usize {
    (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - ROOM_BITS)) as usize
}
