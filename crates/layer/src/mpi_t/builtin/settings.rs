//! Our control variables: what is recorded, and how much is kept.

use crate::base::topic::Topic;
use crate::base::{job, settings};
use crate::interpose::arch;
use crate::mpi_t::own_categories::{Categories, publish_one};
use crate::mpi_t::values::{self, is_set};
use crate::mpi_t::{events, recording};
use crate::record::objects::table;
use crate::record::traffic::ledger;
use mpiscope_image::layout::Recording;
use mpiscope_image::variables::{SWITCH, SWITCHES};
use mpit::{
    CvarInfo, Datatype, Enumeration, Member, Registry, Scope, Setting, SettingValue, Verbosity, When,
};
use std::sync::Arc;

/// A variable to be registered.
struct NewCvar<'a> {
    name: String,
    desc: String,
    env: Option<String>,
    scope: Scope,
    enumeration: Option<usize>,
    verbosity: Verbosity,
    topic: Topic,
    categories: &'a Categories,
}

impl<'a> NewCvar<'a> {
    fn new(name: &str, env: &str, desc: &str, categories: &'a Categories) -> Self {
        Self {
            name: name.to_owned(),
            desc: format!("{desc}. Environment: {env}"),
            env: Some(env.to_owned()),
            scope: Scope::LOCAL,
            enumeration: None,
            verbosity: Verbosity::USER_BASIC,
            topic: Topic::Recording,
            categories,
        }
    }

    /// Registers the variable with its setting. `effective` is the value in effect due to the environment
    /// variable.
    fn add(self, registry: &Registry, datatype: Datatype, setting: Setting, effective: Option<String>) {
        // A value that the check rejects cannot have taken effect.
        let _ = setting.from_environment(effective.as_deref());
        let info = CvarInfo {
            desc: self.desc,
            verbosity: self.verbosity,
            enumeration: self.enumeration,
            scope: self.scope,
            env: self.env,
            ..CvarInfo::new(self.name.as_str(), datatype)
        };
        if let Some(index) = publish_one(&self.name, registry.add_cvar(info, Arc::new(setting))) {
            self.categories.add(self.topic, Member::Cvar(index));
        }
    }
}

/// Registers an `INT` that is 0 or 1.
fn switch(
    registry: &Registry,
    new: NewCvar,
    default: bool,
    effective: Option<bool>,
    change: impl Fn(bool) + Send + Sync + 'static,
) {
    let name = new.name.clone();
    let setting = Setting::new(Datatype::INT, SettingValue::Int(i64::from(default)))
        .check(|value| matches!(value, SettingValue::Int(0 | 1)))
        .on_change(move |value| {
            change(*value == SettingValue::Int(1));
            values::written(&name);
        });
    new.add(registry, Datatype::INT, setting, effective.map(|on| i32::from(on).to_string()));
}

/// Everything that can be recorded: name, bit, description.
const RECORDINGS: [(&str, Recording, &str); 7] = [
    ("calls", Recording::CALLS, "Count MPI calls, about 5 ns each; 0 turns all recording off"),
    ("times", Recording::TIMES, "Time MPI calls, about 15 ns each"),
    (
        "lookups",
        Recording::LOOKUPS,
        "Also time calls that only look something up (MPI_Comm_rank, MPI_Type_size, ...), which are counted only \
         otherwise, about 20 ns each",
    ),
    (
        "starts",
        Recording::STARTS,
        "Time each call that starts a message and does not block (MPI_Isend, MPI_Irecv, MPI_Start, ...); otherwise, where \
         such calls are short, that of one in sixteen, and the others' is estimated. About 10 ns each",
    ),
    ("messages", Recording::MESSAGES, "Record every message, about 10 ns each"),
    (
        "contents",
        Recording::CONTENTS,
        "With messages: also whether the buffer of a nonblocking send or one-sided operation stays unchanged until that is \
         complete. Reads up to a megabyte of it twice",
    ),
    (
        "objects",
        Recording::OBJECTS,
        "Follow MPI objects, requests and totals of messages, about 20 ns per call that has to do with them",
    ),
];

