//! Handles of control variables.

use super::CvarHandle;
use crate::codes::{Error, Result};
use crate::slab::Occupant;

/// No part of a control variable is read without a pin.
pub(crate) type CvarInline = ();

pub(crate) struct CvarHandleData {
    pub(super) handle: Box<dyn CvarHandle>,
    /// Size of the whole value in bytes.
    pub(super) size: usize,
    pub(super) writable: bool,
    pub(super) is_string: bool,
    /// Index of the variable.
    pub(super) cvar: usize,
}

impl Occupant<CvarInline> for CvarHandleData {
    fn retire(&self, (): &()) {}
}

impl CvarHandleData {
    pub(super) fn write(&self, from: &[u8]) -> Result<()> {
        if self.writable { self.handle.write(from) } else { Err(Error::CVAR_SET_NEVER) }
    }
}
