//! A handle of a performance variable: what its slot holds, and the read that takes no pin.
#![allow(unsafe_code)]

use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

use super::measured::Measured;
use super::{Encoding, Pvar, PvarHandle};
use crate::codes::Result;
use crate::mark::Mark;
use crate::slab::{Occupant, Slot};
use crate::word::SessionWord;

/// The part of a handle's slot that outlives every handle: all a scalar read needs, in one cache line.
pub(crate) struct PvarInline {
    pub(super) session: AtomicU64,
    /// The raw value of a scalar; null if there is none in memory.
    pub(super) cell: AtomicPtr<AtomicU64>,
    /// A function that computes it instead; 0 if there is none.
    function: AtomicUsize,
    pub(super) mark: Mark,
    /// Raw value of a stopped handle whose class is a current value.
    pub(super) frozen: AtomicU64,
    factor: AtomicU64,
    pub(super) running: AtomicU32,
    format: AtomicU32,
}

impl Default for PvarInline {
    fn default() -> Self {
        Self {
            session: AtomicU64::new(0),
            cell: AtomicPtr::new(ptr::null_mut()),
            function: AtomicUsize::new(0),
            mark: Mark::default(),
            frozen: AtomicU64::new(0),
            factor: AtomicU64::new(0),
            running: AtomicU32::new(0),
            format: AtomicU32::new(0),
        }
    }
}

/// Where a scalar's raw value comes from without the instrument.
#[derive(Clone, Copy)]
pub(super) enum Direct {
    /// From memory.
    Cell(NonNull<AtomicU64>),
    /// From a function.
    Function(fn() -> u64),
}

/// How the value follows from the raw value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Total since a mark.
    Cumulative,
    /// The current value, or the one at which it was stopped.
    Current,
    /// The extreme that the watch list keeps.
    Watermark,
}

// The format word of a fast scalar: kind in the low bits, shape above. 0: no fast read.
const CUMULATIVE: u32 = 1;
const CURRENT: u32 = 2;
const WATERMARK: u32 = 3;
const KIND_MASK: u32 = 3;
const FOUR: u32 = 4;
const DOUBLE: u32 = 8;
const SIGNED: u32 = 16;

impl PvarInline {
    /// Sets up the slot for a new handle, before anybody can find it.
    ///
    /// Stores release, and the fast read acquires: who sees one of these values has also seen that the
    /// slot's former life is over.
    pub(super) fn prepare(&self, session: SessionWord, running: bool) {
        self.session.store(session.0, Ordering::Release);
        self.cell.store(ptr::null_mut(), Ordering::Release);
        self.function.store(0, Ordering::Release);
        self.format.store(0, Ordering::Release);
        self.running.store(u32::from(running), Ordering::Release);
    }

