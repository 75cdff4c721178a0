//! The messages that two groups of processes exchange when they meet, and the exchange.

use super::process_descriptor::{self, ProcessDescriptor};
use super::wire::{self, Pending};
use crate::interpose::real;
use mpi_abi::{Abi, Handle};
use std::ffi::c_int;
use std::time::Duration;

/// How long the other side may take, once it is known to be present.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// How long another rank of our side may take, which may itself be waiting for the other side.
pub const LONGER: Duration = Duration::from_secs(100);

/// A side's introduction of itself.
#[derive(Clone)]
pub struct Hello {
    /// Name of the sender's world.
    pub world: String,
    /// Rank of the sender in that world.
    pub rank: i32,
    /// Number of this spawn among the sender's spawns.
    pub sequence: i32,
    /// The sender's name for the intercommunicator; zero if it has none.
    pub name: u64,
    /// Rank 0 of the sender's world: its directory.
    pub directory: Option<ProcessDescriptor>,
    /// The sender's metadirectory.
    pub meta: Option<ProcessDescriptor>,
}

/// Size of the world's name in bytes.
const WORLD: usize = 64;
/// Size of the whole message in bytes.
const SIZE: usize = WORLD + 16 + 2 * process_descriptor::SIZE;

impl Hello {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = self.world.bytes().take(WORLD - 1).collect();
        bytes.resize(WORLD, 0);
        bytes.extend(self.rank.to_ne_bytes());
        bytes.extend(self.sequence.to_ne_bytes());
        bytes.extend(self.name.to_ne_bytes());
        for descriptor in [&self.directory, &self.meta] {
            match descriptor {
                Some(descriptor) => bytes.extend(descriptor.as_bytes()),
                None => bytes.extend([0; process_descriptor::SIZE]),
            }
        }
        bytes
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (world, rest) = bytes.split_at_checked(WORLD)?;
        let (rank, rest) = rest.split_first_chunk::<4>()?;
        let (sequence, rest) = rest.split_first_chunk::<4>()?;
        let (name, rest) = rest.split_first_chunk::<8>()?;
        let (directory, rest) = rest.split_first_chunk::<{ process_descriptor::SIZE }>()?;
        let meta = rest.first_chunk::<{ process_descriptor::SIZE }>()?;
        let world = world.split(|b| *b == 0).next().unwrap_or_default();
        Some(Self {
            world: String::from_utf8_lossy(world).into_owned(),
            rank: i32::from_ne_bytes(*rank),
            sequence: i32::from_ne_bytes(*sequence),
            name: u64::from_ne_bytes(*name),
            directory: ProcessDescriptor::from_bytes(directory),
            meta: ProcessDescriptor::from_bytes(meta),
        })
    }
}

/// Exchanges introductions with the leader of the other side, which has rank `peer`.
pub fn exchange<A: Abi>(inter: A::Handle, peer: c_int, own: &Hello) -> Option<Hello> {
    let mut both = [Pending::<A>::receive(inter, peer, SIZE)?, Pending::<A>::send(inter, peer, own.bytes())?];
    wire::finish(&mut both, PATIENCE);
    let [received, _sent] = both;
    Hello::parse(received.bytes()?)
}

/// The child's side of [`exchange`]: the parents' leader is the first process that sends.
pub fn answer<A: Abi>(inter: A::Handle, own: &Hello) -> Option<Hello> {
    let mut first = [Pending::<A>::receive(inter, A::ANY_SOURCE, SIZE)?];
    wire::finish(&mut first, PATIENCE);
    let [first] = first;
    let hello = Hello::parse(first.bytes()?)?;
    wire::send::<A>(inter, first.source, own.bytes(), PATIENCE);
    Some(hello)
}

/// Passes what the leader received (perhaps nothing) to other ranks of our side.
pub fn pass_on<A: Abi>(comm: A::Handle, to: impl IntoIterator<Item = c_int>, heard: Option<&Hello>) {
    let bytes = heard.map_or_else(|| vec![0; SIZE], Hello::bytes);
    let sends = to.into_iter().filter_map(|rank| Pending::<A>::send(comm, rank, bytes.clone()));
    wire::finish(&mut sends.collect::<Vec<_>>(), PATIENCE);
}

/// Receives what the leader `from` passes on.
pub fn hear<A: Abi>(comm: A::Handle, from: c_int) -> Option<Hello> {
    let hello = Hello::parse(&wire::receive::<A>(comm, from, SIZE, LONGER)?)?;
    (!hello.world.is_empty()).then_some(hello)
}

/// Returns the intercommunicator to the processes that spawned this world.
pub fn parent<A: Abi>() -> Option<A::Handle> {
    let mut parent = A::Handle::from_raw(0);
    let null = real::predefined::<A>("MPI_COMM_NULL")?;
    (real::comm_get_parent::<A>(&mut parent) == Some(A::SUCCESS) && parent != null).then_some(parent)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn a_hello_message_round_trips_with_and_without_process_descriptors() {
        let hello = Hello {
            world: "h:1:2".into(),
            rank: 3,
            sequence: 4,
            name: 5,
            directory: Some(ProcessDescriptor::own(0)),
            meta: None,
        };
        let again = Hello::parse(&hello.bytes()).unwrap();
        assert_eq!((again.world.as_str(), again.rank, again.sequence, again.name), ("h:1:2", 3, 4, 5));
        assert!(again.meta.is_none());
        assert!(again.directory.is_some_and(|descriptor| descriptor.same(&ProcessDescriptor::own(0))));
        assert!(Hello::parse(&hello.bytes()[1..]).is_none());
    }
}
