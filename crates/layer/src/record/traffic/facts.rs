//! Every fact about communication, one function each.
//!
//! All hooks of this module end up here, with the state held: counters, histograms and the ledger are written
//! here, and events are raised from here.

use super::contents;
use super::data::Data;
use super::envelope::{Envelope, Operation, Posted};
use super::ledger::{self, Line};
use super::levels::Level;
use super::peers::peer;
use super::polling;
use super::probed::Found;
use super::state::{Held, PENDING, POSTED, State};
use crate::events;
use crate::events::types::WatermarkPassed;
use crate::interpose::frame::Call;
use crate::record::fortran_call_site;
use crate::record::objects::tables::COMMS;
use crate::record::observe::{self, Collective};
use mpi_abi::{Abi, FunctionId};
use mpiscope_image::W64;
use mpiscope_image::objects::{Comm, serial_of};
use mpiscope_image::traffic::{
    Entry, EntryFlag, Message, Peer, Request, RequestKind, Traffic, UNKNOWN_SIZE, size_class,
};
use std::sync::atomic::Ordering;

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

/// Tags are not negative; an invalid one must not cause an overflow.
#[inline(always)]
fn add_tag(sum: &W64, tag: i32) {
    sum.set(sum.get().wrapping_add(u64::from(tag.cast_unsigned())));
}

#[cold]
fn take_tag(sum: &W64, tag: i32) {
    sum.set(sum.get().wrapping_sub(u64::from(tag.cast_unsigned())));
}

/// Increments a level.
#[inline(always)]
fn rise<const QUIET: bool>(level: &Level, now: &W64, high: &W64, at: impl FnOnce() -> u64) {
    let value = now.get() + 1;
    now.set(value);
    if value > high.get() {
        high.set(value);
        if !QUIET {
            events::raise(0, at(), || WatermarkPassed { pvar: level.high.load(Ordering::Relaxed), value });
        }
    }
    changed::<QUIET>(level, now);
}

/// Decrements a level.
#[inline(always)]
fn fall<const QUIET: bool>(level: &Level, now: &W64) {
    less(now, 1);
    changed::<QUIET>(level, now);
}

#[inline(always)]
fn changed<const QUIET: bool>(level: &Level, now: &W64) {
    if !QUIET && level.watch.is_watched() {
        level.watch.note(0, 0, now.get());
    }
}

/// The send of a message has begun. Returns the number of its ledger entry, zero if none.
#[inline(always)]
pub fn send_posted<const QUIET: bool>(
    held: Held<QUIET>,
    to: Envelope,
    bytes: u64,
    at: u64,
    (flags, data): (u32, Data),
) -> u64 {
    if !QUIET {
        observe::send_posted(&to, bytes, at);
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
        add_tag(&peer.sent_tags, to.tag);
    }
    held.recently_sent.write(&totals.envelopes_sent, to.identity, to.rank, to.tag, (bytes, data.from));
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
        data,
        waited: None,
        probed: None,
    };
    let number = held.ledger.sent(held.writer, totals, &line);
    if contents::recorded()
        && let Some(entry) = held.ledger.sent.entry(&totals.ledger_sent, number)
    {
        contents::sent(entry);
    }
    number
}

/// The program knows that its send is complete. The time is taken only if it is needed.
#[inline(always)]
pub fn send_completed<A: Abi, const QUIET: bool>(
    held: Held<QUIET>,
    to: Envelope,
    bytes: u64,
    entry: u64,
    call: &Call<A>,
) {
    if !QUIET && events::anybody() {
        observe::send_completed(&to, bytes, call.returned());
    }
    if entry != 0
        && let Some(entry) = held.ledger.sent.entry(&held.totals.ledger_sent, entry)
    {
        send_known_complete(entry, call);
    }
}

/// A collective with a request uses a buffer from now on; `line` has no beginning if it is persistent and was not
/// started. Returns the number of its ledger entry, zero if none.
pub fn buffer_used(held: &State, line: &Line) -> u64 {
    let number = held.ledger.collective(held.writer, held.totals, line);
    if line.posted != 0
        && line.flags & EntryFlag::BLOCKING.0 == 0
        && let Some(entry) = held.ledger.collective.entry(&held.totals.ledger_collective, number)
    {
        contents::sent(entry);
    }
    number
}

