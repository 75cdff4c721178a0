//! Reduction operations.

use super::Head;
use crate::cell::W64;
use crate::layout::Text;
use std::mem::size_of;

/// A reduction operation. `head.flags`: `PREDEFINED`, `COMMUTATIVE`, `FORTRAN`.
#[repr(C)]
#[derive(Debug, Clone)]
pub struct Op {
    #[allow(missing_docs)]
    pub head: Head,
    /// Address of the program's function; zero for a predefined one.
    pub function: W64,
    /// The name, if it is predefined.
    pub name: Text,
}

const _: () = {
    assert!(size_of::<Op>() == 120);
};
