//! Control variables: MPI 5.0, section "Control Variables".

mod handle;
mod published;
mod setting;

#[cfg(test)]
mod tests;

pub(crate) use handle::{CvarHandleData, CvarInline};
pub use setting::{Setting, SettingValue, When};

use crate::codes::{Bind, Datatype, Result, Scope, Verbosity};

/// The origin of a control variable's value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Provenance {
    /// The default.
    Default,
    /// An environment variable.
    Environment,
    /// A write through this interface.
    Written,
    /// Another origin, such as a configuration file of an underlying library.
    Other,
}

/// The description of a control variable, which never changes.
#[derive(Debug, Clone)]
pub struct CvarInfo {
    /// The name, unique among control variables.
    pub name: String,
    /// What the variable controls, with its unit; may be empty.
    pub desc: String,
    /// The intended audience.
    pub verbosity: Verbosity,
    /// The datatype of each element.
    pub datatype: Datatype,
    /// Index of the enumeration that names its values; only for [`Datatype::INT`].
    pub enumeration: Option<usize>,
    /// The kind of object that a handle must be bound to.
    pub bind: Bind,
    /// The processes in which it must be changed.
    pub scope: Scope,
    /// The environment variable that sets the same value.
    pub env: Option<String>,
}

impl CvarInfo {
    /// Describes a variable of this name and datatype that is unbound, of local scope and meant for users.
    pub fn new(name: impl Into<String>, datatype: Datatype) -> Self {
        Self {
            name: name.into(),
            desc: String::new(),
            verbosity: Verbosity::USER_BASIC,
            datatype,
            enumeration: None,
            bind: Bind::NO_OBJECT,
            scope: Scope::LOCAL,
            env: None,
        }
    }
}

/// The implementation of a control variable: a [`Setting`], or a variable of an underlying library.
pub trait CvarProvider: Send + Sync + 'static {
    /// Creates a handle bound to `object` (0 if unbound).
    ///
    /// # Errors
    /// [`Error::INVALID_HANDLE`](crate::Error::INVALID_HANDLE) for an unsuitable object, or the library's own error.
    fn open(&self, object: u64) -> Result<Box<dyn CvarHandle>>;

    /// The current origin of the unbound value.
    fn provenance(&self) -> Provenance {
        Provenance::Other
    }

    /// The default of the unbound value as bytes of the datatype, if known.
    fn default_value(&self) -> Option<Vec<u8>> {
        None
    }
}

/// A handle of a [`CvarProvider`], freed when dropped.
pub trait CvarHandle: Send + Sync {
    /// Number of elements, which never changes. For a string, this includes the NUL.
    fn count(&self) -> usize;

    /// Writes `count` elements of the datatype to `out`.
    ///
    /// # Errors
    /// The provider's error.
    fn read(&self, out: &mut [u8]) -> Result<()>;

    /// Sets the value from `count` elements; a string ends at its NUL.
    ///
    /// # Errors
    /// [`Error::CVAR_SET_NEVER`](crate::Error::CVAR_SET_NEVER), [`Error::CVAR_SET_NOT_NOW`](crate::Error::CVAR_SET_NOT_NOW), or [`Error::INVALID`](crate::Error::INVALID) for a value that is
    /// not allowed.
    fn write(&self, from: &[u8]) -> Result<()>;
}

/// A registered control variable.
pub struct Cvar {
    info: CvarInfo,
    provider: Box<dyn CvarProvider>,
}

impl Cvar {
    /// The description of the variable.
    pub fn info(&self) -> &CvarInfo {
        &self.info
    }

    /// The current origin of its value.
    pub fn provenance(&self) -> Provenance {
        self.provider.provenance()
    }

    /// Whether its value has been changed from the default.
    pub fn is_changed(&self) -> bool {
        self.provenance() != Provenance::Default
    }

    /// The default as bytes of the datatype, if known.
    pub fn default_value(&self) -> Option<Vec<u8>> {
        self.provider.default_value()
    }
}