/// This call shows the program that a collective is complete.
#[inline(never)]
pub fn buffers_free<A: Abi>(held: &State, request: &Request, call: &Call<A>) {
    for entry in buffers(held, request) {
        send_known_complete(entry, call);
    }
}

/// This call shows the program that a one-sided operation with a request is complete at the origin.
#[inline(never)]
pub fn origin_free<A: Abi>(held: &State, request: &Request, call: &Call<A>) {
    let by = (fortran_call_site::here(call), u64::from(call.function().0) + 1);
    held.one_sided.awaited(request.buffers(), request.head.made_at.get(), by, call.returned());
}

/// This call shows the program that one of the requests with a shared handle is complete: see
/// [`Ring::awaited_at_start`](super::one_sided_ring::Ring::awaited_at_start).
#[inline(never)]
pub fn origins_free<A: Abi>(held: &State, request: &Request, call: &Call<A>) {
    if request.buffers() != 0 {
        let by = (fortran_call_site::here(call), u64::from(call.function().0) + 1);
        held.one_sided.awaited_at_start(request.buffers(), by, call.returned());
        request.set_buffers(0);
    }
}

/// The end of an operation was not seen: when the program learned that it was complete, and whether it may already
/// use its buffer again, is unknown.
#[cold]
pub fn buffers_unknown(held: &State, request: &Request) {
    let kind = RequestKind(request.kind.get());
    if kind == RequestKind::COLLECTIVE {
        buffers(held, request).for_each(|entry| entry.digest.set(0));
    } else if kind == RequestKind::RMA {
        held.one_sided.forget(request.buffers(), request.head.made_at.get());
    } else if kind.sends()
        && let Some(entry) = held.ledger.sent.entry(&held.totals.ledger_sent, request.entry.get())
    {
        entry.digest.set(0);
    }
}

/// Maximum number of ledger entries of a collective.
pub const MOST_BUFFERS: usize = 32;

/// Returns the ledger entries of a collective, if it has any and they have not been overwritten.
pub fn buffers(held: &State, request: &Request) -> impl Iterator<Item = &'static Entry> {
    let entry = |number| held.ledger.collective.entry(&held.totals.ledger_collective, number);
    let (first, owner) = (request.buffers(), owner(request));
    let posted = entry(first).map_or(0, |entry| entry.posted.get());
    let behind = first..first.saturating_add(MOST_BUFFERS as u64);
    let is_own = move |entry: &&Entry| entry.order.get() == owner && entry.posted.get() == posted;
    behind.map_while(entry).take_while(is_own)
}

/// Returns the number of the operation that a request was made for.
pub fn owner(request: &Request) -> u64 {
    serial_of(request.head.uid.get())
}

/// This call shows the program that a send, or another operation with a buffer, is complete.
#[inline(always)]
fn send_known_complete<A: Abi>(entry: &Entry, call: &Call<A>) {
    let _open = entry.seq.open();
    contents::completed(entry, call);
    entry.completed.set(call.returned());
    entry.waited.set(polling::waited_since(call));
    entry.waited_from.set(fortran_call_site::here(call));
    entry.waited_in.set(u64::from(call.function().0) + 1);
}

/// The program has waited for all sends since this ledger entry that the library had completed in the calls that
/// started them.
#[inline(never)]
pub fn sends_awaited<A: Abi>(held: &State, first: u64, call: &Call<A>) {
    complete_at_start(held, first).for_each(|entry| send_known_complete(entry, call));
}

/// The program learns that one of the sends since this ledger entry is complete that the library had completed in the
/// calls that started them, and it has known this of none: their buffers are compared.
#[inline(never)]
pub fn first_send_awaited<A: Abi>(held: &State, first: u64, call: &Call<A>) {
    for entry in complete_at_start(held, first) {
        let _open = entry.seq.open();
        contents::completed(entry, call);
    }
}

/// Returns the sends since this ledger entry that the library had completed in the calls that started them and that
/// the program is not known to have waited for.
fn complete_at_start(held: &State, first: u64) -> impl Iterator<Item = &'static Entry> {
    let written = &held.totals.ledger_sent;
    let newest_first = (first..=written.get()).rev();
    let entries = newest_first.map_while(|number| held.ledger.sent.entry(written, number));
    entries.filter(|entry| {
        let blocking = entry.flags.get() & EntryFlag::BLOCKING.0 != 0;
        !blocking && entry.waited_in.get() != 0 && entry.waited_from.get() == entry.from.get()
    })
}

