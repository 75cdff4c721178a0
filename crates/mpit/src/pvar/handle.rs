//! A handle of a performance variable: what its slot contains, and the read that takes no pin.
#![allow(unsafe_code)]

use std::ptr::NonNull;
use std::sync::atomic::{Ordering, fence};

use super::inline::{Bits, DOUBLE, PvarInline, SIGNED, width};
use super::measured::Measured;
use super::{Pvar, PvarHandle};
use crate::codes::Result;
use crate::slab::{Occupant, Slot};
use crate::word::SessionWord;

type HandleSlot = Slot<PvarHandleData, PvarInline>;

/// Begins a read of a scalar without a pin, which [`closed`] ends. Returns the format of the value; `None` if
/// this needs the slow path.
///
/// Anything loaded in between is valid only if [`closed`] finds the slot in the same life.
#[inline(always)]
fn opened(slot: &HandleSlot, generation: u32, session: SessionWord) -> Option<u32> {
    let inline = &slot.inline;
    if !slot.state.is_live(generation) || inline.session.load(Ordering::Acquire) != session.0 {
        return None;
    }
    Some(inline.format.load(Ordering::Acquire))
}

#[inline(always)]
fn closed(slot: &HandleSlot, generation: u32, format: u32, bits: u64) -> Option<Bits> {
    fence(Ordering::Acquire);
    slot.state.is_live(generation).then_some((bits, width(format)))
}

/// Reads any scalar whose value can be had without the instrument.
#[inline(always)]
pub(super) fn fast_read(slot: &HandleSlot, generation: u32, session: SessionWord) -> Option<Bits> {
    let format = opened(slot, generation, session)?;
    let inline = &slot.inline;
    let value = inline.in_memory(format).or_else(|| inline.computed(format))?;
    closed(slot, generation, format, inline.shaped(format, value))
}

/// Reads an integer that is in memory: calls no function, so that a caller need not save registers.
#[inline(always)]
pub(super) fn leaf_read(slot: &HandleSlot, generation: u32, session: SessionWord) -> Option<Bits> {
    let format = opened(slot, generation, session)?;
    if format & (DOUBLE | SIGNED) != 0 {
        return None;
    }
    let value = slot.inline.in_memory(format)?;
    closed(slot, generation, format, value)
}

pub(super) enum Body {
    Measured(Measured),
    Custom { handle: Box<dyn PvarHandle>, count: usize },
}

/// The part of a handle that is accessed through a pin.
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

    /// Size of the whole value in bytes.
    pub(super) fn size(&self) -> usize {
        self.count() * self.pvar().encoding().width()
    }

    /// Initializes a new handle's values, and starts it if it is `continuous`.
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
                // Stop the elements before the one that failed; those that fail again were not started.
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
