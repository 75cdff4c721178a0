//! Performance variables of a registry.

use super::{Backend, Encoding, Instrument, Pvar, PvarProvider, PvarSpec, Unit};
use crate::codes::{Datatype, Error, PvarClass, Result};
use crate::registry::Registry;
use crate::table::index;
use std::sync::atomic::AtomicU32;

impl Registry {
    /// Publishes a variable that this crate measures per handle, and returns its index.
    ///
    /// # Errors
    /// [`Error::INVALID_NAME`] if the name is empty or taken within the class; [`Error::INVALID`] if the
    /// class does not allow the datatype, if an enumeration comes with a datatype other than `INT`, if a
    /// cumulative variable has the unit [`Unit::Bits`], or if a watermark's instrument has no [`WatchList`].
    pub fn add_pvar(&self, spec: PvarSpec, instrument: impl Instrument) -> Result<usize> {
        let class = spec.info.class;
        let bits = matches!(spec.unit, Unit::Bits);
        if (class.is_cumulative() && bits) || (class.is_watermark() && instrument.watch().is_none()) {
            return Err(Error::INVALID);
        }
        self.publish(spec, Backend::Measured(Box::new(instrument)))
    }

    /// Publishes a variable whose handles are the provider's, and returns its index.
    ///
    /// # Errors
    /// As [`Registry::add_pvar`], for the name and the enumeration.
    pub fn add_custom_pvar(&self, spec: PvarSpec, provider: impl PvarProvider) -> Result<usize> {
        self.publish(spec.any_datatype(), Backend::Custom(Box::new(provider)))
    }

    fn publish(&self, spec: PvarSpec, backend: Backend) -> Result<usize> {
        let PvarSpec { mut info, unit, any_datatype } = spec;
        if info.datatype.size() == 0 || !(any_datatype || info.class.allows(info.datatype)) {
            return Err(Error::INVALID);
        }
        if let Some(enumeration) = info.enumeration {
            self.enumeration(enumeration)?;
            if info.datatype != Datatype::INT {
                return Err(Error::INVALID);
            }
        }
        info.atomic &= !info.readonly;
        let encoding = Encoding::new(info.datatype, unit);
        let (name, class) = (info.name.clone(), info.class.0);
        let _adding = self.adding();
        let pvar = Pvar { info, encoding, backend, active: AtomicU32::new(0) };
        let index = self.pvars.add(&name, class, pvar)?;
        self.changed();
        Ok(index)
    }

    /// Number of performance variables.
    pub fn pvar_count(&self) -> usize {
        self.pvars.len()
    }

    /// The performance variable at an index.
    ///
    /// # Errors
    /// [`Error::INVALID_INDEX`].
    pub fn pvar(&self, at: impl TryInto<usize>) -> Result<&Pvar> {
        self.pvars.get(index(at)?).ok_or(Error::INVALID_INDEX)
    }

    /// The index of the variable with this name and class.
    ///
    /// # Errors
    /// [`Error::INVALID_NAME`].
    pub fn pvar_index(&self, name: &str, class: PvarClass) -> Result<usize> {
        self.pvars.find(name, class.0)
    }
}
