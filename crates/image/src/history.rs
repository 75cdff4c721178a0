//! What a process gave to its last collectives, by communicator.
//!
//! Windows and files have collective calls too, and rings of the same sort.
//!
//! Members number the collectives of a communicator alike, so records with the same number must be the same operation: compared
//! across ranks they show a mismatch also where a rank has left the collective long ago. Each communicator that collectives
//! are called on has a ring of [`RING`] records; [`Comm::history`](crate::objects::Comm::history) says where it lies. The
//! collective with number `n` is at `n % RING` until one that comes [`RING`] later takes its place.

use crate::cell::{W16, W32, W64};
use crate::layout::SectionKind;
use crate::mixture::Mixture;
use crate::signature::Signature;
use crate::{Error, Image, Source};
use std::mem::{offset_of, size_of};
use std::sync::atomic::{Ordering, fence};

/// Records of one ring, a power of two.
pub const RING: usize = 32;

/// A collective that this process entered, and what it gave.
///
/// Which fields mean something follows from the function; the others hold what an earlier call left in
/// [`Call`](crate::layout::Call), where they are from.
#[repr(C)]
#[derive(Debug, Default, Clone)]
pub struct Entered {
    /// Its number on the communicator; zero while the record is being written.
    pub number: W64,
    /// The address behind the call.
    pub from: W64,
    /// Elements.
    pub count: W64,
    /// Handle of the datatype.
    pub datatype: W64,
    /// Of the datatype: see [`Datatype::signature`](crate::objects::Datatype::signature).
    pub signature: W64,
    /// Handle of the operation.
    pub op: W64,
    /// Of the datatype: how many elements its signature has.
    pub elements: W32,
    /// Of the datatype: its size in bytes; `u32::MAX` if it is not known.
    pub size: W32,
    /// The root, as the program gave it.
    pub root: W32,
    /// Function number plus one; of a persistent collective the function that initialised it.
    pub function: W16,
    /// How often a persistent collective was started, modulo 2^16.
    pub starts: W16,
    /// When it was entered, in ticks; zero without times. This and what follows is zero in images from before.
    pub entered: W64,
    /// When the call returned, in ticks; zero while it has not, and for one that only starts the operation.
    pub left: W64,
    /// Bytes that this process gives to all members, itself included, plus one; zero if that is not known, or the same of all. This
    /// and what follows is zero in images from before.
    pub gives: W64,
    /// Bytes that it expects of all members, itself included, plus one.
    pub expects: W64,
    /// One that only starts the operation: when the call began by which the program learnt that it is complete, in ticks; zero
    /// while it has not, and for persistent ones. This and what follows is zero in images from before.
    pub waited: W64,
    /// When that call returned.
    pub completed: W64,
    /// The address behind that call.
    pub waited_from: W64,
    /// Its function's number plus one.
    pub waited_in: W16,
    /// Of the elements that [`gives`](Self::gives) and [`expects`](Self::expects) are of, [`Mixture::less`] plus one; zero if they
    /// are not known. This and what follows is zero in images from before.
    pub difference: W16,
    /// What is given, if it is elements of one kind: see [`Mixture::stored`].
    pub gives_kind: W16,
    /// The same of what is expected.
    pub expects_kind: W16,
}

/// What [`Entered::element_kinds`] gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ElementKinds {
    /// [`Mixture::less`] of what is given and what is expected: those of all members together are nothing.
    pub difference: u16,
    /// What the given elements are: see [`Mixture::stored`].
    pub gives: u16,
    /// What the expected elements are.
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

    /// All elements that were named; nothing if they agree with everything.
    #[must_use]
    pub fn signature(&self) -> Option<Signature> {
        let of_type =
            Signature::from_stored(self.signature.get(), u64::from(self.elements.get()), Mixture::EMPTY)?;
        of_type.repeated(self.count.get())
    }

    /// Bytes that this process gives to all members and expects of all of them, itself included, where it may give to one what
    /// another does not expect.
    #[must_use]
    pub fn totals(&self) -> Option<(u64, u64)> {
        Some((self.gives.get().checked_sub(1)?, self.expects.get().checked_sub(1)?))
    }

    /// Stores what kinds of elements the process gives and expects, where they are known.
    pub fn set_element_kinds(&self, known: Option<(Mixture, Mixture)>) {
        let Some((gives, expects)) = known else { return self.difference.set(0) };
        let ([_, given], [_, expected]) = (gives.stored(), expects.stored());
        self.gives_kind.set(given);
        self.expects_kind.set(expected);
        self.difference.set(gives.less(expects) + 1);
    }

    /// What kinds of elements it gives to all members and expects of all of them, where it may name others than another member
    /// does; nothing if they are not known, or agree with everything.
    #[must_use]
    pub fn element_kinds(&self) -> Option<ElementKinds> {
        let difference = self.difference.get().checked_sub(1)?;
        Some(ElementKinds { difference, gives: self.gives_kind.get(), expects: self.expects_kind.get() })
    }

    /// Bytes that were named; nothing if they are not known.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        let size = Some(self.size.get()).filter(|size| *size != SIZE_UNKNOWN)?;
        self.count.get().checked_mul(u64::from(size))
    }
}

/// The collectives that a ring still has, oldest first. `first` is what [`Comm::history`](crate::objects::Comm::history) says, and
/// `newest` the number of the last collective.
///
/// # Errors
/// When the image is damaged or cannot be read.
pub fn read<S: Source>(image: &Image<S>, first: u64, newest: u64) -> Result<Vec<Entered>, Error> {
    let Some(first) = first.checked_sub(1) else { return Ok(Vec::new()) };
    let table = image.table::<Entered>(SectionKind::COLLECTIVES)?;
    let oldest = newest.saturating_sub(RING as u64 - 1).max(1);
    let entry = |number: u64| {
        let index = first.checked_add(number % RING as u64)?;
        let before = image.get::<Entered>(&table, index).ok()?.value;
        // Written between two looks, or overwritten since.
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
