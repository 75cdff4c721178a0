//! Values of our control variables in the image, for those who look from outside.
//!
//! They are written when the library was found, whether a tool ever asks or not, and again at each change.

use super::{events, recording};
use crate::traffic::ledger;
use crate::{arch, image, settings};
use mpiscope_image::layout::{Chars, Recording, SectionKind};
use mpiscope_image::variables::{Provenance, Variable};
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A value.
pub struct Value {
    /// The variable's name.
    pub name: &'static str,
    /// The environment variable of the same meaning; empty if there is none.
    pub env: &'static str,
    writable: bool,
    desc: &'static str,
    text: fn() -> String,
}

fn switch(on: bool) -> String {
    if on { "1" } else { "0" }.to_owned()
}

fn records(what: Recording) -> String {
    switch(recording::setting() & what.0 != 0)
}

/// All of them.
pub const VALUES: [Value; 9] = [
    Value {
        name: "mpiscope_record_calls",
        env: "MPISCOPE_RECORD_CALLS",
        writable: true,
        desc: "Count MPI calls; 0 switches all recording off",
        text: || records(Recording::CALLS),
    },
    Value {
        name: "mpiscope_record_times",
        env: "MPISCOPE_RECORD_TIMES",
        writable: true,
        desc: "Take the time of MPI calls",
        text: || records(Recording::TIMES),
    },
    Value {
        name: "mpiscope_record_messages",
        env: "MPISCOPE_RECORD_MESSAGES",
        writable: true,
        desc: "Write down every message",
        text: || records(Recording::MESSAGES),
    },
    Value {
        name: "mpiscope_record_objects",
        env: "MPISCOPE_RECORD_OBJECTS",
        writable: true,
        desc: "Follow MPI objects, requests and totals of messages",
        text: || records(Recording::OBJECTS),
    },
    Value {
        name: "mpiscope_record_events",
        env: "MPISCOPE_RECORD_EVENTS",
        writable: true,
        desc: "Deliver events to the callbacks that tools registered",
        text: || switch(events::is_allowed()),
    },
    Value {
        name: "mpiscope_ledger_entries",
        env: "MPISCOPE_LEDGER",
        writable: true,
        desc: "Messages that are kept in each of the two rings of the ledger",
        text: || ledger::capacity().to_string(),
    },
    Value {
        name: "mpiscope_event_queue",
        env: "MPISCOPE_EVENT_QUEUE",
        writable: true,
        desc: "Events that a thread keeps until they can be delivered",
        text: || events::queue::limit().to_string(),
    },
    Value {
        name: "mpiscope_callback_slots",
        env: "",
        writable: false,
        desc: "Different user functions inside which MPI calls are seen",
        text: || arch::TRAMPOLINES.to_string(),
    },
    Value {
        name: "mpiscope_job",
        env: "MPISCOPE_JOB",
        writable: false,
        desc: "Name of the job under which mpiscope finds the process",
        text: image::job,
    },
];

static WRITTEN: [AtomicBool; VALUES.len()] = [const { AtomicBool::new(false) }; VALUES.len()];
/// Indices of the records, plus one.
static RECORDS: [AtomicU64; VALUES.len()] = [const { AtomicU64::new(0) }; VALUES.len()];

/// Is an environment variable set?
pub fn is_set(name: &str) -> bool {
    CString::new(name).is_ok_and(|name| settings::variable(&name).is_some())
}

/// Writes all values. Called once, when there is an image.
pub fn publish() {
    recording::start();
    events::allow(settings::switch("EVENTS").unwrap_or(true));
    if let Some(limit) = settings::number(c"MPISCOPE_EVENT_QUEUE") {
        events::queue::set_limit(limit.max(1));
    }
    let Some(writer) = image::writer() else { return };
    for (at, value) in VALUES.iter().enumerate() {
        let Some((index, record)) = writer.new_record::<Variable>(SectionKind::VARIABLES, VALUES.len())
        else {
            return;
        };
        let desc = writer.text(value.desc.as_bytes());
        record.seq.write(|| {
            record.writable.set(u32::from(value.writable));
            writer.put_chars(&record.name, &Chars::new(value.name.as_bytes()));
            writer.put_chars(&record.environment, &Chars::new(value.env.as_bytes()));
            record.desc.offset.set(desc.offset.get());
            record.desc.len.set(desc.len.get());
        });
        if let Some(place) = RECORDS.get(at) {
            place.store(index + 1, Ordering::Release);
        }
        put(at);
    }
}

/// A tool has written the variable of this name.
pub fn written(name: &str) {
    let Some(at) = VALUES.iter().position(|value| value.name == name) else { return };
    if let Some(written) = WRITTEN.get(at) {
        written.store(true, Ordering::Release);
    }
    put(at);
}

fn put(at: usize) {
    let (Some(value), Some(writer)) = (VALUES.get(at), image::writer()) else { return };
    let index = RECORDS.get(at).and_then(|place| place.load(Ordering::Acquire).checked_sub(1));
    let Some(record) = index.and_then(|index| writer.record::<Variable>(SectionKind::VARIABLES, index))
    else {
        return;
    };
    let list = value.name.starts_with("mpiscope_record_") && is_set("MPISCOPE_RECORD");
    let provenance = if WRITTEN.get(at).is_some_and(|written| written.load(Ordering::Acquire)) {
        Provenance::WRITTEN
    } else if list || is_set(value.env) {
        Provenance::ENVIRONMENT
    } else {
        Provenance::DEFAULT
    };
    record.seq.write(|| {
        record.provenance.set(provenance.0);
        writer.put_chars(&record.value, &Chars::new((value.text)().as_bytes()));
    });
}
