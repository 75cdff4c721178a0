//! Groups.

use super::Head;
use crate::cell::{W32, W64};
use crate::layout::{Text, Words};
use std::mem::{offset_of, size_of};

/// A group. `head.parent` is the uid of the object it was derived from: communicator, group, window, file,
/// session.
#[repr(C)]
#[derive(Debug, Clone)]
pub struct Group {
    #[allow(missing_docs)]
    pub head: Head,
    /// This process's rank in the group; `u32::MAX` if it is not a member.
    pub rank: W32,
    /// Number of members.
    pub size: W32,
    /// Ranks of the members in MPI_COMM_WORLD, in order; `u64::MAX` for a process outside it. Empty if the
    /// members are those of the world, in its order, and for an empty group.
    pub members: Words,
    /// Uid of the second group of a union, intersection or difference.
    pub other_parent: W64,
    /// Name of the process set, for a group derived from a session; name of the object, if it is predefined.
    pub name: Text,
    /// Number of handles that the program must free: `MPI_Comm_group` may return the same one again.
    pub handles: W32,
    _reserved: W32,
}

const _: () = {
    assert!(offset_of!(Group, members) == 104);
    assert!(size_of::<Group>() == 152);
};
