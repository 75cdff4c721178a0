//! Communicators as the hooks of messages need them: a few words, found by handle in a nanosecond.
#![allow(unsafe_code)]

use super::state::Held;
use mpi_abi::{Abi, Handle};
use mpiscope_image::layout::SectionKind;
use mpiscope_image::objects::{Comm, Life};
use mpiscope_image::traffic::Peer;
use std::cell::Cell;

/// Communicators that are remembered.
const PLACES: usize = 64;
/// Peer records that the first section has room for.
const FIRST: usize = 256;

/// The communicators used last, by handle.
pub struct Lines([Line; PLACES]);

impl Default for Lines {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Line::default()))
    }
}

/// A remembered communicator.
#[derive(Default)]
struct Line {
    handle: Cell<u64>,
    uid: Cell<u64>,
    comm: Cell<Option<&'static Comm>>,
    peers: Cell<u64>,
}

/// What a message needs to know of its communicator. All zero: nothing is known of it.
#[derive(Clone, Copy, Default)]
pub struct Channel {
    /// See `Head::uid`.
    pub uid: u64,
    /// See `Head::identity`.
    pub identity: u64,
    /// Where its [`Peer`] records begin, from the start of the image; zero for none.
    pub peers: u64,
    /// The record.
    pub comm: Option<&'static Comm>,
}

/// Looks a communicator up.
#[inline(always)]
pub fn channel<A: Abi>(held: &Held, handle: A::Handle) -> Channel {
    let raw = handle.raw();
    let place = (raw.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize % PLACES;
    let Some(line) = held.lines.0.get(place) else { return Channel::default() };
    match line.comm.get() {
        Some(comm)
            if line.handle.get() == raw
                // The handle may have been freed and given to another communicator.
                && comm.head.uid.get() == line.uid.get()
                && comm.head.life.get() == Life::LIVE.0 =>
        {
            Channel {
                uid: line.uid.get(),
                identity: comm.head.identity.get(),
                peers: line.peers.get(),
                comm: Some(comm),
            }
        }
        _ => remember::<A>(held, line, handle),
    }
}

#[cold]
fn remember<A: Abi>(held: &Held, line: &Line, handle: A::Handle) -> Channel {
    let Some(comm) = crate::objects::comms::find_or_adopt::<A>(handle) else {
        return Channel::default();
    };
    let peers = peers_of(held, comm).unwrap_or(0);
    line.handle.set(handle.raw());
    line.uid.set(comm.head.uid.get());
    line.comm.set(Some(comm));
    line.peers.set(peers);
    Channel { uid: comm.head.uid.get(), identity: comm.head.identity.get(), peers, comm: Some(comm) }
}

/// Where the peer records of a communicator begin; makes them if there are none yet.
fn peers_of(held: &Held, comm: &'static Comm) -> Option<u64> {
    let index = match comm.peers.get().checked_sub(1) {
        Some(index) => index,
        None => {
            let size = comm.remote_size.get().max(comm.size.get());
            let (index, _) =
                held.writer.new_array::<Peer>(SectionKind::PEERS, FIRST, size.max(1) as usize)?;
            comm.peers.set(index + 1);
            index
        }
    };
    let first = held.writer.record::<Peer>(SectionKind::PEERS, index)?;
    Some((std::ptr::from_ref(first) as usize - base(held)) as u64)
}

fn base(held: &Held) -> usize {
    std::ptr::from_ref(held.writer.header()) as usize
}

/// The record of one peer. `peers` is [`Channel::peers`]; nothing for `MPI_PROC_NULL` and the like.
#[inline(always)]
pub fn peer(held: &Held, peers: u64, rank: i32) -> Option<&'static Peer> {
    let offset = peers + u64::try_from(rank).ok()? * size_of::<Peer>() as u64;
    let end = offset + size_of::<Peer>() as u64;
    if peers == 0 || end > held.writer.header().len.get() {
        return None;
    }
    // SAFETY: inside the image (checked), aligned like `peers`, and peer records are words only.
    Some(unsafe { &*((base(held) + offset as usize) as *const Peer) })
}
