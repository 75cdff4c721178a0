//! Requests and matched messages.

use super::build::Build;
use super::common::{CallSite, Common, Lifetime};
use super::kind::{Hex, Kind};
use super::links::{has_datatype, kind_of, reduction, significant};
use super::reader::Reader;
use super::reference::Reference;
use mpi_abi::{Fields, Role, constant};
use mpiscope_image::objects::{Flag, Head};
use mpiscope_image::traffic::{self, RequestKind, UNKNOWN_SIZE};
use mpiscope_image::{Source, W64};
use serde::Serialize;
use std::mem::offset_of;

/// A request.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Request {
    #[allow(missing_docs)]
    #[serde(flatten)]
    pub common: Common,
    /// The operation that it stands for.
    pub operation: Option<&'static str>,
    /// A [`RequestKind`].
    #[serde(skip)]
    pub code: u32,
    /// Its class: point-to-point, file, …
    pub class: &'static str,
    /// Whether it is persistent.
    pub persistent: bool,
    /// Whether it was started (if persistent, at least once).
    pub started: bool,
    /// Whether it was started and has not been observed to complete.
    pub active: bool,
    /// Whether its completion was observed.
    pub complete: bool,
    /// Whether `MPI_Cancel` was called on it.
    pub cancelled: bool,
    /// Whether the program freed it while it was active.
    pub marked: bool,
    /// Its communicator, file or window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<Reference>,
    /// Source, destination, root or target as passed by the program; none if the operation has no such rank.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<Rank>,
    /// Whether the peer is the root of a collective.
    pub root: bool,
    /// The tag as passed by the program; none for any tag.
    pub tag: Option<i64>,
    /// For a combined send and receive: destination and tag of the send.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send: Option<(i64, i64)>,
    /// Number of elements.
    pub count: u64,
    /// The datatype.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datatype: Option<Reference>,
    /// The operation of a reduction or accumulate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reduction: Option<Reference>,
    /// Address of the buffer.
    pub buffer: Hex,
    /// Number of partitions of a partitioned request.
    pub partitions: u32,
    /// The call that last started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<When>,
    /// The call that observed its completion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion: Option<When>,
    /// Source and tag of the message, for a complete receive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received: Option<(i64, i64)>,
    /// Bytes of the message: those sent, or those received once complete; none if the library did not report
    /// the number received.
    pub bytes: Option<u64>,
    /// Error code of the operation.
    pub error: u32,
    /// Number of times it was started.
    pub starts: u64,
    /// For a handle shared by several requests: the number that the program has not completed.
    pub outstanding: u32,
    /// Whether the handle has stood for several requests, all complete at creation. Peer, count and similar
    /// fields differed between them and are not shown.
    pub several: bool,
}

impl Request {
    /// Whether its messages only go to and come from `MPI_PROC_NULL`: it waits for nothing, even if its
    /// completion was not observed yet.
    pub fn is_with_nobody(&self) -> bool {
        let nobody = self.peer.as_ref().filter(|peer| peer.name == Some("MPI_PROC_NULL"));
        let of_messages = RequestKind(self.code).is_point_to_point();
        nobody.is_some_and(|nobody| of_messages && self.send.is_none_or(|(to, _)| to == nobody.value))
    }
}

/// A rank, or a constant in place of one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rank {
    /// The value passed by the program.
    pub value: i64,
    /// `MPI_ANY_SOURCE`, `MPI_PROC_NULL`, `MPI_ROOT`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'static str>,
}

/// Time and place of a call.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct When {
    /// Return address of the call.
    pub address: Hex,
    /// Source line of the call, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// Time in seconds since the image was created.
    pub seconds: f64,
}

impl From<CallSite> for When {
    fn from(call_site: CallSite) -> Self {
        Self { address: call_site.address, place: call_site.place, seconds: call_site.seconds }
    }
}

/// Returns the class of a request, as named in the documentation of the interface.
pub fn class(code: RequestKind) -> &'static str {
    match code {
        code if code.is_point_to_point() => "point-to-point",
        code if code.is_file() => "file",
        RequestKind::COLLECTIVE => "collective",
        RequestKind::RMA => "one-sided",
        RequestKind::GENERALIZED => "generalised",
        RequestKind::FLUSH => "flush",
        _ => "unknown",
    }
}

