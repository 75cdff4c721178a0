//! The records of communication: requests, messages, traffic with each peer.
//!
//! # Pairing the two sides of a message
//!
//! Messages from rank A to rank B on one communicator do not overtake each other: among those with tag `t`,
//! the `k`-th that A sent goes to the `k`-th receive that B posted and that got a message with tag `t` from
//! A. So a reader of both images takes A's entries for B from the ring of sent messages in the order of
//! [`Entry::order`], and B's entries for A from the ring of received messages, also in the order of `order`
//! (which is the order in which the receives were posted, not the one in which they completed), drops the
//! cancelled ones, and pairs them tag by tag. Partitioned messages ([`EntryFlag::PARTITIONED`]) are paired
//! among themselves. If entries were overwritten (more messages than [`Traffic::ledger_capacity`]), the
//! pairing works backwards from the newest; [`Entry::nth`] and the totals in [`Peer`] tell how far back it is
//! complete.
//!
//! The times of both sides show how a message arrived: if its send began after its receive was posted, it had
//! a *late sender*; if its send began earlier, it found no receive, so it was *unexpected*, or about to be.

use crate::cell::{Seq, W32, W64};
use crate::layout::codes;
use crate::objects::{Flag, Head, serial_of};
use std::mem::{offset_of, size_of};
use std::sync::atomic::{Ordering, fence};

codes! {
    /// The kind of a request's operation: [`Request::kind`].
    RequestKind {
        SEND = 1 => "standard send",
        BSEND = 2 => "buffered send",
        SSEND = 3 => "synchronous send",
        RSEND = 4 => "ready send",
        RECV = 5 => "receive",
        /// `MPI_Imrecv`.
        MRECV = 6 => "matched receive",
        /// `MPI_Isendrecv`, `MPI_Isendrecv_replace`.
        SENDRECV = 7 => "send and receive",
        PSEND = 8 => "partitioned send",
        PRECV = 9 => "partitioned receive",
        COLLECTIVE = 10 => "collective",
        FILE_READ = 11 => "file read",
        FILE_WRITE = 12 => "file write",
        RMA = 13 => "one-sided",
        GENERALIZED = 14 => "generalised",
        /// `MPI_Buffer_iflush` and similar.
        FLUSH = 15 => "buffer flush",
    }
}

impl Request {
    /// Uid of the communicator; zero if there is none.
    pub fn comm(&self) -> u64 {
        self.head.parent.get()
    }

    /// When the operation was last started, in ticks; zero if it never was.
    #[inline(always)]
    pub fn started(&self) -> u64 {
        if self.is(Flag::PERSISTENT) { self.started_at.get() } else { self.head.made_at.get() }
    }

    /// Return address of the call that last started the operation.
    #[inline(always)]
    pub fn called_from(&self) -> u64 {
        if self.is(Flag::PERSISTENT) { self.started_from.get() } else { self.head.made_from.get() }
    }

    /// Number of the operation (the one last started, if the request is persistent) among all that this
    /// process has posted, counting from 1. A request's serial is the number of the operation it was created
    /// for.
    #[inline(always)]
    pub fn operation(&self) -> u64 {
        if self.is(Flag::PERSISTENT) {
            u64::from(self.send_tag.get()) << 32 | u64::from(self.dest.get())
        } else {
            serial_of(self.head.uid.get())
        }
    }

    /// Sets the number of a persistent request's current operation.
    #[inline(always)]
    pub fn set_operation(&self, number: u64) {
        self.dest.set(number as u32);
        self.send_tag.set((number >> 32) as u32);
    }

    /// Collective: position plus one, counted without wrapping, of the first entry in the ledger's third ring for
    /// the operation last started or initialized. One-sided: [number](crate::one_sided::OneSided::number) of its
    /// record; with a shared handle, that of the oldest one if none of them is known to be complete. Zero if there
    /// is none; meaningful only while the contents of buffers are compared.
    pub fn buffers(&self) -> u64 {
        u64::from(self.actual_tag.get()) << 32 | u64::from(self.source.get())
    }

    /// Sets [`buffers`](Self::buffers).
    pub fn set_buffers(&self, number: u64) {
        self.source.set(number as u32);
        self.actual_tag.set((number >> 32) as u32);
    }

