//! What is pending on a communicator: active requests, blocking calls, messages matched by a probe, and
//! collectives in progress.

use super::common::Lifetime;
use super::kind::{Hex, Kind};
use super::reader::Reader;
use super::reference::Reference;
use super::scan::Entry;
use super::{communicator, datatype, request};
use mpi_abi::{Class, Moves, Properties, Start, constant};
use mpiscope_image::layout::{Call, SectionKind, Thread};
use mpiscope_image::objects::{Comm, Flag, Head, Life};
use mpiscope_image::traffic::{self, RequestKind};
use mpiscope_image::{Error, Function, Source, W32};
use serde::Serialize;
use std::mem::offset_of;

/// Maximum number of threads inspected.
const MOST_THREADS: u64 = 4096;

/// A communicator and what is pending on it.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Queue {
    /// The communicator.
    pub comm: Reference,
    /// This process's rank in it.
    pub rank: Option<u32>,
    /// Ranks in the world of the (local) group.
    pub members: Option<Vec<i64>>,
    /// Ranks in the world of the processes that can be sent to: the remote group of an intercommunicator.
    pub partners: Option<Vec<i64>>,
    /// Incomplete sends, in the order in which they were posted; those of blocking calls are last.
    pub sends: Vec<Pending>,
    /// Incomplete receives, in the same order.
    pub receives: Vec<Pending>,
    /// Messages matched by a probe but not yet received. Other messages that have arrived are known only to
    /// the library.
    pub matched: Vec<request::Message>,
}

/// An incomplete operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pending {
    /// The function that started it (`MPI_Irecv`), or the blocking function in progress.
    pub function: Option<String>,
    /// Its request; none for a blocking call.
    pub request: Option<Hex>,
    /// Rank in the communicator; none for any.
    pub peer: Option<i64>,
    /// The tag; none for any.
    pub tag: Option<i64>,
    /// Number of elements.
    pub count: u64,
    /// The datatype; none if it is unknown, as is the number of elements.
    pub datatype: Option<Reference>,
    /// Number of bytes to send, or size of the receive buffer; none if the datatype is unknown.
    pub bytes: Option<u64>,
    /// Address of the buffer; none for a blocking call, whose buffer is not recorded.
    pub buffer: Option<Hex>,
    /// Return address of the call.
    pub from: Hex,
}

/// The direction of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Send,
    Receive,
}

impl<S: Source> Reader<'_, S> {
    /// Returns all communicators that are live or held by MPI, with what is pending on them.
    pub fn queues(&self) -> Result<Vec<Queue>, Error> {
        let calls = open_calls(self)?;
        let mut queues = Vec::new();
        let index = self.index(Kind::Communicator)?;
        let there = |entry: &&Entry| entry.life != Life::FREED.0 || self.is_held(entry.uid);
        for entry in index.entries.iter().filter(there) {
            let record = self.record::<Comm>(Kind::Communicator, entry.index)?.value;
            if record.head.life.get() != Life::EMPTY.0 && !self.has_ended(&record.head) {
                // Calls name a communicator by its handle, which may have been reused.
                let has_handle = index.by_handle(entry.handle).is_some_and(|best| best.uid == entry.uid);
                queues.push(queue(self, &record, if has_handle { &calls } else { &[] })?);
            }
        }
        Ok(queues)
    }

    /// Whether a thread is in this collective on a communicator, or in a call that starts it: `MPI_Ibcast`
    /// counts as `MPI_Bcast`.
    pub fn is_inside(&self, comm: &Reference, operation: &str) -> Result<bool, Error> {
        let inside = |call: &Call| {
            let function = call.open().and_then(|number| self.facts(number + 1));
            call.object.get() == comm.handle.0 && function.is_some_and(|function| enters(function, operation))
        };
        Ok(open_calls(self)?.iter().any(inside))
    }

    /// Returns how often the collective with this index in [`mpi_abi::COUNTED`] was entered on a
    /// communicator.
    pub fn entered(&self, comm: &Reference, collective: usize) -> Result<u32, Error> {
        let Some(entry) = self.entry_of(comm.uid)? else { return Ok(0) };
        let record = self.record::<Comm>(Kind::Communicator, entry.index)?.value;
        Ok(record.entered.get(collective).map_or(0, W32::get))
    }
}

/// Whether a call of the function enters the operation: the operation itself, or its nonblocking start, but
/// not the creation of a persistent request.
fn enters(function: &Function, operation: &str) -> bool {
    function.operation == operation && matches!(function.properties.start, Start::NONE | Start::NONBLOCKING)
}

fn open_calls<S: Source>(reader: &Reader<'_, S>) -> Result<Vec<Call>, Error> {
    let threads = reader.image.table::<Thread>(SectionKind::THREADS)?;
    let mut calls = Vec::new();
    for index in 0..threads.len().min(MOST_THREADS) {
        let call = reader.image.call(&threads, index)?;
        if call.value.open().is_some() && !call.torn {
            calls.push(call.value);
        }
    }
    Ok(calls)
}

