//! `MPI_T_init_thread` and `MPI_T_finalize`.
//!
//! The interface has a count of its own, and works before `MPI_Init` and after `MPI_Finalize`. The library's own
//! interface is initialised at most once ([`super::library`]) and never finalized: nearly every library crashes in one
//! of the orders that the standard allows.
#![allow(unsafe_code)]

use super::codes::codes;
use super::{REGISTRY, builtin, c, handles, library};
use crate::record::objects::sessions;
use mpi_abi::{Abi, AbiKind, Mpich, OpenMpi, Standard};
use mpit::{Error, Result};
use std::ffi::c_int;

/// Every entry point is safe to call from several threads whatever was asked for. So the highest level is granted, always:
/// a call that only counts up, nested in another, gives the same answer.
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
    builtin::publish();
    library::started();
    REGISTRY.init();
    Ok(())
}

/// The thread level of MPI while it is initialised, counted from 0.
pub fn program_level() -> Option<usize> {
    fn level<A: Abi>() -> Option<usize> {
        let (mut begun, mut over, mut level) = (0, 0, A::THREAD_SINGLE);
        crate::interpose::real::initialized::<A>(&mut begun)?;
        crate::interpose::real::finalized::<A>(&mut over)?;
        if begun == 0 || over != 0 {
            return None;
        }
        crate::interpose::real::query_thread::<A>(&mut level)?;
        codes().thread_level(level)
    }
    match crate::interpose::resolver::abi()? {
        AbiKind::MPICH => level::<Mpich>(),
        AbiKind::OPENMPI => level::<OpenMpi>(),
        _ => level::<Standard>(),
    }
}

/// Whether MPI is up by way of sessions alone: there is no `MPI_COMM_WORLD`, but there may be objects.
pub fn sessions_only() -> bool {
    fn begun<A: Abi>() -> bool {
        let mut begun = 0;
        crate::interpose::real::initialized::<A>(&mut begun).is_none() || begun != 0
    }
    let begun = match crate::interpose::resolver::abi() {
        None => return false,
        Some(AbiKind::MPICH) => begun::<Mpich>(),
        Some(AbiKind::OPENMPI) => begun::<OpenMpi>(),
        Some(_) => begun::<Standard>(),
    };
    !begun && sessions::is_one_open()
}

/// Whether MPI is up, in one way or the other.
pub fn is_up() -> bool {
    program_level().is_some() || sessions_only()
}

/// `MPI_T_init_thread`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_T_init_thread(required: c_int, provided: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    c::answer(unsafe { init(required, provided) })
}

/// `MPI_T_init_thread`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_init_thread(required: c_int, provided: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    c::answer(unsafe { init(required, provided) })
}

c::entry_points! {
    /// `MPI_T_finalize`.
    MPI_T_finalize PMPI_T_finalize() {
        REGISTRY.finalize().map(|_last| ())
    }
}
