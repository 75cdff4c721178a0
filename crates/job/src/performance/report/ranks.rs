//! One rank of a report: its time, its threads, its calls by function.

use super::document::{Calls, RankReport, ThreadReport, both_times};
use super::observed::Observed;
use crate::jobs::worlds::Worlds;
use crate::model::process::{Process, ThreadFacts};
use mpiscope_image::derive::{Share, Window, shares};
use std::collections::BTreeMap;

pub(super) fn rank_report(observed: &Observed, worlds: &Worlds) -> RankReport {
    let p = &observed.process;
    let end_ns = p.finalized_ns.or(observed.ended_ns).unwrap_or(p.clock.end_ns());
    let window = p.window(end_ns);
    let share = Share::of_rank(p.views(), window);
    let place = |at: usize| observed.facts.places.get(at).cloned().flatten();
    let threads = p.threads.iter().enumerate();
    let by_thread: Vec<ThreadReport> =
        threads.map(|(at, t)| thread_report(p, t, window, place(at))).collect();
    let times = by_thread.iter().map(|t| t.mpi_share * t.time_s);
    let calls = calls(p);
    let wall_s = end_ns.saturating_sub(p.begin_ns) as f64 / 1e9;
    let open = by_thread.iter().filter(|t| t.in_call.is_some()).max_by_key(|t| t.main);
    let last = p.last().filter(|t| t.last.is_some() && !p.finalized());
    let last_report = last.and_then(|last| by_thread.iter().find(|t| t.thread == last.index));
    RankReport {
        rank: p.rank.or(observed.launcher_rank),
        host: p.host.clone(),
        pid: p.pid,
        world: p.world.clone(),
        world_number: worlds.number(&p.world),
        state: format!("{:?}", p.state),
        finalized: p.finalized(),
        ending: observed.ending,
        began_to_end_ns: observed.began_to_end_ns().map(|ns| observed.ours(ns)),
        core: observed.core.clone(),
        alive: observed.ended_ns.is_none(),
        end_unseen: observed.end_unseen,
        erred: false,
        abort_code: p.abort_code,
        abort_place: observed.facts.abort_place.clone(),
        in_call: open.and_then(|t| t.in_call.clone()),
        last_call: last_report.and_then(|t| t.last_call.clone()),
        call_place: open.or(last_report).and_then(|t| t.call_place.clone()),
        in_call_s: open.map_or(0.0, |t| t.in_call_s),
        wall_s,
        mpi_s: p.clock.seconds(share.mpi),
        main_mpi_s: times.fold(0.0, f64::max).min(wall_s),
        thread_s: p.clock.seconds(share.time),
        mpi_share: share.mpi_share(),
        polling_share: share.polling_share(),
        useful_share: share.useful_share(),
        threads: p.threads.len(),
        by_thread,
        lost: p.lost(),
        losses: p.losses.clone(),
        bytes: calls.values().fold(0, |sum, c| sum.saturating_add(c.bytes)),
        sent: calls.values().fold(0, |sum, c| sum.saturating_add(c.sent)),
        received: calls.values().fold(0, |sum, c| sum.saturating_add(c.received)),
        calls,
        notes: p.notes.clone(),
    }
}

fn thread_report(
    process: &Process,
    thread: &ThreadFacts,
    window: Window,
    place: Option<String>,
) -> ThreadReport {
    let share = Share::of_thread(thread.view(), window);
    let open = thread.call.as_ref().filter(|_| !process.finalized());
    let last = thread.last.as_ref().filter(|_| !process.finalized());
    ThreadReport {
        thread: thread.index,
        tid: thread.tid,
        main: process.main().is_some_and(|main| main.index == thread.index),
        time_s: process.clock.seconds(share.time),
        mpi_share: share.mpi_share(),
        polling_share: share.polling_share(),
        calls: thread.calls,
        in_call: open.map(|call| process.called(call)),
        in_call_s: open.map_or(0.0, |_| process.clock.seconds(shares::open(thread.view(), window.end))),
        last_call: last.map(|call| process.called(call)),
        call_place: place.filter(|_| open.or(last).is_some()),
    }
}

/// The completed calls of a process by function.
fn calls(process: &Process) -> BTreeMap<String, Calls> {
    let mut calls: BTreeMap<String, Calls> = BTreeMap::new();
    for counted in process.threads.iter().flat_map(|t| &t.counters) {
        let entry = calls.entry(process.function(counted.function)).or_default();
        entry.count = entry.count.saturating_add(counted.count);
        let number = u32::try_from(counted.function).unwrap_or(u32::MAX);
        let time_s = process.seconds_in(number, counted.count, counted.ticks);
        entry.time_s = both_times(entry.time_s, time_s);
        entry.bytes = entry.bytes.saturating_add(counted.bytes);
        let moved = process.moved(counted);
        entry.sent = entry.sent.saturating_add(moved.sent);
        entry.received = entry.received.saturating_add(moved.received);
        entry.estimated = entry.estimated.saturating_add(counted.estimated);
    }
    calls
}
