//! Every fact about communication, one function each.
//!
//! All hooks of this module come through here, with the state held: here counters, histograms and the ledger
//! are written, and from here events are raised.

use super::ledger::{self, Line};
use super::lines::Channel;
use super::peers::peer;
use super::state::{Held, State};
use crate::call::Call;
use crate::tool::events::observe;
use crate::tool::events::{self, kinds::Kind};
use crate::tool::own as tool;
use mpi_abi::Abi;
use mpiscope_image::W64;
use mpiscope_image::objects::Comm;
use mpiscope_image::traffic::{EntryFlag, Message, Peer, Request, Traffic, size_class};
use mpit::WatchList;
use std::sync::atomic::AtomicU64;

/// A message or a receive, as far as it is known.
#[derive(Clone, Copy)]
pub struct Envelope {
    /// See [`Channel::uid`].
    pub comm: u64,
    /// See [`Channel::identity`].
    pub identity: u64,
    /// See [`Channel::peers`].
    pub peers: u64,
    /// The other side's rank.
    pub rank: i32,
    #[allow(missing_docs)]
    pub tag: i32,
}

impl Envelope {
    /// On a communicator.
    #[inline(always)]
    pub fn new(channel: &Channel, rank: i32, tag: i32) -> Self {
        Self { comm: channel.uid, identity: channel.identity, peers: channel.peers, rank, tag }
    }
}

/// When and how an operation was posted.
#[derive(Clone, Copy)]
pub struct Posted {
    /// Ticks.
    pub at: u64,
    /// Place among all of its direction; see `Entry::order`.
    pub order: u64,
}

#[inline(always)]
fn add_size(sizes: &[W64], bytes: u64) {
    if let Some(class) = sizes.get(size_class(bytes)) {
        class.add_mine(1);
    }
}

#[inline(always)]
fn less(word: &W64, by: u64) {
    word.set(word.get().saturating_sub(by));
}

#[inline(always)]
fn raise<const QUIET: bool>(now: &W64, high: &W64, variable: &AtomicU64) {
    let value = now.get() + 1;
    now.set(value);
    if value > high.get() {
        high.set(value);
        if !QUIET {
            observe::watermark(variable, value);
        }
    }
}

/// Tells the watermarks of a level that it has changed.
#[inline(always)]
fn watch<const QUIET: bool>(list: &WatchList, level: &W64) {
    if !QUIET && list.is_watched() {
        list.note(0, 0, level.get());
    }
}

/// The send of a message has begun. Gives the number of its ledger entry, zero for none.
#[inline(always)]
pub fn send_posted<const QUIET: bool>(
    held: Held<QUIET>,
    to: Envelope,
    bytes: u64,
    at: u64,
    flags: u32,
) -> u64 {
    if !QUIET {
        observe::message(Kind::SEND_POSTED, &to, bytes, at);
    }
    let totals = held.totals;
    totals.sent.add_mine(1);
    totals.sent_bytes.add_mine(bytes);
    add_size(&totals.sent_sizes, bytes);
    let mut nth = 0;
    if let Some(peer) = peer(&held, to.peers, to.rank) {
        nth = peer.sent.get() + 1;
        peer.sent.set(nth);
        peer.sent_bytes.add_mine(bytes);
    }
    if QUIET || !ledger::recorded() {
        return 0;
    }
    let order = totals.sent.get();
    let line = Line {
        comm: to.identity,
        peer: to.rank,
        tag: to.tag,
        bytes,
        posted: at,
        completed: 0,
        order,
        nth,
        flags,
    };
    held.sent.write(&held, &totals.ledger_sent, &line)
}

/// The program knows that its send is complete. The time is taken only if somebody wants to know.
#[inline(always)]
pub fn send_completed<A: Abi, const QUIET: bool>(
    held: Held<QUIET>,
    to: Envelope,
    bytes: u64,
    entry: u64,
    call: &Call<A>,
) {
    if !QUIET && events::anybody() {
        observe::message(Kind::SEND_COMPLETED, &to, bytes, call.returned());
    }
    if entry != 0
        && let Some(entry) = held.sent.entry(&held.totals.ledger_sent, entry)
    {
        let _open = entry.seq.open();
        entry.completed.set(call.returned());
    }
}

