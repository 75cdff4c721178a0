//! The MPI tool information interface (MPI_T) as an engine.
#![allow(unexpected_cfgs)] // `loom`: model checking of the lock-free parts
#![cfg_attr(loom, allow(dead_code))]

macro_rules! engine {
    ($($item:item)*) => { $(#[cfg(not(loom))] $item)* };
}

mod codes;
mod mark;
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
    mod word;

    pub use category::{Category, Member};
    pub use cvar::{
        Cvar, CvarHandle, CvarInfo, CvarProvider, Provenance, Setting, SettingValue, When,
    };
    pub use enumeration::Enumeration;
    pub use lifecycle::Lifecycle;
    pub use pvar::{
        Binding, Counter, Encoding, Gauge, Instrument, Pvar, PvarHandle, PvarInfo, PvarProvider, PvarSpec,
        Scalar, SessionContext, Unit, WatchList,
    };
    pub use registry::Registry;
    pub use word::{CvarWord, InstanceWord, PvarWord, RegistrationWord, SessionWord};
}

pub use codes::{Bind, CbSafety, Datatype, Error, PvarClass, Result, Scope, SourceOrder, Verbosity};
