//! Sessions.

use super::Head;
use crate::cell::W64;
use crate::layout::Text;
use std::mem::size_of;

/// A session.
#[repr(C)]
#[derive(Debug, Clone)]
pub struct Session {
    #[allow(missing_docs)]
    pub head: Head,
    /// Handle of the info object passed at creation, zero if none.
    pub info: W64,
    /// Uid of `info`.
    pub info_uid: W64,
    /// Handle of the error handler that was last attached.
    pub errhandler: W64,
    /// Uid of `errhandler`.
    pub errhandler_uid: W64,
    /// The pairs of that info object at creation: see [`pairs`](super::pairs).
    pub hints: Text,
}

const _: () = {
    assert!(size_of::<Session>() == 144);
};
