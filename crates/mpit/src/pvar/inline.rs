//! The part of a slot that a scalar read needs, without a pin.
#![allow(unsafe_code)]

use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use super::{Encoding, Shards};
use crate::mark::{Look, Mark};
use crate::word::SessionWord;

/// The part of a slot that outlives each handle: everything that a scalar read needs, in one cache line.
pub(crate) struct PvarInline {
    pub(super) session: AtomicU64,
    /// The location of a scalar's raw value: see [`Place`].
    place: AtomicPtr<AtomicU64>,
    /// A function that computes the raw value instead; 0 if there is none.
    function: AtomicUsize,
    pub(super) mark: Mark,
    /// The raw value of a stopped handle whose class is a current value.
    pub(super) frozen: AtomicU64,
    factor: AtomicU64,
    pub(super) running: AtomicU32,
    pub(super) format: AtomicU32,
}

impl Default for PvarInline {
    fn default() -> Self {
        Self {
            session: AtomicU64::new(0),
            place: AtomicPtr::new(ptr::null_mut()),
            function: AtomicUsize::new(0),
            mark: Mark::default(),
            frozen: AtomicU64::new(0),
            factor: AtomicU64::new(0),
            running: AtomicU32::new(0),
            format: AtomicU32::new(0),
        }
    }
}

/// A way to get a scalar's raw value without calling its instrument.
#[derive(Clone, Copy)]
pub(super) enum Direct {
    /// From memory.
    Cell(NonNull<AtomicU64>),
    /// From several summands in memory.
    Shards(NonNull<Shards>),
    /// From a function.
    Function(fn() -> u64),
}

/// The location of a raw value in memory as one word: null for none, the address of a cell, or the address of
/// [`Shards`] with the lowest bit set. A single word always belongs to a single life of the slot.
#[derive(Clone, Copy)]
struct Place(*mut AtomicU64);

const SHARDED: usize = 1;

impl Place {
    fn of_shards(shards: NonNull<Shards>) -> Self {
        Self(shards.as_ptr().cast::<AtomicU64>().map_addr(|address| address | SHARDED))
    }

    /// # Safety
    /// Must not be null, and the cell or shards that it was made from must still exist.
    #[inline(always)]
    unsafe fn load(self) -> u64 {
        if self.0.addr() & SHARDED == 0 {
            // SAFETY: guaranteed by the caller.
            return unsafe { &*self.0 }.load(Ordering::Acquire);
        }
        let shards = self.0.map_addr(|address| address & !SHARDED).cast::<Shards>();
        // SAFETY: guaranteed by the caller.
        unsafe { &*shards }.sum()
    }
}

/// How the value is derived from the raw value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// The total since a mark.
    Cumulative,
    /// The current value, or the last one before the stop.
    Current,
    /// The extreme kept by the watch list.
    Watermark,
}

// The format word of a fast scalar: one bit for its kind, and bits for its shape. 0: no fast read. Each kind
// has its own bit, because testing bits in the order of frequency is faster than a jump table.
const CUMULATIVE: u32 = 1;
const CURRENT: u32 = 2;
const WATERMARK: u32 = 32;
const FOUR: u32 = 4;
pub(super) const DOUBLE: u32 = 8;
pub(super) const SIGNED: u32 = 16;

impl PvarInline {
    /// Sets up the slot for a new handle, before any other thread can find it.
    ///
    /// The stores release and the fast read acquires: a thread that sees one of these values has also seen
    /// the end of the slot's former life.
    pub(super) fn prepare(&self, session: SessionWord, running: bool) {
        self.session.store(session.0, Ordering::Release);
        self.place.store(ptr::null_mut(), Ordering::Release);
        self.function.store(0, Ordering::Release);
        self.format.store(0, Ordering::Release);
        self.running.store(u32::from(running), Ordering::Release);
    }

