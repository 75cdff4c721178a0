//! What was exchanged with whom: one record for each rank of a communicator.
//!
//! A communicator gets its records with the first message on it: duplicates that only serve collectives, or nothing
//! at all, cost nothing here. They lie side by side, in an array whose length is a power of two; when the record of
//! the communicator is used again, the array is kept for another one of that length.
//!
//! A request may outlive its communicator. So before an array changes hands, the requests and messages that still
//! refer to it are made to forget it ([`forget`]); what becomes of them then counts for the process only.
//!
//! Memory: 64 bytes for each rank, of each communicator that messages were sent or received on.

use super::state::State;
use crate::record::objects::lock::Guarded;
use mpiscope_image::W64;
use mpiscope_image::layout::SectionKind;
use mpiscope_image::objects::Comm;
use mpiscope_image::traffic::Peer;

/// Records that the first section has room for.
const FIRST: usize = 256;
/// Arrays of more than 2^31 records are not made: a rank is an `int`.
const CLASSES: usize = 32;

/// Arrays that nobody has, by the logarithm of their length: numbers of their first records.
static RETURNED: Guarded<[Vec<u64>; CLASSES]> = Guarded::new([const { Vec::new() }; CLASSES]);

fn class_of(comm: &Comm) -> usize {
    let size = comm.remote_size.get().max(comm.size.get());
    size.max(1).next_power_of_two().trailing_zeros() as usize
}

/// Where the records of a communicator begin, from the start of the image; nothing if it has none yet.
pub fn known(held: &State, comm: &Comm) -> Option<u64> {
    place(held, comm.peers.get().checked_sub(1)?)
}

/// The same; makes them if there are none yet.
pub fn of(held: &State, comm: &Comm) -> Option<u64> {
    if comm.peers.get() != 0 {
        return known(held, comm);
    }
    let class = class_of(comm);
    let returned = RETURNED.with(|returned| returned.get_mut(class).and_then(Vec::pop));
    let index = match returned {
        Some(index) => {
            clear(held, index, 1 << class)?;
            index
        }
        None => held.writer.new_array::<Peer>(SectionKind::PEERS, FIRST, 1 << class)?.0,
    };
    comm.peers.set(index + 1);
    place(held, index)
}

/// The record of a communicator is to be used for another one: its array, too. May run under the lock of the
/// communicators' table.
pub fn give_back(comm: &Comm) {
    let Some(index) = comm.peers.get().checked_sub(1) else { return };
    comm.peers.set(0);
    let class = class_of(comm);
    RETURNED.with(|returned| {
        if let Some(returned) = returned.get_mut(class) {
            returned.push(index);
        }
    });
}

/// Makes a used array fit for another communicator.
fn clear(held: &State, index: u64, len: usize) -> Option<()> {
    let first = place(held, index)?;
    forget(held, first);
    let words = len * size_of::<Peer>() / size_of::<W64>();
    held.writer.words_at(first, words)?.iter().for_each(|word| word.set(0));
    Some(())
}

/// Requests and messages no longer count for the records at `first`.
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

/// The record of one rank. `peers` is [`Channel::peers`](super::channel::Channel::peers); nothing for `MPI_PROC_NULL` and the like.
#[inline(always)]
pub fn peer(held: &State, peers: u64, rank: i32) -> Option<&'static Peer> {
    if peers == 0 {
        return None;
    }
    held.writer.nth_after(peers, u32::try_from(rank).ok()?)
}
