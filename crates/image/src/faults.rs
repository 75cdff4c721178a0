//! What calls were seen to do wrong.
//!
//! Written on the way of errors only: a ring of the last [`RING`] faults of a process, made with the first of them. A place of the
//! program that does the same again and again has one record, which is of the last time.

use crate::cell::{W32, W64};
use crate::layout::{SectionKind, codes};
use crate::{Error, Image, Source};
use std::mem::{offset_of, size_of};
use std::sync::atomic::{Ordering, fence};

/// Records of a process.
pub const RING: usize = 64;

codes! {
    /// What a [`Fault`] is.
    FaultKind {
        /// A message was longer than the receive that it came to (`MPI_ERR_TRUNCATE`).
        TRUNCATED = 1 => "truncated",
        /// A request was freed whose operation was not complete.
        FREED_ACTIVE = 2 => "freed while active",
        /// A call returned an error code.
        FAILED = 3 => "failed",
    }
}

/// A fault. Fields whose text names a kind mean nothing otherwise.
#[repr(C)]
#[derive(Debug, Default, Clone)]
pub struct Fault {
    /// Faults of this process so far, this one among them, when it was written; zero while it is being written.
    pub number: W64,
    /// A [`FaultKind`].
    pub kind: W32,
    /// Function number plus one of the call.
    pub function: W32,
    /// The address behind the call.
    pub from: W64,
    /// Identity of the communicator.
    pub comm: W64,
    /// Rank of the other side, as the program or the status said.
    pub peer: W32,
    /// The tag, likewise.
    pub tag: W32,
    /// Truncated: what the library said was received. It may be the part that fitted. Failed: the error class.
    pub bytes: W64,
    /// Truncated: room of the receive; zero if it is not known.
    pub room: W64,
    /// How often.
    pub times: W64,
}

impl Fault {
    /// Writes the record.
    pub fn write(&self, number: u64, fill: impl FnOnce(&Self)) {
        self.number.set(0);
        fence(Ordering::Release);
        fill(self);
        self.number.atomic().store(number, Ordering::Release);
    }
}

/// The faults that are remembered, oldest first.
///
/// # Errors
/// When the image is damaged or cannot be read.
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
