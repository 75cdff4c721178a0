//! A trace for Perfetto: a stream of the packets described in its `trace.proto`, with a track for each
//! thread, a slice for each call and an arrow for each message.
//!
//! The format is written without a library, since only numbers, strings and nested messages are used; see
//! `Packet`.

use super::{Call, JobTrace, Message};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// Approximate size of a call in bytes, for predictions.
const CALL: u64 = 160;

/// Field numbers from Perfetto's `.proto` files.
mod field {
    pub const TRACE_PACKET: u32 = 1;
    pub const PACKET_TIMESTAMP: u32 = 8;
    pub const PACKET_SEQUENCE: u32 = 10;
    pub const PACKET_EVENT: u32 = 11;
    pub const PACKET_TRACK: u32 = 60;
    pub const TRACK_UUID: u32 = 1;
    pub const TRACK_NAME: u32 = 2;
    pub const TRACK_PROCESS: u32 = 3;
    pub const TRACK_THREAD: u32 = 4;
    pub const TRACK_PARENT: u32 = 5;
    pub const PROCESS_PID: u32 = 1;
    pub const PROCESS_NAME: u32 = 6;
    pub const THREAD_PID: u32 = 1;
    pub const THREAD_TID: u32 = 2;
    pub const THREAD_NAME: u32 = 5;
    pub const EVENT_ANNOTATION: u32 = 4;
    pub const EVENT_TYPE: u32 = 9;
    pub const EVENT_TRACK: u32 = 11;
    pub const EVENT_CATEGORY: u32 = 22;
    pub const EVENT_NAME: u32 = 23;
    pub const EVENT_FLOW: u32 = 47;
    pub const EVENT_LAST_FLOW: u32 = 48;
    pub const ANNOTATION_INT: u32 = 4;
    pub const ANNOTATION_TEXT: u32 = 6;
    pub const ANNOTATION_NAME: u32 = 10;
}

const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const INSTANT: u64 = 3;
/// All packets belong to one writer.
const SEQUENCE: u64 = 1;

/// A protocol buffer message.
#[derive(Default)]
struct Packet(Vec<u8>);

impl Packet {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn key(&mut self, field: u32, wire: u64) {
        self.varint(u64::from(field) << 3 | wire);
    }

    fn number(&mut self, field: u32, value: u64) {
        self.key(field, 0);
        self.varint(value);
    }

    fn fixed(&mut self, field: u32, value: u64) {
        self.key(field, 1);
        self.0.extend(value.to_le_bytes());
    }

    fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.key(field, 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
    }

    fn text(&mut self, field: u32, text: &str) {
        self.bytes(field, text.as_bytes());
    }

    fn inner(&mut self, field: u32, fill: impl FnOnce(&mut Self)) {
        let mut inner = Self::default();
        fill(&mut inner);
        self.bytes(field, &inner.0);
    }
}

/// Returns the approximate number of bytes of the file.
#[must_use]
pub fn predicted(trace: &JobTrace) -> u64 {
    CALL.saturating_mul(trace.calls().saturating_add(trace.messages.len() as u64))
}

/// Writes the file.
///
/// # Errors
/// If it cannot be written.
pub fn write(trace: &JobTrace, out: &mut dyn Write) -> io::Result<()> {
    let arrows = Arrows::of(trace);
    let (mut pids, mut tids) = (BTreeSet::new(), BTreeSet::new());
    for (index, rank) in trace.ranks.iter().enumerate() {
        let process = (index as u64 + 1) << 32;
        // Processes on two hosts may share an id.
        let pid = unused(&mut pids, rank.pid);
        let world = if rank.world == 0 { String::new() } else { format!("{}.", rank.world) };
        let name = rank.rank.map_or_else(|| "no rank".to_owned(), |number| format!("rank {world}{number}"));
        track(out, process, None, |track| {
            let name = format!("{name} on {} (pid {})", rank.host, rank.pid);
            track.inner(field::TRACK_PROCESS, |of| {
                of.number(field::PROCESS_PID, u64::from(pid));
                of.text(field::PROCESS_NAME, &name);
            });
        })?;
        for (at, thread) in rank.threads.iter().enumerate() {
            let uuid = process + 1 + at as u64;
            let tid = unused(&mut tids, thread.tid);
            track(out, uuid, Some(process), |track| {
                let name = format!("{name}, thread {}", thread.thread);
                track.text(field::TRACK_NAME, &name);
                track.inner(field::TRACK_THREAD, |of| {
                    of.number(field::THREAD_PID, u64::from(pid));
                    of.number(field::THREAD_TID, u64::from(tid));
                    of.text(field::THREAD_NAME, &name);
                });
            })?;
            slices(out, uuid, &thread.calls, &|call| arrows.at(index, at, call))?;
        }
    }
    Ok(())
}

/// Returns the number, or another one if it is taken or unknown.
fn unused(taken: &mut BTreeSet<u32>, number: u32) -> u32 {
    let mut found = if number == 0 { 1 << 30 } else { number };
    while !taken.insert(found) {
        found = if found < 1 << 30 { 1 << 30 } else { found + 1 };
    }
    found
}

