//! Totals of the library, measured by our engine.
//!
//! MPICH shows every session the same number, cannot stop it, and starts timers from a wrong value. So one
//! handle is kept for each such variable, in a session of our own, from the first time that a tool asks for
//! it. It reads a total that only grows, and each tool's handle keeps its own starting value.

use super::pvar_handle::{Handle, Session, can_open};
use crate::mpi_t::bound::Life;
use mpit::{Bind, Binding, Datatype, Error, Instrument, PvarHandle, PvarSpec, Result, Unit};
use std::ffi::c_int;
use std::sync::{Arc, OnceLock};

/// Raw values of a double are stored in units of `1.0 / PARTS`.
const PARTS: f64 = 1e9;
/// Size of the longest array that is read without allocating.
const SMALL: usize = 64;

/// A total of the library.
pub struct Total {
    name: String,
    index: c_int,
    datatype: Datatype,
    handle: OnceLock<Handle>,
}

impl Total {
    /// Whether totals can have this datatype.
    pub fn can_measure(datatype: Datatype) -> bool {
        datatype.is_unsigned() || datatype == Datatype::DOUBLE
    }

    /// Creates the total for the variable with this library index.
    pub fn new(spec: PvarSpec, name: String, index: c_int, datatype: Datatype) -> (PvarSpec, Self) {
        let spec = if datatype == Datatype::DOUBLE { spec.unit(Unit::Scaled(1.0 / PARTS)) } else { spec };
        (spec, Self { name, index, datatype, handle: OnceLock::new() })
    }

    fn open(&self) -> Option<Handle> {
        let session = Arc::new(Session::create().ok()?);
        let handle = Handle::new(session, self.index, 0, Life::of(Bind::NO_OBJECT, 0), self.datatype).ok()?;
        // A variable that is always active refuses, and needs no start.
        let _ = handle.start();
        Some(handle)
    }

    fn raw(&self, element: &[u8]) -> u64 {
        match (self.datatype, element.first_chunk::<8>(), element.first_chunk::<4>()) {
            // A negative value converts to 0.
            (Datatype::DOUBLE, Some(bytes), _) => (f64::from_ne_bytes(*bytes) * PARTS) as u64,
            (_, Some(bytes), _) => u64::from_ne_bytes(*bytes),
            (_, None, Some(bytes)) => u64::from(u32::from_ne_bytes(*bytes)),
            _ => 0,
        }
    }
}

impl Instrument for Total {
    fn bind(&self, _object: u64) -> Result<Binding<'_>> {
        can_open(&self.name)?;
        let handle = match self.handle.get() {
            Some(handle) => handle,
            // If two threads do this at once, one keeps its handle, and the other's is freed.
            None => {
                let handle = self.open().ok_or(Error::OUT_OF_HANDLES)?;
                self.handle.get_or_init(|| handle)
            }
        };
        Ok(Binding::sampled(handle.count()))
    }

    fn sample(&self, _object: u64, element: usize) -> Result<u64> {
        let handle = self.handle.get().ok_or(Error::INVALID_HANDLE)?;
        let size = self.datatype.size();
        let (mut small, mut large) = ([0u8; SMALL * 8], Vec::new());
        let room = handle.count() * size;
        let out = match small.get_mut(..room) {
            Some(out) => out,
            None => {
                large.resize(room, 0);
                large.as_mut_slice()
            }
        };
        handle.read(out)?;
        out.chunks_exact(size).nth(element).map(|bytes| self.raw(bytes)).ok_or(Error::INVALID_INDEX)
    }
}
