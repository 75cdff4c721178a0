//! Performance variables: MPI 5.0, section "Performance Variables".
//!
//! A variable is a description ([`PvarSpec`]) and a backend: an [`Instrument`], which only reports the
//! current raw value and leaves all per-handle measurement to this crate, or a [`PvarProvider`], which
//! creates its own handles (the variables of an underlying MPI library, or of class GENERIC).

mod encoding;
mod handle;
mod inline;
mod instrument;
mod measured;
mod operations;
mod published;
mod session;
mod sessions;
mod shards;
mod watch;

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU32, Ordering};

pub use encoding::{Encoding, Unit};
pub(crate) use handle::PvarHandleData;
pub(crate) use inline::PvarInline;
pub use instrument::{Binding, Counter, Gauge, Instrument, PvarHandle, PvarProvider, SessionContext};
pub(crate) use session::Session;
pub use operations::Scalar;
pub use shards::Shards;
pub use watch::WatchList;

use crate::codes::{Bind, Datatype, PvarClass, Verbosity};

/// The description of a performance variable, which never changes.
#[derive(Debug, Clone)]
pub struct PvarInfo {
    /// The name, unique within the class.
    pub name: String,
    /// What the variable measures, with its unit; may be empty.
    pub desc: String,
    /// The intended audience.
    pub verbosity: Verbosity,
    /// The class.
    pub class: PvarClass,
    /// The datatype of each element.
    pub datatype: Datatype,
    /// Index of the enumeration that names its values; only for [`Datatype::INT`].
    pub enumeration: Option<usize>,
    /// The kind of object that a handle must be bound to.
    pub bind: Bind,
    /// Whether it can neither be written nor reset.
    pub readonly: bool,
    /// Whether it is always active and cannot be started and stopped.
    pub continuous: bool,
    /// Whether it can be read and reset atomically.
    pub atomic: bool,
}

enum Backend {
    Measured(Box<dyn Instrument>),
    Custom(Box<dyn PvarProvider>),
}

/// The description of a performance variable to be registered.
///
/// By default it is unbound, of verbosity [`Verbosity::USER_BASIC`], not continuous, and as writable and
/// atomic as its class permits: values that are measured per handle (counters, aggregates, timers,
/// watermarks) are writable; current values (states, levels, sizes, percentages) are read-only.
#[must_use]
pub struct PvarSpec {
    info: PvarInfo,
    unit: Unit,
    any_datatype: bool,
}

impl PvarSpec {
    /// Describes a variable of this name, class and datatype.
    pub fn new(name: impl Into<String>, class: PvarClass, datatype: Datatype) -> Self {
        let measured = class.is_cumulative() || class.is_watermark();
        Self {
            info: PvarInfo {
                name: name.into(),
                desc: String::new(),
                verbosity: Verbosity::USER_BASIC,
                class,
                datatype,
                enumeration: None,
                bind: Bind::NO_OBJECT,
                readonly: !measured,
                continuous: false,
                atomic: measured,
            },
            unit: Unit::Plain,
            any_datatype: false,
        }
    }

    /// Sets the description.
    pub fn desc(mut self, desc: impl Into<String>) -> Self {
        self.info.desc = desc.into();
        self
    }

    /// Sets the verbosity.
    pub fn verbosity(mut self, verbosity: Verbosity) -> Self {
        self.info.verbosity = verbosity;
        self
    }

    /// Sets the enumeration that names the values; the datatype must be [`Datatype::INT`].
    pub fn enumeration(mut self, index: usize) -> Self {
        self.info.enumeration = Some(index);
        self
    }

    /// Sets the kind of object that handles are bound to.
    pub fn bind(mut self, bind: Bind) -> Self {
        self.info.bind = bind;
        self
    }

    /// Sets whether it can only be read. A read-only variable is not atomic either.
    pub fn readonly(mut self, readonly: bool) -> Self {
        self.info.readonly = readonly;
        self
    }

    /// Sets whether it is always active.
    pub fn continuous(mut self, continuous: bool) -> Self {
        self.info.continuous = continuous;
        self
    }

    /// Sets whether it can be read and reset atomically.
    pub fn atomic(mut self, atomic: bool) -> Self {
        self.info.atomic = atomic;
        self
    }

    /// Sets how raw values are converted to the datatype; see [`Unit`].
    pub fn unit(mut self, unit: Unit) -> Self {
        self.unit = unit;
        self
    }

    /// Permits a datatype that the standard does not allow for the class.
    pub fn any_datatype(mut self) -> Self {
        self.any_datatype = true;
        self
    }
}

/// A registered performance variable.
pub struct Pvar {
    info: PvarInfo,
    encoding: Encoding,
    backend: Backend,
    /// Number of handles for which the variable must be kept up to date.
    active: AtomicU32,
}

impl Pvar {
    /// The description of the variable.
    pub fn info(&self) -> &PvarInfo {
        &self.info
    }

    pub(crate) fn encoding(&self) -> Encoding {
        self.encoding
    }

    fn instrument(&self) -> Option<&dyn Instrument> {
        match &self.backend {
            Backend::Measured(instrument) => Some(instrument.as_ref()),
            Backend::Custom(_) => None,
        }
    }

    fn custom(&self) -> Option<&dyn PvarProvider> {
        match &self.backend {
            Backend::Custom(provider) => Some(provider.as_ref()),
            Backend::Measured(_) => None,
        }
    }

    /// Counts a handle that needs the variable kept up to date. Async-signal-safe.
    fn activate(&self) {
        if self.active.fetch_add(1, Ordering::AcqRel) == 0 {
            self.tell_interest(true);
        }
    }

    /// Counts one such handle less.
    fn deactivate(&self) {
        if self.active.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.tell_interest(false);
        }
    }

    /// Notifies the instrument until its last notification matches the count: a start and a stop may overtake
    /// each other between counting and notifying.
    fn tell_interest(&self, mut wanted: bool) {
        let Some(instrument) = self.instrument() else { return };
        loop {
            instrument.interest(wanted);
            let now = self.active.load(Ordering::SeqCst) != 0;
            if now == wanted {
                return;
            }
            wanted = now;
        }
    }
}
