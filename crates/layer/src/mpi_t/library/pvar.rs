//! The library's performance variables.
//!
//! Totals that are not bound to an object are measured by our engine ([`super::measured`]), because libraries
//! mix up sessions. All others are passed through: our handle holds one of the library's handles, in a
//! library session that belongs to our session.
#![allow(unsafe_code)]

use super::enumeration;
use super::measured::Total;
use super::native::{self, Word};
use super::pvar_handle::{Handle, Session, can_open};
use crate::mpi_t::REGISTRY;
use crate::mpi_t::bound::{self, Life};
use crate::mpi_t::codes::codes;
use crate::mpi_t::handles::{self, Widening};
use mpit::{Bind, Datatype, Error, PvarHandle, PvarProvider, PvarSpec, Result, SessionContext};
use std::cell::Cell;
use std::ffi::c_int;

/// Appends the variable with this library index and returns our index.
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
        // SAFETY: an index below the library's number, and memory for its results.
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
    // The variable must be registered with the datatype that tools see.
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

struct Variable {
    name: String,
    bind: Bind,
    index: c_int,
    widening: Widening,
    datatype: Datatype,
}

impl PvarProvider for Variable {
    fn open(&self, object: u64, session: SessionContext<'_>) -> Result<Box<dyn PvarHandle>> {
        // The library's and the interface's element sizes differ. No released library needs this.
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
