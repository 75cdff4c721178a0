//! What stands behind a performance variable.

use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::shards::Shards;
use super::watch::WatchList;
use crate::codes::{Error, Result};

/// What an object offers to a variable that is bound to it.
#[derive(Clone, Copy)]
pub struct Binding<'a> {
    /// Number of elements of the variable for this object; at least 1.
    pub count: usize,
    /// The raw values, one word an element, if they stand in memory: the fast way. They must stay where
    /// they are and readable after the object is gone.
    pub cells: Option<&'a [AtomicU64]>,
    /// A function that computes the raw value of a scalar: nearly as fast. As [`Instrument::sample`], it must be
    /// async-signal-safe.
    pub function: Option<fn() -> u64>,
    /// The parts of the raw value of a scalar, which must stay as `cells` must.
    pub shards: Option<&'a Shards>,
}

impl<'a> Binding<'a> {
    /// Values in memory.
    pub fn cells(cells: &'a [AtomicU64]) -> Self {
        Self { cells: Some(cells), ..Self::sampled(cells.len()) }
    }

    /// One value in memory.
    pub fn cell(cell: &'a AtomicU64) -> Self {
        Self::cells(std::slice::from_ref(cell))
    }

    /// Values that [`Instrument::sample`] computes.
    pub fn sampled(count: usize) -> Self {
        Self { count, cells: None, function: None, shards: None }
    }

    /// One value that a function computes.
    pub fn computed(function: fn() -> u64) -> Self {
        Self { function: Some(function), ..Self::sampled(1) }
    }

    /// One value in parts: as fast as one in memory.
    pub fn shards(shards: &'a Shards) -> Self {
        Self { shards: Some(shards), ..Self::sampled(1) }
    }
}

/// A source of raw values; the crate does all that is per handle.
///
/// For counters, aggregates and timers the raw value is a total that only grows, below 2^63, and is
/// never reset. For all others it is the current value.
///
/// All methods but [`Instrument::bind`] are called from signal handlers too: no lock, no allocation.
pub trait Instrument: Send + Sync + 'static {
    /// Checks that `object` (0 if unbound) is alive and of the right kind and tells what it offers.
    ///
    /// # Errors
    /// [`Error::INVALID_HANDLE`] by custom, if the object is not one that the variable can be bound to.
    fn bind(&self, object: u64) -> Result<Binding<'_>>;

    /// The raw value of one element, below the bound count; asked only if `bind` gave nothing faster.
    ///
    /// # Errors
    /// Whatever describes why the value cannot be had now, for instance [`Error::INVALID_HANDLE`] for an
    /// object that is gone.
    fn sample(&self, _object: u64, _element: usize) -> Result<u64> {
        Err(Error::NOT_SUPPORTED)
    }

    /// The variable need or need not be kept up to date from now on: its first handle was started, or
    /// the last one stopped (allocated and freed, if it is continuous). May be called twice for the same.
    fn interest(&self, _wanted: bool) {}

    /// The list that the provider feeds; watermarks need it.
    fn watch(&self) -> Option<&WatchList> {
        None
    }
}

impl<T: Instrument + ?Sized> Instrument for Arc<T> {
    fn bind(&self, object: u64) -> Result<Binding<'_>> {
        T::bind(self, object)
    }

    fn sample(&self, object: u64, element: usize) -> Result<u64> {
        T::sample(self, object, element)
    }

    fn interest(&self, wanted: bool) {
        T::interest(self, wanted);
    }

    fn watch(&self) -> Option<&WatchList> {
        T::watch(self)
    }
}

impl<T: Instrument> Instrument for &'static T {
    fn bind(&self, object: u64) -> Result<Binding<'_>> {
        T::bind(self, object)
    }

    fn sample(&self, object: u64, element: usize) -> Result<u64> {
        T::sample(self, object, element)
    }

    fn interest(&self, wanted: bool) {
        T::interest(self, wanted);
    }

    fn watch(&self) -> Option<&WatchList> {
        T::watch(self)
    }
}

impl Instrument for Shards {
    fn bind(&self, _object: u64) -> Result<Binding<'_>> {
        Ok(Binding::shards(self))
    }
}

impl Instrument for AtomicU64 {
    fn bind(&self, _object: u64) -> Result<Binding<'_>> {
        Ok(Binding::cell(self))
    }
}

/// An unbound total: the simplest instrument of a counter, an aggregate or a timer.
///
/// It counts only while its variable is measured, so it belongs to one variable; a total that several
/// variables share is a plain [`AtomicU64`].
#[derive(Default)]
pub struct Counter {
    total: AtomicU64,
    wanted: AtomicBool,
}

impl Counter {
    /// A total of 0.
    pub const fn new() -> Self {
        Self { total: AtomicU64::new(0), wanted: AtomicBool::new(false) }
    }