/// A send was cancelled in time: its message never arrives.
#[cold]
pub fn send_cancelled(held: &State, to: Envelope, entry: u64, at: u64) {
    observe::message(Kind::SEND_CANCELLED, &to, 0, at);
    held.totals.cancelled_sends.add_mine(1);
    if let Some(peer) = peer(held, to.peers, to.rank) {
        peer.cancelled.add_mine(1);
    }
    if let Some(entry) = held.sent.entry(&held.totals.ledger_sent, entry) {
        entry.seq.write(|| {
            entry.completed.set(at);
            entry.flags.set(entry.flags.get() | EntryFlag::CANCELLED.0);
        });
    }
}

/// A call that was to send a message failed: there is no message.
#[cold]
pub fn send_failed(held: &State, to: Envelope, bytes: u64, entry: u64) {
    let totals = held.totals;
    less(&totals.sent, 1);
    less(&totals.sent_bytes, bytes);
    if let Some(class) = totals.sent_sizes.get(size_class(bytes)) {
        less(class, 1);
    }
    if let Some(peer) = peer(held, to.peers, to.rank) {
        less(&peer.sent, 1);
        less(&peer.sent_bytes, bytes);
    }
    if entry != 0 && entry == totals.ledger_sent.get() {
        totals.ledger_sent.set(entry - 1);
    }
}

/// A receive was posted. Gives its place among the receives of this process.
#[inline(always)]
pub fn receive_posted<const QUIET: bool>(held: Held<QUIET>, from: Envelope) -> u64 {
    if !QUIET {
        observe::message(Kind::RECEIVE_POSTED, &from, 0, 0);
    }
    let totals = held.totals;
    raise::<QUIET>(&totals.posted, &totals.posted_high, &tool::totals::POSTED_HIGH);
    watch::<QUIET>(&tool::totals::POSTED, &totals.posted);
    if let Some(peer) = peer(&held, from.peers, from.rank) {
        peer.posted.add_mine(1);
    }
    next_order(held.totals)
}

#[inline(always)]
fn next_order(totals: &Traffic) -> u64 {
    let order = totals.posted_ever.get() + 1;
    totals.posted_ever.set(order);
    order
}

/// A posted receive is no longer posted: `named` is the envelope that it was posted with. Gives the record of the rank
/// that it named.
#[inline(always)]
pub fn receive_ended<const QUIET: bool>(held: Held<QUIET>, named: Envelope) -> Option<&'static Peer> {
    less(&held.totals.posted, 1);
    watch::<QUIET>(&tool::totals::POSTED, &held.totals.posted);
    let peer = peer(&held, named.peers, named.rank)?;
    less(&peer.posted, 1);
    Some(peer)
}

/// A posted receive was cancelled in time.
#[cold]
pub fn receive_cancelled<const QUIET: bool>(held: Held<QUIET>, named: Envelope) {
    observe::message(Kind::RECEIVE_CANCELLED, &named, 0, 0);
    held.totals.cancelled_receives.add_mine(1);
    receive_ended(held, named);
}

/// A message was received: `from` has its true source and tag. ([`receive_ended`] comes first for a receive that
/// was posted, and `known` is what it gave if the receive named this rank.) When and how it was posted is asked, and the
/// time taken, only if somebody wants to know.
#[inline(always)]
pub fn receive_completed<A: Abi, const QUIET: bool>(
    held: Held<QUIET>,
    from: Envelope,
    bytes: u64,
    known: Option<&'static Peer>,
    call: &Call<A>,
    how: impl Fn() -> (Posted, u32),
) {
    let totals = held.totals;
    totals.received.add_mine(1);
    totals.received_bytes.add_mine(bytes);
    add_size(&totals.received_sizes, bytes);
    let mut nth = 0;
    if let Some(peer) = known.or_else(|| peer(&held, from.peers, from.rank)) {
        nth = peer.received.get() + 1;
        peer.received.set(nth);
        peer.received_bytes.add_mine(bytes);
    }
    if QUIET {
        return;
    }
    if events::anybody() {
        let (posted, flags) = how();
        observe::received(&from, nth, bytes, posted.at, call.returned(), flags & EntryFlag::PROBED.0 != 0);
    }
    if ledger::recorded() {
        let (posted, flags) = how();
        let line = Line {
            comm: from.identity,
            peer: from.rank,
            tag: from.tag,
            bytes,
            posted: posted.at,
            completed: call.returned(),
            order: posted.order,
            nth,
            flags,
        };
        held.received.write(&held, &totals.ledger_received, &line);
    }
}