/// Registers the variables.
pub fn publish(registry: &Registry, categories: &Categories) {
    let names = Enumeration::new("mpiscope_switch").items(SWITCH);
    let names = publish_one("the switches' names", registry.add_enumeration(names));
    for (name, what, desc) in RECORDINGS {
        let env = format!("MPISCOPE_RECORD_{}", name.to_uppercase());
        let desc = format!("{desc}. Also a word of the list in MPISCOPE_RECORD");
        let new = NewCvar::new(&format!("{SWITCHES}{name}"), &env, &desc, categories);
        let default = settings::DEFAULT_RECORDING & what.0 != 0;
        let effective =
            (is_set("MPISCOPE_RECORD") || is_set(&env)).then(|| recording::setting() & what.0 != 0);
        switch(registry, NewCvar { enumeration: names, ..new }, default, effective, move |on| {
            recording::set(what, on)
        });
    }
    let desc = "Deliver events to the callbacks that tools registered; 0 delivers none";
    let new = NewCvar::new(&format!("{SWITCHES}events"), "MPISCOPE_RECORD_EVENTS", desc, categories);
    let effective = settings::switch("EVENTS");
    switch(registry, NewCvar { enumeration: names, ..new }, true, effective, events::allow);
    let desc = "Number of records kept in each of the rings for sent messages, for received messages, and for one-sided operations \
        with the calls that synchronize them; 0 or a power of two up to 67108864. Can be set until the first message is recorded";
    let capacity = Setting::new(Datatype::INT, SettingValue::Int(ledger::DEFAULT_CAPACITY as i64))
        .check(is_capacity)
        .when(|| if ledger::is_made() { When::NotNow } else { When::Now })
        .on_change(|value| {
            if let SettingValue::Int(entries) = value {
                ledger::set_capacity(*entries as usize);
                values::written("mpiscope_ledger_entries");
            }
        });
    let new = NewCvar::new("mpiscope_ledger_entries", "MPISCOPE_LEDGER", desc, categories);
    let effective = is_set("MPISCOPE_LEDGER").then(|| ledger::capacity().to_string());
    NewCvar { verbosity: Verbosity::TUNER_BASIC, ..new }.add(registry, Datatype::INT, capacity, effective);
    tombstones(registry, categories);
    event_queue(registry, categories);
    constants(registry, categories);
}

/// Registers the number of freed objects that are kept.
fn tombstones(registry: &Registry, categories: &Categories) {
    let desc = "Number of freed objects of each kind that are kept, so that it can be shown who freed them; 100 to 400 bytes each. 0 or \
        more; if fewer than currently kept, it takes effect when the next object of the kind is freed";
    let most = table::MOST_TOMBSTONES as i64;
    let kept = Setting::new(Datatype::INT, SettingValue::Int(table::DEFAULT_TOMBSTONES as i64))
        .check(move |value| matches!(value, SettingValue::Int(n) if (0..=most).contains(n)))
        .on_change(|value| {
            if let SettingValue::Int(count) = value {
                table::keep_tombstones(*count as usize);
                values::written("mpiscope_tombstones");
            }
        });
    let new = NewCvar::new("mpiscope_tombstones", "MPISCOPE_TOMBSTONES", desc, categories);
    let effective = settings::number(c"MPISCOPE_TOMBSTONES").map(|_| table::tombstones().to_string());
    NewCvar { verbosity: Verbosity::TUNER_BASIC, topic: Topic::Objects, ..new }.add(
        registry,
        Datatype::INT,
        kept,
        effective,
    );
}

/// Registers the number of events that may wait for delivery.
fn event_queue(registry: &Registry, categories: &Categories) {
    let desc = "Number of events that a thread keeps until they can be delivered: at most as many as one MPI call causes. What does \
        not fit is dropped and counted for its registrations";
    let queue = Setting::new(Datatype::INT, SettingValue::Int(events::queue::DEFAULT_LIMIT as i64))
        .check(|value| matches!(value, SettingValue::Int(n) if (1..=events::queue::LARGEST_LIMIT as i64).contains(n)))
        .on_change(|value| {
            if let SettingValue::Int(limit) = value {
                events::queue::set_limit(*limit as usize);
                values::written("mpiscope_event_queue");
            }
        });
    let new = NewCvar::new("mpiscope_event_queue", "MPISCOPE_EVENT_QUEUE", desc, categories);
    let effective = is_set("MPISCOPE_EVENT_QUEUE").then(|| events::queue::limit().to_string());
    NewCvar { verbosity: Verbosity::TUNER_BASIC, ..new }.add(registry, Datatype::INT, queue, effective);
}

fn is_capacity(value: &SettingValue) -> bool {
    let SettingValue::Int(entries) = value else { return false };
    usize::try_from(*entries).is_ok_and(|n| n == 0 || n.is_power_of_two() && n <= ledger::MOST)
}

/// Registers the read-only variables.
fn constants(registry: &Registry, categories: &Categories) {
    let desc = "Number of different user functions (operators, attribute functions, error handlers) in which MPI calls are recorded";
    let slots = Setting::new(Datatype::INT, SettingValue::Int(arch::TRAMPOLINES as i64));
    NewCvar {
        scope: Scope::CONSTANT,
        env: None,
        desc: desc.to_owned(),
        verbosity: Verbosity::TUNER_DETAIL,
        ..NewCvar::new("mpiscope_callback_slots", "", desc, categories)
    }
    .add(registry, Datatype::INT, slots, None);
    let desc = "Name of the job under which mpiscope finds the process";
    let job = Setting::new(Datatype::CHAR, SettingValue::Text(job::name()));
    NewCvar { scope: Scope::READONLY, ..NewCvar::new("mpiscope_job", "MPISCOPE_JOB", desc, categories) }.add(
        registry,
        Datatype::CHAR,
        job,
        is_set("MPISCOPE_JOB").then(job::name),
    );
}
