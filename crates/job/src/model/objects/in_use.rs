//! Objects that the program has freed but MPI still holds.
//!
//! Freeing an object releases its handle; the object itself exists as long as MPI needs it. The layer sees
//! only the call, so the rest is derived from other objects:
//!
//! | freed | held by |
//! | --- | --- |
//! | communicator | requests on it that are not complete, persistent ones until they are freed |
//! | datatype | the same requests, the views of files, datatypes made from it |
//! | operation | reductions among these requests |
//! | error handler | communicators, files, windows and sessions that it is in force on |
//! | keyval | attributes that are set |
//!
//! Holding is transitive: a datatype that only a request still uses keeps the types that it was created from.

use super::common::Lifetime;
use super::kind::Kind;
use super::links::{error_handler_in_force, has_datatype, parts_of_structure, reduction};
use super::reader::Reader;
use mpiscope_image::layout::{SectionKind, State};
use mpiscope_image::objects::{self, Attribute, Combiner, Comm, Flag, Head, Life, kind_of};
use mpiscope_image::traffic::Request;
use mpiscope_image::{Record, Source};
use std::collections::{HashMap, HashSet};

/// Uids of objects held by other objects.
type Held = HashSet<u64>;

/// Freed objects by handle: when each was created and freed, and its uid.
type Former = HashMap<u64, Vec<(u64, u64, u64)>>;

impl<S: Source> Reader<'_, S> {
    /// Returns the state of an object. It is freed if no other object holds it.
    pub fn standing(&self, head: &Head) -> Lifetime {
        let life = Life(head.life.get());
        if life != Life::FREED && self.has_ended(head) {
            return if life == Life::MARKED { Lifetime::Freed } else { Lifetime::Ended };
        }
        match life {
            Life::MARKED => Lifetime::Marked,
            Life::FREED if may_be_held(head) && self.is_held(head.uid.get()) => Lifetime::Marked,
            Life::FREED => Lifetime::Freed,
            _ => Lifetime::Live,
        }
    }

    /// Whether another object of the process holds the object with this uid.
    pub(super) fn is_held(&self, uid: u64) -> bool {
        self.held.get_or_init(|| held(self)).contains(&uid)
    }
}

/// Collects everything held by another object of the process, whether it was freed or not.
fn held<S: Source>(reader: &Reader<'_, S>) -> Held {
    let mut held = Held::new();
    // Nothing outlives MPI.
    if reader.state() == State::FINALIZED {
        return held;
    }
    by_requests(reader, &mut held);
    by_files(reader, &mut held);
    by_datatypes(reader, &mut held);
    error_handlers(reader, &mut held);
    by_attributes(reader, &mut held);
    held.remove(&0);
    held
}

/// Visits all records of a section; the flag is whether the object has not been freed.
fn each<T: Record, S: Source>(reader: &Reader<'_, S>, section: SectionKind, mut each: impl FnMut(&T, bool)) {
    let Ok(index) = reader.index_of(section) else { return };
    for entry in &index.entries {
        if let Ok(record) = reader.record_of::<T>(section, entry.index) {
            each(&record.value, entry.life != Life::FREED.0);
        }
    }
}

fn by_requests<S: Source>(reader: &Reader<'_, S>, held: &mut Held) {
    let operations = freed_operations(reader);
    each::<Request, _>(reader, SectionKind::REQUESTS, |record, lives| {
        let over = record.is(Flag::COMPLETE) && !record.is(Flag::PERSISTENT);
        if !lives || over || record.is(Flag::SHARED_HANDLE) {
            return;
        }
        held.insert(record.head.parent.get());
        if has_datatype(reader, record) {
            held.insert(record.datatype_uid.get());
        }
        let operation = reduction(reader, record).and_then(|handle| operations.get(&handle));
        let made = record.head.made_at.get();
        let then = operation.into_iter().flatten().filter(|(from, to, _)| (*from..=*to).contains(&made));
        held.extend(then.map(|(.., uid)| *uid));
    });
}

/// Requests name their operation by its handle, which may have been reused.
fn freed_operations<S: Source>(reader: &Reader<'_, S>) -> Former {
    let mut found = Former::new();
    each::<objects::Op, _>(reader, SectionKind::OPS, |record, lives| {
        let head = &record.head;
        if !lives {
            let life = (head.made_at.get(), head.freed_at.get(), head.uid.get());
            found.entry(head.handle.get()).or_default().push(life);
        }
    });
    found
}

fn by_files<S: Source>(reader: &Reader<'_, S>, held: &mut Held) {
    each::<objects::File, _>(reader, SectionKind::FILES, |file, lives| {
        if lives {
            held.extend([file.errhandler_uid.get(), file.etype_uid.get(), file.filetype_uid.get()]);
        }
    });
}

/// Adds the types from which live or held types were created.
fn by_datatypes<S: Source>(reader: &Reader<'_, S>, held: &mut Held) {
    let mut parts: HashMap<u64, Vec<u64>> = HashMap::new();
    let mut next: Vec<u64> =
        held.iter().copied().filter(|uid| kind_of(*uid) == SectionKind::DATATYPES).collect();
    each::<objects::Datatype, _>(reader, SectionKind::DATATYPES, |record, lives| {
        let of = made_from(reader, record);
        if lives {
            next.extend(of);
        } else {
            parts.insert(record.head.uid.get(), of);
        }
    });
    // Each freed type is removed once, so a cycle in a damaged image terminates.
    while let Some(uid) = next.pop() {
        held.insert(uid);
        next.extend(parts.remove(&uid).unwrap_or_default());
    }
}

fn made_from<S: Source>(reader: &Reader<'_, S>, record: &objects::Datatype) -> Vec<u64> {
    if record.combiner.get() != Combiner::STRUCT.0 {
        return vec![record.head.parent.get()];
    }
    parts_of_structure(reader, record).unwrap_or_default()
}

fn error_handlers<S: Source>(reader: &Reader<'_, S>, held: &mut Held) {
    let mut in_force = Vec::new();
    each::<Comm, _>(reader, SectionKind::COMMS, |comm, lives| {
        if lives || held.contains(&comm.head.uid.get()) {
            in_force.extend(error_handler_in_force(reader, comm).map(|(_, uid)| uid));
        }
    });
    each::<objects::Window, _>(reader, SectionKind::WINDOWS, |window, lives| {
        in_force.extend(lives.then(|| window.errhandler_uid.get()));
    });
    each::<objects::Session, _>(reader, SectionKind::SESSIONS, |session, lives| {
        in_force.extend(lives.then(|| session.errhandler_uid.get()));
    });
    held.extend(in_force);
}

fn by_attributes<S: Source>(reader: &Reader<'_, S>, held: &mut Held) {
    each::<Attribute, _>(reader, SectionKind::ATTRIBUTES, |attribute, lives| {
        held.extend(lives.then(|| attribute.keyval_uid.get()));
    });
}

/// Whether MPI may hold a freed object of this kind.
fn may_be_held(head: &Head) -> bool {
    let kinds = [Kind::Communicator, Kind::Datatype, Kind::Op, Kind::Errhandler, Kind::Keyval];
    kinds.iter().any(|kind| kind.section() == kind_of(head.uid.get()))
}