    /// Whether this flag is set.
    #[inline(always)]
    pub fn is(&self, flag: Flag) -> bool {
        self.head.flags.get() & flag.0 != 0
    }
}

impl RequestKind {
    /// Whether it sends a message.
    #[inline(always)]
    pub const fn sends(self) -> bool {
        (self.0 >= Self::SEND.0 && self.0 <= Self::RSEND.0)
            || self.0 == Self::SENDRECV.0
            || self.0 == Self::PSEND.0
    }

    /// Whether it receives a message.
    #[inline(always)]
    pub const fn receives(self) -> bool {
        (self.0 >= Self::RECV.0 && self.0 <= Self::SENDRECV.0) || self.0 == Self::PRECV.0
    }

    /// Whether it is one side of a partitioned communication.
    #[inline(always)]
    pub const fn is_partitioned(self) -> bool {
        self.0 == Self::PSEND.0 || self.0 == Self::PRECV.0
    }

    /// Whether its type in the debugger interface is "pt2pt".
    pub const fn is_point_to_point(self) -> bool {
        self.sends() || self.receives()
    }

    /// Whether it belongs to a file.
    pub const fn is_file(self) -> bool {
        self.0 == Self::FILE_READ.0 || self.0 == Self::FILE_WRITE.0
    }
}

/// A request.
///
/// `head.flags` uses these [`crate::objects::Flag`]s: `PERSISTENT`; `STARTED` (the operation has been
/// started, for a persistent request at least once); `ACTIVE` (started, and the program has not seen its
/// completion); `COMPLETE`; `CANCELLED` (`MPI_Cancel` was called while it was active and, once complete, took
/// effect); `SHARED_HANDLE`: the library returns this handle for every request that is complete at start.
/// There is one record for such a handle as long as this is so: head and kind are those of the latest
/// request, the rest is that of the first, and [`outstanding`](Self::outstanding) is the number of requests
/// that the program has not completed.
///
/// `head.life`: `MARKED` from `MPI_Request_free` of an active request until its operation is known to have
/// ended, at the latest when its handle is seen again for another request. A receive is known to have ended
/// when a message that it would have taken is found by a probe or goes to a receive that was posted later.
/// `head.made_by` is the function that created the request, `head.parent` the uid of its communicator; the
/// rest of the head describes its creation and freeing. Ranks and tags are C `int`s: interpret them as `i32`.
///
/// A field whose description names a kind of request or a state has no meaning otherwise: it holds leftovers
/// of another request. A record is reused for the next request with its handle, or for a different one when
/// records run short; so only the last few tombstones of requests exist.
#[repr(C)]
#[derive(Debug, Default, Clone)]
pub struct Request {
    #[allow(missing_docs)]
    pub head: Head,
    /// A [`RequestKind`].
    pub kind: W32,
    /// Partitioned: number of partitions.
    pub partitions: W32,
    /// Handle of the communicator, file or window.
    pub object: W64,
    /// Identity of the communicator, the same on all its ranks; zero if there is none. (Its uid is
    /// `head.parent`.)
    pub comm_identity: W64,
    /// Offset of the communicator's [`Peer`] records from the start of the image; zero if there are none.
    pub peers: W64,
    /// Destination, source, root or target as passed by the program; for a send and receive, the source.
    pub peer: W32,
    /// The tag as passed by the program; for a send and receive, the receive's.
    pub tag: W32,
    /// Number of elements (of one partition).
    pub count: W64,
    /// Handle of the datatype.
    pub datatype: W64,
    /// Uid of the datatype; zero if its handle identifies it, because it is built in.
    pub datatype_uid: W64,
    /// Address of the buffer.
    pub buffer: W64,
    /// Persistent request: when the operation was last started, in ticks; see [`started`](Self::started).
    /// Shared handle, while messages are recorded: when the call began that completed the first of the requests
    /// that were not completed when [`entry`](Self::entry) was set; zero if none is completed.
    pub started_at: W64,
    /// Persistent request: return address of the call that started it.
    pub started_from: W64,
    /// Complete: when its completion was seen, in ticks.
    pub completed_at: W64,
    /// Complete: return address of the call that saw the completion, unless that call also freed the request
    /// (`completed_at` is `head.freed_at`): then it is `head.freed_from`. Active and `OVERWRITTEN`: return
    /// address of the call that last overwrote it.
    pub completed_from: W64,
    /// Complete receive: rank of the sender; `MPI_PROC_NULL` or `MPI_ANY_SOURCE` if there was no message, or
    /// the library did not report the sender. Partitioned send: number of partitions marked ready since the
    /// last start, plus one; zero before the first start. Collective, one-sided: lower half of
    /// [`buffers`](Self::buffers).
    pub source: W32,
    /// Complete receive: tag of the message; `MPI_ANY_TAG` if there was none, or the library did not report
    /// it. Collective, one-sided: upper half of [`buffers`](Self::buffers).
    pub actual_tag: W32,
    /// Message: bytes sent, or received once complete; [`UNKNOWN_SIZE`] if the library did not report them.
    pub bytes: W64,
    /// Receive: its position among the receives that this process posted (see [`Entry::order`]). Collective:
    /// its number on the communicator, as in [`crate::objects::Comm::collectives`] after it was entered.
    /// Collective on a file: its number on the file; undefined for other operations on files. Partitioned
    /// send: bit set of those of the first 64 partitions that have been marked ready since the last start.
    pub order: W64,
    /// Send, send and receive: position of its entry in the ring of sent messages plus one, counted without
    /// wrapping; zero if there is none. Shared handle, while messages are recorded: that of the oldest send that
    /// the program has not completed, zero if unknown. Collective, one-sided: handle of the reduction operation,
    /// if the creating function takes one.
    pub entry: W64,
    /// Persistent: number of starts. Shared handle: number of requests that have had it.
    pub starts: W64,
    /// Error code of the operation; zero for success.
    pub error: W32,
    /// Shared handle: number of requests with it that the program has not completed.
    pub outstanding: W32,
    /// Send and receive: the destination. Persistent: lower half of the number of the operation last started.
    pub dest: W32,
    /// Send and receive: the tag of the send. Persistent: upper half of that number.
    pub send_tag: W32,
}

