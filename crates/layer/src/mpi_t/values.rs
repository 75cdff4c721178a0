//! Publishes the values of control variables in the image, for outside readers.
//!
//! Ours are written when the library has been found, whether or not a tool ever asks for them, and again at
//! each change. Those of the MPI library are written when a tool sets them: their initial values are known
//! outside.

use super::{events, recording};
use crate::base::{image, job, settings};
use crate::interpose::arch;
use crate::record::objects::table;
use crate::record::traffic::ledger;
use mpiscope_image::layout::{Chars, Recording, SectionKind};
use mpiscope_image::variables::{Provenance, Variable};
use mpit::Datatype;
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// A control variable's value.
pub struct Value {
    /// The variable's name.
    pub name: &'static str,
    /// The equivalent environment variable; empty if there is none.
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

/// All our control variables.
pub const VALUES: [Value; 13] = [
    Value {
        name: "mpiscope_record_calls",
        env: "MPISCOPE_RECORD_CALLS",
        writable: true,
        desc: "Count MPI calls; 0 turns all recording off",
        text: || records(Recording::CALLS),
    },
    Value {
        name: "mpiscope_record_times",
        env: "MPISCOPE_RECORD_TIMES",
        writable: true,
        desc: "Time MPI calls",
        text: || records(Recording::TIMES),
    },
    Value {
        name: "mpiscope_record_lookups",
        env: "MPISCOPE_RECORD_LOOKUPS",
        writable: true,
        desc: "Also time calls that only look something up",
        text: || records(Recording::LOOKUPS),
    },
    Value {
        name: "mpiscope_record_starts",
        env: "MPISCOPE_RECORD_STARTS",
        writable: true,
        desc: "Time each call that starts a message",
        text: || records(Recording::STARTS),
    },
    Value {
        name: "mpiscope_record_messages",
        env: "MPISCOPE_RECORD_MESSAGES",
        writable: true,
        desc: "Record every message",
        text: || records(Recording::MESSAGES),
    },
    Value {
        name: "mpiscope_record_contents",
        env: "MPISCOPE_RECORD_CONTENTS",
        writable: true,
        desc: "With messages, also whether buffers stay unchanged while they are sent",
        text: || records(Recording::CONTENTS),
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
        desc: "Number of messages kept in each of the two rings of the ledger",
        text: || ledger::capacity().to_string(),
    },
    Value {
        name: "mpiscope_tombstones",
        env: "MPISCOPE_TOMBSTONES",
        writable: true,
        desc: "Number of freed objects of each kind that are kept",
        text: || table::tombstones().to_string(),
    },
    Value {
        name: "mpiscope_event_queue",
        env: "MPISCOPE_EVENT_QUEUE",
        writable: true,
        desc: "Number of events that a thread keeps until they can be delivered",
        text: || events::queue::limit().to_string(),
    },
    Value {
        name: "mpiscope_callback_slots",
        env: "",
        writable: false,
        desc: "Number of different user functions in which MPI calls are recorded",
        text: || arch::TRAMPOLINES.to_string(),
    },
    Value {
        name: "mpiscope_job",
        env: "MPISCOPE_JOB",
        writable: false,
        desc: "Name of the job under which mpiscope finds the process",
        text: job::name,
    },
];

static WRITTEN: [AtomicBool; VALUES.len()] = [const { AtomicBool::new(false) }; VALUES.len()];
/// Indices of the records, plus one.
static RECORDS: [AtomicU64; VALUES.len()] = [const { AtomicU64::new(0) }; VALUES.len()];

/// Whether an environment variable is set.
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
            record.name.set(&Chars::new(value.name.as_bytes()));
            record.environment.set(&Chars::new(value.env.as_bytes()));
            record.desc.offset.set(desc.offset.get());
            record.desc.len.set(desc.len.get());
        });
        if let Some(place) = RECORDS.get(at) {
            place.store(index + 1, Ordering::Release);
        }
        put(at);
    }
}

/// Records that a tool has set the variable of this name.
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
        record.value.set(&Chars::new((value.text)().as_bytes()));
    });
}

/// Records that a tool has set one of the library's control variables to this value.
pub fn library_written(name: &str, value: &str) {
    static WRITTEN: Mutex<Vec<(String, u64)>> = Mutex::new(Vec::new());
    let Some(writer) = image::writer() else { return };
    let mut written = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = written.iter().find(|(known, _)| known == name).map(|(_, index)| *index);
    let index = known.or_else(|| {
        let (index, record) = writer.new_record::<Variable>(SectionKind::VARIABLES, VALUES.len())?;
        record.seq.write(|| {
            record.writable.set(1);
            record.provenance.set(Provenance::WRITTEN.0);
            record.name.set(&Chars::new(name.as_bytes()));
        });
        written.push((name.to_owned(), index));
        Some(index)
    });
    let record = index.and_then(|index| writer.record::<Variable>(SectionKind::VARIABLES, index));
    if let Some(record) = record {
        record.seq.write(|| record.value.set(&Chars::new(value.as_bytes())));
    }
}

/// Formats a value as text, with elements separated by spaces.
pub fn shown(datatype: Datatype, bytes: &[u8]) -> String {
    if datatype == Datatype::CHAR {
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        return String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned();
    }
    let each = |element: &[u8]| match (datatype, element.first_chunk::<8>(), element.first_chunk::<4>()) {
        (Datatype::DOUBLE, Some(b), _) => f64::from_ne_bytes(*b).to_string(),
        (Datatype::INT64_T | Datatype::COUNT, Some(b), _) => i64::from_ne_bytes(*b).to_string(),
        (_, Some(b), _) => u64::from_ne_bytes(*b).to_string(),
        (Datatype::INT | Datatype::INT32_T, None, Some(b)) => i32::from_ne_bytes(*b).to_string(),
        (_, None, Some(b)) => u32::from_ne_bytes(*b).to_string(),
        _ => "?".to_owned(),
    };
    bytes.chunks_exact(datatype.size().max(1)).map(each).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_shown_by_their_datatype() {
        assert_eq!(shown(Datatype::INT, &(-3i32).to_ne_bytes()), "-3");
        assert_eq!(shown(Datatype::CHAR, b"abc\0\0"), "abc");
        assert_eq!(shown(Datatype::DOUBLE, &0.5f64.to_ne_bytes()), "0.5");
    }
}
