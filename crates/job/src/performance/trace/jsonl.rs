//! A trace as lines of JSON: one for the trace, one for each thread, call and message, told apart by `event`.

use super::{Call, End, JobTrace, Message};
use serde::Serialize;
use std::io::{self, Write};

/// The form of the lines.
pub const SCHEMA: &str = "mpiscope.trace/1";
/// Bytes that a line of a call has, about: for predictions.
const LINE: u64 = 280;

/// One line: the trace (the first line), a thread, followed by its calls, a call that has ended, or a message of which both ends are known.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "lowercase")]
enum Line<'a> {
    Trace(Head<'a>),
    Thread(Thread<'a>),
    Call(CallLine<'a>),
    Message(MessageLine<'a>),
}

/// The trace. Times of all lines are nanoseconds since its first call.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Head<'a> {
    /// `mpiscope.trace/1`.
    schema: &'static str,
    /// When the first call began, in nanoseconds since 1970.
    start_unix_ns: u64,
    /// Hosts, each of which has a clock of its own.
    hosts: usize,
    /// Processes.
    ranks: usize,
    /// Lines of calls.
    calls: u64,
    /// Older calls that are no longer known.
    gone: u64,
    /// Lines of messages.
    messages: usize,
    /// Those of them of which an end is not there: sent before the trace begins (their `begin_ns` is `null`), or the call that sent or
    /// received them is gone.
    messages_cut: usize,
    /// What is to be known of the times.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
}

/// A thread.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Thread<'a> {
    /// Number of the world, from zero in the order in which they began.
    world: usize,
    /// Rank in `MPI_COMM_WORLD`, if known.
    rank: Option<u32>,
    /// Number of the thread, from zero in the order of first calls.
    thread: u64,
    /// The kernel's id; zero if it has ended.
    tid: u32,
    /// Name of the host.
    host: &'a str,
    /// Process id there.
    pid: u32,
    /// Calls that follow.
    calls: usize,
    /// Older calls of this thread that are no longer known.
    gone: u64,
    /// Whether the oldest messages of the process are no longer known.
    messages_gone: bool,
}

/// A call that has ended.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct CallLine<'a> {
    /// Number of the world.
    world: usize,
    /// Rank in `MPI_COMM_WORLD`, if known.
    rank: Option<u32>,
    /// Number of the thread.
    thread: u64,
    /// The function, such as `MPI_Send`.
    function: &'a str,
    /// When it began.
    begin_ns: u64,
    /// When it ended.
    end_ns: u64,
    /// `file:line` of the program, or function (else module) and offset.
    place: Option<&'a str>,
    /// The communicator, window or file.
    object: Option<&'a str>,
    /// Destination, source, root or target, as rank of the communicator; none of a constant.
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<i32>,
    /// That constant, such as `MPI_ANY_SOURCE`.
    #[serde(skip_serializing_if = "Option::is_none")]
    peer_name: Option<&'a str>,
    /// The tag, as the program gave it; none of `MPI_ANY_TAG`.
    #[serde(skip_serializing_if = "Option::is_none")]
    tag: Option<i32>,
    /// Bytes that the process moved by it.
    bytes: u64,
    /// Number of a collective on its communicator, modulo 2^32: the same on all members.
    #[serde(skip_serializing_if = "Option::is_none")]
    collective: Option<u32>,
    /// How many calls are open below it: a user callback made it; not there if none is.
    #[serde(skip_serializing_if = "is_zero")]
    nested: u16,
}

/// A message.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct MessageLine<'a> {
    /// World of the sender.
    world: usize,
    /// The sender.
    rank: Option<u32>,
    /// World of the receiver.
    to_world: usize,
    /// The receiver.
    to_rank: Option<u32>,
    /// The communicator.
    object: &'a str,
    /// Its tag.
    tag: i32,
    /// Its bytes.
    bytes: u64,
    /// When it was sent; `null` if that was before the trace begins.
    begin_ns: Option<u64>,
    /// When its receive was posted; `null` if that was before the trace begins.
    posted_ns: Option<u64>,
    /// When the receiver had it; none if that is not known.
    end_ns: Option<u64>,
}

/// The form of a line, as JSON Schema.
///
/// # Errors
/// None that is known.
#[cfg(feature = "schema")]
pub fn schema() -> serde_json::Result<String> {
    crate::schema::of::<Line<'static>>()
}

fn is_zero(number: &u16) -> bool {
    *number == 0
}

/// What is said of times of several hosts.
pub const CLOCKS: &str =
    "each host has a clock of its own: times of different hosts are as far apart as their clocks";

/// Bytes that the lines will have, about.
#[must_use]
pub fn predicted(trace: &JobTrace) -> u64 {
    LINE.saturating_mul(trace.calls().saturating_add(trace.messages.len() as u64))
}

/// Writes the lines.
///
/// # Errors
/// When they cannot be written.
pub fn write(trace: &JobTrace, out: &mut dyn Write) -> io::Result<()> {
    let head = Head {
        schema: SCHEMA,
        start_unix_ns: trace.start_unix_ns,
        hosts: trace.hosts,
        ranks: trace.ranks.len(),
        calls: trace.calls(),
        gone: trace.gone(),
        messages: trace.messages.len(),
        messages_cut: trace.messages_cut(),
        note: (trace.hosts > 1).then_some(CLOCKS),
    };
    line(out, &Line::Trace(head))?;
    for rank in &trace.ranks {
        for thread in &rank.threads {
            let of_thread = Thread {
                world: rank.world,
                rank: rank.rank,
                thread: thread.thread,
                tid: thread.tid,
                host: &rank.host,
                pid: rank.pid,
                calls: thread.calls.len(),
                gone: thread.gone,
                messages_gone: rank.messages_gone,
            };
            line(out, &Line::Thread(of_thread))?;
            for call in &thread.calls {
                line(out, &Line::Call(call_line(call, rank.world, rank.rank, thread.thread)))?;
            }
        }
    }
    trace.messages.iter().try_for_each(|message| line(out, &Line::Message(message_line(trace, message))))
}

fn line(out: &mut dyn Write, value: &Line<'_>) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

fn call_line(call: &Call, world: usize, rank: Option<u32>, thread: u64) -> CallLine<'_> {
    CallLine {
        world,
        rank,
        thread,
        function: &call.function,
        begin_ns: call.begin_ns,
        end_ns: call.end_ns,
        place: call.place.as_deref(),
        object: call.object.as_deref(),
        peer: call.peer,
        peer_name: call.peer_name.as_deref(),
        tag: call.tag,
        bytes: call.bytes,
        collective: call.collective,
        nested: call.nested,
    }
}

fn message_line<'a>(trace: &JobTrace, message: &'a Message) -> MessageLine<'a> {
    let who = |end: End| trace.ranks.get(end.rank).map_or((0, None), |rank| (rank.world, rank.rank));
    let ((world, rank), (to_world, to_rank)) = (who(message.sent), who(message.received));
    MessageLine {
        world,
        rank,
        to_world,
        to_rank,
        object: &message.object,
        tag: message.tag,
        bytes: message.bytes,
        begin_ns: message.sent_ns,
        posted_ns: message.posted_ns,
        end_ns: message.received_ns,
    }
}