/// A message that was matched by a probe and has not been received yet (`MPI_Message`).
#[repr(C)]
#[derive(Debug, Default, Clone)]
pub struct Message {
    #[allow(missing_docs)]
    pub head: Head,
    /// Handle of the communicator. (Its uid is `head.parent`.)
    pub object: W64,
    /// Identity of the communicator.
    pub comm_identity: W64,
    /// Offset of the communicator's [`Peer`] records from the start of the image; zero if there are none.
    pub peers: W64,
    /// Rank of the sender.
    pub source: W32,
    /// Tag of the message.
    pub tag: W32,
    /// Size of the message in bytes.
    pub bytes: W64,
    /// Its position among the posted receives: see [`Entry::order`].
    pub order: W64,
}

/// Traffic with one rank of a communicator (of the remote group of an intercommunicator).
#[repr(C)]
#[derive(Debug, Default, Clone)]
pub struct Peer {
    /// Number of messages to this rank whose send was started.
    pub sent: W64,
    /// Their bytes.
    pub sent_bytes: W64,
    /// Number of messages received from this rank (receive completed).
    pub received: W64,
    /// Their bytes.
    pub received_bytes: W64,
    /// Number of receives posted from exactly this rank and not complete.
    pub posted: W64,
    /// Number of messages in `sent` that were cancelled, so that they never arrive.
    pub cancelled: W64,
    /// The sum of the tags of the messages sent and not cancelled. The difference from the receiver's
    /// [`received_tags`](Self::received_tags) is due to the messages not yet received: the tag of a single
    /// one, a multiple of the tag of several with the same tag.
    pub sent_tags: W64,
    /// The sum of the tags of the messages received.
    pub received_tags: W64,
}