/// A send was cancelled in time: its message never arrives.
#[cold]
pub fn send_cancelled(held: &State, to: Envelope, entry: u64, at: u64) {
    observe::send_cancelled(&to, at);
    held.totals.cancelled_sends.add_mine(1);
    never_arrives(held, to, entry, at, EntryFlag::CANCELLED);
}

/// The program requested the cancellation of a send: it completes, as a buffered one does, whatever the receiver does.
#[cold]
pub fn send_no_longer_waits(held: &State, entry: u64) {
    if let Some(entry) = held.ledger.sent.entry(&held.totals.ledger_sent, entry) {
        entry.seq.write(|| entry.flags.set(entry.flags.get() | EntryFlag::BUFFERED.0));
    }
}

/// The program requested the cancellation of a send and has freed its request. It is unknown whether the
/// message arrives, so it does not count as one that must be received.
#[cold]
pub fn send_given_up(held: &State, to: Envelope, entry: u64, at: u64) {
    never_arrives(held, to, entry, at, EntryFlag::UNTOLD);
}

/// Records that a message that was sent need not be received.
fn never_arrives(held: &State, to: Envelope, entry: u64, at: u64, why: EntryFlag) {
    held.recently_sent.forget(&held.totals.envelopes_sent, to.identity, to.rank, to.tag);
    if let Some(peer) = peer(held, to.peers, to.rank) {
        peer.cancelled.add_mine(1);
        take_tag(&peer.sent_tags, to.tag);
    }
    if let Some(entry) = held.ledger.sent.entry(&held.totals.ledger_sent, entry) {
        entry.seq.write(|| {
            entry.completed.set(at);
            entry.flags.set(entry.flags.get() | why.0);
        });
    }
}

/// A sending call failed: there is no message.
#[cold]
pub fn send_failed(held: &State, to: Envelope, bytes: u64, entry: u64, at: u64) {
    observe::send_cancelled(&to, at);
    let totals = held.totals;
    held.recently_sent.forget(&totals.envelopes_sent, to.identity, to.rank, to.tag);
    less(&totals.sent, 1);
    less(&totals.sent_bytes, bytes);
    if let Some(class) = totals.sent_sizes.get(size_class(bytes)) {
        less(class, 1);
    }
    if let Some(peer) = peer(held, to.peers, to.rank) {
        less(&peer.sent, 1);
        less(&peer.sent_bytes, bytes);
        take_tag(&peer.sent_tags, to.tag);
    }
    if entry != 0 && entry == totals.ledger_sent.get() {
        totals.ledger_sent.set(entry - 1);
    }
}

/// A receive was posted. Returns its position among the receives of this process.
#[inline(always)]
pub fn receive_posted<const QUIET: bool>(held: Held<QUIET>, from: Envelope, at: u64) -> u64 {
    if !QUIET {
        observe::receive_posted(&from, at);
    }
    let totals = held.totals;
    rise::<QUIET>(&POSTED, &totals.posted, &totals.posted_high, || at);
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

/// A receive, posted with the envelope `named`, is no longer posted. Returns the record of the rank that it
/// specified.
#[inline(always)]
pub fn receive_ended<const QUIET: bool>(held: Held<QUIET>, named: Envelope) -> Option<&'static Peer> {
    fall::<QUIET>(&POSTED, &held.totals.posted);
    let peer = peer(&held, named.peers, named.rank)?;
    less(&peer.posted, 1);
    Some(peer)
}

/// A posted receive was cancelled in time.
#[cold]
pub fn receive_cancelled<const QUIET: bool>(held: Held<QUIET>, named: Envelope, at: u64) {
    observe::receive_cancelled(&named, at);
    held.totals.cancelled_receives.add_mine(1);
    receive_ended(held, named);
}

/// A posted receive failed, or the program left its call: it takes no message.
#[cold]
pub fn receive_failed(named: &Envelope, at: u64) {
    observe::receive_cancelled(named, at);
}

