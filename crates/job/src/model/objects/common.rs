//! What all objects have in common.

use super::kind::{Hex, Kind};
use super::reference::Reference;
use mpiscope_image::objects::Flag;
use serde::Serialize;

/// How an object stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Lifetime {
    /// The handle may be used.
    Live,
    /// The program has freed the handle, and MPI still holds the object: marked for freeing.
    Marked,
    /// The object is gone.
    Freed,
    /// The null handle of its kind.
    Null,
}

/// A call that did something to an object.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallSite {
    /// The MPI function.
    pub function: Option<String>,
    /// The address behind the call.
    pub address: Hex,
    /// Source line of the call, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// When, in seconds after the begin of the image.
    pub seconds: f64,
}

/// What all objects have in common.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Common {
    /// Its kind.
    pub kind: Kind,
    /// Its handle in C.
    pub handle: Hex,
    /// The standard's name of a predefined object, else the one that the program gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether it is predefined.
    pub predefined: bool,
    /// How it stands.
    pub standing: Lifetime,
    /// Its handle in Fortran, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fortran: Option<i32>,
    /// Names the object within its process; never used twice; zero for one that was not seen.
    pub uid: u64,
    /// The same on all processes that share the object; zero if it is this process's own.
    pub identity: Hex,
    /// What it was made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<Reference>,
    /// The call that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<CallSite>,
    /// The call that freed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub freed: Option<CallSite>,
    /// Where a debugger writes two bytes in the stopped process, 1 or 0: whether what is known of the object stays when it is
    /// freed. None for predefined objects, and kinds of which nothing freed is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pin_at: Option<Hex>,
    /// Bits of [`Flag`].
    #[serde(skip)]
    pub flags: u32,
    /// The same as words.
    pub marks: Vec<&'static str>,
    /// The record kept changing while it was read: parts may not belong together.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub torn: bool,
}

impl Common {
    /// An object that has no record: predefined, and never touched by the program.
    pub fn unseen(kind: Kind, handle: u64, name: &str) -> Self {
        let null = name.ends_with("_NULL");
        Self {
            kind,
            handle: Hex(handle),
            name: Some(name.to_owned()),
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

    /// Whether a debugger keeps what is known of it.
    pub fn is_pinned(&self) -> bool {
        self.has(Flag::PINNED)
    }

    /// Whether a flag is set.
    pub fn has(&self, flag: Flag) -> bool {
        self.flags & flag.0 != 0
    }

    /// It as another object refers to it.
    pub fn reference(&self) -> Reference {
        Reference {
            identity: self.identity,
            name: self.name.clone(),
            predefined: self.predefined,
            ..Reference::unknown(self.kind, self.handle.0, self.uid)
        }
    }
}

/// The words for flags.
pub fn marks(flags: u32) -> Vec<&'static str> {
    Flag::ALL.iter().filter(|flag| flags & flag.0 != 0).filter_map(|flag| flag.name()).collect()
}