codes! {
    /// Bits of [`Entry::flags`].
    EntryFlag {
        /// The message was cancelled by its sender.
        CANCELLED = 1 => "cancelled",
        /// The receive was too short for the message, or failed otherwise after matching.
        ERROR = 2 => "error",
        /// Matched by a probe before being received.
        PROBED = 4 => "matched by a probe",
        /// One start of a partitioned operation.
        PARTITIONED = 8 => "partitioned",
        /// The receive specified no source.
        ANY_SOURCE = 16 => "any source",
        /// The receive specified no tag.
        ANY_TAG = 32 => "any tag",
        /// Synchronous send: completes only when the receive has begun.
        SYNCHRONOUS = 64 => "synchronous",
        /// The call blocked until the operation was complete.
        BLOCKING = 128 => "blocking",
        /// The library did not report what was received: source and tag are those that the receive specified
        /// (possibly wildcards), the size is [`UNKNOWN_SIZE`], unless the receive buffer was empty.
        UNTOLD = 256 => "not reported by the library",
        /// A probe call had waited for it: see [`Entry::probed`].
        WAITED_IN_PROBE = 512 => "waited for in a probe",
        /// Nonblocking buffered send, or a send that the program asked to cancel: completes without its receive.
        BUFFERED = 1024 => "buffered",
        /// The elements follow one another without gaps, from [`Entry::buffer`] on.
        GAPLESS = 2048 => "without gaps",
        /// The contents of the buffer of a send, or of what a collective sends, changed before the program learned that
        /// the operation was complete. Receive: something other than its message was written into the buffer before.
        CHANGED = 4096 => "changed",
        /// The buffer could no longer be read then.
        RELEASED = 8192 => "released",
        /// Buffer of a collective: the operation writes it.
        WRITTEN = 16384 => "written by the operation",
        /// The datatype's layout contains the same bytes of memory more than once.
        OVERLAPPING = 32768 => "with elements that overlap",
        /// Ready send: its receive must have been posted before.
        READY = 65536 => "ready",
    }
}

/// A message in the ledger.
///
/// Section [`LEDGER`](crate::layout::SectionKind::LEDGER) holds two rings of [`Traffic::ledger_capacity`]
/// entries: first the messages sent, then those received. While the contents of buffers are compared, there is a
/// third one, at [`Traffic::ledger_collective_first`]: the buffers of nonblocking and persistent collectives. The
/// entries of one operation follow one another; several describe one buffer if its blocks are not adjacent.
#[repr(C)]
#[derive(Debug, Default, Clone)]
pub struct Entry {
    /// Guards the record.
    pub seq: Seq,
    /// Identity of the communicator: the same on all its ranks.
    pub comm: W64,
    /// Rank of the peer in the communicator.
    pub peer: W32,
    /// The message's tag. Buffer of a collective: number plus one of the function that made the request.
    pub tag: W32,
    /// The message's size in bytes.
    pub bytes: W64,
    /// When the send was started or the receive posted, in ticks; for a message matched by a probe, when it
    /// was matched. Buffer of a persistent collective that was only initialized: zero.
    pub posted: W64,
    /// When the program learned that the operation was complete, in ticks; zero for a send that is not.
    pub completed: W64,
    /// Number of this send (or receive) among those started (or posted) by this process, over all
    /// communicators, counting from 1. Buffer of a collective: number of the operation for
    /// which its request was made.
    pub order: W64,
    /// Number of the message among those to (or from) this peer on this communicator, counting from 1, modulo
    /// 2^32: sends as they start, receives as they complete.
    pub nth: W32,
    /// Bits of [`EntryFlag`].
    pub flags: W32,
    /// Return address of the call that sent it or posted the receive. This and all following fields are zero
    /// if unknown, as in older images.
    pub from: W64,
    /// Number of elements specified by this side.
    pub count: W64,
    /// Handle of the datatype specified by this side.
    pub datatype: W64,
    /// The datatype's signature: see [`Datatype::signature`](crate::objects::Datatype::signature).
    pub signature: W64,
    /// Number of elements in the datatype's signature.
    pub elements: W64,
    /// When the call began through which the program learned that the operation was complete, in ticks.
    pub waited: W64,
    /// Return address of that call.
    pub waited_from: W64,
    /// Number plus one of that call's function; zero while the operation is not complete.
    pub waited_in: W64,
    /// With [`EntryFlag::WAITED_IN_PROBE`]: when the probe that found the message began, in ticks. This and
    /// the next three fields have no meaning without that flag.
    pub probed: W64,
    /// When that call returned.
    pub probed_until: W64,
    /// Return address of that call.
    pub probed_from: W64,
    /// Number plus one of that call's function.
    pub probed_in: W64,
    /// Address of the buffer that this side specified; zero if unknown, as in older images.
    pub buffer: W64,
    /// A hash of the buffer's contents: of a nonblocking send when the call that started it returned, of a blocking one
    /// when it was called, of a nonblocking receive when it had completed. Zero if it was not computed, as in older
    /// images.
    pub digest: W64,
}

