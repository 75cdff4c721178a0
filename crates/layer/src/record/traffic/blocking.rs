//! Hooks of blocking sends and receives. These make no request: they are counted before and after the call.

use super::data::Data;
use super::envelope::{Envelope, Posted};
use super::facts;
use super::faults;
use super::freed;
use super::lines::channel;
use super::requests::{self, mode_of};
use super::scratch::{self, Scratch, given, lend};
use super::state::{self, Held, Step, hold, recorded};
use super::status;
use crate::interpose::frame::Call;
use crate::interpose::tls::Tls;
use crate::record::bytes;
use crate::record::fortran_call_site;
use mpi_abi::{Abi, Function, FunctionId, Handle, f};
use mpiscope_image::layout::Call as Current;
use mpiscope_image::traffic::{EntryFlag, Peer, RequestKind};
use std::ffi::{c_int, c_void};

/// Before `MPI_Send` and similar functions, and the send half of `MPI_Sendrecv`.
#[inline(always)]
pub fn before_send<A: Abi>(
    call: &Call<A>,
    buffer: usize,
    count: i64,
    datatype: A::Handle,
    dest: c_int,
    tag: c_int,
    comm: A::Handle,
) {
    if dest < 0 || !recorded() {
        return;
    }
    // Before taking the lock: it may query the library.
    let bytes = bytes::elements::<A>(count, datatype);
    freed::sign::<A>(call, datatype.raw());
    state::with(call, || Send { buffer: buffer as u64, count, datatype, bytes, dest, tag, comm });
}

/// Ledger flags of a function that sends.
#[inline(always)]
fn send_mode(function: FunctionId) -> u32 {
    match function {
        f::MPI_Ssend | f::MPI_Ssend_c => EntryFlag::SYNCHRONOUS.0,
        f::MPI_Rsend | f::MPI_Rsend_c => EntryFlag::READY.0,
        _ => 0,
    }
}

struct Send<A: Abi> {
    buffer: u64,
    count: i64,
    datatype: A::Handle,
    bytes: u64,
    dest: c_int,
    tag: c_int,
    comm: A::Handle,
}

impl<A: Abi> Step<A> for Send<A> {
    #[inline(always)]
    fn run<const QUIET: bool>(self, held: Held<QUIET>, call: &Call<A>) {
        let Some(scratch) = scratch::of(call) else { return };
        let channel = channel::<A>(&held, self.comm);
        // Only events carry the number.
        let operation = if QUIET { 0 } else { scratch.begin(&held.operations, call) };
        let to = Envelope::new::<QUIET>(&channel, self.dest, self.tag, operation);
        let flags = EntryFlag::BLOCKING.0 | send_mode(call.function());
        let (count, datatype) = (self.count.cast_unsigned(), self.datatype.raw());
        let data = Data { from: fortran_call_site::here(call), count, datatype, buffer: self.buffer };
        scratch.entry = facts::send_posted(held, to, self.bytes, call.since, (flags, data));
        scratch.send_bytes = self.bytes;
        scratch.sending = true;
    }
}

/// After `MPI_Send` and similar functions, and the send half of `MPI_Sendrecv`.
#[inline(always)]
pub fn after_send<A: Abi>(call: &Call<A>, result: c_int, dest: c_int, tag: c_int, comm: A::Handle) {
    if dest >= 0 {
        state::with(call, || Sent { result, dest, tag, comm });
    }
}

struct Sent<A: Abi> {
    result: c_int,
    dest: c_int,
    tag: c_int,
    comm: A::Handle,
}

impl<A: Abi> Step<A> for Sent<A> {
    #[inline(always)]
    fn run<const QUIET: bool>(self, held: Held<QUIET>, call: &Call<A>) {
        let Some(scratch) = scratch::of(call) else { return };
        // A quiet call that succeeded needs nothing more; otherwise it matters whether it was counted.
        let counted = std::mem::take(&mut scratch.sending);
        if QUIET && self.result == A::SUCCESS && scratch.entry == 0 || !counted {
            return;
        }
        sent_rarely(held, &call.aside(), scratch, &self);
    }
}

/// A send has ended that is reported to a listener, is in the ledger, or failed.
#[inline(never)]
fn sent_rarely<A: Abi, const QUIET: bool>(
    held: Held<QUIET>,
    call: &Call<A>,
    scratch: &mut Scratch,
    how: &Sent<A>,
) {
    let operation = scratch.begin(&held.operations, call);
    let to = Envelope::new::<false>(&channel::<A>(&held, how.comm), how.dest, how.tag, operation);
    // In a call that sends and receives, the receive may have failed.
    if how.result == A::SUCCESS || status::class(how.result) == A::ERR_TRUNCATE {
        facts::send_completed(held, to, scratch.send_bytes, scratch.entry, call);
    } else {
        facts::send_failed(&held, to, scratch.send_bytes, scratch.entry, call.returned());
    }
}

/// [`before_send`] out of line, for functions that are rarely called.
#[inline(never)]
pub fn before_send_rare<A: Abi>(
    call: &Call<A>,
    buffer: usize,
    count: i64,
    datatype: A::Handle,
    dest: c_int,
    tag: c_int,
    comm: A::Handle,
) {
    before_send(call, buffer, count, datatype, dest, tag, comm);
}

/// [`after_send`] out of line.
#[inline(never)]
pub fn after_send_rare<A: Abi>(call: &Call<A>, result: c_int, dest: c_int, tag: c_int, comm: A::Handle) {
    after_send(call, result, dest, tag, comm);
}

