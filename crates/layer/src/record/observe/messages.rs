//! Events about messages, requests and collectives.

use super::number;
use crate::base::image;
use crate::events::types::{
    CollectiveEntered, CollectiveLeft, PartitionArrived, PartitionReady, ReceiveCancelled, ReceiveCompleted,
    ReceiveMatched, ReceivePosted, RequestCompleted, RequestFreed, RequestStarted, SendCancelled,
    SendCompleted, SendPosted,
};
use crate::events::{self, Received, Sides};
use crate::interpose::resolver;
use crate::record::objects::arena;
use crate::record::objects::tables::COMMS;
use crate::record::traffic::envelope::{Envelope, Operation};
use mpi_abi::{AbiKind, FunctionId, Role};
use mpiscope_image::derive::members;
use mpiscope_image::traffic::Request;

/// Returns what the two ends of a message are matched by.
#[inline(never)]
fn sides(on: &Envelope) -> Sides {
    Sides { comm_id: on.identity, id: on.id, world_peer: world_peer(on), partitions: on.partitions }
}

/// Returns the peer's rank in `MPI_COMM_WORLD`.
fn world_peer(on: &Envelope) -> i32 {
    let Ok(rank) = u32::try_from(on.rank) else { return on.rank };
    let comm = COMMS.find(on.object).filter(|comm| comm.head.uid.get() == on.comm);
    let world = image::writer().zip(comm).and_then(|(writer, comm)| {
        let word = |words: &_, rank| Some(arena::get(writer, words).get(rank as usize)?.get());
        members::named(comm).world_rank(rank, word)
    });
    world.and_then(|rank| i32::try_from(rank).ok()).unwrap_or_else(undefined)
}

/// Returns the ABI's `MPI_UNDEFINED`.
fn undefined() -> i32 {
    let value = match resolver::abi() {
        Some(AbiKind::MPICH) => mpi_abi::mpich::MPI_UNDEFINED,
        Some(AbiKind::OPENMPI) => mpi_abi::openmpi::MPI_UNDEFINED,
        _ => mpi_abi::standard::MPI_UNDEFINED,
    };
    value as i32
}

/// Defines a function that raises an event of this type about a message: with the fields common to all of
/// them, and `more`.
macro_rules! of_message {
    ($(#[$doc:meta])* $name:ident, $event:ident $(, $more:ident)*) => {
        $(#[$doc])*
        #[inline(always)]
        pub fn $name(on: &Envelope, $($more: u64,)* at: u64) {
            events::raise(on.comm, at, || {
                let Sides { comm_id, id, world_peer, partitions } = sides(on);
                $event { peer: on.rank, tag: on.tag, $($more,)* comm_id, id, world_peer, partitions }
            });
        }
    };
}

of_message!(
    /// A send was started.
    send_posted, SendPosted, bytes
);
of_message!(
    /// A send is complete.
    send_completed, SendCompleted, bytes
);
of_message!(
    /// A send was cancelled in time.
    send_cancelled, SendCancelled
);
of_message!(
    /// A receive was posted.
    receive_posted, ReceivePosted
);
of_message!(
    /// A receive or a probe got its message.
    receive_matched, ReceiveMatched, bytes
);
of_message!(
    /// A message was received.
    receive_completed, ReceiveCompleted, bytes, posted
);
of_message!(
    /// A receive was cancelled in time.
    receive_cancelled, ReceiveCancelled
);

/// A message was received, the `nth` from its sender.
#[inline(always)]
pub fn received(from: &Envelope, nth: u64, bytes: u64, posted: u64, at: u64, probed: bool) {
    let Envelope { comm, rank, tag, .. } = *from;
    events::received(|| Received { comm, from: rank, tag, bytes, nth, posted, at, sides: sides(from) });
    // For a message that was probed, the match was reported by the probe.
    if !probed {
        receive_matched(from, bytes, at);
    }
    receive_completed(from, bytes, posted, at);
}

/// An operation with a request was started.
#[inline(always)]
pub fn request_started(of: &Operation, at: u64) {
    events::raise(0, at, || RequestStarted {
        operation: of.kind.0.cast_signed(),
        peer: of.with.rank,
        tag: of.with.tag,
        request: of.handle,
        bytes: of.bytes,
        comm_id: of.with.identity,
        id: of.with.id,
    });
}

/// An operation with a request that was `started` is complete.
#[inline(always)]
pub fn request_completed(of: &Operation, started: u64, at: u64) {
    events::raise(0, at, || RequestCompleted {
        operation: of.kind.0.cast_signed(),
        peer: of.with.rank,
        tag: of.with.tag,
        request: of.handle,
        started,
        bytes: of.bytes,
        comm_id: of.with.identity,
        id: of.with.id,
    });
}

/// A request is gone.
#[inline(always)]
pub fn request_freed(of: &Operation, at: u64) {
    events::raise(0, at, || RequestFreed {
        operation: of.kind.0.cast_signed(),
        request: of.handle,
        id: of.with.id,
    });
}

fn handle(request: &Request) -> u64 {
    request.head.handle.get()
}

/// Partitions of a send were marked ready.
#[inline(always)]
pub fn partitions_ready(request: &Request, first: i32, count: u64) {
    events::raise(0, 0, || PartitionReady {
        first,
        count: i32::try_from(count).unwrap_or(i32::MAX),
        request: handle(request),
        id: request.operation(),
    });
}

/// A receive partition was found to have arrived.
#[inline(always)]
pub fn partition_arrived(request: &Request, partition: i32) {
    events::raise(0, 0, || PartitionArrived { partition, request: handle(request), id: request.operation() });
}

/// A collective operation, as events report it.
#[derive(Clone, Copy)]
pub struct Collective {
    /// Identifies the operation; for a persistent one, the function that initialized it.
    pub function: FunctionId,
    /// For operations that have one.
    pub root: i32,
    /// Uid of the communicator.
    pub comm: u64,
    #[allow(missing_docs)]
    pub identity: u64,
    /// Number on the communicator.
    pub number: u64,
    /// See `Request::operation`.
    pub id: u64,
}

impl Collective {
    fn root(&self) -> i32 {
        if has_root(self.function) { self.root } else { -1 }
    }
}

/// A collective operation was entered.
#[inline(always)]
pub fn collective_entered(of: &Collective, at: u64) {
    events::raise(of.comm, at, || CollectiveEntered {
        function: number(of.function),
        root: of.root(),
        comm_id: of.identity,
        number: of.number,
        id: of.id,
    });
}

/// The call of a collective operation returned.
#[inline(always)]
pub fn collective_left(of: &Collective, bytes: u64, since: u64, at: u64) {
    events::raise(of.comm, at, || CollectiveLeft {
        function: number(of.function),
        root: of.root(),
        comm_id: of.identity,
        number: of.number,
        bytes,
        duration: at.wrapping_sub(since),
        id: of.id,
    });
}

#[inline(never)]
fn has_root(function: FunctionId) -> bool {
    function.function().is_some_and(|function| function.fields.peer == Some(Role::Root))
}
