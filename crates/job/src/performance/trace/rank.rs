//! The trace of one process.

use super::{Call, RankTrace, ThreadTrace};
use crate::model::rank::Rank;
use mpi_abi::{Fields, Flags, ObjectKind};
use mpiscope_image::layout::SectionKind;
use mpiscope_image::trace::{self, Called, Kept};
use mpiscope_image::traffic::Traffic;
use mpiscope_image::{Error, Source};
use std::collections::HashMap;
use std::sync::Arc;

/// Resolved values shared by many calls.
#[derive(Default)]
struct Words {
    functions: HashMap<u16, (Arc<str>, Fields, bool)>,
    places: HashMap<u64, Option<Arc<str>>>,
    objects: HashMap<u64, (Option<Arc<str>>, u64)>,
    peers: HashMap<i32, Option<Arc<str>>>,
}

/// Reads the trace; times are in nanoseconds of the host's `CLOCK_MONOTONIC`.
///
/// # Errors
/// If the trace is damaged or cannot be read.
pub fn read<S: Source>(rank: &Rank<'_, S>) -> Result<RankTrace, Error> {
    let process = rank.process();
    let mut words = Words::default();
    let thread = |kept: Kept| {
        let mut calls: Vec<Call> = kept.calls.iter().filter_map(|call| words.call(rank, call)).collect();
        // A call made by a user callback is recorded before the enclosing one, as it ended earlier.
        calls.sort_by_key(|call| (call.begin_ns, call.nested));
        let tid = process.threads.iter().find(|thread| thread.index == kept.thread).map_or(0, |t| t.tid);
        ThreadTrace { thread: kept.thread, tid, calls, gone: kept.gone }
    };
    let threads = trace::read(rank.image())?.into_iter().map(thread).collect();
    let (host, pid) = (process.host.clone(), process.pid);
    Ok(RankTrace { world: 0, rank: process.rank, host, pid, threads, messages_gone: messages_gone(rank) })
}

fn messages_gone<S: Source>(rank: &Rank<'_, S>) -> bool {
    let table = rank.image().table::<Traffic>(SectionKind::TRAFFIC);
    let Ok(Ok(totals)) = table.map(|table| rank.image().get::<Traffic>(&table, 0)) else { return false };
    let totals = totals.value;
    totals.ledger_sent.get().max(totals.ledger_received.get()) > totals.ledger_capacity.get()
}

impl Words {
    fn call<S: Source>(&mut self, rank: &Rank<'_, S>, call: &Called) -> Option<Call> {
        let number = call.function.get().checked_sub(1)?;
        let (function, fields, collective) = self.function(rank, number);
        let (from, object) = (call.from.get(), call.object.get());
        let place = self.places.entry(from).or_insert_with(|| rank.place(from).map(Into::into)).clone();
        let (object, identity) = self.objects.entry(object).or_insert_with(|| {
            let reference = rank.objects().reference(object).filter(|_| object != 0);
            reference.map_or((None, 0), |object| (Some(object.label().into()), object.identity.0))
        });
        let given = call.peer.get().cast_signed();
        let peer = fields.peer.map(|_| given).filter(|peer| *peer >= 0);
        let constant = fields.peer.map(|_| given).filter(|peer| *peer < 0);
        let peer_name = constant.and_then(|value| {
            let name = || rank.peer(value.into()).map(Into::into);
            self.peers.entry(value).or_insert_with(name).clone()
        });
        let clock = &rank.process().clock;
        let begin_ns = clock.ns_at(call.began.get());
        Some(Call {
            function,
            place,
            object: object.clone(),
            identity: *identity,
            begin_ns,
            end_ns: clock.ns_at(call.ended.get()).max(begin_ns),
            peer,
            peer_name,
            tag: fields.tag.then(|| call.tag.get().cast_signed()).filter(|tag| *tag >= 0),
            bytes: call.bytes.get(),
            collective: collective.then(|| call.collective.get()),
            nested: call.nested.get(),
        })
    }

    /// Returns the function's name, the meaning of its fields, and whether it counts as a collective of a
    /// communicator.
    fn function<S: Source>(&mut self, rank: &Rank<'_, S>, number: u16) -> (Arc<str>, Fields, bool) {
        let new = || {
            let known = rank.process().functions.get(number.into());
            let fields = known.map_or(Fields::NONE, |function| function.fields);
            let collective = known.is_some_and(|function| function.properties.flags.has(Flags::COLLECTIVE));
            let name = rank.process().function(number.into()).into();
            (name, fields, collective && fields.object == Some(ObjectKind::COMM))
        };
        self.functions.entry(number).or_insert_with(new).clone()
    }
}