/// A message was received: `from` has its actual source and tag. (For a posted receive [`receive_ended`]
/// comes first, and `known` is its result if the receive specified this rank.) `place` is the return address
/// of the call that made the receive. Returns its number among the messages from this peer, for
/// [`receive_told`].
#[inline(always)]
pub fn receive_counted<const QUIET: bool>(
    held: Held<QUIET>,
    from: Envelope,
    (bytes, place): (u64, u64),
    known: Option<&'static Peer>,
) -> u64 {
    let totals = held.totals;
    totals.received.add_mine(1);
    totals.received_bytes.add_mine(bytes);
    add_size(&totals.received_sizes, bytes);
    let mut nth = 0;
    if let Some(peer) = known.or_else(|| peer(&held, from.peers, from.rank)) {
        nth = peer.received.get() + 1;
        peer.received.set(nth);
        peer.received_bytes.add_mine(bytes);
        add_tag(&peer.received_tags, from.tag);
    }
    let data = (bytes, place);
    held.recently_received.write(&totals.envelopes_received, from.identity, from.rank, from.tag, data);
    nth
}

/// Reports a received message to those that are interested: events and the ledger. `how` is called, and the
/// time taken, only if needed.
#[inline(always)]
pub fn receive_told<A: Abi, const QUIET: bool>(
    held: Held<QUIET>,
    from: Envelope,
    (bytes, nth): (u64, u64),
    call: &Call<A>,
    how: impl Fn() -> (Posted, u32),
) {
    let totals = held.totals;
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
            data: posted.data,
            waited: Some((
                polling::waited_since(call),
                fortran_call_site::here(call),
                u64::from(call.function().0) + 1,
            )),
            probed: held.probed.take(Found { order: posted.order, ..from.found() }, posted.at),
        };
        let number = held.ledger.received(held.writer, totals, &line);
        if contents::recorded()
            && let Some(entry) = held.ledger.received.entry(&totals.ledger_received, number)
        {
            contents::received(entry);
        }
    }
}

/// A message was received, but all that is known of it is what the receive specified, `from`. The message is
/// counted, but its bytes are not, and it is not attributed to a peer if `from` has a wildcard.
#[cold]
pub fn receive_untold<A: Abi, const QUIET: bool>(
    held: Held<QUIET>,
    from: Envelope,
    object: u64,
    bytes: Option<u64>,
    call: &Call<A>,
    how: impl Fn() -> (Posted, u32),
) {
    let totals = held.totals;
    let comm = COMMS.find(object).filter(|comm| comm.head.uid.get() == from.comm);
    if let Some(comm) = comm {
        comm.untold_sources.add_mine(u32::from(from.rank < 0));
        comm.untold_tags.add_mine(u32::from(from.tag < 0));
    }
    totals.received.add_mine(1);
    match bytes {
        Some(bytes) => add_size(&totals.received_sizes, bytes),
        None => totals.received_unsized.add_mine(1),
    }
    let mut nth = 0;
    if let Some(peer) = peer(&held, from.peers, from.rank) {
        nth = peer.received.get() + 1;
        peer.received.set(nth);
        if from.tag >= 0 {
            add_tag(&peer.received_tags, from.tag);
        }
    }
    let bytes = bytes.unwrap_or(UNKNOWN_SIZE);
    let data = (bytes, how().0.data.from);
    held.recently_received.write(&totals.envelopes_received, from.identity, from.rank, from.tag, data);
    if !QUIET {
        receive_told(held, from, (bytes, nth), call, how);
    }
}

/// A probe found a message, which stays in the queue.
#[inline(always)]
pub fn probe_hit(held: &State) {
    held.totals.probe_hits.add_mine(1);
}

/// A probe matched a message and removed it from the queue. Returns its position among the receives.
#[inline(always)]
pub fn message_matched(held: &State, from: &Envelope, bytes: u64, at: u64) -> u64 {
    observe::receive_matched(from, bytes, at);
    held.totals.probe_hits.add_mine(1);
    held.totals.matched.add_mine(1);
    next_order(held.totals)
}

/// The receive of a matched message was started.
#[inline(always)]
pub fn message_taken(held: &State, _message: &Message) {
    less(&held.totals.matched, 1);
}

/// An operation with a request was started. Reported before anything that follows from it, so that the time
/// is accurate.
#[inline(always)]
pub fn request_told<const QUIET: bool>(_held: Held<QUIET>, operation: impl FnOnce() -> Operation, at: u64) {
    if !QUIET && events::anybody() {
        observe::request_started(&operation(), at);
    }
}

/// Counts that operation, whose record is complete.
#[inline(always)]
pub fn request_started<const QUIET: bool>(held: Held<QUIET>, request: &Request) {
    let totals = held.totals;
    totals.started.add_mine(1);
    rise::<QUIET>(&PENDING, &totals.pending, &totals.pending_high, || request.started());
    if !QUIET && contents::recorded() {
        held.watched.started(request);
    }
}