/// A probe found a message, which stays where it is.
#[inline(always)]
pub fn probe_hit(held: &State) {
    held.totals.probe_hits.add_mine(1);
}

/// A probe matched a message and took it out of the queue. Gives its place among the receives.
#[inline(always)]
pub fn message_matched(held: &State, from: &Envelope, bytes: u64, at: u64) -> u64 {
    observe::message(Kind::RECEIVE_MATCHED, from, bytes, at);
    held.totals.probe_hits.add_mine(1);
    held.totals.matched.add_mine(1);
    next_order(held.totals)
}

/// The receive of a matched message was started.
#[inline(always)]
pub fn message_taken(held: &State, _message: &Message) {
    less(&held.totals.matched, 1);
}

/// An operation with a request was started.
#[inline(always)]
pub fn request_started<const QUIET: bool>(held: Held<QUIET>, request: &Request) {
    if !QUIET {
        observe::request(Kind::REQUEST_STARTED, request);
    }
    let totals = held.totals;
    totals.started.add_mine(1);
    raise::<QUIET>(&totals.pending, &totals.pending_high, &tool::totals::PENDING_HIGH);
    watch::<QUIET>(&tool::totals::PENDING, &totals.pending);
}

/// An operation was complete when its request was created; its handle is one that many requests share.
#[inline(always)]
pub fn request_complete_at_start<const QUIET: bool>(held: Held<QUIET>, request: &Request) {
    if !QUIET {
        observe::request(Kind::REQUEST_STARTED, request);
        observe::request(Kind::REQUEST_COMPLETED, request);
    }
    held.totals.started.add_mine(1);
    held.totals.complete_at_start.add_mine(1);
}

/// The program was told that an operation is complete, or it is gone otherwise.
#[inline(always)]
pub fn request_completed<const QUIET: bool>(held: Held<QUIET>, request: &Request) {
    if !QUIET {
        observe::request(Kind::REQUEST_COMPLETED, request);
    }
    less(&held.totals.pending, 1);
    watch::<QUIET>(&tool::totals::PENDING, &held.totals.pending);
}

/// A request object is gone.
#[inline(always)]
pub fn request_freed<const QUIET: bool>(_held: Held<QUIET>, request: &Request) {
    if !QUIET {
        observe::request(Kind::REQUEST_FREED, request);
    }
}

/// The program freed a request that is still active.
#[cold]
pub fn request_marked(_held: &State, _request: &Request) {}

/// A thread entered a collective. Gives its number on the communicator, from 1; zero if that is not known.
#[inline(always)]
pub fn collective_entered(held: &State, comm: Option<&Comm>) -> u64 {
    held.totals.collectives.add_mine(1);
    let Some(comm) = comm else { return 0 };
    let number = comm.collectives.get() + 1;
    comm.collectives.set(number);
    number
}

/// A thread left a blocking collective, or the call that started another.
#[inline(always)]
pub fn collective_left(_held: &State, _number: u64) {}

/// Partitions of a send were marked ready.
#[inline(always)]
pub fn partitions_ready(held: &State, request: &Request, first: i32, count: u64) {
    observe::partitions_ready(request, first, count);
    held.totals.partitions_ready.add_mine(count);
}

/// A partition of a receive was seen to have arrived.
#[inline(always)]
pub fn partition_arrived(held: &State, request: &Request, partition: i32) {
    observe::partition_arrived(request, partition);
    held.totals.partitions_arrived.add_mine(1);
}
