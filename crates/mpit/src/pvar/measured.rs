//! A handle's measurement over an instrument's raw values.
#![allow(unsafe_code)]

use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::inline::{Direct, Kind, PvarInline};
use super::watch::{WatchList, Watcher};
use super::{Binding, Pvar, Shards};
use crate::codes::{Error, PvarClass, Result};
use crate::mark::Mark;

/// Per-element state of a handle; a scalar's state is in the slot instead.
pub(super) struct Measured {
    pub(super) kind: Kind,
    pub(super) count: usize,
    cells: Option<NonNull<[AtomicU64]>>,
    function: Option<fn() -> u64>,
    shards: Option<NonNull<Shards>>,
    marks: Box<[Mark]>,
    frozen: Box<[AtomicU64]>,
    watchers: Box<[usize]>,
    /// Whether a watermark takes its starting value at the next start.
    fresh: AtomicBool,
}

// SAFETY: the cells are atomics borrowed from an instrument of the registry, which outlives the handle.
unsafe impl Send for Measured {}
// SAFETY: as above.
unsafe impl Sync for Measured {}

impl Measured {
    /// Creates the state for a binding: stopped, and not yet watching.
    pub(super) fn new(pvar: &Pvar, object: u64, binding: Binding<'_>) -> Result<Self> {
        let class = pvar.info.class;
        let kind = match class {
            _ if class.is_cumulative() => Kind::Cumulative,
            _ if class.is_watermark() => Kind::Watermark,
            _ => Kind::Current,
        };
        let count = binding.count;
        if count == 0 {
            return Err(Error::INVALID);
        }
        let many = if count == 1 { 0 } else { count };
        let marks = if kind == Kind::Cumulative { many } else { 0 };
        let frozen = if kind == Kind::Current { many } else { 0 };
        let mut measured = Self {
            kind,
            count,
            cells: binding.cells.map(NonNull::from),
            function: if count == 1 { binding.function } else { None },
            shards: if count == 1 { binding.shards.map(NonNull::from) } else { None },
            marks: (0..marks).map(|_| Mark::default()).collect(),
            frozen: (0..frozen).map(|_| AtomicU64::new(0)).collect(),
            watchers: Box::default(),
            fresh: AtomicBool::new(true),
        };
        if kind == Kind::Watermark {
            measured.add_watchers(pvar, object)?;
        }
        Ok(measured)
    }

    fn add_watchers(&mut self, pvar: &Pvar, object: u64) -> Result<()> {
        let list = watch_list(pvar)?;
        let mut watchers = Vec::with_capacity(self.count);
        for element in 0..self.count {
            match list.add(object, element as u32) {
                Some(at) => watchers.push(at),
                None => {
                    watchers.iter().for_each(|&at| list.remove(at));
                    return Err(Error::OUT_OF_HANDLES);
                }
            }
        }
        self.watchers = watchers.into();
        Ok(())
    }

    /// Removes the watchers from their list. Async-signal-safe.
    pub(super) fn forget_watchers(&self, pvar: &Pvar) {
        if let Ok(list) = watch_list(pvar) {
            self.watchers.iter().for_each(|&at| list.remove(at));
        }
    }

    /// The direct way to read a scalar, if there is one.
    pub(super) fn direct(&self, pvar: &Pvar) -> Option<Direct> {
        match (self.function, self.shards) {
            _ if self.kind == Kind::Watermark => self.scalar_cell(pvar).map(Direct::Cell),
            (Some(function), _) => Some(Direct::Function(function)),
            (None, Some(shards)) => Some(Direct::Shards(shards)),
            (None, None) => self.scalar_cell(pvar).map(Direct::Cell),
        }
    }