/// Before `MPI_Recv`, and the receive half of `MPI_Sendrecv`.
#[inline(always)]
pub fn before_receive<A: Abi>(
    call: &Call<A>,
    (buffer, count, datatype): (usize, i64, A::Handle),
    source: c_int,
    tag: c_int,
    comm: A::Handle,
    status: &mut *mut c_void,
) {
    freed::sign::<A>(call, datatype.raw());
    let (buffer, count, datatype) = (buffer as u64, count.cast_unsigned(), datatype.raw());
    state::with(call, || Receive { data: (buffer, count, datatype), source, tag, comm, status });
}

struct Receive<'a, A: Abi> {
    data: (u64, u64, u64),
    source: c_int,
    tag: c_int,
    comm: A::Handle,
    status: &'a mut *mut c_void,
}

impl<A: Abi> Step<A> for Receive<'_, A> {
    #[inline(always)]
    fn run<const QUIET: bool>(self, held: Held<QUIET>, call: &Call<A>) {
        let Some(scratch) = scratch::of(call) else { return };
        scratch.order = 0;
        if self.source == A::PROC_NULL {
            return;
        }
        scratch.channel = channel::<A>(&held, self.comm);
        let operation = if QUIET { 0 } else { scratch.begin(&held.operations, call) };
        if !QUIET {
            let (buffer, count, datatype) = self.data;
            scratch.into = Data { from: fortran_call_site::here(call), count, datatype, buffer };
        }
        let from = Envelope::new::<QUIET>(&scratch.channel, self.source, self.tag, operation);
        scratch.order = facts::receive_posted(held, from, call.since);
        lend::<A>(scratch, self.status);
    }
}

/// After `MPI_Recv`, and the receive half of `MPI_Sendrecv`.
#[inline(always)]
pub fn after_receive<A: Abi>(
    call: &Call<A>,
    result: c_int,
    source: c_int,
    tag: c_int,
    status: *const c_void,
) {
    state::with(call, || Received { result, source, tag, status });
}

struct Received {
    result: c_int,
    source: c_int,
    tag: c_int,
    status: *const c_void,
}

impl<A: Abi> Step<A> for Received {
    #[inline(always)]
    fn run<const QUIET: bool>(self, held: Held<QUIET>, call: &Call<A>) {
        let Some(scratch) = scratch::of(call) else { return };
        let order = std::mem::take(&mut scratch.order);
        if order == 0 {
            return;
        }
        // If recording began during the call, what it was given has not been kept.
        let data = match QUIET {
            true => Data::default(),
            false if scratch.is_of(call) => scratch.into,
            false => named_by(call),
        };
        let operation = if QUIET { 0 } else { scratch.begin(&held.operations, call) };
        let named = Envelope::new::<QUIET>(&scratch.channel, self.source, self.tag, operation);
        let peer = facts::receive_ended(held, named);
        if !QUIET && !status::arrived::<A>(self.result) {
            facts::receive_failed(&named, call.returned());
        }
        let posted = Posted { at: call.since, order, data };
        let status = given::<A>(self.status);
        arrived(held, call, self.result, (named, peer), RequestKind::RECV, posted, status);
    }
}

/// The program has left the open call, which will not return: its receive is no longer posted. A send remains
/// counted as started.
pub fn left(tls: &Tls, noted: &Current) {
    let Some(scratch) = scratch::at_level(tls, tls.nested.get() as usize) else { return };
    scratch.sending = false;
    if std::mem::take(&mut scratch.order) == 0 {
        return;
    }
    let Some(held) = hold() else { return };
    let also_sends = function(noted).is_some_and(|function| function.fields.receive);
    let [source, tag, ..] = &noted.extra;
    let (source, tag) = if also_sends { (source, tag) } else { (&noted.peer, &noted.tag) };
    let named =
        Envelope::new::<false>(&scratch.channel, source.get() as i32, tag.get() as i32, scratch.operation);
    facts::receive_ended(*held, named);
    facts::receive_failed(&named, 0);
}

fn function(noted: &Current) -> Option<&'static Function> {
    FunctionId(u16::try_from(noted.open()?).ok()?).function()
}

/// Returns the arguments of a call that only receives.
#[inline(always)]
pub fn named_by<A: Abi>(call: &Call<A>) -> Data {
    let noted = &call.thread().call;
    // For a call that also sends, the record has the send's arguments.
    if ![f::MPI_Recv, f::MPI_Recv_c, f::MPI_Mrecv, f::MPI_Mrecv_c].contains(&call.function()) {
        return Data { from: fortran_call_site::here(call), ..Data::default() };
    }
    let (count, datatype) = (noted.count.get(), noted.datatype.get());
    Data { from: fortran_call_site::here(call), count, datatype, buffer: 0 }
}

/// A blocking receive has ended: counts the message, if there is one. `named` is what the receive specified,
/// with the peer record of that rank if available.
#[inline(always)]
pub fn arrived<A: Abi, const QUIET: bool>(
    held: Held<QUIET>,
    call: &Call<A>,
    result: c_int,
    (named, peer): (Envelope, Option<&'static Peer>),
    kind: RequestKind,
    posted: Posted,
    status: *const c_void,
) {
    let error = if result == A::SUCCESS {
        0
    } else if status::class(result) == A::ERR_TRUNCATE {
        EntryFlag::ERROR.0
    } else {
        return;
    };
    if status.is_null() {
        return;
    }
    let got = status::read::<A>(&held.sizes, status);
    let from = Envelope { rank: got.source, tag: got.tag, ..named };
    call.add_received(got.bytes);
    if error != 0 {
        faults::truncated::<A>(&held, call, from, got.bytes, &named_by(call));
    }
    let known = if from.rank == named.rank { peer } else { None };
    let place = fortran_call_site::here(call);
    requests::received(held, from, (got.bytes, place), known, call, move || {
        (posted, mode_of::<A>(kind, named) | EntryFlag::BLOCKING.0 | error)
    });
}