/// An operation was complete when its request was created; its handle is shared by many requests.
#[inline(always)]
pub fn request_complete_at_start<A: Abi, const QUIET: bool>(
    held: Held<QUIET>,
    call: &Call<A>,
    operation: impl FnOnce() -> Operation,
) {
    if !QUIET && events::anybody() {
        let (of, at) = (operation(), call.returned());
        observe::request_completed(&of, call.since, at);
        // The object that its handle stands for outlives it.
        observe::request_freed(&of, at);
    }
    held.totals.started.add_mine(1);
    held.totals.complete_at_start.add_mine(1);
}

/// The program learned that an operation is complete, or it ended otherwise. `marked`: the program has already
/// freed the request, see [`request_marked`].
#[inline(always)]
pub fn request_completed<A: Abi, const QUIET: bool>(
    held: Held<QUIET>,
    call: &Call<A>,
    request: &Request,
    marked: bool,
) {
    if !QUIET && events::anybody() {
        observe::request_completed(&Operation::of(request), request.started(), call.returned());
    }
    if !marked {
        fall::<QUIET>(&PENDING, &held.totals.pending);
    }
}

/// A request object is gone.
#[inline(always)]
pub fn request_freed<const QUIET: bool>(_held: Held<QUIET>, request: &Request) {
    if !QUIET {
        observe::request_freed(&Operation::of(request), request.head.freed_at.get());
    }
}

/// The program freed a request that is still active. Its completion will never be observed, so it is not
/// pending.
#[cold]
pub fn request_marked<const QUIET: bool>(held: Held<QUIET>) {
    fall::<QUIET>(&PENDING, &held.totals.pending);
}

/// Numbers the next collective on a communicator. Returns its number, from 1; zero if the communicator is
/// unknown.
#[inline(always)]
pub fn collective_numbered(comm: Option<&Comm>, function: FunctionId) -> u64 {
    let Some(comm) = comm else { return 0 };
    let number = comm.collectives.get() + 1;
    comm.collectives.set(number);
    if let Some(counter) = function.counted().and_then(|counted| comm.entered.get(counted)) {
        counter.add_mine(1);
    }
    number
}

/// The library rejected the collective with this number: it did not take place. If another thread has begun the
/// next one in the meantime, the number stays taken.
#[cold]
pub fn collective_rejected(comm: &Comm, function: FunctionId, number: u64) {
    if number == 0 || comm.collectives.get() != number {
        return;
    }
    comm.collectives.set(number - 1);
    if let Some(counter) = function.counted().and_then(|counted| comm.entered.get(counted)) {
        counter.set(counter.get().saturating_sub(1));
    }
}

/// A persistent collective was initialized: it has a number, but was not performed.
pub fn collective_initialised(comm: Option<&Comm>) {
    if let Some(comm) = comm {
        comm.restarts.set(comm.restarts.get().wrapping_sub(1));
    }
}

/// A persistent collective was started.
pub fn collective_restarted(comm: Option<&Comm>) {
    if let Some(comm) = comm {
        comm.restarts.set(comm.restarts.get().wrapping_add(1));
    }
}

/// A collective operation is performed.
#[inline(always)]
pub fn collective_performed(held: &State) {
    held.totals.collectives.add_mine(1);
}

/// It was not performed, since the library rejected the call.
#[cold]
pub fn collective_not_performed(held: &State) {
    less(&held.totals.collectives, 1);
}

/// A blocking collective, or the call that started a nonblocking one, has returned.
#[inline(always)]
pub fn collective_left<A: Abi>(call: &Call<A>, of: &Collective, bytes: u64) {
    if events::anybody() {
        observe::collective_left(of, bytes, call.since, call.returned());
    }
}

/// Partitions of a send were marked ready.
#[inline(always)]
pub fn partitions_ready(held: &State, request: &Request, first: i32, count: u64) {
    observe::partitions_ready(request, first, count);
    held.totals.partitions_ready.add_mine(count);
}

/// A receive partition was found to have arrived.
#[inline(always)]
pub fn partition_arrived(held: &State, request: &Request, partition: i32) {
    observe::partition_arrived(request, partition);
    held.totals.partitions_arrived.add_mine(1);
}
