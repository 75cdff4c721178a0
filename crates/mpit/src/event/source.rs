//! Event sources.

use std::sync::atomic::{AtomicU64, Ordering};

use super::Hints;
use crate::codes::{Error, Result, SourceOrder};

type Clock = Box<dyn Fn() -> u64 + Send + Sync>;

/// The description of a source to be registered.
#[must_use]
pub struct SourceSpec {
    pub(super) name: String,
    desc: String,
    order: SourceOrder,
    ticks_per_second: u64,
    max_ticks: u64,
    clock: Clock,
    on_demand: bool,
    hints: Hints,
}

impl SourceSpec {
    /// Describes a source whose timestamps are the ticks of `clock`, which must be async-signal-safe and
    /// monotonic.
    ///
    /// By default it is unordered, and its clock can be read at any time.
    pub fn new(
        name: impl Into<String>,
        ticks_per_second: u64,
        clock: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            desc: String::new(),
            order: SourceOrder::UNORDERED,
            ticks_per_second,
            max_ticks: i64::MAX as u64,
            clock: Box::new(clock),
            on_demand: true,
            hints: Hints::new(),
        }
    }

    /// Sets the description.
    pub fn desc(mut self, desc: impl Into<String>) -> Self {
        self.desc = desc.into();
        self
    }

    /// Sets the guarantee about the order of timestamps, which the raisers must keep.
    pub fn order(mut self, order: SourceOrder) -> Self {
        self.order = order;
        self
    }

    /// Sets the largest timestamp before overflow.
    pub fn max_ticks(mut self, max_ticks: u64) -> Self {
        self.max_ticks = max_ticks;
        self
    }

    /// Declares that the clock cannot be read outside of events.
    pub fn no_timestamp_on_demand(mut self) -> Self {
        self.on_demand = false;
        self
    }

    /// Sets the hints that a query returns.
    pub fn hints(mut self, hints: Hints) -> Self {
        self.hints = hints;
        self
    }
}

/// A registered source.
pub struct Source {
    spec: SourceSpec,
    pub(super) index: usize,
    /// Number of registrations that have lost events of this source and have not been informed.
    pub(super) undelivered: AtomicU64,
}

impl Source {
    pub(super) fn new(spec: SourceSpec, index: usize) -> Self {
        Self { spec, index, undelivered: AtomicU64::new(0) }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// The description; may be empty.
    pub fn desc(&self) -> &str {
        &self.spec.desc
    }

    /// The guarantee about the order of timestamps.
    pub fn order(&self) -> SourceOrder {
        self.spec.order
    }

    /// Ticks of its clock per second.
    pub fn ticks_per_second(&self) -> u64 {
        self.spec.ticks_per_second
    }

    /// The largest timestamp before overflow.
    pub fn max_ticks(&self) -> u64 {
        self.spec.max_ticks
    }

    /// The hints.
    pub fn hints(&self) -> &Hints {
        &self.spec.hints
    }

    /// Its index in the registry.
    pub fn index(&self) -> usize {
        self.index
    }

    #[inline]
    pub(super) fn now(&self) -> u64 {
        (self.spec.clock)()
    }

    #[inline]
    pub(super) fn has_undelivered(&self) -> bool {
        self.undelivered.load(Ordering::Relaxed) != 0
    }

    /// Returns the current timestamp. Async-signal-safe.
    ///
    /// # Errors
    /// [`Error::NOT_SUPPORTED`] if the clock cannot be read outside of events.
    #[inline]
    pub fn timestamp(&self) -> Result<u64> {
        if self.spec.on_demand { Ok(self.now()) } else { Err(Error::NOT_SUPPORTED) }
    }
}