    /// Enables fast reads of a scalar.
    pub(super) fn prepare_fast(&self, kind: Kind, encoding: Encoding, direct: Direct) {
        let kind = match kind {
            Kind::Cumulative => CUMULATIVE,
            Kind::Current => CURRENT,
            Kind::Watermark => WATERMARK,
        };
        let factor = encoding.factor();
        let shape = match (factor, encoding.width(), encoding.ceiling()) {
            (Some(_), _, _) => DOUBLE,
            (None, 8, u64::MAX) => 0,
            (None, 4, u64::MAX) => FOUR,
            (None, 8, _) => SIGNED,
            (None, 4, _) => FOUR | SIGNED,
            _ => return,
        };
        self.factor.store(factor.unwrap_or(0.0).to_bits(), Ordering::Release);
        match direct {
            Direct::Cell(cell) => self.place.store(cell.as_ptr(), Ordering::Release),
            Direct::Shards(shards) => self.place.store(Place::of_shards(shards).0, Ordering::Release),
            Direct::Function(function) => self.function.store(function as usize, Ordering::Release),
        }
        self.format.store(kind | shape, Ordering::Release);
    }

    /// The unshaped value of a stopped handle, which needs no raw value.
    ///
    /// Nothing is passed as a closure here and below: in a read of this length the compiler calls a closure
    /// instead of inlining it, and then has to save registers.
    #[inline(always)]
    fn at_rest(&self, format: u32, mark: Look) -> Option<u64> {
        if format & CUMULATIVE != 0 {
            mark.stopped()
        } else if format & CURRENT != 0 && self.running.load(Ordering::Acquire) == 0 {
            Some(self.frozen.load(Ordering::Acquire))
        } else {
            None
        }
    }

    /// The unshaped value from memory. `None` if the raw value is not in memory.
    #[inline(always)]
    pub(super) fn in_memory(&self, format: u32) -> Option<u64> {
        let place = Place(self.place.load(Ordering::Acquire));
        if place.0.is_null() {
            return None;
        }
        let mark = self.mark.look();
        if let Some(value) = self.at_rest(format, mark) {
            return Some(value);
        }
        // SAFETY: not null, so `prepare_fast` stored it for some life of this slot: it is borrowed from a
        // registered instrument for as long as the registry exists, so it can be read in any life.
        let now = unsafe { place.load() };
        Some(if format & CUMULATIVE != 0 { mark.since(now) } else { now })
    }

    /// The unshaped value from a function. `None` if there is no function.
    #[inline(always)]
    pub(super) fn computed(&self, format: u32) -> Option<u64> {
        let address = self.function.load(Ordering::Acquire);
        if address == 0 {
            return None;
        }
        let mark = self.mark.look();
        if let Some(value) = self.at_rest(format, mark) {
            return Some(value);
        }
        // SAFETY: not null, so `prepare_fast` stored it for some life of this slot: a function without
        // arguments, which can be called at any time.
        let now = unsafe { std::mem::transmute::<usize, fn() -> u64>(address) }();
        Some(if format & CUMULATIVE != 0 { mark.since(now) } else { now })
    }

    /// Atomically sets a total's value to 0 and returns the old value; `None` if this needs the slow path.
    /// The caller holds a pin.
    #[inline]
    pub(super) fn take(&self) -> Option<Bits> {
        let format = self.format.load(Ordering::Acquire);
        let place = Place(self.place.load(Ordering::Acquire));
        if format & CUMULATIVE == 0 || place.0.is_null() {
            return None;
        }
        // SAFETY: as in `in_memory`.
        let taken = self.mark.take(|| Ok(unsafe { place.load() })).ok()?;
        Some((self.shaped(format, taken), width(format)))
    }

    #[inline(always)]
    pub(super) fn shaped(&self, format: u32, raw: u64) -> u64 {
        if format & (DOUBLE | SIGNED) == 0 { raw } else { self.converted(format, raw) }
    }

    fn converted(&self, format: u32, raw: u64) -> u64 {
        if format & DOUBLE != 0 {
            (raw as f64 * f64::from_bits(self.factor.load(Ordering::Acquire))).to_bits()
        } else {
            raw.min(if format & FOUR != 0 { i32::MAX as u64 } else { i64::MAX as u64 })
        }
    }
}

/// The bits of a scalar's value, and its size in bytes.
pub(super) type Bits = (u64, usize);

pub(super) fn width(format: u32) -> usize {
    if format & FOUR != 0 { 4 } else { 8 }
}