    /// The raw value in memory that a read of a scalar can use directly.
    fn scalar_cell(&self, pvar: &Pvar) -> Option<NonNull<AtomicU64>> {
        if self.count != 1 {
            return None;
        }
        if self.kind == Kind::Watermark {
            let watcher = pvar.instrument()?.watch()?.get(*self.watchers.first()?)?;
            return Some(NonNull::from(&watcher.extreme));
        }
        self.cells().and_then(<[_]>::first).map(NonNull::from)
    }

    fn cells(&self) -> Option<&[AtomicU64]> {
        // SAFETY: borrowed from `Instrument::bind` for the life of the instrument, which the registry keeps
        // until after its handles.
        self.cells.map(|cells| unsafe { cells.as_ref() })
    }

    fn shards(&self) -> Option<&Shards> {
        // SAFETY: as above.
        self.shards.map(|shards| unsafe { shards.as_ref() })
    }

    pub(super) fn view<'a>(&'a self, pvar: &'a Pvar, object: u64, inline: &'a PvarInline) -> View<'a> {
        View { measured: self, pvar, object, inline }
    }
}

fn watch_list(pvar: &Pvar) -> Result<&WatchList> {
    pvar.instrument().and_then(|instrument| instrument.watch()).ok_or(Error::NOT_SUPPORTED)
}

/// A handle's state together with the variable, object and slot it belongs to.
pub(super) struct View<'a> {
    measured: &'a Measured,
    pvar: &'a Pvar,
    object: u64,
    inline: &'a PvarInline,
}

impl<'a> View<'a> {
    /// The current raw value of an element.
    fn raw(&self, element: usize) -> Result<u64> {
        match (self.measured.cells(), self.measured.function, self.measured.shards()) {
            (Some(cells), ..) => Ok(cells.get(element).ok_or(Error::INVALID)?.load(Ordering::Acquire)),
            (None, Some(function), _) => Ok(function()),
            (None, None, Some(shards)) => Ok(shards.sum()),
            (None, None, None) => {
                self.pvar.instrument().ok_or(Error::NOT_SUPPORTED)?.sample(self.object, element)
            }
        }
    }

