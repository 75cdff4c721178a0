use super::*;
use crate::observation::ledger::{Called, Ledger, Line, Named, Ring, Waited};
use crate::observation::{Communicator, Observation};
use std::error::Error;
use std::sync::Arc;

fn call(function: &str, begin_ns: u64, end_ns: u64, nested: u16) -> Call {
    Call { function: function.into(), begin_ns, end_ns, nested, ..Call::default() }
}

/// Rank 0 sends at 10; rank 1 has been waiting for it since 5.
fn trace() -> JobTrace {
    let rank = |rank, calls| RankTrace {
        rank: Some(rank),
        host: "h".into(),
        pid: 7,
        threads: vec![ThreadTrace { thread: 0, tid: 7, calls, gone: u64::from(rank) }],
        ..RankTrace::default()
    };
    let sends = vec![call("MPI_Send", 10, 20, 0)];
    let receives =
        vec![call("MPI_Waitall", 5, 30, 0), call("MPI_Wait", 6, 40, 1), call("MPI_Barrier", 30, 50, 0)];
    let end = |rank| End { rank, call: Some((0, 0)), gone: false };
    let message = Message {
        sent: end(0),
        received: end(1),
        posted: None,
        done: None,
        comm: 7,
        object: "MPI_COMM_WORLD".into(),
        tag: -3,
        bytes: 4,
        sent_ns: Some(10),
        posted_ns: Some(4),
        received_ns: Some(29),
    };
    let ranks = vec![rank(0, sends), rank(1, receives)];
    JobTrace { ranks, messages: vec![message], comms: BTreeMap::new(), start_unix_ns: 1, hosts: 2 }
}

/// The `nth` message to or from a peer.
fn line(peer: u32, nth: u32, [posted_ns, from_ns, until_ns]: [u64; 3]) -> Line {
    let waited = Some(Waited { from_ns, until_ns, call: Arc::default() });
    Line { comm: 7, peer, nth, order: u64::from(nth), posted_ns, waited, ..Line::default() }
}

/// One of two ranks, with its messages.
fn seen(rank: u32, ledger: Ledger) -> Observation {
    Observation {
        world: "w".into(),
        rank: Some(rank),
        size: Some(2),
        pid: rank,
        communicators: vec![Communicator { identity: 7, rank, size: 2, ..Communicator::default() }],
        ledger: Some(Box::new(ledger)),
        ..Observation::default()
    }
}

#[test]
fn a_message_that_a_loop_polled_for_belongs_to_the_last_of_its_calls() {
    let ring = |line| Ring { lines: vec![line], ..Ring::default() };
    let sender = Ledger { sent: ring(line(1, 1, [10, 10, 20])), ..Ledger::default() };
    let receiver = Ledger { received: ring(line(0, 1, [1, 5, 13])), ..Ledger::default() };
    let mut ranks = trace().ranks;
    ranks[1].threads[0].calls =
        [(5, 6), (7, 8), (11, 13), (14, 15)].map(|(a, b)| call("MPI_Test", a, b, 0)).into();
    let found = arrows::find(&[seen(0, sender), seen(1, receiver)], &ranks, &[0, 0], &BTreeMap::new());
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].sent.call, found[0].received.call), (Some((0, 0)), Some((0, 2))));
}

#[test]
fn a_message_belongs_to_the_thread_whose_call_fits_it() {
    let ring = |line| Ring { lines: vec![line], ..Ring::default() };
    let place = |line: &str| Some(line.to_owned());
    let mut sent = line(1, 1, [11, 11, 20]);
    sent.named = Arc::new(Named { place: place("a.c:1"), ..Named::default() });
    let mut received = line(0, 1, [1, 5, 30]);
    let called = Called { function: "MPI_Recv".into(), place: place("a.c:2") };
    received.waited = received.waited.map(|waited| Waited { call: Arc::new(called), ..waited });
    let at = |function: &str, line: &str, from, until| Call {
        place: Some(line.into()),
        ..call(function, from, until, 0)
    };
    let mut ranks = trace().ranks;
    let threads =
        |one, two| [one, two].map(|call| ThreadTrace { calls: vec![call], ..ThreadTrace::default() });
    ranks[0].threads = threads(at("MPI_Send", "a.c:1", 10, 20), at("MPI_Send", "a.c:9", 11, 20)).into();
    ranks[1].threads = threads(at("MPI_Recv", "a.c:2", 5, 30), at("MPI_Barrier", "a.c:3", 8, 50)).into();
    let sender = Ledger { sent: ring(sent), ..Ledger::default() };
    let receiver = Ledger { received: ring(received), ..Ledger::default() };
    let found = arrows::find(&[seen(0, sender), seen(1, receiver)], &ranks, &[0, 0], &BTreeMap::new());
    assert_eq!((found[0].sent.call, found[0].received.call), (Some((0, 0)), Some((0, 0))));
}

