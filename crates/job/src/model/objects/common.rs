//! What all objects have in common.

use super::kind::{Hex, Kind};
use super::reference::Reference;
use mpiscope_image::objects::Flag;
use serde::Serialize;

/// The state of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Lifetime {
    /// The handle may be used.
    Live,
    /// The program has freed the handle, but MPI still holds the object.
    Marked,
    /// The object no longer exists.
    Freed,
    /// The program did not free the object; it ceased to exist when the program left MPI.
    Ended,
    /// The null handle of its kind.
    Null,
}

impl Lifetime {
    /// Whether the program has freed the handle.
    pub fn is_handle_freed(self) -> bool {
        matches!(self, Self::Marked | Self::Freed)
    }

    /// Whether the object no longer exists.
    pub fn is_gone(self) -> bool {
        matches!(self, Self::Freed | Self::Ended)
    }
}

/// A call that created or freed an object.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallSite {
    /// The MPI function.
    pub function: Option<String>,
    /// Return address of the call.
    pub address: Hex,
    /// Source line of the call, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// Time of the call, in seconds since the image was created.
    pub seconds: f64,
}

/// What all objects have in common.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Common {
    /// Its kind.
    pub kind: Kind,
    /// Its C handle.
    pub handle: Hex,
    /// The standard's name of a predefined object, otherwise the name set by the program, in this process or in another
    /// one that shares the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The name that the program gave to the object in this process, if it differs from `name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub given_name: Option<String>,
    /// Whether it is predefined.
    pub predefined: bool,
    /// Its state.
    pub standing: Lifetime,
    /// Its Fortran handle, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fortran: Option<i32>,
    /// Unique id within its process, never reused; zero for an object that was not seen.
    pub uid: u64,
    /// Equal on all processes that share the object; zero if it is local to this process.
    pub identity: Hex,
    /// The object that it was created from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<Reference>,
    /// The call that created it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<CallSite>,
    /// The call that freed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub freed: Option<CallSite>,
    /// Address of two bytes in the process, for a debugger to set to 1 or 0 while the process is stopped:
    /// whether the record is kept when the object is freed. None for predefined objects and for kinds whose
    /// freed objects are not kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pin_at: Option<Hex>,
    /// Bits of [`Flag`].
    #[serde(skip)]
    pub flags: u32,
    /// The names of these flags.
    pub marks: Vec<&'static str>,
    /// Whether the record kept changing while it was read, so that parts may be inconsistent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub torn: bool,
}

impl Common {
    /// Creates an object that has no record: predefined, and never touched by the program.
    pub fn unseen(kind: Kind, handle: u64, name: &str) -> Self {
        let null = name.ends_with("_NULL");
        Self {
            kind,
            handle: Hex(handle),
            name: Some(name.to_owned()),
            given_name: None,
            predefined: true,
            standing: if null { Lifetime::Null } else { Lifetime::Live },
            fortran: None,
            uid: 0,
            identity: Hex(0),
            parent: None,
            created: None,
            freed: None,
            pin_at: None,
            flags: Flag::PREDEFINED.0,
            marks: marks(Flag::PREDEFINED.0),
            torn: false,
        }
    }

    /// Whether a debugger has requested that its record be kept.
    pub fn is_pinned(&self) -> bool {
        self.has(Flag::PINNED)
    }

    /// Whether a flag is set.
    pub fn has(&self, flag: Flag) -> bool {
        self.flags & flag.0 != 0
    }
}

/// Returns the names of flags.
pub fn marks(flags: u32) -> Vec<&'static str> {
    Flag::ALL.iter().filter(|flag| flags & flag.0 != 0).filter_map(|flag| flag.name()).collect()
}
