//! The records of variables: values of control variables for outside readers.

use crate::cell::{Seq, W32};
use crate::layout::{Chars, Text, codes};
use std::mem::{offset_of, size_of};

codes! {
    /// Origin of a value: [`Variable::provenance`].
    Provenance {
        DEFAULT = 0 => "default",
        ENVIRONMENT = 1 => "environment",
        WRITTEN = 2 => "written",
        OTHER = 3 => "other",
    }
}

/// Beginning of the names of the control variables that switch a kind of recording off or on.
pub const SWITCHES: &str = "mpiscope_record_";

/// The names of a switch's values, 0 and 1.
pub const SWITCH: [&str; 2] = ["off", "on"];

/// A control variable and its value. Written when the library has been found, and again at each
/// change.
#[repr(C)]
#[derive(Debug, Clone)]
pub struct Variable {
    /// Guards the record.
    pub seq: Seq,
    /// A [`Provenance`].
    pub provenance: W32,
    /// Nonzero if it can be written.
    pub writable: W32,
    /// The name in the tool information interface.
    pub name: Chars<64>,
    /// The value as text, truncated if it is long.
    pub value: Chars<128>,
    /// The equivalent environment variable; empty if there is none.
    pub environment: Chars<64>,
    /// The description.
    pub desc: Text,
}

const _: () = {
    assert!(offset_of!(Variable, name) == 16);
    assert!(offset_of!(Variable, value) == 80);
    assert!(offset_of!(Variable, desc) == 272);
    assert!(size_of::<Variable>() == 288);
};
