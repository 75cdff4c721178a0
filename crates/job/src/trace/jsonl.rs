//! A trace as lines of JSON: one for the trace, one for each thread, call and message, told apart by `event`.

use super::{Call, End, JobTrace, Message};
use serde::Serialize;
use std::io::{self, Write};

/// The form of the lines.
pub const SCHEMA: &str = "mpiscope.trace/1";
/// Bytes that a line of a call has, about: for predictions.
const LINE: u64 = 280;

#[derive(Serialize)]
struct Head<'a> {
    event: &'static str,
    schema: &'static str,
    start_unix_ns: u64,
    hosts: usize,
    ranks: usize,
    calls: u64,
    gone: u64,
    messages: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
}

#[derive(Serialize)]
struct Thread<'a> {
    event: &'static str,
    world: usize,
    rank: Option<u32>,
    thread: u64,
    tid: u32,
    host: &'a str,
    pid: u32,
    calls: usize,
    gone: u64,
    messages_gone: bool,
}

#[derive(Serialize)]
struct CallLine<'a> {
    event: &'static str,
    world: usize,
    rank: Option<u32>,
    thread: u64,
    function: &'a str,
    begin_ns: u64,
    end_ns: u64,
    place: Option<&'a str>,
    object: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    peer_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tag: Option<i32>,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    collective: Option<u32>,
    #[serde(skip_serializing_if = "is_zero")]
    nested: u16,
}

#[derive(Serialize)]
struct MessageLine<'a> {
    event: &'static str,
    world: usize,
    rank: Option<u32>,
    to_world: usize,
    to_rank: Option<u32>,
    object: &'a str,
    tag: i32,
    bytes: u64,
    begin_ns: u64,
    posted_ns: u64,
    end_ns: Option<u64>,
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
        event: "trace",
        schema: SCHEMA,
        start_unix_ns: trace.start_unix_ns,
        hosts: trace.hosts,
        ranks: trace.ranks.len(),
        calls: trace.calls(),
        gone: trace.gone(),
        messages: trace.messages.len(),
        note: (trace.hosts > 1).then_some(CLOCKS),
    };
    line(out, &head)?;
    for rank in &trace.ranks {
        for thread in &rank.threads {
            let of_thread = Thread {
                event: "thread",
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
            line(out, &of_thread)?;
            for call in &thread.calls {
                line(out, &call_line(call, rank.world, rank.rank, thread.thread))?;
            }
        }
    }
    trace.messages.iter().try_for_each(|message| line(out, &message_line(trace, message)))
}

fn line(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

fn call_line(call: &Call, world: usize, rank: Option<u32>, thread: u64) -> CallLine<'_> {
    CallLine {
        event: "call",
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
        event: "message",
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