/// Writes the calls of a thread as nested slices: a call made by a user callback ends no later than the
/// enclosing one.
fn slices<'a>(
    out: &mut dyn Write,
    track: u64,
    calls: &[Call],
    arrows: &dyn Fn(usize) -> &'a [Arrow<'a>],
) -> io::Result<()> {
    let mut open: Vec<(u64, &[Arrow<'_>])> = Vec::new();
    for (at, call) in calls.iter().enumerate() {
        while let Some((until, ends)) = open.pop_if(|(until, _)| *until <= call.begin_ns) {
            close(out, track, until, ends)?;
        }
        let until = open.last().map_or(call.end_ns, |(outer, _)| call.end_ns.min(*outer));
        let own = arrows(at);
        event(out, call.begin_ns, track, SLICE_BEGIN, |event| {
            event.text(field::EVENT_CATEGORY, "MPI");
            event.text(field::EVENT_NAME, &call.function);
            own.iter().filter(|a| a.leaves).for_each(|a| event.fixed(field::EVENT_FLOW, a.number));
            annotate(event, call);
        })?;
        open.push((until, own));
    }
    while let Some((until, ends)) = open.pop() {
        close(out, track, until, ends)?;
    }
    Ok(())
}

/// Ends a slice, preceded by the messages received by then. Each arrow points to a separate mark: the slice
/// may have begun before the message was sent, and one call may receive many.
fn close(out: &mut dyn Write, track: u64, until: u64, arrows: &[Arrow<'_>]) -> io::Result<()> {
    for arrow in arrows.iter().filter(|arrow| !arrow.leaves) {
        event(out, until, track, INSTANT, |event| {
            event.text(field::EVENT_CATEGORY, "message");
            event.text(field::EVENT_NAME, "message");
            event.fixed(field::EVENT_LAST_FLOW, arrow.number);
            number(event, "tag", i64::from(arrow.message.tag));
            number(event, "bytes", arrow.message.bytes.cast_signed());
            text(event, "object", &arrow.message.object);
        })?;
    }
    event(out, until, track, SLICE_END, |_| ())
}

fn annotate(event: &mut Packet, call: &Call) {
    let texts = [("place", &call.place), ("object", &call.object), ("peer", &call.peer_name)];
    for (name, value) in texts {
        value.iter().for_each(|value| text(event, name, value));
    }
    let numbers = [
        ("peer", call.peer.map(i64::from)),
        ("tag", call.tag.map(i64::from)),
        ("bytes", Some(call.bytes.cast_signed()).filter(|bytes| *bytes != 0)),
        ("collective", call.collective.map(i64::from)),
    ];
    for (name, value) in numbers {
        value.iter().for_each(|value| number(event, name, *value));
    }
}

fn text(event: &mut Packet, name: &str, value: &str) {
    event.inner(field::EVENT_ANNOTATION, |of| {
        of.text(field::ANNOTATION_NAME, name);
        of.text(field::ANNOTATION_TEXT, value);
    });
}

fn number(event: &mut Packet, name: &str, value: i64) {
    event.inner(field::EVENT_ANNOTATION, |of| {
        of.text(field::ANNOTATION_NAME, name);
        of.number(field::ANNOTATION_INT, value.cast_unsigned());
    });
}

fn track(
    out: &mut dyn Write,
    uuid: u64,
    parent: Option<u64>,
    fill: impl FnOnce(&mut Packet),
) -> io::Result<()> {
    packet(out, |packet| {
        packet.inner(field::PACKET_TRACK, |track| {
            track.number(field::TRACK_UUID, uuid);
            parent.iter().for_each(|parent| track.number(field::TRACK_PARENT, *parent));
            fill(track);
        });
    })
}

fn event(
    out: &mut dyn Write,
    ns: u64,
    track: u64,
    sort: u64,
    fill: impl FnOnce(&mut Packet),
) -> io::Result<()> {
    packet(out, |packet| {
        packet.number(field::PACKET_TIMESTAMP, ns);
        packet.inner(field::PACKET_EVENT, |event| {
            event.number(field::EVENT_TYPE, sort);
            event.number(field::EVENT_TRACK, track);
            fill(event);
        });
    })
}

fn packet(out: &mut dyn Write, fill: impl FnOnce(&mut Packet)) -> io::Result<()> {
    let mut whole = Packet::default();
    whole.inner(field::TRACE_PACKET, |packet| {
        packet.number(field::PACKET_SEQUENCE, SEQUENCE);
        fill(packet);
    });
    out.write_all(&whole.0)
}

/// One end of a message.
struct Arrow<'a> {
    number: u64,
    leaves: bool,
    message: &'a Message,
}

/// The ends of messages by rank, thread and call.
struct Arrows<'a>(BTreeMap<(usize, usize, usize), Vec<Arrow<'a>>>);

impl<'a> Arrows<'a> {
    /// Collects messages with both calls known.
    fn of(trace: &'a JobTrace) -> Self {
        let mut all: BTreeMap<_, Vec<Arrow<'a>>> = BTreeMap::new();
        for (number, message) in (1..).zip(&trace.messages) {
            let (Some(sent), Some(received)) = (message.sent.call, message.received.call) else { continue };
            for (end, call, leaves) in [(message.sent, sent, true), (message.received, received, false)] {
                let place = (end.rank, call.0, call.1);
                all.entry(place).or_default().push(Arrow { number, leaves, message });
            }
        }
        Self(all)
    }

    fn at(&self, rank: usize, thread: usize, call: usize) -> &[Arrow<'a>] {
        self.0.get(&(rank, thread, call)).map_or(&[], Vec::as_slice)
    }
}
