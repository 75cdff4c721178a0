//! `MPI_T_init_thread` and `MPI_T_finalize`.
//!
//! The interface has a separate reference count, and works before `MPI_Init` and after `MPI_Finalize`. The
//! library's own interface is initialized at most once ([`super::library`]) and never finalized, because
//! nearly every library crashes in one of the orders that the standard allows.
#![allow(unsafe_code)]

use super::codes::codes;
use super::{REGISTRY, builtin, c, events, handles, library};
use mpit::{Error, Result};
use std::ffi::c_int;
use std::sync::Once;

/// Every entry point is thread-safe whatever level was requested. So the highest level is always granted, and
/// a nested call, which only increments the count, returns the same level.
unsafe fn init(required: c_int, provided: *mut c_int) -> Result<()> {
    crate::interpose::resolver::resolve();
    let codes = codes();
    if codes.thread_level(required).is_none() {
        return Err(Error::INVALID);
    }
    // SAFETY: the caller's OUT argument.
    unsafe { c::put(provided, codes.threads.last().map_or(required, |level| *level as c_int)) };
    if crate::interpose::resolver::abi().is_none() {
        return Err(Error::CANNOT_INIT);
    }
    handles::all_handles();
    publish();
    library::started();
    REGISTRY.init();
    Ok(())
}

/// Publishes all our own variables and events, once.
fn publish() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let categories = builtin::publish();
        events::publish(&categories);
    });
}

/// `MPI_T_init_thread`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_T_init_thread(required: c_int, provided: *mut c_int) -> c_int {
    // SAFETY: the caller's contract.
    c::answer(unsafe { init(required, provided) })
}

/// `MPI_T_init_thread`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_init_thread(required: c_int, provided: *mut c_int) -> c_int {
    // SAFETY: the caller's contract.
    c::answer(unsafe { init(required, provided) })
}

c::entry_points! {
    /// `MPI_T_finalize`.
    MPI_T_finalize PMPI_T_finalize() {
        REGISTRY.finalize().map(|_last| ())
    }
}
