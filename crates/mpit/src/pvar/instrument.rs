//! The implementations of performance variables.

use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::shards::Shards;
use super::watch::WatchList;
use crate::codes::{Error, Result};

/// The ways in which an object's values can be read by a variable that is bound to it.
#[derive(Clone, Copy)]
pub struct Binding<'a> {
    /// Number of elements of the variable for this object; at least 1.
    pub count: usize,
    /// The raw values, one word per element, if they are in memory: the fast way. They must stay at their
    /// address and readable after the object is gone.
    pub cells: Option<&'a [AtomicU64]>,
    /// A function that computes the raw value of a scalar: nearly as fast. Like [`Instrument::sample`], it
    /// must be async-signal-safe.
    pub function: Option<fn() -> u64>,
    /// The summands of the raw value of a scalar, with the same requirement as `cells`.
    pub shards: Option<&'a Shards>,
}

impl<'a> Binding<'a> {
    /// Binds to values in memory.
    pub fn cells(cells: &'a [AtomicU64]) -> Self {
        Self { cells: Some(cells), ..Self::sampled(cells.len()) }
    }

    /// Binds to one value in memory.
    pub fn cell(cell: &'a AtomicU64) -> Self {
        Self::cells(std::slice::from_ref(cell))
    }

    /// Binds to values that [`Instrument::sample`] computes.
    pub fn sampled(count: usize) -> Self {
        Self { count, cells: None, function: None, shards: None }
    }

    /// Binds to one value that a function computes.
    pub fn computed(function: fn() -> u64) -> Self {
        Self { function: Some(function), ..Self::sampled(1) }
    }

    /// Binds to one value in parts: as fast as one in memory.
    pub fn shards(shards: &'a Shards) -> Self {
        Self { shards: Some(shards), ..Self::sampled(1) }
    }
}

/// A source of raw values; the crate does all per-handle work.
///
/// For counters, aggregates and timers the raw value is a total that only grows, stays below 2^63 and is
/// never reset. For all other classes it is the current value.
///
/// All methods except [`Instrument::bind`] are also called from signal handlers, so they must neither lock
/// nor allocate.
pub trait Instrument: Send + Sync + 'static {
    /// Checks that `object` (0 if unbound) is alive and of the right kind, and returns its binding.
    ///
    /// # Errors
    /// By convention [`Error::INVALID_HANDLE`] if the variable cannot be bound to the object.
    fn bind(&self, object: u64) -> Result<Binding<'_>>;

    /// Returns the raw value of one element, whose index is below the bound count. Called only if `bind`
    /// returned nothing faster.
    ///
    /// # Errors
    /// The reason why the value is not available now, for instance [`Error::INVALID_HANDLE`] for an object
    /// that is gone.
    fn sample(&self, _object: u64, _element: usize) -> Result<u64> {
        Err(Error::NOT_SUPPORTED)
    }

    /// Called when the variable must be kept up to date from now on (`true`: its first handle was started) or
    /// no longer has to be (`false`: the last one was stopped); for a continuous variable, allocated and
    /// freed. May be called twice with the same value.
    fn interest(&self, _wanted: bool) {}

    /// The list that the provider feeds; required for watermarks.
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

/// An unbound total: the simplest instrument for a counter, an aggregate or a timer.
///
/// It counts only while its variable is measured, so it belongs to a single variable; for a total that
/// several variables share, use a plain [`AtomicU64`].
#[derive(Default)]
pub struct Counter {
    total: AtomicU64,
    wanted: AtomicBool,
}

impl Counter {
    /// Creates a total of 0.
    pub const fn new() -> Self {
        Self { total: AtomicU64::new(0), wanted: AtomicBool::new(false) }
    }

    /// Adds to the total if it is being measured; otherwise costs one load.
    #[inline]
    pub fn add(&self, amount: u64) {
        if self.wanted.load(Ordering::Relaxed) {
            self.total.fetch_add(amount, Ordering::Relaxed);
        }
    }

    /// Whether it is being measured.
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
    /// Creates a level of 0.
    pub const fn new() -> Self {
        Self { level: AtomicU64::new(0), watch: WatchList::new() }
    }

    /// Sets the level.
    #[inline]
    pub fn set(&self, level: u64) {
        self.level.store(level, Ordering::Release);
        self.watch.note(0, 0, level);
    }

    /// Raises the level; the new level that each thread produces counts for the watermarks.
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

    /// The current level.
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

/// A variable whose handles are created and measured by the provider.
pub trait PvarProvider: Send + Sync + 'static {
    /// Creates a handle bound to `object` (0 if unbound) within a session.
    ///
    /// # Errors
    /// [`Error::INVALID_HANDLE`] for an unsuitable object, or the library's own error ([`Error::library`]).
    fn open(&self, object: u64, session: SessionContext<'_>) -> Result<Box<dyn PvarHandle>>;
}

/// A handle of a [`PvarProvider`], freed when dropped.
///
/// The crate has already checked the session, the handle, the variable's flags and the length of the buffers.
/// Methods are called from any thread and from signal handlers, and should neither lock nor allocate.
pub trait PvarHandle: Send + Sync {
    /// Number of elements, which never changes.
    fn count(&self) -> usize;

    /// Starts the variable.
    ///
    /// # Errors
    /// The provider's error.
    fn start(&self) -> Result<()>;

    /// Stops the variable.
    ///
    /// # Errors
    /// The provider's error.
    fn stop(&self) -> Result<()>;

    /// Writes `count` elements of the datatype to `out`.
    ///
    /// # Errors
    /// The provider's error.
    fn read(&self, out: &mut [u8]) -> Result<()>;

    /// Sets the value from `count` elements of the datatype.
    ///
    /// # Errors
    /// [`Error::PVAR_NO_WRITE`] by default.
    fn write(&self, _from: &[u8]) -> Result<()> {
        Err(Error::PVAR_NO_WRITE)
    }

    /// Resets the value to its starting value.
    ///
    /// # Errors
    /// [`Error::PVAR_NO_WRITE`] by default.
    fn reset(&self) -> Result<()> {
        Err(Error::PVAR_NO_WRITE)
    }

    /// Reads and resets atomically.
    ///
    /// # Errors
    /// [`Error::PVAR_NO_ATOMIC`] by default.
    fn readreset(&self, _out: &mut [u8]) -> Result<()> {
        Err(Error::PVAR_NO_ATOMIC)
    }
}

/// The session in which a handle is created, with room for the provider's own data.
#[derive(Clone, Copy)]
pub struct SessionContext<'a> {
    pub(crate) attachment: &'a Mutex<Option<Arc<dyn Any + Send + Sync>>>,
}

impl SessionContext<'_> {
    /// Returns the provider's own data for the session, created on first use and dropped once the session and
    /// all handles that keep a clone are gone. A layer keeps the library's native session here.
    ///
    /// # Errors
    /// The errors of `make`; [`Error::INVALID_SESSION`] if another provider keeps a different type here.
    pub fn attach<T: Any + Send + Sync>(&self, make: impl FnOnce() -> Result<T>) -> Result<Arc<T>> {
        let mut attachment = self.attachment.lock().unwrap_or_else(PoisonError::into_inner);
        let part = match &*attachment {
            Some(part) => part.clone(),
            None => attachment.insert(Arc::new(make()?)).clone(),
        };
        part.downcast().map_err(|_| Error::INVALID_SESSION)
    }
}