#[test]
fn messages_older_than_the_trace_have_no_time_in_it() -> Result<(), Box<dyn Error>> {
    let ring = |peer, lines: [[u64; 3]; 3]| Ring {
        lines: (1..).zip(lines).map(|(nth, times)| line(peer, nth, times)).collect(),
        ..Ring::default()
    };
    // The first remaining call began at 100: a message that was over before that, one that arrived later, and
    // one within.
    let sender = Ledger { sent: ring(1, [[10, 10, 20], [30, 30, 40], [110, 110, 120]]), ..Ledger::default() };
    let receiver =
        Ledger { received: ring(0, [[5, 5, 21], [50, 100, 105], [107, 107, 121]]), ..Ledger::default() };
    let mut trace = trace();
    trace.ranks[0].threads[0].calls = vec![call("MPI_Send", 0, 5, 0), call("MPI_Send", 10, 20, 0)];
    trace.ranks[1].threads[0].calls = vec![call("MPI_Wait", 0, 5, 0), call("MPI_Recv", 7, 21, 0)];
    let seen = [seen(0, sender), seen(1, receiver)];
    trace.messages = arrows::find(&seen, &trace.ranks, &[-100, -100], &BTreeMap::new());
    let times: Vec<_> =
        trace.messages.iter().map(|one| (one.sent_ns, one.posted_ns, one.received_ns)).collect();
    assert_eq!(times, [(None, None, Some(5)), (Some(10), Some(7), Some(21))]);
    let cut = &trace.messages[0];
    assert_eq!((cut.sent.call, cut.done, cut.posted, cut.received.call), (None, None, None, Some((0, 0))));
    let mut out = Vec::new();
    jsonl::write(&trace, &mut out)?;
    let lines = String::from_utf8(out)?;
    let lines: Vec<serde_json::Value> = lines.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    assert_eq!((lines[0]["messages"].as_u64(), lines[0]["messages_cut"].as_u64()), (Some(2), Some(1)));
    assert!(lines.iter().any(|line| line["event"] == "message" && line["begin_ns"].is_null()));
    Ok(())
}

#[test]
fn a_message_whose_record_is_overwritten_is_cut_but_one_in_flight_is_not() {
    let ring = |peer, lines: [[u64; 3]; 3]| Ring {
        lines: (1..).zip(lines).map(|(nth, times)| line(peer, nth, times)).collect(),
        ..Ring::default()
    };
    // The sender's calls before 40 were overwritten, and it is inside its last call.
    let sender = Ledger { sent: ring(1, [[10, 10, 20], [40, 40, 45], [70, 70, 75]]), ..Ledger::default() };
    let receiver =
        Ledger { received: ring(0, [[5, 5, 21], [39, 39, 46], [69, 69, 76]]), ..Ledger::default() };
    let mut trace = trace();
    trace.ranks[0].threads[0].calls = vec![call("MPI_Send", 40, 45, 0)];
    trace.ranks[0].threads[0].gone = 1;
    trace.ranks[1].threads[0].calls =
        [(5, 21), (39, 46), (69, 76)].map(|(from, until)| call("MPI_Recv", from, until, 0)).into();
    let seen = [seen(0, sender), seen(1, receiver)];
    trace.messages = arrows::find(&seen, &trace.ranks, &[0, 0], &BTreeMap::new());
    let cut: Vec<bool> = trace.messages.iter().map(Message::is_cut).collect();
    assert_eq!((cut, trace.messages_cut()), (vec![true, false, false], 1));
}

#[test]
fn every_line_is_json_and_overwritten_calls_are_counted() -> Result<(), Box<dyn Error>> {
    let mut out = Vec::new();
    jsonl::write(&trace(), &mut out)?;
    let lines: Vec<serde_json::Value> =
        String::from_utf8(out)?.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let events: Vec<_> = lines.iter().filter_map(|line| line["event"].as_str()).collect();
    assert_eq!(events, ["trace", "thread", "call", "thread", "call", "call", "call", "message"]);
    assert_eq!((lines[0]["calls"].as_u64(), lines[0]["gone"].as_u64()), (Some(4), Some(1)));
    assert!(lines[0]["note"].is_string(), "several hosts: several clocks");
    let last = &lines[7];
    assert_eq!(
        (last["rank"].as_u64(), last["to_rank"].as_u64(), last["tag"].as_i64()),
        (Some(0), Some(1), Some(-3))
    );
    Ok(())
}

/// Whether a value has the type its property declares, or is `null` where that is allowed.
#[cfg(feature = "schema")]
fn has_type(value: &serde_json::Value, property: &serde_json::Value) -> bool {
    let name = match value {
        serde_json::Value::Null => "null",
        serde_json::Value::Bool(_) => "boolean",
        serde_json::Value::Number(_) => "integer",
        serde_json::Value::String(_) => "string",
        _ => return false,
    };
    let allowed = &property["type"];
    let least = property["minimum"].as_i64().unwrap_or(i64::MIN);
    let fits = property["const"].is_null() || property["const"] == *value;
    let of_type = allowed == name || allowed.as_array().is_some_and(|all| all.iter().any(|one| one == name));
    of_type && fits && value.as_i64().is_none_or(|number| number >= least)
}

