//! Sessions and handles of the library for its performance variables.
#![allow(unsafe_code)]

use super::gone;
use super::native::{self, Object, Word};
use crate::mpi_t::bound::Life;
use mpit::{Datatype, Error, PvarHandle, Result};
use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Checks that handles of this variable can be allocated.
pub fn can_open(name: &str) -> Result<()> {
    if gone::is_unselected(name) { Err(Error::INVALID_HANDLE) } else { usable() }
}

fn usable() -> Result<()> {
    if gone::pvars_usable() { Ok(()) } else { Err(Error::INVALID_HANDLE) }
}

/// A session of the library, and whether a handle had to be left in it.
pub struct Session(pub Word, AtomicBool);

impl Session {
    /// Creates a session.
    pub fn create() -> Result<Self> {
        let mut session = 0;
        // SAFETY: memory for the result.
        unsafe { native::pvar_session_create(&mut session)? };
        Ok(Self(session, AtomicBool::new(false)))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Freeing it would free the handles in it.
        if gone::pvars_usable() && !self.1.load(Ordering::Relaxed) {
            // SAFETY: a live session, freed once; its handles have been freed.
            let _ = unsafe { native::pvar_session_free(&mut self.0) };
        }
    }
}

/// A handle of the library.
pub struct Handle {
    session: Arc<Session>,
    handle: Word,
    count: usize,
    size: usize,
    life: Life,
    /// Libraries keep the address of the object's handle.
    _object: Box<Object>,
}

impl Handle {
    /// Allocates a handle.
    pub fn new(
        session: Arc<Session>,
        index: c_int,
        object: u64,
        life: Life,
        datatype: Datatype,
    ) -> Result<Self> {
        let mut object = Box::new(Object::new(object));
        let (mut handle, mut count) = (0, 0);
        // SAFETY: a live session, an index of the library, an object that is kept, and memory for the
        // results.
        unsafe { native::pvar_handle_alloc(session.0, index, object.pointer(), &mut handle, &mut count)? };
        let count = usize::try_from(count).ok().filter(|count| *count > 0).ok_or(Error::INVALID_HANDLE)?;
        Ok(Self { session, handle, count, size: count * datatype.size(), life, _object: object })
    }
}

impl Handle {
    /// Checks that the handle can be used: the library would access a freed object.
    fn usable(&self) -> Result<()> {
        if self.life.is_alive() { usable() } else { Err(Error::INVALID_HANDLE) }
    }
}

impl PvarHandle for Handle {
    fn count(&self) -> usize {
        self.count
    }

    fn start(&self) -> Result<()> {
        self.usable()?;
        // SAFETY: a live handle in its session.
        unsafe { native::pvar_start(self.session.0, self.handle) }
    }

    fn stop(&self) -> Result<()> {
        self.usable()?;
        // SAFETY: a live handle in its session.
        unsafe { native::pvar_stop(self.session.0, self.handle) }
    }

    fn read(&self, out: &mut [u8]) -> Result<()> {
        self.usable()?;
        if out.len() < self.size {
            return Err(Error::INVALID);
        }
        // SAFETY: a live handle in its session, and room for the whole value.
        unsafe { native::pvar_read(self.session.0, self.handle, out.as_mut_ptr().cast()) }
    }

    fn write(&self, from: &[u8]) -> Result<()> {
        self.usable()?;
        if from.len() < self.size {
            return Err(Error::INVALID);
        }
        // SAFETY: a live handle in its session, and the whole value.
        unsafe { native::pvar_write(self.session.0, self.handle, from.as_ptr().cast()) }
    }

    fn reset(&self) -> Result<()> {
        self.usable()?;
        // SAFETY: a live handle in its session.
        unsafe { native::pvar_reset(self.session.0, self.handle) }
    }

    fn readreset(&self, out: &mut [u8]) -> Result<()> {
        self.usable()?;
        if out.len() < self.size {
            return Err(Error::INVALID);
        }
        // SAFETY: a live handle in its session, and room for the whole value.
        let done = unsafe { native::pvar_readreset(self.session.0, self.handle, out.as_mut_ptr().cast()) };
        // Open MPI up to version 5 refuses every handle here.
        done.map_err(|_| Error::PVAR_NO_ATOMIC)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.usable().is_ok() {
            // SAFETY: a live handle in its session, freed once.
            let _ = unsafe { native::pvar_handle_free(self.session.0, &mut self.handle) };
        } else {
            self.session.1.store(true, Ordering::Relaxed);
        }
    }
}
