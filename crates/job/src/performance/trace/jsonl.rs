//! A trace as lines of JSON: one for the trace and one for each thread, call and message, distinguished by
//! `event`.

use super::{Call, End, JobTrace, Message};
use crate::base::json;
use serde::Serialize;
use std::io::{self, Write};

/// Name and version of the schema of a line.
pub const SCHEMA: &str = "mpiscope.trace/1";
/// Approximate number of bytes in the line of a call, for predictions.
const LINE: u64 = 280;

/// One line: the trace (first line), a thread, followed by its calls, a completed call, or a message with
/// both ends known.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "lowercase")]
enum Line<'a> {
    Trace(Head<'a>),
    Thread(Thread<'a>),
    Call(CallLine<'a>),
    Message(MessageLine<'a>),
}

/// The trace. Times on all lines are nanoseconds since its first call.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Head<'a> {
    /// `mpiscope.trace/1`.
    schema: &'static str,
    /// When the first call began, in nanoseconds since 1970.
    start_unix_ns: u64,
    /// Number of hosts, each of which has its own clock.
    hosts: usize,
    /// Number of processes.
    ranks: usize,
    /// Number of call lines.
    calls: u64,
    /// Number of older calls that are no longer recorded.
    gone: u64,
    /// Number of message lines.
    messages: usize,
    /// Number of messages with a missing end: sent before the start of the trace (their `begin_ns` is
    /// `null`), or the call that sent or received them is no longer recorded.
    messages_cut: usize,
    /// A note on the times.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
}

/// A thread.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Thread<'a> {
    /// Number of the world, counted from zero in the order in which they started.
    world: usize,
    /// Rank in `MPI_COMM_WORLD`, if known.
    rank: Option<u32>,
    /// Number of the thread, counted from zero in the order of first calls.
    thread: u64,
    /// Thread id; zero if it has ended.
    tid: u32,
    /// Name of the host.
    host: &'a str,
    /// Process id on that host.
    pid: u32,
    /// Number of calls that follow.
    calls: usize,
    /// Number of older calls of this thread that are no longer recorded.
    gone: u64,
    /// Whether the oldest messages of the process are no longer recorded.
    messages_gone: bool,
}

/// A completed call.
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
    /// `file:line` of the program, or function (otherwise module) and offset.
    place: Option<&'a str>,
    /// The communicator, window or file.
    object: Option<&'a str>,
    /// Destination, source, root or target, as rank of the communicator; none if it is a constant.
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<i32>,
    /// The name of that constant, such as `MPI_ANY_SOURCE`.
    #[serde(skip_serializing_if = "Option::is_none")]
    peer_name: Option<&'a str>,
    /// The tag passed by the program; none for `MPI_ANY_TAG`.
    #[serde(skip_serializing_if = "Option::is_none")]
    tag: Option<i32>,
    /// Bytes moved by the process in this call, or by the receives that it started, as far as they are known to be
    /// complete; so the sums by function are those of the report.
    bytes: u64,
    /// Number of a collective on its communicator, modulo 2^32; the same on all members.
    #[serde(skip_serializing_if = "Option::is_none")]
    collective: Option<u32>,
    /// Number of enclosing open calls, if a user callback made this call; otherwise omitted.
    #[serde(skip_serializing_if = "is_zero")]
    nested: u16,
}

/// A message.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct MessageLine<'a> {
    /// World of the sender.
    world: usize,
    /// Rank of the sender.
    rank: Option<u32>,
    /// World of the receiver.
    to_world: usize,
    /// Rank of the receiver.
    to_rank: Option<u32>,
    /// The communicator.
    object: &'a str,
    /// The tag.
    tag: i32,
    /// Size in bytes.
    bytes: u64,
    /// When it was sent; `null` if that was before the start of the trace.
    begin_ns: Option<u64>,
    /// When its receive was posted; `null` if that was before the start of the trace.
    posted_ns: Option<u64>,
    /// When the receiver had it; none if unknown.
    end_ns: Option<u64>,
}

/// Returns the schema of a line as JSON Schema.
///
/// # Errors
/// None known.
#[cfg(feature = "schema")]
pub fn schema() -> serde_json::Result<String> {
    crate::schema::of::<Line<'static>>()
}

fn is_zero(number: &u16) -> bool {
    *number == 0
}

/// Note on the times of several hosts.
pub const CLOCKS: &str =
    "each host has its own clock: times of different hosts are off by as much as their clocks";

/// Returns the approximate number of bytes of all lines.
#[must_use]
pub fn predicted(trace: &JobTrace) -> u64 {
    LINE.saturating_mul(trace.calls().saturating_add(trace.messages.len() as u64))
}

/// Writes the lines.
///
/// # Errors
/// If they cannot be written.
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
    json::write(out, value)?;
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
