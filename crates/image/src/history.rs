//! The arguments of a process's last collectives, by communicator.
//!
//! Windows and files have collective calls, too, and rings of the same kind.
//!
//! All members number the collectives of a communicator alike, so records with the same number must be the
//! same operation. Comparing them across ranks shows a mismatch even if a rank has left the collective long
//! ago. A call whose arguments the library rejects is none of them: its number goes to the next one.
//!
//! Each communicator with collective calls has a ring of [`RING`] records at the location given by
//! [`Comm::history`](crate::objects::Comm::history). The collective with number `n` is at `n % RING` until
//! the one [`RING`] later replaces it.

use crate::cell::{W16, W32, W64};
use crate::layout::SectionKind;
use crate::mixture::Mixture;
use crate::signature::Signature;
use crate::{Error, Image, Source};
use std::mem::{offset_of, size_of};
use std::sync::atomic::{Ordering, fence};

/// Number of records in a ring, a power of two.
pub const RING: usize = 32;

/// A collective that this process entered, and its arguments.
///
/// The function determines which fields have a meaning; the others hold leftovers of an earlier call from
/// [`Call`](crate::layout::Call), from which they are copied.
#[repr(C)]
#[derive(Debug, Default, Clone)]
pub struct Entered {
    /// The collective's number on the communicator; zero while the record is being written.
    pub number: W64,
    /// The call's return address.
    pub from: W64,
    /// Number of elements.
    pub count: W64,
    /// Handle of the datatype.
    pub datatype: W64,
    /// The datatype's signature: see [`Datatype::signature`](crate::objects::Datatype::signature).
    pub signature: W64,
    /// Handle of the operation.
    pub op: W64,
    /// Number of elements in the datatype's signature.
    pub elements: W32,
    /// The datatype's size in bytes; `u32::MAX` if unknown.
    pub size: W32,
    /// The root, as passed by the program.
    pub root: W32,
    /// Function number plus one; for a persistent collective, that of the function that initialized it.
    pub function: W16,
    /// Number of times a persistent collective was started, modulo 2^16.
    pub starts: W16,
    /// When the call was entered, in ticks; zero without times. This and all following fields are zero in
    /// older images.
    pub entered: W64,
    /// When the call returned, in ticks; zero while it has not, and for calls that only start the operation.
    pub left: W64,
    /// Bytes that this process sends to all members, including itself, plus one; zero if that is unknown or
    /// the same for all members. On a window or file: [`argument`](Self::argument) plus one. This and all following
    /// fields are zero in older images.
    pub gives: W64,
    /// Bytes that it expects from all members, including itself, plus one.
    pub expects: W64,
    /// For a call that only starts the operation: when the call began through which the program learned of
    /// its completion, in ticks; zero while it has not, and for persistent collectives. This and all
    /// following fields are zero in older images.
    pub waited: W64,
    /// When that call returned.
    pub completed: W64,
    /// The return address of that call.
    pub waited_from: W64,
    /// The number of that call's function plus one.
    pub waited_in: W16,
    /// [`Mixture::less`] of the elements counted by [`gives`](Self::gives) and [`expects`](Self::expects),
    /// plus one; zero if the elements are unknown. This and all following fields are zero in older images.
    pub difference: W16,
    /// The kind of the sent elements, if they are of one kind: see [`Mixture::stored`].
    pub gives_kind: W16,
    /// The kind of the expected elements, likewise.
    pub expects_kind: W16,
}

/// The result of [`Entered::element_kinds`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ElementKinds {
    /// [`Mixture::less`] of the sent and the expected elements: the sum over all members must be zero.
    pub difference: u16,
    /// The kind of the sent elements: see [`Mixture::stored`].
    pub gives: u16,
    /// The kind of the expected elements.
    pub expects: u16,
}

/// Value of [`Entered::size`] that means "not known".
pub const SIZE_UNKNOWN: u32 = u32::MAX;

