//! Looking up the communicator of a call, in the cache or else in the table.

use super::channel::Channel;
use super::comm_cache::Line;
use super::state::State;
use super::{history, peers};
use mpi_abi::{Abi, Handle};
use mpiscope_image::objects::Comm;

/// Looks up a communicator for a message: makes its peer records if it has none.
#[inline(always)]
pub fn channel<A: Abi>(held: &State, handle: A::Handle) -> Channel {
    let channel = communicator::<A>(held, handle);
    let peers = match channel.peers {
        0 => make_peers(held, handle.raw(), channel.comm),
        known => known,
    };
    Channel { peers, ..channel }
}

/// Looks up a communicator for anything else. It may have no peer records: most communicators never carry a
/// message of the program.
#[inline(always)]
pub fn communicator<A: Abi>(held: &State, handle: A::Handle) -> Channel {
    let raw = handle.raw();
    let Some(line) = held.lines.of(raw) else { return Channel::default() };
    if !line.is_of(raw) && !remember::<A>(held, line, handle) {
        return Channel::default();
    }
    let comm = line.comm.get();
    let identity = comm.map_or(0, |comm| comm.head.identity.get());
    Channel { uid: line.uid.get(), identity, peers: line.peers.get(), comm }
}

/// Remembers a communicator. Returns false if it is unknown.
#[cold]
fn remember<A: Abi>(held: &State, line: &Line, handle: A::Handle) -> bool {
    let Some(comm) = crate::record::objects::comms::find_passed::<A>(handle) else { return false };
    line.handle.set(handle.raw());
    line.uid.set(comm.head.uid.get());
    line.comm.set(Some(comm));
    line.peers.set(peers::known(held, comm).unwrap_or(0));
    line.history.set(history::place(held, comm));
    true
}

/// Makes the peer records of a communicator that has none yet.
#[cold]
fn make_peers(held: &State, raw: u64, comm: Option<&'static Comm>) -> u64 {
    let (Some(comm), Some(line)) = (comm, held.lines.of(raw)) else { return 0 };
    line.peers.set(peers::of(held, comm).unwrap_or(0));
    line.peers.get()
}