    /// Adds to the total if somebody measures it: one load when nobody does.
    #[inline]
    pub fn add(&self, amount: u64) {
        if self.wanted.load(Ordering::Relaxed) {
            self.total.fetch_add(amount, Ordering::Relaxed);
        }
    }

    /// Does anybody measure it?
    #[inline]
    pub fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }
}

impl Instrument for Counter {
    fn bind(&self, _object: u64) -> Result<Binding<'_>> {
        Ok(Binding::cell(&self.total))
    }

    fn interest(&self, wanted: bool) {
        self.wanted.store(wanted, Ordering::SeqCst);
    }
}

/// An unbound level with its watermarks.
#[derive(Default)]
pub struct Gauge {
    level: AtomicU64,
    watch: WatchList,
}

impl Gauge {
    /// A level of 0.
    pub const fn new() -> Self {
        Self { level: AtomicU64::new(0), watch: WatchList::new() }
    }

    /// Sets the level.
    #[inline]
    pub fn set(&self, level: u64) {
        self.level.store(level, Ordering::Release);
        self.watch.note(0, 0, level);
    }

    /// Raises the level; every thread's new level counts for the watermarks.
    #[inline]
    pub fn add(&self, amount: u64) {
        let before = self.level.fetch_add(amount, Ordering::AcqRel);
        self.watch.note(0, 0, before.wrapping_add(amount));
    }

    /// Lowers the level.
    #[inline]
    pub fn sub(&self, amount: u64) {
        let before = self.level.fetch_sub(amount, Ordering::AcqRel);
        self.watch.note(0, 0, before.wrapping_sub(amount));
    }

    /// The level.
    #[inline]
    pub fn level(&self) -> u64 {
        self.level.load(Ordering::Relaxed)
    }
}

impl Instrument for Gauge {
    fn bind(&self, _object: u64) -> Result<Binding<'_>> {
        Ok(Binding::cell(&self.level))
    }

    fn watch(&self) -> Option<&WatchList> {
        Some(&self.watch)
    }
}

/// A variable whose handles are made and kept by the provider.
pub trait PvarProvider: Send + Sync + 'static {
    /// Makes a handle bound to `object` (0 if unbound) within a session.
    ///
    /// # Errors
    /// [`Error::INVALID_HANDLE`] for a wrong object, or the library's own ([`Error::library`]).
    fn open(&self, object: u64, session: SessionContext<'_>) -> Result<Box<dyn PvarHandle>>;
}

/// A handle of a [`PvarProvider`]; dropping it frees it.
///
/// The crate has checked session, handle, the flags of the variable and the length of the buffers. Calls come
/// from any thread and from signal handlers, and must not lock or allocate if the provider can help it.
pub trait PvarHandle: Send + Sync {
    /// Number of elements; always the same.
    fn count(&self) -> usize;

    /// Starts it.
    ///
    /// # Errors
    /// The provider's.
    fn start(&self) -> Result<()>;

    /// Stops it.
    ///
    /// # Errors
    /// The provider's.
    fn stop(&self) -> Result<()>;

    /// Writes `count` elements of the datatype to `out`.
    ///
    /// # Errors
    /// The provider's.
    fn read(&self, out: &mut [u8]) -> Result<()>;

    /// Sets the value from `count` elements of the datatype.
    ///
    /// # Errors
    /// [`Error::PVAR_NO_WRITE`] by default.
    fn write(&self, _from: &[u8]) -> Result<()> {
        Err(Error::PVAR_NO_WRITE)
    }

    /// Sets the starting value.
    ///
    /// # Errors
    /// [`Error::PVAR_NO_WRITE`] by default.
    fn reset(&self) -> Result<()> {
        Err(Error::PVAR_NO_WRITE)
    }

    /// Reads and resets in one step.
    ///
    /// # Errors
    /// [`Error::PVAR_NO_ATOMIC`] by default.
    fn readreset(&self, _out: &mut [u8]) -> Result<()> {
        Err(Error::PVAR_NO_ATOMIC)
    }
}

/// The session in which a handle is made, with room for what a provider keeps for it.
#[derive(Clone, Copy)]
pub struct SessionContext<'a> {
    pub(crate) attachment: &'a Mutex<Option<Arc<dyn Any + Send + Sync>>>,
}

impl SessionContext<'_> {
    /// The provider's own part of the session, made on first use and dropped after the session and all
    /// handles that keep a clone of it are gone: a layer keeps the library's native session here.
    ///
    /// # Errors
    /// Those of `make`; [`Error::INVALID_SESSION`] if another provider keeps another type here.
    pub fn attach<T: Any + Send + Sync>(&self, make: impl FnOnce() -> Result<T>) -> Result<Arc<T>> {
        let mut attachment = self.attachment.lock().unwrap_or_else(PoisonError::into_inner);
        let part = match &*attachment {
            Some(part) => part.clone(),
            None => attachment.insert(Arc::new(make()?)).clone(),
        };
        part.downcast().map_err(|_| Error::INVALID_SESSION)
    }
}