/// The envelope of a recently sent or received message.
///
/// Section [`ENVELOPES`](crate::layout::SectionKind::ENVELOPES) holds two rings of [`Traffic::envelopes`]
/// records, first those sent, then those received. Unlike the ledger, they are always kept: they show which
/// messages between two ranks are outstanding if the sums in [`Peer`] alone are not conclusive.
#[repr(C)]
#[derive(Debug, Default, Clone)]
pub struct Recent {
    /// Its position in the ring, counted without wrapping, plus one; zero while it is being written.
    pub number: W64,
    /// Identity of the communicator.
    pub comm: W64,
    /// Rank of the peer; [`Recent::GONE`] if the message was cancelled or the call failed.
    pub peer: W32,
    #[allow(missing_docs)]
    pub tag: W32,
    #[allow(missing_docs)]
    pub bytes: W64,
    /// Return address of the call that sent it or that started its receive.
    pub from: W64,
}

impl Recent {
    /// Not a rank: there is no such message.
    pub const GONE: u32 = u32::MAX;

    /// Writes the record for this position, counted without wrapping.
    #[inline(always)]
    pub fn write(&self, place: u64, comm: u64, peer: i32, tag: i32, (bytes, from): (u64, u64)) {
        self.number.set(0);
        fence(Ordering::Release);
        self.comm.set(comm);
        self.peer.set(peer.cast_unsigned());
        self.tag.set(tag.cast_unsigned());
        self.bytes.set(bytes);
        self.from.set(from);
        self.number.atomic().store(place.wrapping_add(1), Ordering::Release);
    }

    /// The tag, if the record still holds this position and describes a message to or from this rank of this
    /// communicator. Async-signal-safe, even while another thread or process writes.
    pub fn tag_of(&self, place: u64, comm: u64, peer: u32) -> Option<u32> {
        let number = self.number.atomic().load(Ordering::Acquire);
        let (same, tag) = (self.comm.get() == comm && self.peer.get() == peer, self.tag.get());
        fence(Ordering::Acquire);
        (same && number == place.wrapping_add(1) && self.number.get() == number).then_some(tag)
    }
}

/// Size of a message whose size is unknown: the library did not report it, or the program had freed the
/// request.
pub const UNKNOWN_SIZE: u64 = u64::MAX;

/// Number of classes, by powers of two, into which message sizes are sorted.
pub const SIZE_CLASSES: usize = 64;

/// The size class of a message: 0 for no bytes, else one more than the logarithm. Class `n` covers sizes from
/// `2^(n-1)` to `2^n - 1`.
#[inline(always)]
pub const fn size_class(bytes: u64) -> usize {
    // Never zero, so that the logarithm is one instruction. No message has 2^63 bytes.
    (bytes << 1 | 1).ilog2() as usize
}

