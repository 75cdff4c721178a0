//! A cache of communicators for the hooks of messages: a few words each, found by handle in a nanosecond.
use super::channel::Channel;
use super::state::State;
use super::{history, peers};
use mpi_abi::{Abi, Handle};
use mpiscope_image::objects::{Comm, Life};
use std::cell::Cell;

/// Maximum number of communicators that are remembered.
const PLACES: usize = 64;

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
    history: Cell<u64>,
}

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
    let Some(line) = line_of(held, raw) else { return Channel::default() };
    if !line.is_of(raw) && !remember::<A>(held, line, handle) {
        return Channel::default();
    }
    let comm = line.comm.get();
    let identity = comm.map_or(0, |comm| comm.head.identity.get());
    Channel { uid: line.uid.get(), identity, peers: line.peers.get(), comm }
}

/// Returns the offset of the history of a communicator that was just looked up; zero if there is none yet.
#[inline(always)]
pub fn history(held: &State, raw: u64) -> u64 {
    line_of(held, raw).map_or(0, |line| line.history.get())
}

/// Like [`history()`], for a communicator that may no longer be remembered.
#[inline(always)]
pub fn known_history(held: &State, raw: u64) -> Option<u64> {
    line_of(held, raw).filter(|line| line.is_of(raw)).map(|line| line.history.get())
}

/// Records that the communicator now has a history.
#[cold]
pub fn has_history(held: &State, raw: u64, place: u64) {
    if let Some(line) = line_of(held, raw) {
        line.history.set(place);
    }
}

impl Line {
    /// Whether this line is valid for the communicator that has this handle now.
    #[inline(always)]
    fn is_of(&self, raw: u64) -> bool {
        // The handle may have been freed and reused for another communicator.
        self.handle.get() == raw
            && self.comm.get().is_some_and(|comm| {
                comm.head.uid.get() == self.uid.get() && comm.head.life.get() == Life::LIVE.0
            })
    }
}

#[inline(always)]
fn line_of(held: &State, raw: u64) -> Option<&Line> {
    held.lines.0.get((raw.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize % PLACES)
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
    let (Some(comm), Some(line)) = (comm, line_of(held, raw)) else { return 0 };
    line.peers.set(peers::of(held, comm).unwrap_or(0));
    line.peers.get()
}
