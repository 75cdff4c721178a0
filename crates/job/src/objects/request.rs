//! Requests and matched messages.

use super::common::{Common, Deed, Reference, Standing};
use super::kind::{Hex, Kind};
use super::reader::{Build, Reader};
use mpi_abi::constant;
use mpiscope_image::Source;
use mpiscope_image::objects::{Flag, Head};
use mpiscope_image::traffic::{self, RequestKind};
use serde::Serialize;

/// A request.
#[derive(Debug, Clone, Serialize)]
pub struct Request {
    #[allow(missing_docs)]
    #[serde(flatten)]
    pub common: Common,
    /// What it stands for.
    pub operation: Option<&'static str>,
    /// A [`RequestKind`].
    #[serde(skip)]
    pub code: u32,
    /// Whether it is point-to-point, of a file, …
    pub class: &'static str,
    /// Whether it can be started again.
    pub persistent: bool,
    /// Whether it was started, a persistent one at least once.
    pub started: bool,
    /// Started, and its completion not seen.
    pub active: bool,
    /// Whether its completion was seen.
    pub complete: bool,
    /// Whether `MPI_Cancel` was called for it.
    pub cancelled: bool,
    /// The program has freed it while it was active.
    pub marked: bool,
    /// Communicator, file or window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<Reference>,
    /// Source, destination, root or target as the program gave it.
    pub peer: Rank,
    /// The tag as the program gave it; none if it named any.
    pub tag: Option<i64>,
    /// Send and receive: destination and tag of the send.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send: Option<(i64, i64)>,
    /// Elements.
    pub count: u64,
    /// The datatype.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datatype: Option<Reference>,
    /// Address of the buffer.
    pub buffer: Hex,
    /// Partitions, of a partitioned request.
    pub partitions: u32,
    /// The call that started it last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<When>,
    /// The call that saw its completion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion: Option<When>,
    /// Of a complete receive: who sent and with which tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received: Option<(i64, i64)>,
    /// Bytes of the message: sent, or received once complete.
    pub bytes: u64,
    /// Error code of the operation.
    pub error: u32,
    /// How often it was started.
    pub starts: u64,
    /// Of a handle that stands for several requests: how many are not completed by the program.
    pub outstanding: u32,
}

/// A rank, or a word for one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rank {
    /// As the program gave it.
    pub value: i64,
    /// `MPI_ANY_SOURCE`, `MPI_PROC_NULL`, `MPI_ROOT`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'static str>,
}

/// A moment and a place.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct When {
    /// The address behind the call.
    pub address: Hex,
    /// Source line of the call, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// In seconds after the begin of the image.
    pub seconds: f64,
}

impl From<Deed> for When {
    fn from(deed: Deed) -> Self {
        Self { address: deed.address, place: deed.place, seconds: deed.seconds }
    }
}

/// The class of a request, as the interface's text divides them.
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
        let code = RequestKind(record.kind.get());
        let message = code.is_point_to_point();
        let complete = common.has(Flag::COMPLETE) || !seen;
        let tag = signed(record.tag.get());
        let both = code == RequestKind::SENDRECV;
        let receives = code.receives() && complete && seen;
        Self {
            operation: code.name(),
            code: code.0,
            class: if seen { class(code) } else { "null" },
            persistent: common.has(Flag::PERSISTENT),
            started: common.has(Flag::STARTED),
            active: common.has(Flag::ACTIVE),
            complete,
            cancelled: common.has(Flag::CANCELLED),
            marked: common.standing == Standing::Marked,
            object: object(reader, code, record),
            peer: rank(reader, signed(record.peer.get())),
            tag: (message && Some(tag) != constant::value_of(reader.abi(), "MPI_ANY_TAG")).then_some(tag),
            send: both.then(|| (signed(record.dest.get()), signed(record.send_tag.get()))),
            count: record.count.get(),
            datatype: reader.attached(Kind::Datatype, record.datatype.get(), record.datatype_uid.get()),
            buffer: Hex(record.buffer.get()),
            partitions: record.partitions.get(),
            start: when(reader, record.started_at.get(), record.started_from.get()),
            completion: when(reader, record.completed_at.get(), record.completed_from.get()),
            received: receives.then(|| (signed(record.source.get()), signed(record.actual_tag.get()))),
            bytes: record.bytes.get(),
            error: record.error.get(),
            starts: record.starts.get(),
            outstanding: record.outstanding.get(),
            common,
        }
    }
}

fn signed(half: u32) -> i64 {
    i64::from(half.cast_signed())
}

fn when<S: Source>(reader: &Reader<'_, S>, at: u64, from: u64) -> Option<When> {
    if at == 0 && from == 0 {
        return None;
    }
    Some(When { address: Hex(from), place: reader.around.place(from), seconds: reader.seconds(at) })
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

/// A rank with its word.
pub(super) fn rank<S: Source>(reader: &Reader<'_, S>, value: i64) -> Rank {
    const WORDS: [&str; 3] = ["MPI_ANY_SOURCE", "MPI_PROC_NULL", "MPI_ROOT"];
    let is = |name: &&&str| value < 0 && constant::value_of(reader.abi(), name) == Some(value);
    Rank { value, name: WORDS.iter().find(is).copied() }
}

/// A message that a probe has matched and nobody has received.
#[derive(Debug, Clone, Serialize)]
pub struct Message {
    #[allow(missing_docs)]
    #[serde(flatten)]
    pub common: Common,
    /// The communicator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub communicator: Option<Reference>,
    /// Who sent it.
    pub source: i64,
    /// Its tag.
    pub tag: i64,
    /// Its bytes.
    pub bytes: u64,
}

impl Build for Message {
    type Record = traffic::Message;
    const KIND: Kind = Kind::Message;

    fn head(record: &traffic::Message) -> &Head {
        &record.head
    }

    fn build<S: Source>(reader: &Reader<'_, S>, common: Common, record: Option<&traffic::Message>) -> Self {
        let empty = traffic::Message::default();
        let record = record.unwrap_or(&empty);
        Self {
            common,
            communicator: reader.attached(Kind::Communicator, record.object.get(), record.head.parent.get()),
            source: signed(record.source.get()),
            tag: signed(record.tag.get()),
            bytes: record.bytes.get(),
        }
    }
}
