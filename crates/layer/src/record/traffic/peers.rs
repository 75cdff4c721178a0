//! Messages exchanged with each peer: one record per rank of a communicator.
//!
//! A communicator gets its records with the first message on it; duplicates that serve only collectives, or
//! nothing at all, cost nothing here. They form an array whose length is a power of two. When the
//! communicator's record is reused, the array is kept for another communicator of that length.
//!
//! A request may outlive its communicator. So before an array changes hands, requests and messages that still
//! refer to it drop the reference ([`forget`]); their further events count for the process only.
//!
//! Memory: a record per rank, for each communicator on which messages were sent or received.

use super::spare_peers;
use super::state::State;
use mpiscope_image::W64;
use mpiscope_image::layout::SectionKind;
use mpiscope_image::objects::Comm;
use mpiscope_image::traffic::Peer;

/// Number of records in the first section.
const FIRST: usize = 256;
/// Returns the offset of a communicator's records in the image; `None` if it has none yet.
pub fn known(held: &State, comm: &Comm) -> Option<u64> {
    place(held, comm.peers.get().checked_sub(1)?)
}

/// Like [`known`], but makes the records if there are none yet.
pub fn of(held: &State, comm: &Comm) -> Option<u64> {
    if comm.peers.get() != 0 {
        return known(held, comm);
    }
    let class = spare_peers::class_of(comm);
    let index = match spare_peers::take(class) {
        Some(index) => {
            clear(held, index, 1 << class)?;
            index
        }
        None => held.writer.new_array::<Peer>(SectionKind::PEERS, FIRST, 1 << class)?.0,
    };
    comm.peers.set(index + 1);
    place(held, index)
}

/// Prepares a used array for another communicator.
fn clear(held: &State, index: u64, len: usize) -> Option<()> {
    let first = place(held, index)?;
    forget(held, first);
    let words = len * size_of::<Peer>() / size_of::<W64>();
    held.writer.words_at(first, words)?.iter().for_each(|word| word.set(0));
    Some(())
}

/// Removes the references of requests and messages to the records at `first`.
fn forget(held: &State, first: u64) {
    held.requests.for_each(|request| {
        if request.peers.get() == first {
            request.peers.set(0);
        }
    });
    held.messages.for_each(|message| {
        if message.peers.get() == first {
            message.peers.set(0);
        }
    });
}

fn place(held: &State, index: u64) -> Option<u64> {
    held.writer.record::<Peer>(SectionKind::PEERS, index).map(|first| held.writer.offset_of(first))
}

/// Returns the record of one rank. `peers` is [`Channel::peers`](super::channel::Channel::peers); `None` for
/// `MPI_PROC_NULL` and other special ranks.
#[inline(always)]
pub fn peer(held: &State, peers: u64, rank: i32) -> Option<&'static Peer> {
    if peers == 0 {
        return None;
    }
    held.writer.nth_after(peers, u32::try_from(rank).ok()?)
}
