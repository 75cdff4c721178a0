//! Groups, operations, error handlers, infos, sessions.

use super::Head;
use crate::cell::{W32, W64};
use crate::layout::{Text, Words, codes};
use std::mem::{offset_of, size_of};

/// A group. `head.parent` is the uid of what it was made from: communicator, group, window, file, session.
#[repr(C)]
#[derive(Debug, Clone)]
pub struct Group {
    #[allow(missing_docs)]
    pub head: Head,
    /// This process's rank in it; `u32::MAX` if it is not a member.
    pub rank: W32,
    /// How many members it has.
    pub size: W32,
    /// Ranks of the members in MPI_COMM_WORLD, in order; `u64::MAX` for a process outside of it. Empty if the
    /// members are those of the world, in its order, and for an empty group.
    pub members: Words,
    /// Uid of the second group of a union, intersection or difference.
    pub other_parent: W64,
    /// Name of the process set, for a group of a session; of the object, if it is predefined.
    pub name: Text,
    /// Handles of it that the program has to free: `MPI_Comm_group` may give the same one again.
    pub handles: W32,
    _reserved: W32,
}

/// A reduction operation. `head.flags`: `PREDEFINED`, `COMMUTATIVE`, `FORTRAN`.
#[repr(C)]
#[derive(Debug, Clone)]
pub struct Op {
    #[allow(missing_docs)]
    pub head: Head,
    /// Address of the program's function; zero for a predefined one.
    pub function: W64,
    /// Its name, if it is predefined.
    pub name: Text,
}

codes! {
    /// What an error handler may be attached to: [`Errhandler::kind`].
    ErrhandlerKind {
        ANY = 0 => "any",
        COMM = 1 => "communicator",
        FILE = 2 => "file",
        WINDOW = 3 => "window",
        SESSION = 4 => "session",
    }
}

/// An error handler. `head.flags`: `PREDEFINED`, `FORTRAN`. What it is attached to is in those objects' records.
#[repr(C)]
#[derive(Debug, Clone)]
pub struct Errhandler {
    #[allow(missing_docs)]
    pub head: Head,
    /// An [`ErrhandlerKind`].
    pub kind: W32,
    /// Handles of it that the program has to free: `MPI_Comm_get_errhandler` gives further ones.
    pub handles: W32,
    /// Address of the program's function; zero for a predefined one or if it is not known.
    pub function: W64,
    /// Its name, if it is predefined.
    pub name: Text,
}

/// An info object. `head.parent` is the uid of the object that it was got from or duplicated from.
#[repr(C)]
#[derive(Debug, Clone)]
pub struct Info {
    #[allow(missing_docs)]
    pub head: Head,
    /// The pairs in order: key, zero, value, zero, key, zero, …: see [`pairs`].
    pub pairs: Text,
    /// How many there are.
    pub count: W64,
    /// Changes that found no room: `pairs` is incomplete.
    pub lost: W64,
    /// Its name, if it is predefined.
    pub name: Text,
}

/// Splits the bytes of [`Info::pairs`] (or of the hints of another object) into keys and values.
pub fn pairs(bytes: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut parts = bytes.split(|byte| *byte == 0);
    std::iter::from_fn(move || Some((parts.next()?, parts.next()?)))
}

/// A session.
#[repr(C)]
#[derive(Debug, Clone)]
pub struct Session {
    #[allow(missing_docs)]
    pub head: Head,
    /// Handle of the info given, zero if never.
    pub info: W64,
    /// Its uid.
    pub info_uid: W64,
    /// Handle of the error handler last attached.
    pub errhandler: W64,
    /// Its uid.
    pub errhandler_uid: W64,
    /// The pairs of that info when it was given: see [`pairs`].
    pub hints: Text,
}

const _: () = {
    assert!(offset_of!(Group, members) == 104);
    assert!(size_of::<Group>() == 152);
    assert!(size_of::<Op>() == 120);
    assert!(offset_of!(Errhandler, function) == 104);
    assert!(size_of::<Errhandler>() == 128);
    assert!(offset_of!(Info, name) == 128);
    assert!(size_of::<Info>() == 144);
    assert!(size_of::<Session>() == 144);
};

#[cfg(test)]
mod tests {
    use super::pairs;

    #[test]
    fn pairs_are_split_in_order_and_a_torn_end_is_left_out() {
        let all = |bytes| pairs(bytes).collect::<Vec<_>>();
        assert_eq!(all(b"a\x001\0b\0\0"), [(&b"a"[..], &b"1"[..]), (b"b", b"")]);
        assert_eq!(all(b""), []);
        assert_eq!(all(b"key only"), []);
    }
}