impl Build for Request {
    type Record = traffic::Request;
    const KIND: Kind = Kind::Request;

    fn head(record: &traffic::Request) -> &Head {
        &record.head
    }

    fn build<S: Source>(reader: &Reader<'_, S>, common: Common, record: Option<&traffic::Request>) -> Self {
        let empty = traffic::Request::default();
        let seen = record.is_some();
        let record = record.unwrap_or(&empty);
        let code = kind_of(record);
        let message = code.is_point_to_point();
        let complete = common.has(Flag::COMPLETE) || !seen;
        let persistent = common.has(Flag::PERSISTENT);
        let shared = common.has(Flag::SHARED_HANDLE);
        let tag = signed(record.tag.get());
        let both = code == RequestKind::SENDRECV;
        let nobody = ["MPI_ANY_SOURCE", "MPI_PROC_NULL"]
            .map(|name| constant::value_of(reader.abi(), name))
            .contains(&Some(signed(record.source.get())));
        let receives = code.receives() && complete && seen && !shared && !nobody;
        let of = |applies: bool, word: &W64| if applies { word.get() } else { 0 };
        let several = shared && record.starts.get() > 1;
        let has = if several { Fields::default() } else { significant(reader, record) };
        Self {
            operation: code.name(),
            code: code.0,
            class: if seen { class(code) } else { "null" },
            persistent,
            started: common.has(Flag::STARTED),
            active: common.has(Flag::ACTIVE),
            complete,
            cancelled: common.has(Flag::CANCELLED),
            marked: common.standing == Lifetime::Marked,
            object: if several { None } else { object(reader, code, record) },
            peer: has.peer.filter(|_| seen).map(|_| rank(reader, signed(record.peer.get()))),
            root: has.peer == Some(Role::Root),
            tag: (message && !several && Some(tag) != constant::value_of(reader.abi(), "MPI_ANY_TAG"))
                .then_some(tag),
            send: both.then(|| (signed(record.dest.get()), signed(record.send_tag.get()))),
            count: of(has.count, &record.count),
            datatype: datatype(reader, record).filter(|_| has.datatype),
            reduction: reduction(reader, record)
                .filter(|_| !several)
                .and_then(|handle| reader.attached(Kind::Op, handle, 0)),
            buffer: Hex(of(has.count, &record.buffer)),
            partitions: if code.is_partitioned() { record.partitions.get() } else { 0 },
            start: start(reader, &common, record),
            completion: if shared { None } else { completion(reader, &common, record) },
            received: receives.then(|| (signed(record.source.get()), signed(record.actual_tag.get()))),
            bytes: Some(of(message && !several && (!code.receives() || both || complete), &record.bytes))
                .filter(|bytes| *bytes != UNKNOWN_SIZE),
            error: if complete { record.error.get() } else { 0 },
            starts: of(persistent || shared, &record.starts),
            several,
            outstanding: if shared { record.outstanding.get() } else { 0 },
            common,
        }
    }
}

/// The datatype of a request's message.
pub(super) fn datatype<S: Source>(reader: &Reader<'_, S>, record: &traffic::Request) -> Option<Reference> {
    reader.attached(Kind::Datatype, record.datatype.get(), record.datatype_uid.get())
}

/// Returns requests of some kinds that name a communicator, file or window by its handle.
pub(super) fn of_kind<S: Source>(
    reader: &Reader<'_, S>,
    handle: Hex,
    is_one: impl Fn(RequestKind) -> bool,
) -> Vec<Reference> {
    let named = reader.referring(Kind::Request, offset_of!(traffic::Request, object), handle.0);
    named.into_iter().filter(|found| record(reader, found).is_some_and(|r| is_one(kind_of(&r)))).collect()
}

/// Keeps the requests that really have a datatype.
pub(super) fn with_datatype<S: Source>(reader: &Reader<'_, S>, named: Vec<Reference>) -> Vec<Reference> {
    named
        .into_iter()
        .filter(|found| record(reader, found).is_some_and(|r| has_datatype(reader, &r)))
        .collect()
}

/// Returns requests with this operation.
pub(super) fn with_operation<S: Source>(reader: &Reader<'_, S>, handle: Hex) -> Vec<Reference> {
    let named = reader.referring(Kind::Request, offset_of!(traffic::Request, entry), handle.0);
    let has = |found: &Reference| Some(reduction(reader, &record(reader, found)?)? == handle.0);
    named.into_iter().filter(|found| has(found) == Some(true)).collect()
}

