//! What the other ranks of a communicator have recorded, if they are on this node.
#![allow(unsafe_code)]

use super::node_images::{self, Neighbour, Sent};
use crate::base::image;
use crate::record::objects::arena;
use crate::record::process;
use mpiscope_image::Writer;
use mpiscope_image::derive::members;
use mpiscope_image::objects::Comm;
use mpiscope_image::traffic::Peer;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// The rank in `MPI_COMM_WORLD` of a member: of the remote group for an intercommunicator, otherwise of the
/// group. `None` if there is no such rank or the process is not in the world.
fn world_rank(writer: &'static Writer, comm: &Comm, rank: i32) -> Option<u32> {
    let word = |words: &_, rank| Some(arena::get(writer, words).get(rank as usize)?.get());
    members::named(comm).world_rank(u32::try_from(rank).ok()?, word)
}

/// One rank: its image, and its record of its traffic with us, once found.
struct Other {
    /// Rank in the world; `None` if the process is in another world, or is this process.
    rank: Option<u32>,
    image: AtomicPtr<Neighbour>,
    /// See [`node_images::of_rank`].
    missed: AtomicUsize,
    peer: AtomicPtr<Peer>,
}

impl Other {
    fn of(rank: Option<u32>) -> Self {
        Self {
            rank,
            image: AtomicPtr::new(std::ptr::null_mut()),
            missed: AtomicUsize::new(0),
            peer: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    fn image(&self) -> Option<&'static Neighbour> {
        // SAFETY: null, or stored below: `Neighbour`s live as long as the process.
        if let Some(known) = unsafe { self.image.load(Ordering::Acquire).as_ref() } {
            return Some(known);
        }
        let found = node_images::of_rank(self.rank?, &self.missed)?;
        self.image.store(std::ptr::from_ref(found).cast_mut(), Ordering::Release);
        Some(found)
    }
}

/// The other ranks of a communicator, by rank.
pub struct OtherRanks {
    others: Vec<Other>,
    inter: bool,
}

impl OtherRanks {
    /// Finds the images of all ranks of a communicator. `size` is that of the group it communicates with, the
    /// remote one of an intercommunicator.
    pub fn find(comm: &Comm, size: usize, inter: bool) -> Self {
        let own = process::record().map(|process| process.rank.get());
        let others = (0..i32::try_from(size).unwrap_or(0))
            .map(|rank| image::writer().and_then(|writer| world_rank(writer, comm, rank)))
            .map(|rank| Other::of(rank.filter(|rank| Some(*rank) != own)));
        let found = Self { others: others.collect(), inter };
        found.search();
        found
    }

    /// Searches again for missing ranks. Unlike everything below, not async-signal-safe.
    pub fn search(&self) {
        if self.others.iter().any(|other| other.rank.is_some() && other.image().is_none()) {
            node_images::search();
        }
    }

    /// Whether they are the members of a remote group, to which this process does not belong.
    pub fn is_remote(&self) -> bool {
        self.inter
    }

    /// See [`Neighbour::find_sent`], for `rank`.
    pub fn find_sent(&self, rank: usize, message: &Sent) -> Option<(u64, u64)> {
        self.others.get(rank)?.image()?.find_sent(message)
    }

    /// See [`Neighbour::sent_tags`]: messages that `rank` sent to the rank `own` of the communicator with
    /// this identity.
    pub fn sent_tags(&self, rank: usize, identity: u64, own: usize) -> impl Iterator<Item = u32> {
        let (image, own) = (self.others.get(rank).and_then(Other::image), own as u32);
        image.into_iter().flat_map(move |image| image.sent_tags(identity, own))
    }

    /// The record that `rank` keeps of the rank `own` of the communicator with this identity.
    pub fn peer(&self, rank: usize, identity: u64, own: usize) -> Option<&'static Peer> {
        let other = self.others.get(rank)?;
        let known = other.peer.load(Ordering::Acquire);
        if !known.is_null() {
            // SAFETY: found below, in a mapping that is never removed and does not shrink.
            return Some(unsafe { &*known });
        }
        let found = other.image()?.peer(identity, own)?;
        other.peer.store(std::ptr::from_ref(found).cast_mut(), Ordering::Release);
        Some(found)
    }
}
