//! The library's performance variables.
//!
//! Totals that are bound to nothing are measured by our engine ([`super::measured`]), because libraries mix up
//! sessions. All others are the library's: our handle holds one of its handles, in a session of its that belongs to
//! our session.
#![allow(unsafe_code)]

use super::measured::Total;
use super::native::{self, Object, Word};
use super::{enumeration, gone};
use crate::mpi_t::REGISTRY;
use crate::mpi_t::bound::{self, Life};
use crate::mpi_t::codes::codes;
use crate::mpi_t::handles::{self, Widening};
use mpit::{Bind, Datatype, Error, PvarHandle, PvarProvider, PvarSpec, Result, SessionContext};
use std::cell::Cell;
use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Appends the variable with this index of the library; gives ours.
pub fn append(index: c_int, enumerations: &mut enumeration::Known) -> Option<usize> {
    let (mut spec, native) = describe(index).ok()?;
    let name = native.name;
    let (datatype, widening) = handles::datatype_of(native.datatype)?;
    if datatype == Datatype::INT
        && let Some(names) = enumerations.get(native.enumeration)
    {
        spec = spec.enumeration(names);
    }
    let unbound = native.bind == Bind::NO_OBJECT;
    if unbound && native.cumulative && Total::can_measure(datatype) {
        let (spec, total) = Total::new(spec, name, index, datatype);
        return REGISTRY.add_pvar(spec.atomic(true), total).ok();
    }
    let spec = spec.atomic(native.atomic);
    REGISTRY.add_custom_pvar(spec, Variable { name, bind: native.bind, index, widening, datatype }).ok()
}

struct Native {
    name: String,
    datatype: u64,
    enumeration: Word,
    bind: Bind,
    cumulative: bool,
    atomic: bool,
}

fn describe(index: c_int) -> Result<(PvarSpec, Native)> {
    let numbers = Cell::new((0u64, 0usize, [0; 6]));
    let [name, desc] = native::with_strings(|[name, desc]| {
        let (mut datatype, mut enumeration) = (0u64, 0);
        let [mut verbosity, mut class, mut bind, mut readonly, mut continuous, mut atomic] = [0; 6];
        let ((name, name_len), (desc, desc_len)) = (name.pointers(), desc.pointers());
        // SAFETY: an index below the library's number, places for its answers.
        unsafe {
            native::pvar_get_info(
                index,
                name,
                name_len,
                &mut verbosity,
                &mut class,
                (&raw mut datatype).cast(),
                &mut enumeration,
                desc,
                desc_len,
                &mut bind,
                &mut readonly,
                &mut continuous,
                &mut atomic,
            )?;
        }
        numbers.set((datatype, enumeration, [verbosity, class, bind, readonly, continuous, atomic]));
        Ok(())
    })?;
    let (datatype, enumeration, [verbosity, class, bind, readonly, continuous, atomic]) = numbers.get();
    let codes = codes();
    let (class, bind) = (codes.class_of(class), codes.bind_of(bind));
    // The registered datatype must be the one shown.
    let shown = handles::datatype_of(datatype).map_or(Datatype::INT, |(shown, _)| shown);
    let spec = PvarSpec::new(name.as_str(), class, shown)
        .desc(desc)
        .verbosity(codes.verbosity_of(verbosity))
        .bind(bind)
        .readonly(readonly != 0)
        .continuous(continuous != 0)
        .any_datatype();
    let cumulative = class.is_cumulative();
    Ok((spec, Native { name, datatype, enumeration, bind, cumulative, atomic: atomic != 0 }))
}

/// A session of the library, and whether a handle had to be left in it.
pub struct Session(pub Word, AtomicBool);

impl Session {
    /// A new one.
    pub fn create() -> Result<Self> {
        let mut session = 0;
        // SAFETY: a place for the answer.
        unsafe { native::pvar_session_create(&mut session)? };
        Ok(Self(session, AtomicBool::new(false)))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Freeing it would free the handles in it.
        if gone::pvars_usable() && !self.1.load(Ordering::Relaxed) {
            // SAFETY: a live session, given back once; its handles are gone.
            let _ = unsafe { native::pvar_session_free(&mut self.0) };
        }
    }
}

/// Can handles of this variable be made?
pub fn can_open(name: &str) -> Result<()> {
    if gone::is_unselected(name) { Err(Error::INVALID_HANDLE) } else { usable() }
}

fn usable() -> Result<()> {
    if gone::pvars_usable() { Ok(()) } else { Err(Error::INVALID_HANDLE) }
}

struct Variable {
    name: String,
    bind: Bind,
    index: c_int,
    widening: Widening,
    datatype: Datatype,
}

impl PvarProvider for Variable {
    fn open(&self, object: u64, session: SessionContext<'_>) -> Result<Box<dyn PvarHandle>> {
        // The element sizes of the library and of the interface differ: no released library needs it.
        if self.widening != Widening::None {
            return Err(Error::NOT_SUPPORTED);
        }
        can_open(&self.name)?;
        let object = bound::check(self.bind, object)?;
        let session = session.attach(Session::create)?;
        let life = Life::of(self.bind, object);
        Ok(Box::new(Handle::new(session, self.index, object, life, self.datatype)?))
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
    /// Allocates one.
    pub fn new(
        session: Arc<Session>,
        index: c_int,
        object: u64,
        life: Life,
        datatype: Datatype,
    ) -> Result<Self> {
        let mut object = Box::new(Object::new(object));
        let (mut handle, mut count) = (0, 0);
        // SAFETY: a live session, an index of the library, an object that is kept, places for the answers.
        unsafe { native::pvar_handle_alloc(session.0, index, object.pointer(), &mut handle, &mut count)? };
        let count = usize::try_from(count).ok().filter(|count| *count > 0).ok_or(Error::INVALID_HANDLE)?;
        Ok(Self { session, handle, count, size: count * datatype.size(), life, _object: object })
    }
}

impl Handle {
    /// The library would look at a freed object.
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
        // SAFETY: a live handle in its session, room for the whole value.
        unsafe { native::pvar_read(self.session.0, self.handle, out.as_mut_ptr().cast()) }
    }

    fn write(&self, from: &[u8]) -> Result<()> {
        self.usable()?;
        if from.len() < self.size {
            return Err(Error::INVALID);
        }
        // SAFETY: a live handle in its session, the whole value.
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
        // SAFETY: a live handle in its session, room for the whole value.
        let done = unsafe { native::pvar_readreset(self.session.0, self.handle, out.as_mut_ptr().cast()) };
        // Open MPI up to 5 refuses every handle here.
        done.map_err(|_| Error::PVAR_NO_ATOMIC)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.usable().is_ok() {
            // SAFETY: a live handle in its session, given back once.
            let _ = unsafe { native::pvar_handle_free(self.session.0, &mut self.handle) };
        } else {
            self.session.1.store(true, Ordering::Relaxed);
        }
    }
}