fn queue<S: Source>(reader: &Reader<'_, S>, record: &Comm, calls: &[Call]) -> Result<Queue, Error> {
    let (handle, uid) = (record.head.handle.get(), record.head.uid.get());
    let members = communicator::members(reader, &record.members, record.size.get());
    let inter = record.head.flags.get() & Flag::INTER.0 != 0;
    let partners = if inter {
        communicator::members(reader, &record.remote, record.remote_size.get())
    } else {
        members.clone()
    };
    let (mut sends, mut receives) = (Vec::new(), Vec::new());
    for record in active(reader, uid)? {
        let kind = RequestKind(record.kind.get());
        sends.extend(kind.sends().then(|| of_request(reader, &record, Way::Send)).flatten());
        receives.extend(kind.receives().then(|| of_request(reader, &record, Way::Receive)).flatten());
    }
    for call in calls.iter().filter(|call| call.object.get() == handle) {
        sends.extend(of_call(reader, call, Way::Send));
        receives.extend(of_call(reader, call, Way::Receive));
    }
    let matched = reader.entries_by((SectionKind::MESSAGES, offset_of!(Head, parent), 8), uid);
    let matched = matched.into_iter().filter(|entry| entry.life == Life::LIVE.0);
    let matched = matched.filter_map(|entry| reader.by_uid::<request::Message>(entry.uid).ok().flatten());
    Ok(Queue {
        comm: reader.refer(Kind::Communicator, handle, uid),
        rank: Some(record.rank.get()).filter(|rank| *rank != u32::MAX),
        members,
        partners,
        sends,
        receives,
        matched: matched.filter(|message| message.common.standing == Lifetime::Live).collect(),
    })
}

/// Returns the active requests of the communicator with this uid in the order in which their operations were posted: it
/// decides which receive gets a message. Records are reused in any order.
fn active<S: Source>(reader: &Reader<'_, S>, uid: u64) -> Result<Vec<traffic::Request>, Error> {
    let mut requests = Vec::new();
    for entry in reader.entries_by((SectionKind::REQUESTS, offset_of!(Head, parent), 8), uid) {
        let record = reader.record::<traffic::Request>(Kind::Request, entry.index)?.value;
        // Still of this communicator: the record may have been reused.
        if record.is(Flag::ACTIVE) && record.comm() == uid {
            requests.push(record);
        }
    }
    requests.sort_by_key(traffic::Request::operation);
    Ok(requests)
}

/// Whether it is `MPI_PROC_NULL`.
fn is_nobody<S: Source>(reader: &Reader<'_, S>, value: u32) -> bool {
    Some(i64::from(value.cast_signed())) == constant::value_of(reader.abi(), "MPI_PROC_NULL")
}

/// Returns a rank; `None` for any source.
fn peer<S: Source>(reader: &Reader<'_, S>, value: u32) -> Option<i64> {
    let value = i64::from(value.cast_signed());
    (Some(value) != constant::value_of(reader.abi(), "MPI_ANY_SOURCE")).then_some(value)
}

fn tag<S: Source>(reader: &Reader<'_, S>, value: u32) -> Option<i64> {
    let value = i64::from(value.cast_signed());
    (Some(value) != constant::value_of(reader.abi(), "MPI_ANY_TAG")).then_some(value)
}

/// Returns the part of a request in this direction; `None` if the peer is `MPI_PROC_NULL`, where it completes
/// at once.
fn of_request<S: Source>(reader: &Reader<'_, S>, record: &traffic::Request, way: Way) -> Option<Pending> {
    // A combined send and receive: the common fields are the receive's, the send has two separate ones.
    let both = RequestKind(record.kind.get()) == RequestKind::SENDRECV && way == Way::Send;
    let (rank, with) = if both { (&record.dest, &record.send_tag) } else { (&record.peer, &record.tag) };
    if is_nobody(reader, rank.get()) {
        return None;
    }
    let datatype = record.datatype.get();
    let size = datatype::size_of(reader, datatype, record.datatype_uid.get());
    let parts = u64::from(record.partitions.get()).max(1);
    let count = record.count.get().saturating_mul(parts);
    Some(Pending {
        function: reader.function(record.head.made_by.get().into()),
        request: Some(Hex(record.head.handle.get())),
        peer: peer(reader, rank.get()),
        tag: tag(reader, with.get()),
        count,
        datatype: request::datatype(reader, record),
        bytes: size.and_then(|size| size.checked_mul(count)),
        buffer: Some(Hex(record.buffer.get())),
        from: reader.code(record.called_from()),
    })
}

/// Returns the part of a blocking call in this direction. Fields that the function does not set still hold
/// values of an earlier call, so the function decides which are valid.
fn of_call<S: Source>(reader: &Reader<'_, S>, call: &Call, way: Way) -> Option<Pending> {
    let facts = reader.facts(call.open()? + 1)?;
    let Properties { class: Class::POINT_TO_POINT, start: Start::NONE, moves, .. } = facts.properties else {
        return None;
    };
    let both = moves == Moves::EXCHANGE;
    let (rank, with) = match way {
        Way::Send if moves == Moves::SEND || both => (&call.peer, &call.tag),
        // A matched receive has no fields of its message, which is listed separately.
        Way::Receive if moves == Moves::RECEIVE && facts.fields.peer.is_some() => (&call.peer, &call.tag),
        Way::Receive if both => (call.extra.first()?, call.extra.get(1)?),
        _ => return None,
    };
    if is_nobody(reader, rank.get() as u32) {
        return None;
    }
    let (datatype, count) = (call.datatype.get(), call.count.get());
    // For a combined send and receive only the send's count and type are recorded; they are also the
    // receive's if it replaces the data sent.
    let known = !(both && way == Way::Receive) || facts.base == "MPI_Sendrecv_replace";
    let size = datatype::size_of(reader, datatype, 0).filter(|_| known);
    Some(Pending {
        peer: peer(reader, rank.get() as u32),
        tag: tag(reader, with.get() as u32),
        count: if known { count } else { 0 },
        datatype: reader.attached(Kind::Datatype, datatype, 0).filter(|_| known),
        bytes: size.and_then(|size| size.checked_mul(count)),
        function: Some(facts.name.clone()),
        request: None,
        buffer: None,
        from: reader.code(call.return_address.get()),
    })
}