/// Totals of a process, over all communicators. One record; every field is a word that may be read at any time.
#[repr(C)]
#[derive(Debug, Clone)]
pub struct Traffic {
    /// Number of messages whose send was started.
    pub sent: W64,
    /// Their bytes.
    pub sent_bytes: W64,
    /// Number of messages received.
    pub received: W64,
    /// Their bytes, without the messages in [`received_unsized`](Self::received_unsized).
    pub received_bytes: W64,
    /// Number of cancelled sends.
    pub cancelled_sends: W64,
    /// Number of cancelled receives.
    pub cancelled_receives: W64,
    /// Current number of receives posted and not complete.
    pub posted: W64,
    /// Maximum of that number.
    pub posted_high: W64,
    /// Number of receives ever posted.
    pub posted_ever: W64,
    /// Current number of requests started, not known to be complete and not freed by the program.
    pub pending: W64,
    /// Maximum of that number.
    pub pending_high: W64,
    /// Number of operations with a request ever started.
    pub started: W64,
    /// Number of these operations that were complete at start (shared handle).
    pub complete_at_start: W64,
    /// Current number of messages matched by a probe and not received.
    pub matched: W64,
    /// Number of probes that found a message.
    pub probe_hits: W64,
    /// Number of collectives entered, on all communicators.
    pub collectives: W64,
    /// Number of partitions marked ready.
    pub partitions_ready: W64,
    /// Number of partitions seen to have arrived.
    pub partitions_arrived: W64,
    /// Number of entries in each of the two rings of the ledger; zero while there is no ledger.
    pub ledger_capacity: W64,
    /// Number of entries ever written to the ring of sent messages. The newest is at `(ledger_sent - 1) %
    /// ledger_capacity`.
    pub ledger_sent: W64,
    /// Number of entries ever written to the ring of received messages. The newest is at `ledger_capacity +
    /// (ledger_received - 1) % ledger_capacity`.
    pub ledger_received: W64,
    /// Index of the first entry in the ledger's table.
    pub ledger_first: W64,
    /// Where the library keeps the size in a status, as determined at start: the number of the 32-bit word,
    /// counting from 1; zero if it is where the ABI specifies, or unknown. The word holds the size if the
    /// words in `status_rest` have the values in `status_plain`.
    pub status_word: W32,
    /// Words that indicate a size that does not fit into that word, one bit each.
    pub status_rest: W32,
    /// Contents of the words of a status with a small size.
    pub status_plain: [W32; 8],
    /// Number of records in each of the two rings of [`Recent`] envelopes, a power of two; zero if there are
    /// none.
    pub envelopes: W64,
    /// Index of the first envelope in the table.
    pub envelopes_first: W64,
    /// Number of envelopes ever written to the ring of sent messages. The newest is at `(envelopes_sent - 1)
    /// % envelopes`.
    pub envelopes_sent: W64,
    /// Likewise for received messages, whose ring starts `envelopes` records later.
    pub envelopes_received: W64,
    /// Number of messages received with unknown size ([`UNKNOWN_SIZE`]): they count in `received`, but not in
    /// bytes and sizes.
    pub received_unsized: W64,
    /// Number of messages sent, by [`size_class`].
    pub sent_sizes: [W64; SIZE_CLASSES],
    /// Number of messages received, by [`size_class`].
    pub received_sizes: [W64; SIZE_CLASSES],
    /// Index in the ledger's table of the first entry of the ring of collectives' buffers. This and the next field
    /// are zero in older images.
    pub ledger_collective_first: W64,
    /// Number of entries ever written to that ring, which has [`ledger_capacity`](Self::ledger_capacity) entries;
    /// zero while there is no such ring.
    pub ledger_collective: W64,
}

const _: () = {
    assert!(offset_of!(Request, kind) == 96);
    assert!(offset_of!(Request, peer) == 128);
    assert!(offset_of!(Request, started_at) == 168);
    assert!(offset_of!(Request, source) == 200);
    assert!(offset_of!(Request, starts) == 232);
    assert!(size_of::<Request>() == 256);
    assert!(size_of::<Message>() == 144);
    assert!(size_of::<Peer>() == 64);
    assert!(offset_of!(Entry, bytes) == 24);
    assert!(offset_of!(Entry, from) == 64);
    assert!(offset_of!(Entry, waited) == 104);
    assert!(offset_of!(Entry, probed) == 128);
    assert!(offset_of!(Entry, buffer) == 160);
    assert!(offset_of!(Entry, digest) == 168);
    assert!(size_of::<Entry>() == 176);
    assert!(offset_of!(Recent, peer) == 16);
    assert!(offset_of!(Recent, from) == 32);
    assert!(size_of::<Recent>() == 40);
    assert!(offset_of!(Traffic, envelopes) == 216);
    assert!(offset_of!(Traffic, ledger_capacity) == 144);
    assert!(offset_of!(Traffic, sent_sizes) == 256);
    assert!(offset_of!(Traffic, ledger_collective_first) == 1280);
    assert!(size_of::<Traffic>() == 1296);
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_classed_by_powers_of_two() {
        let classes = [(0, 0), (1, 1), (2, 2), (3, 2), (4, 3), (1023, 10), (1024, 11), (u64::MAX, 63)];
        for (bytes, class) in classes {
            assert_eq!(size_class(bytes), class, "{bytes} bytes");
        }
    }

    #[test]
    fn kinds_that_send_and_that_receive_are_distinguished() {
        let both: Vec<_> = RequestKind::ALL.iter().filter(|k| k.sends() && k.receives()).collect();
        assert_eq!(both, [&RequestKind::SENDRECV]);
        let neither: Vec<_> = RequestKind::ALL.iter().filter(|k| !k.is_point_to_point()).collect();
        assert_eq!(neither.len(), 6);
    }
}