    fn mark(&self, element: usize) -> &'a Mark {
        self.measured.marks.get(element).unwrap_or(&self.inline.mark)
    }

    fn frozen(&self, element: usize) -> &'a AtomicU64 {
        self.measured.frozen.get(element).unwrap_or(&self.inline.frozen)
    }

    fn watcher(&self, element: usize) -> Result<(&'a WatchList, usize, &'a Watcher)> {
        let list = watch_list(self.pvar)?;
        let at = *self.measured.watchers.get(element).ok_or(Error::INVALID)?;
        Ok((list, at, list.get(at).ok_or(Error::INVALID)?))
    }

    fn is_high(&self) -> bool {
        self.pvar.info.class == PvarClass::HIGHWATERMARK
    }

    fn is_running(&self) -> bool {
        self.inline.running.load(Ordering::Acquire) != 0
    }

    fn each(&self, mut f: impl FnMut(usize) -> Result<()>) -> Result<()> {
        (0..self.measured.count).try_for_each(&mut f)
    }

    /// Sets the first values of a new handle, which no other thread can see yet.
    pub(super) fn initialise(&self) -> Result<()> {
        self.each(|element| {
            match self.measured.kind {
                Kind::Cumulative => self.mark(element).restart(),
                Kind::Current => self.frozen(element).store(self.raw(element)?, Ordering::Release),
                Kind::Watermark => {
                    self.watcher(element)?.2.extreme.store(self.raw(element)?, Ordering::Release);
                }
            }
            Ok(())
        })
    }

    pub(super) fn start(&self) -> Result<()> {
        let fresh = self.measured.fresh.swap(false, Ordering::AcqRel);
        self.each(|element| match self.measured.kind {
            Kind::Cumulative => self.mark(element).start(|| self.raw(element)),
            Kind::Current => Ok(()),
            Kind::Watermark => {
                let (list, at, watcher) = self.watcher(element)?;
                if fresh {
                    watcher.extreme.store(self.raw(element)?, Ordering::Release);
                }
                list.listen(at, self.is_high());
                // Catch a change made before the watcher listened.
                watcher.observe(self.raw(element)?, self.is_high());
                Ok(())
            }
        })
    }

    pub(super) fn stop(&self) -> Result<()> {
        self.each(|element| match self.measured.kind {
            Kind::Cumulative => self.mark(element).stop(|| self.raw(element)),
            Kind::Current => {
                self.frozen(element).store(self.raw(element)?, Ordering::Release);
                Ok(())
            }
            Kind::Watermark => {
                let (list, at, _) = self.watcher(element)?;
                list.ignore(at);
                Ok(())
            }
        })
    }

    fn value(&self, element: usize) -> Result<u64> {
        match self.measured.kind {
            Kind::Cumulative => self.mark(element).value(|| self.raw(element)),
            Kind::Current if self.is_running() => self.raw(element),
            Kind::Current => Ok(self.frozen(element).load(Ordering::Acquire)),
            Kind::Watermark => Ok(self.watcher(element)?.2.extreme.load(Ordering::Acquire)),
        }
    }

    /// Resets to the starting value and returns the previous value, atomically for the element.
    fn take(&self, element: usize) -> Result<u64> {
        match self.measured.kind {
            Kind::Cumulative => self.mark(element).take(|| self.raw(element)),
            Kind::Current => {
                let value = self.value(element)?;
                if !self.is_running() {
                    self.frozen(element).store(self.raw(element)?, Ordering::Release);
                }
                Ok(value)
            }
            Kind::Watermark => self.take_extreme(element),
        }
    }

    fn take_extreme(&self, element: usize) -> Result<u64> {
        let watcher = self.watcher(element)?.2;
        if !self.is_running() {
            self.measured.fresh.store(true, Ordering::Release);
        }
        let mut extreme = watcher.extreme.load(Ordering::Acquire);
        loop {
            let current = self.raw(element)?;
            let swap = |from, to| {
                watcher.extreme.compare_exchange_weak(from, to, Ordering::AcqRel, Ordering::Acquire)
            };
            match swap(extreme, current) {
                Ok(_) => return Ok(extreme),
                Err(fed) => extreme = fed,
            }
        }
    }

    pub(super) fn read(&self, out: &mut [u8]) -> Result<()> {
        self.put(out, |element| self.value(element))
    }

    pub(super) fn readreset(&self, out: &mut [u8]) -> Result<()> {
        self.put(out, |element| self.take(element))
    }

    pub(super) fn reset(&self) -> Result<()> {
        self.each(|element| self.take(element).map(|_| ()))
    }

    fn put(&self, out: &mut [u8], value: impl Fn(usize) -> Result<u64>) -> Result<()> {
        let encoding = self.pvar.encoding();
        for (element, bytes) in out.chunks_exact_mut(encoding.width()).enumerate() {
            encoding.put(value(element)?, bytes);
        }
        Ok(())
    }

    pub(super) fn write(&self, from: &[u8]) -> Result<()> {
        let encoding = self.pvar.encoding();
        // All or nothing: a bad element must not leave half of the array written.
        let fits = |value| self.measured.kind != Kind::Cumulative || Mark::holds(value);
        from.chunks_exact(encoding.width()).try_for_each(|bytes| match encoding.get(bytes)? {
            value if fits(value) => Ok(()),
            _ => Err(Error::PVAR_NO_WRITE),
        })?;
        for (element, bytes) in from.chunks_exact(encoding.width()).enumerate() {
            let value = encoding.get(bytes)?;
            match self.measured.kind {
                Kind::Cumulative => self.mark(element).set(value, || self.raw(element))?,
                Kind::Current => return Err(Error::PVAR_NO_WRITE),
                Kind::Watermark => {
                    self.measured.fresh.store(false, Ordering::Release);
                    self.watcher(element)?.2.extreme.store(value, Ordering::Release);
                }
            }
        }
        Ok(())
    }
}