impl Entered {
    /// Writes the record of the collective with this number.
    #[inline(always)]
    pub fn write(&self, number: u64, fill: impl FnOnce(&Self)) {
        self.number.set(0);
        fence(Ordering::Release);
        fill(self);
        self.starts.set(0);
        self.number.atomic().store(number, Ordering::Release);
    }

    /// Signature of all elements that were passed; `None` if they agree with everything.
    #[must_use]
    pub fn signature(&self) -> Option<Signature> {
        let of_type =
            Signature::from_stored(self.signature.get(), u64::from(self.elements.get()), Mixture::EMPTY)?;
        of_type.repeated(self.count.get())
    }

    /// Bytes that this process sends to all members and expects from all of them, including itself, if one
    /// member may send a different amount than another expects.
    #[must_use]
    pub fn totals(&self) -> Option<(u64, u64)> {
        Some((self.gives.get().checked_sub(1)?, self.expects.get().checked_sub(1)?))
    }

    /// Stores the argument of a collective call on a window or file that must be the same on all members.
    #[inline]
    pub fn set_argument(&self, argument: Option<i64>) {
        self.gives.set(argument.map_or(0, |argument| argument.cast_unsigned().wrapping_add(1)));
    }

    /// The argument of a collective call on a window or file that must be the same on all members: the size of a
    /// file, an offset, a flag or an assertion. `None` if the function has none.
    #[must_use]
    pub fn argument(&self) -> Option<i64> {
        self.gives.get().checked_sub(1).map(u64::cast_signed)
    }

    /// Stores the kinds of elements that the process sends and expects, if known.
    pub fn set_element_kinds(&self, known: Option<(Mixture, Mixture)>) {
        let Some((gives, expects)) = known else { return self.difference.set(0) };
        let ([_, given], [_, expected]) = (gives.stored(), expects.stored());
        self.gives_kind.set(given);
        self.expects_kind.set(expected);
        self.difference.set(gives.less(expects) + 1);
    }

    /// The kinds of elements sent to all members and expected from all of them, if they may differ between
    /// members; `None` if they are unknown or agree with everything.
    #[must_use]
    pub fn element_kinds(&self) -> Option<ElementKinds> {
        let difference = self.difference.get().checked_sub(1)?;
        Some(ElementKinds { difference, gives: self.gives_kind.get(), expects: self.expects_kind.get() })
    }

    /// Size in bytes of the elements passed; `None` if unknown.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        let size = Some(self.size.get()).filter(|size| *size != SIZE_UNKNOWN)?;
        self.count.get().checked_mul(u64::from(size))
    }
}

/// Reads the collectives that a ring still contains, oldest first. `first` is the value of
/// [`Comm::history`](crate::objects::Comm::history), and `newest` the number of the last collective.
///
/// # Errors
/// If the image is damaged or cannot be read.
pub fn read<S: Source>(image: &Image<S>, first: u64, newest: u64) -> Result<Vec<Entered>, Error> {
    let Some(first) = first.checked_sub(1) else { return Ok(Vec::new()) };
    let table = image.table::<Entered>(SectionKind::COLLECTIVES)?;
    let oldest = newest.saturating_sub(RING as u64 - 1).max(1);
    let entry = |number: u64| {
        let index = first.checked_add(number % RING as u64)?;
        let before = image.get::<Entered>(&table, index).ok()?.value;
        // The record may have been written between the two reads, or overwritten since.
        let after = image.get::<Entered>(&table, index).ok()?.value.number.get();
        (before.number.get() == number && after == number).then_some(before)
    };
    Ok((oldest..=newest).filter_map(entry).collect())
}

const _: () = {
    assert!(offset_of!(Entered, signature) == 32);
    assert!(offset_of!(Entered, elements) == 48);
    assert!(offset_of!(Entered, function) == 60);
    assert!(offset_of!(Entered, entered) == 64);
    assert!(offset_of!(Entered, gives) == 80);
    assert!(offset_of!(Entered, waited) == 96);
    assert!(offset_of!(Entered, difference) == 122);
    assert!(size_of::<Entered>() == 128);
};