#[test]
#[cfg(feature = "schema")]
fn every_line_matches_the_published_schema() -> Result<(), Box<dyn Error>> {
    let schema = jsonl::schema()?;
    let published = include_str!("../../../../../share/mpiscope.trace.1.schema.json");
    let hint = "`mpiscope trace --schema` is another: write it there, if fields were only added";
    assert!(format!("{schema}\n") == published, "share/mpiscope.trace.1.schema.json: {hint}");
    let schema: serde_json::Value = serde_json::from_str(&schema)?;
    let mut given = trace();
    let call = &mut given.ranks[0].threads[0].calls[0];
    (call.peer, call.tag, call.collective, call.nested) = (Some(1), Some(2), Some(3), 4);
    (call.place, call.peer_name) = (Some("a.c:1".into()), Some("MPI_ANY_SOURCE".into()));
    let mut out = Vec::new();
    jsonl::write(&given, &mut out)?;
    for line in String::from_utf8(out)?.lines() {
        let line: serde_json::Value = serde_json::from_str(line)?;
        let forms = schema["oneOf"].as_array().ok_or("no forms")?;
        let of_event = |form: &&serde_json::Value| form["properties"]["event"]["const"] == line["event"];
        let form = forms.iter().find(of_event).ok_or_else(|| format!("no form of {line}"))?;
        let refers = form["$ref"].as_str().and_then(|name| schema.pointer(name.trim_start_matches('#')));
        let property = |name: &str| {
            let own = form["properties"].get(name);
            own.or_else(|| refers.and_then(|form| form["properties"].get(name)))
        };
        for (name, value) in line.as_object().ok_or("no object")? {
            let property = property(name).ok_or_else(|| format!("{name} is in no form: {line}"))?;
            assert!(has_type(value, property), "{name} of {line} is not {property}");
        }
        let wanted =
            [Some(form), refers].into_iter().flatten().filter_map(|form| form["required"].as_array());
        for name in wanted.flatten().filter_map(|name| name.as_str()) {
            assert!(line.get(name).is_some(), "no {name} in {line}");
        }
    }
    Ok(())
}

/// The fields of a message: its number, and a number or bytes. `None` if it is not a message.
fn fields(mut bytes: &[u8]) -> Option<Vec<(u64, u64, &[u8])>> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes)?;
        let (number, inner) = match key & 7 {
            0 => (varint(&mut bytes)?, &[][..]),
            1 => {
                let (value, rest) = bytes.split_first_chunk::<8>()?;
                bytes = rest;
                (u64::from_le_bytes(*value), &[][..])
            }
            2 => {
                let (inner, rest) = {
                    let len = varint(&mut bytes)?;
                    bytes.split_at_checked(len as usize)?
                };
                bytes = rest;
                (0, inner)
            }
            _ => return None,
        };
        all.push((key >> 3, number, inner));
    }
    Some(all)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if *byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[test]
fn slices_are_nested_and_arrows_never_point_backward() -> Result<(), Box<dyn Error>> {
    let mut out = Vec::new();
    perfetto::write(&trace(), &mut out)?;
    let mut events = Vec::new();
    let (mut left, mut came) = (Vec::new(), Vec::new());
    let mut pids = BTreeMap::new();
    for (_, _, packet) in fields(&out).ok_or("not protocol buffers")? {
        let packet = fields(packet).ok_or("no packet")?;
        let one = |wanted| packet.iter().find(|(number, ..)| *number == wanted);
        if let Some((_, _, track)) = one(60) {
            for (_, _, process) in fields(track).ok_or("no track")?.iter().filter(|(n, ..)| *n == 3) {
                *pids.entry(fields(process).ok_or("no process")?[0].1).or_insert(0) += 1;
            }
            continue;
        }
        let ns = one(8).ok_or("no time")?.1;
        let event = fields(one(11).ok_or("no event")?.2).ok_or("no event")?;
        let number = |wanted| event.iter().find(|(number, ..)| *number == wanted).map(|(_, value, _)| *value);
        events.push((number(11).ok_or("no track")? >> 32, number(9).ok_or("no type")?, ns));
        left.extend(number(47).map(|flow| (flow, ns)));
        came.extend(number(48).map(|flow| (flow, ns)));
    }
    let wanted = [
        (1, 1, 10),
        (1, 2, 20),
        // The call in a user callback ends with the enclosing one, and arrivals are marked before.
        (2, 1, 5),
        (2, 1, 6),
        (2, 2, 30),
        (2, 3, 30),
        (2, 2, 30),
        (2, 1, 30),
        (2, 2, 50),
    ];
    assert_eq!(events, wanted);
    assert_eq!((left, came), (vec![(1, 10)], vec![(1, 30)]));
    assert_eq!((pids.len(), pids.values().max()), (2, Some(&1)), "two processes with one number are two");
    Ok(())
}