    /// Makes scalar reads fast.
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
            Direct::Cell(cell) => self.cell.store(cell.as_ptr(), Ordering::Release),
            Direct::Function(function) => self.function.store(function as usize, Ordering::Release),
        }
        self.format.store(kind | shape, Ordering::Release);
    }

    #[inline(always)]
    fn raw(&self, format: u32, now: impl Fn() -> u64) -> Option<u64> {
        match format & KIND_MASK {
            CUMULATIVE => self.mark.value(|| Ok(now())).ok(),
            CURRENT if self.running.load(Ordering::Acquire) == 0 => Some(self.frozen.load(Ordering::Acquire)),
            CURRENT | WATERMARK => Some(now()),
            _ => None,
        }
    }

    #[inline(always)]
    fn shaped(&self, format: u32, raw: u64) -> u64 {
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

/// Reads a scalar without a pin: the bits and how many bytes of them, or `None` for the careful way.
///
/// Everything loaded is used only if the slot is in the same life afterwards.
#[inline(always)]
pub(super) fn fast_read(
    slot: &Slot<PvarHandleData, PvarInline>,
    generation: u32,
    session: SessionWord,
) -> Option<(u64, usize)> {
    let inline = &slot.inline;
    if !slot.state.is_live(generation) || inline.session.load(Ordering::Acquire) != session.0 {
        return None;
    }
    let format = inline.format.load(Ordering::Acquire);
    // SAFETY: the pointer is null or one that `prepare_fast` got for some life of this slot: a cell that a
    // registered instrument lends for as long as the registry exists, so it can be read in any life.
    let raw = match unsafe { inline.cell.load(Ordering::Acquire).as_ref() } {
        Some(cell) => inline.raw(format, || cell.load(Ordering::Acquire))?,
        None => {
            let address = inline.function.load(Ordering::Acquire);
            if address == 0 {
                return None;
            }
            // SAFETY: not null, so one that `prepare_fast` got for some life of this slot: a function without
            // arguments, which can be called at any time.
            inline.raw(format, unsafe { std::mem::transmute::<usize, fn() -> u64>(address) })?
        }
    };
    let bits = inline.shaped(format, raw);
    fence(Ordering::Acquire);
    slot.state.is_live(generation).then_some((bits, if format & FOUR != 0 { 4 } else { 8 }))
}

pub(super) enum Body {
    Measured(Measured),
    Custom { handle: Box<dyn PvarHandle>, count: usize },
}

/// What is reached through a pin.
pub(crate) struct PvarHandleData {
    pvar: NonNull<Pvar>,
    pub(super) object: u64,
    pub(super) body: Body,
}

// SAFETY: the pointer is to an entry of the registry's append-only table, which is `Sync` and outlives the
// handle; the body's parts are `Send` and `Sync` (see `Measured`).
unsafe impl Send for PvarHandleData {}
// SAFETY: as above.
unsafe impl Sync for PvarHandleData {}

impl PvarHandleData {
    pub(super) fn new(pvar: &Pvar, object: u64, body: Body) -> Self {
        Self { pvar: NonNull::from(pvar), object, body }
    }

    pub(crate) fn pvar(&self) -> &Pvar {
        // SAFETY: entries of the registry's table never move and are dropped only with the registry,
        // after its handles.
        unsafe { self.pvar.as_ref() }
    }

    pub(super) fn count(&self) -> usize {
        match &self.body {
            Body::Measured(measured) => measured.count,
            Body::Custom { count, .. } => *count,
        }
    }

    /// Bytes of the whole value.
    pub(super) fn size(&self) -> usize {
        self.count() * self.pvar().encoding().width()
    }

    /// Gives a new handle its first values and starts it if it is `continuous`.
    pub(super) fn begin(&self, inline: &PvarInline, continuous: bool) -> Result<()> {
        let Body::Measured(measured) = &self.body else { return Ok(()) };
        let pvar = self.pvar();
        let view = measured.view(pvar, self.object, inline);
        let begun = view.initialise().and_then(|()| if continuous { view.start() } else { Ok(()) });
        if begun.is_err() {
            measured.forget_watchers(pvar);
        } else if let Some(direct) = measured.direct(pvar) {
            inline.prepare_fast(measured.kind, pvar.encoding(), direct);
        }
        begun
    }

    pub(super) fn start(&self, inline: &PvarInline) -> Result<()> {
        if inline.running.swap(1, Ordering::AcqRel) != 0 {
            return Ok(());
        }
        let pvar = self.pvar();
        pvar.activate();
        let started = match &self.body {
            Body::Measured(measured) => measured.view(pvar, self.object, inline).start(),
            Body::Custom { handle, .. } => handle.start(),
        };
        if started.is_err() {
            if let Body::Measured(measured) = &self.body {
                // Elements before the one that failed; what fails again has not been started.
                let _ = measured.view(pvar, self.object, inline).stop();
            }
            inline.running.store(0, Ordering::Release);
            pvar.deactivate();
        }
        started
    }

    pub(super) fn stop(&self, inline: &PvarInline) -> Result<()> {
        if inline.running.load(Ordering::Acquire) == 0 {
            return Ok(());
        }
        let pvar = self.pvar();
        match &self.body {
            Body::Measured(measured) => measured.view(pvar, self.object, inline).stop()?,
            Body::Custom { handle, .. } => handle.stop()?,
        }
        if inline.running.swap(0, Ordering::AcqRel) != 0 {
            pvar.deactivate();
        }
        Ok(())
    }
}

impl Occupant<PvarInline> for PvarHandleData {
    fn retire(&self, inline: &PvarInline) {
        if let Body::Measured(measured) = &self.body {
            measured.forget_watchers(self.pvar());
        }
        if inline.running.swap(0, Ordering::AcqRel) != 0 {
            self.pvar().deactivate();
        }
    }
}
