//! What is known of a message, a receive or an operation, as the hooks hand it on.

use super::channel::Channel;
use super::data::Data;
use super::probed::Found;
use mpiscope_image::objects::Flag;
use mpiscope_image::traffic::{Request, RequestKind};

/// The envelope of a message or receive, with what is known of it.
#[derive(Clone, Copy)]
pub struct Envelope {
    /// See [`Channel::uid`].
    pub comm: u64,
    /// See [`Channel::identity`].
    pub identity: u64,
    /// See [`Channel::peers`].
    pub peers: u64,
    /// The peer's rank.
    pub rank: i32,
    #[allow(missing_docs)]
    pub tag: i32,
    /// Number of the operation: see `Request::operation`. Only events carry it.
    pub id: u64,
    /// Handle of the communicator, for events.
    pub object: u64,
    /// Number of partitions of a partitioned operation, for events.
    pub partitions: i32,
}

impl Envelope {
    /// Returns an envelope on a communicator.
    #[inline(always)]
    pub fn new<const QUIET: bool>(channel: &Channel, rank: i32, tag: i32, id: u64) -> Self {
        let object = if QUIET { 0 } else { channel.comm.map_or(0, |comm| comm.head.handle.get()) };
        Self {
            comm: channel.uid,
            identity: channel.identity,
            peers: channel.peers,
            rank,
            tag,
            id,
            object,
            partitions: 0,
        }
    }

    /// Returns the envelope that a request was posted with.
    #[inline(always)]
    pub fn of<const QUIET: bool>(request: &Request) -> Self {
        Self {
            comm: request.head.parent.get(),
            identity: request.comm_identity.get(),
            peers: request.peers.get(),
            rank: request.peer.get().cast_signed(),
            tag: request.tag.get().cast_signed(),
            id: if QUIET { 0 } else { request.operation() },
            object: if QUIET { 0 } else { request.object.get() },
            partitions: if QUIET { 0 } else { partitions_of(request) },
        }
    }

    /// Returns the key of a message with this source and tag that no probe has removed from the queue.
    pub fn found(&self) -> Found {
        Found { comm: self.comm, source: self.rank, tag: self.tag, order: 0 }
    }
}

fn partitions_of(request: &Request) -> i32 {
    let partitioned = RequestKind(request.kind.get()).is_partitioned();
    if partitioned { request.partitions.get().cast_signed() } else { 0 }
}

/// An operation with a request, as events report it.
#[derive(Clone, Copy)]
pub struct Operation {
    #[allow(missing_docs)]
    pub kind: RequestKind,
    /// Handle of the request.
    pub handle: u64,
    /// The peer; of a send and receive, that of the receive half.
    pub with: Envelope,
    /// Bytes sent, or received so far.
    pub bytes: u64,
}

impl Operation {
    /// Returns the operation of a persistent request that is being started: nothing has been received yet.
    pub fn begun(request: &Request) -> Self {
        let operation = Self::of(request);
        Self { bytes: if operation.kind.receives() { 0 } else { operation.bytes }, ..operation }
    }

    /// Returns the operation of a request.
    #[inline(always)]
    pub fn of(request: &Request) -> Self {
        let kind = RequestKind(request.kind.get());
        // The size of a plain receive is known only at its end.
        let known = !matches!(kind, RequestKind::RECV | RequestKind::MRECV) || request.is(Flag::COMPLETE);
        let bytes = if known { request.bytes.get() } else { 0 };
        Self { kind, handle: request.head.handle.get(), with: Envelope::of::<false>(request), bytes }
    }
}

/// When and how an operation was posted.
#[derive(Clone, Copy)]
pub struct Posted {
    /// Time in ticks.
    pub at: u64,
    /// Position among all of its direction; see `Entry::order`.
    pub order: u64,
    /// What it specified.
    pub data: Data,
}
