//! The MPI tool information interface (MPI_T, MPI 5.0 chapter "Tool Support") as a Rust engine.
//!
//! The engine is independent of any MPI library: a program or a runtime publishes its internal state, and
//! tools inspect it with the semantics of the standard. A C layer on top only has to translate constants and
//! pointers.
//!
//! * A [`Registry`] holds enumerations, control variables, performance variables, categories, event sources
//!   and event types. It only grows; indices never change.
//! * Performance variables are measured per handle: an [`Instrument`] reports raw totals or current values,
//!   and sessions cannot disturb each other. Variables of an underlying library are added through
//!   [`PvarProvider`].
//! * Control variables are [`Setting`]s, or an underlying library's through [`CvarProvider`].
//! * Events: see [`event`].
//! * Handles are opaque words; a stale, foreign or wrong handle is rejected without being dereferenced.
//!
//! Publishing and reading variables in one program:
//!
//! ```
//! use std::sync::Arc;
//! use mpit::{Counter, Datatype, Gauge, Member, PvarClass, PvarSpec, PvarWord, Registry, Verbosity};
//!
//! static REGISTRY: Registry = Registry::new();
//!
//! // The publisher's side.
//! let messages = Arc::new(Counter::new());
//! let queue = Arc::new(Gauge::new());
//! let counter = PvarSpec::new("messages", PvarClass::COUNTER, Datatype::UNSIGNED_LONG_LONG)
//!     .desc("messages sent")
//!     .verbosity(Verbosity::USER_BASIC);
//! let sent = REGISTRY.add_pvar(counter, messages.clone())?;
//! let peak = PvarSpec::new("queue_length", PvarClass::HIGHWATERMARK, Datatype::UNSIGNED);
//! let peak = REGISTRY.add_pvar(peak, queue.clone())?;
//! let category = REGISTRY.add_category("messages", "what was sent and what waits")?;
//! REGISTRY.add_to_category(category, Member::Pvar(sent))?;
//!
//! // The tool's side.
//! let session = REGISTRY.pvar_session_create()?;
//! let index = REGISTRY.pvar_index("messages", PvarClass::COUNTER)?;
//! let (count, _elements) = REGISTRY.pvar_handle_alloc(session, index, 0)?;
//! let (high, _elements) = REGISTRY.pvar_handle_alloc(session, peak, 0)?;
//! REGISTRY.pvar_start(session, PvarWord::ALL_HANDLES)?;
//!
//! messages.add(3);
//! queue.set(17);
//! queue.set(2);
//!
//! assert_eq!(REGISTRY.pvar_take::<u64>(session, count)?, 3);
//! assert_eq!(REGISTRY.pvar_value::<u64>(session, count)?, 0);
//! assert_eq!(REGISTRY.pvar_value::<u32>(session, high)?, 17);
//! REGISTRY.pvar_session_free(session)?;
//! # Ok::<(), mpit::Error>(())
//! ```
//!
//! # Which functions may be called where
//!
//! | functions | lock | allocate | signal handler |
//! | --- | --- | --- | --- |
//! | `pvar_start`, `pvar_stop`, `pvar_read`, `pvar_write`, `pvar_reset`, `pvar_readreset` | no | no | yes |
//! | [`event::Raiser::raise`]; [`event::read`], [`event::copy`], [`event::timestamp`], [`event::source_index`] | no | no | yes |
//! | [`event::Source::timestamp`], looking up entries by index | no | no | yes |
//! | looking up a name, `category_changed` | yes | no | no |
//! | adding, allocating and freeing handles and sessions, callbacks, control variables | yes | yes | no |
//!
//! In the first three rows, the instrument, clock or callback involved must follow the same rules.
#![allow(unexpected_cfgs)] // `loom`: model checking of the lock-free parts
#![cfg_attr(loom, allow(dead_code))]

macro_rules! engine {
    ($($item:item)*) => { $(#[cfg(not(loom))] $item)* };
}

mod codes;
mod free_list;
mod mark;
mod spread;
mod state;
mod sync;

engine! {
    mod category;
    mod cvar;
    mod enumeration;
    pub mod event;
    mod lifecycle;
    mod pvar;
    mod registry;
    mod slab;
    pub mod strings;
    mod table;
    mod users;
    mod word;

    pub use category::{Category, Member};
    pub use cvar::{
        Cvar, CvarHandle, CvarInfo, CvarProvider, Provenance, Setting, SettingValue, When,
    };
    pub use enumeration::Enumeration;
    pub use lifecycle::Lifecycle;
    pub use pvar::{
        Binding, Counter, Encoding, Gauge, Instrument, Pvar, PvarHandle, PvarInfo, PvarProvider, PvarSpec,
        Scalar, SessionContext, Shards, Unit, WatchList,
    };
    pub use registry::Registry;
    pub use word::{CvarWord, InstanceWord, PvarWord, RegistrationWord, SessionWord};
}

pub use codes::{Bind, CbSafety, Datatype, Error, PvarClass, Result, Scope, SourceOrder, Verbosity};
