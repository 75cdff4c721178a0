//! Our performance variables of another process, as its image shows them: totals since its start.
//!
//! Watermarks are those of the whole time since the start, as far as the process keeps them. What is bound to an object is
//! not in here: a tool inside of the process reads it.

use anyhow::Result;
use mpi_abi::Waits;
use mpiscope_image::layout::{self, Recording, SectionKind, State};
use mpiscope_image::traffic::Traffic;
use mpiscope_image::{Image, Source};
use mpiscope_job::objects::Kind;
use mpiscope_job::{Process, leaks};
use std::borrow::Cow;

/// A variable's value as text, elements separated by blanks.
pub struct Value {
    pub name: Cow<'static, str>,
    pub class: &'static str,
    pub value: String,
    /// Some functions have variables of their own, and the image does not say which.
    pub if_there: bool,
}

fn value(name: impl Into<Cow<'static, str>>, class: &'static str, value: impl ToString) -> Value {
    Value { name: name.into(), class, value: value.to_string(), if_there: false }
}

fn array<T: ToString>(name: &'static str, class: &'static str, elements: impl Iterator<Item = T>) -> Value {
    value(name, class, elements.map(|element| element.to_string()).collect::<Vec<_>>().join(" "))
}

/// All that can be told. `live`: the process runs, so that the present moment means something.
pub fn values<S: Source>(image: &Image<S>, process: &Process, live: bool) -> Result<Vec<Value>> {
    let mut values = calls(process);
    values.push(value("mpiscope_lost_records", "COUNTER", process.lost()));
    values.extend(now(process));
    if live {
        values.push(value("mpiscope_mpi_share", "PERCENTAGE", format!("{:.4}", share(process))));
    }
    if !process.layer_version.is_empty() {
        values.push(value("mpiscope_version", "GENERIC", &process.layer_version));
    }
    values.extend(objects(image)?);
    if let Some(traffic) = image.all::<Traffic>(SectionKind::TRAFFIC)?.first() {
        values.extend(messages(&traffic.value));
    }
    Ok(values)
}

fn calls(process: &Process) -> Vec<Value> {
    let threads = || process.threads.iter();
    let ticks: u64 = threads().map(|thread| thread.mpi_ticks).sum();
    let mut by_function = vec![(0u64, 0u64); process.functions.len()];
    let mut bytes = 0u64;
    for (number, count, ticks, named) in threads().flat_map(|thread| thread.counters.iter().copied()) {
        if let Some(function) = by_function.get_mut(number) {
            *function = (function.0.wrapping_add(count), function.1.wrapping_add(ticks));
        }
        bytes = bytes.wrapping_add(named);
    }
    let seconds = |ticks| (process.clock.seconds(ticks) * 1e9).round() / 1e9;
    let named = process.functions.iter().zip(&by_function).flat_map(|(name, (count, ticks))| {
        let name = format!("mpiscope_{name}");
        [value(name.clone(), "COUNTER", count), value(name, "TIMER", seconds(*ticks))]
    });
    let mut values: Vec<Value> = named.map(|value| Value { if_there: true, ..value }).collect();
    values.extend([
        value("mpiscope_calls_total", "COUNTER", threads().map(|thread| thread.calls).sum::<u64>()),
        value("mpiscope_time_total", "TIMER", seconds(ticks)),
        array("mpiscope_calls", "COUNTER", by_function.iter().map(|function| function.0)),
        array("mpiscope_time", "TIMER", by_function.iter().map(|function| seconds(function.1))),
        value("mpiscope_bytes", "AGGREGATE", bytes),
    ]);
    values
}

/// The function that the main thread is in (-1 for none), and what the thread is doing: not initialised, computing, in a
/// call that waits for one thing or the other, finalized.
fn now(process: &Process) -> [Value; 2] {
    let call = process.threads.first().and_then(|thread| thread.call.as_ref());
    let number = call.and_then(|call| call.open()).map_or(-1, i64::from);
    let name = usize::try_from(number).ok().and_then(|number| process.functions.get(number));
    let state = match process.state {
        State::UNCLAIMED | State::STARTED => 0,
        State::FINALIZED => 8,
        _ => name.map_or(1, |name| 2 + Waits::of(name).0),
    };
    [value("mpiscope_function", "STATE", number), value("mpiscope_state", "STATE", state)]
}

/// Time in completed calls, as a part of the time of all threads.
fn share(process: &Process) -> f64 {
    let elapsed = process.clock.end_ns().saturating_sub(process.clock.start_ns()) as f64 / 1e9;
    let ticks: u64 = process.threads.iter().map(|thread| thread.mpi_ticks).sum();
    let all = elapsed * process.threads.len().max(1) as f64;
    if all > 0.0 { (process.clock.seconds(ticks) / all).min(1.0) } else { 0.0 }
}

fn messages(traffic: &Traffic) -> Vec<Value> {
    vec![
        array("mpiscope_message_sizes_sent", "COUNTER", traffic.sent_sizes.iter().map(|n| n.get())),
        array("mpiscope_message_sizes_received", "COUNTER", traffic.received_sizes.iter().map(|n| n.get())),
        value("mpiscope_pending_requests", "LEVEL", traffic.pending.get()),
        value("mpiscope_posted_receives", "LEVEL", traffic.posted.get()),
        value("mpiscope_pending_requests", "HIGHWATERMARK", traffic.pending_high.get()),
        value("mpiscope_posted_receives", "HIGHWATERMARK", traffic.posted_high.get()),
        // A process begins with none.
        value("mpiscope_pending_requests", "LOWWATERMARK", 0),
        value("mpiscope_posted_receives", "LOWWATERMARK", 0),
    ]
}

/// In the order of the variable's elements.
const KINDS: [Kind; 12] = [
    Kind::Communicator,
    Kind::Group,
    Kind::Datatype,
    Kind::Op,
    Kind::Request,
    Kind::Message,
    Kind::Window,
    Kind::File,
    Kind::Info,
    Kind::Errhandler,
    Kind::Session,
    Kind::Keyval,
];

/// Objects that the program has made and not freed. Nothing if they are not recorded.
fn objects<S: Source>(image: &Image<S>) -> Result<Option<Value>> {
    let facts = image.all::<layout::Process>(SectionKind::PROCESS)?;
    let records = |process: &layout::Process| process.recording.get() & Recording::OBJECTS.0 != 0;
    if !facts.first().is_some_and(|process| records(&process.value)) {
        return Ok(None);
    }
    let counts = KINDS.iter().map(|kind| Ok(leaks::count(image, *kind)?.live)).collect::<Result<Vec<_>>>()?;
    Ok(Some(array("mpiscope_live_objects", "LEVEL", counts.into_iter())))
}
