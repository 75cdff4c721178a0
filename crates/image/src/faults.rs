//! Errors observed in calls.
//!
//! Written only when errors occur: a ring of the last [`RING`] faults of a process, created with the first
//! one. A place in the program that repeats the same fault has one record, which describes the last
//! occurrence.

use crate::cell::{W32, W64};
use crate::derive::epochs::Open;
use crate::layout::{SectionKind, codes};
use crate::{Error, Image, Source};
use std::mem::{offset_of, size_of};
use std::sync::atomic::{Ordering, fence};

/// Number of records per process.
pub const RING: usize = 64;

codes! {
    /// The kind of a [`Fault`].
    FaultKind {
        /// A message was longer than the receive that matched it (`MPI_ERR_TRUNCATE`).
        TRUNCATED = 1 => "truncated",
        /// A request was freed before its operation was complete.
        FREED_ACTIVE = 2 => "freed while active",
        /// A call returned an error code.
        FAILED = 3 => "failed",
        /// A call on a window was made at the wrong time, and the library let it pass.
        UNTIMELY = 4 => "untimely",
        /// The two ends of a one-sided operation have different elements.
        ENDS_DIFFER = 5 => "ends differ",
        /// A call was given the handle of an object that had been freed.
        FREED_HANDLE = 6 => "freed handle",
    }
}

/// A fault. A field whose description names a kind has no meaning for other kinds.
#[repr(C)]
#[derive(Debug, Default, Clone)]
pub struct Fault {
    /// Number of this process's faults up to and including this one; zero while the record is being written.
    pub number: W64,
    /// A [`FaultKind`].
    pub kind: W32,
    /// Function number plus one of the call.
    pub function: W32,
    /// The call's return address.
    pub from: W64,
    /// Identity of the communicator; in one-sided communication: of the window.
    pub comm: W64,
    /// Rank of the peer, as given by the program or the status; there: of the target, -1 if none.
    pub peer: W32,
    /// The tag, likewise.
    pub tag: W32,
    /// Truncated: the received size that the library reported, which may be the part that fit. Failed: the
    /// error class. Untimely: the epochs that were open, see [`open_epochs`](Self::open_epochs).
    /// Ends differ: the size at the origin. Freed handle: the kind of section of the object.
    pub bytes: W64,
    /// Truncated: size of the receive buffer; zero if unknown. Ends differ: the size at the target.
    pub room: W64,
    /// Number of occurrences.
    pub times: W64,
}

/// Set in [`Fault::bytes`] of an untimely call if the target was locked; epochs are in the lower bits.
const LOCKED: u64 = 1 << 32;
/// Set there if operations were not known to be complete.
const PENDING: u64 = 1 << 33;

impl Fault {
    /// Stores what was open on the window of an untimely call.
    pub fn set_open_epochs(&self, open: Open) {
        let flag = |set: bool, bit: u64| if set { bit } else { 0 };
        self.bytes.set(u64::from(open.epochs) | flag(open.locked, LOCKED) | flag(open.pending, PENDING));
    }

    /// What was open on the window of an untimely call.
    #[must_use]
    pub fn open_epochs(&self) -> Open {
        let bits = self.bytes.get();
        Open { epochs: bits as u32, locked: bits & LOCKED != 0, pending: bits & PENDING != 0 }
    }

    /// Writes the record.
    pub fn write(&self, number: u64, fill: impl FnOnce(&Self)) {
        self.number.set(0);
        fence(Ordering::Release);
        fill(self);
        self.number.atomic().store(number, Ordering::Release);
    }
}

/// Reads the faults that are still kept, oldest first.
///
/// # Errors
/// If the image is damaged or cannot be read.
pub fn read<S: Source>(image: &Image<S>) -> Result<Vec<Fault>, Error> {
    let table = image.table::<Fault>(SectionKind::FAULTS)?;
    let fault = |index: u64| {
        let before = image.get::<Fault>(&table, index).ok()?.value;
        let after = image.get::<Fault>(&table, index).ok()?.value.number.get();
        (after != 0 && before.number.get() == after).then_some(before)
    };
    let mut found: Vec<Fault> = (0..table.len().min(RING as u64)).filter_map(fault).collect();
    found.sort_by_key(|fault| fault.number.get());
    Ok(found)
}

const _: () = {
    assert!(offset_of!(Fault, comm) == 24);
    assert!(offset_of!(Fault, times) == 56);
    assert!(size_of::<Fault>() == 64);
};