fn record<S: Source>(reader: &Reader<'_, S>, of: &Reference) -> Option<traffic::Request> {
    let entry = reader.entry_of(of.uid).ok().flatten()?;
    Some(reader.record::<traffic::Request>(Kind::Request, entry.index).ok()?.value)
}

/// Returns the call that last started it. Only a persistent request has a separate field for that.
fn start<S: Source>(reader: &Reader<'_, S>, common: &Common, record: &traffic::Request) -> Option<When> {
    if !common.has(Flag::STARTED) {
        return None;
    }
    if common.has(Flag::PERSISTENT) {
        return when(reader, record.started_at.get(), record.started_from.get());
    }
    when(reader, record.head.made_at.get(), record.head.made_from.get())
}

/// Returns the call that observed its completion. If that call also freed the request, only the header
/// records it.
fn completion<S: Source>(reader: &Reader<'_, S>, common: &Common, record: &traffic::Request) -> Option<When> {
    if !common.has(Flag::COMPLETE) {
        return None;
    }
    let at = record.completed_at.get();
    let freed = common.standing == Lifetime::Freed && record.head.freed_at.get() == at;
    when(reader, at, if freed { record.head.freed_from.get() } else { record.completed_from.get() })
}

fn signed(half: u32) -> i64 {
    i64::from(half.cast_signed())
}

fn when<S: Source>(reader: &Reader<'_, S>, at: u64, from: u64) -> Option<When> {
    if at == 0 && from == 0 {
        return None;
    }
    Some(When { address: reader.code(from), place: reader.around.place(from), seconds: reader.seconds(at) })
}

fn object<S: Source>(
    reader: &Reader<'_, S>,
    code: RequestKind,
    record: &traffic::Request,
) -> Option<Reference> {
    let kind = match code {
        RequestKind::RMA => Kind::Window,
        code if code.is_file() => Kind::File,
        _ => Kind::Communicator,
    };
    let handle = record.object.get();
    if record.comm() != 0 && kind == Kind::Communicator {
        return reader.attached(kind, handle, record.comm());
    }
    let uid = reader.index(kind).ok().and_then(|index| index.by_handle(handle)).map_or(0, |entry| entry.uid);
    reader.attached(kind, handle, uid)
}

/// Returns a rank with its name, if it is a constant.
pub(super) fn rank<S: Source>(reader: &Reader<'_, S>, value: i64) -> Rank {
    const WORDS: [&str; 3] = ["MPI_ANY_SOURCE", "MPI_PROC_NULL", "MPI_ROOT"];
    let is = |name: &&&str| value < 0 && constant::value_of(reader.abi(), name) == Some(value);
    Rank { value, name: WORDS.iter().find(is).copied() }
}

/// A message that was matched by a probe but not yet received.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Message {
    #[allow(missing_docs)]
    #[serde(flatten)]
    pub common: Common,
    /// The communicator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub communicator: Option<Reference>,
    /// Rank of the sender.
    pub source: i64,
    /// Its tag.
    pub tag: i64,
    /// Its size in bytes.
    pub bytes: u64,
}

impl Build for Message {
    type Record = traffic::Message;
    const KIND: Kind = Kind::Message;

    fn head(record: &traffic::Message) -> &Head {
        &record.head
    }

    fn build<S: Source>(reader: &Reader<'_, S>, common: Common, record: Option<&traffic::Message>) -> Self {
        // Without a record it is `MPI_MESSAGE_NO_PROC`: what a receive of it returns.
        let empty = traffic::Message::default();
        let no_process = |name| constant::value_of(reader.abi(), name).unwrap_or(-1);
        let (source, tag) = match record {
            Some(record) => (signed(record.source.get()), signed(record.tag.get())),
            None => (no_process("MPI_PROC_NULL"), no_process("MPI_ANY_TAG")),
        };
        let record = record.unwrap_or(&empty);
        Self {
            common,
            communicator: reader.attached(Kind::Communicator, record.object.get(), record.head.parent.get()),
            source,
            tag,
            bytes: record.bytes.get(),
        }
    }
}
