//! Waits for window locks: from the request for a lock while another process held one that excludes it, until
//! that was released.
//!
//! Several processes may have held it in turn: the time until the first release is a wait for the first of
//! them, and so on. While a process still waits for the lock itself, it makes nobody wait: what delays it, such
//! as a target outside MPI, delays the others too. A library may defer taking a lock until it is needed; then the call that releases it is
//! the one that waits.

use super::calls::Calls;
use super::{Kind, Span, Wait, as_list};
use crate::observation::Observation;
use crate::observation::ledger::Waited;
use crate::observation::locks::{Epoch, Locks};
use crate::questions::why::Hosts;
use crate::questions::why::{Joined, ProcessIndex};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Maximum number of windows remembered, counting each process separately.
const MOST: usize = 1 << 14;
/// How many of the most recent numbers are remembered: more than a ring contains.
const KEPT: u64 = 64;

/// What all passes observed of the locks of each process on each window.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Watch(
    #[serde(
        serialize_with = "as_list::serialize",
        deserialize_with = "as_list::at_most::<MOST, _, _, _, _>"
    )]
    HashMap<Of, Seen>,
);

/// World and rank of a process, and a window.
type Of = (String, Option<u32>, u64);

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Seen {
    newest: u64,
    /// Locks up to this number are done with.
    closed: u64,
    /// Released in the previous pass: an earlier holder may have become visible only in this one.
    #[serde(skip)]
    ready: BTreeSet<u64>,
    #[serde(skip)]
    judged: BTreeSet<u64>,
    /// Number of locks judged with everything known that could have delayed them.
    whole: u64,
}

/// The result of one pass.
#[derive(Default)]
pub struct Found {
    pub waits: Vec<Wait>,
    /// Nanoseconds spent in the calls judged.
    pub ns: u64,
    /// Numbers of locks requested since the previous pass, and of locks judged.
    pub new: u64,
    pub judged: u64,
}

/// The locks of a process on a window.
type Member<'a> = (ProcessIndex, &'a Observation, &'a Locks);

impl Watch {
    /// Performs a pass; nothing follows the `last` one.
    pub fn look(&mut self, joined: &Joined<'_>, calls: &Calls, hosts: &Hosts<'_>, last: bool) -> Found {
        let mut windows: HashMap<u64, Vec<Member<'_>>> = HashMap::new();
        for (me, _, _, seen) in joined.processes() {
            for locks in &seen.locks {
                windows.entry(locks.window).or_default().push((me, seen, locks));
            }
        }
        let mut found = Found::default();
        for members in windows.values() {
            for (me, seen, locks) in members {
                let key = (seen.world.clone(), seen.rank, locks.window);
                if self.0.len() >= MOST && !self.0.contains_key(&key) {
                    continue;
                }
                let known = self.0.entry(key).or_default();
                found.new += locks.newest.saturating_sub(known.newest);
                known.newest = known.newest.max(locks.newest);
                for epoch in &locks.list {
                    if !known.is_due(epoch, last) {
                        continue;
                    }
                    let others = members.iter().filter(|(other, ..)| other != me);
                    let near = || others.clone().filter(|(other, ..)| hosts.are_on_one_host([me, other]));
                    let whole = near().count() == others.clone().count()
                        && near().all(|other| covers(other.2, epoch));
                    known.whole += u64::from(whole);
                    found.judged += u64::from(whole);
                    for call in [Some(&epoch.asked), epoch.released.as_ref()].into_iter().flatten() {
                        found.ns = found.ns.saturating_add(call.until_ns.saturating_sub(call.from_ns));
                        let waits =
                            in_call(*me, epoch, call, near().map(|(other, _, locks)| (*other, *locks)));
                        found.waits.extend(waits.into_iter().filter_map(|wait| calls.bounded(wait)));
                    }
                }
                known.forget();
            }
        }
        found
    }

    /// Makes sure that nothing observed so far is judged again.
    pub fn close(&mut self) {
        self.0.values_mut().for_each(|seen| seen.closed = seen.newest);
    }

    /// Adds what was observed on another host.
    pub fn take_in(&mut self, Self(other): Self) {
        for (key, seen) in other {
            if self.0.len() < MOST || self.0.contains_key(&key) {
                self.0.insert(key, seen);
            }
        }
    }

    /// Returns the number of locks, and how many were observed with everything that could have delayed them.
    pub fn counts(&self) -> (u64, u64) {
        self.0.values().fold((0u64, 0u64), |(all, whole), seen| {
            (all.saturating_add(seen.newest), whole.saturating_add(seen.whole))
        })
    }
}

impl Seen {
    /// Whether a lock should be judged now, which happens once.
    fn is_due(&mut self, epoch: &Epoch, last: bool) -> bool {
        if epoch.number <= self.closed {
            return false;
        }
        let ready = epoch.released.is_some() && !self.ready.insert(epoch.number);
        (last || ready) && self.judged.insert(epoch.number)
    }

    fn forget(&mut self) {
        let oldest = self.newest.saturating_sub(KEPT);
        self.ready = self.ready.split_off(&oldest);
        self.judged = self.judged.split_off(&oldest);
    }
}

/// Whether all locks of another process that could have delayed this one are still known.
fn covers(other: &Locks, epoch: &Epoch) -> bool {
    let oldest = other.list.first();
    other.list.len() as u64 == other.newest
        || oldest.is_some_and(|oldest| oldest.asked.from_ns <= epoch.asked.from_ns)
}

/// Returns the processes waited for in a call, one after the other.
fn in_call<'a>(
    me: ProcessIndex,
    own: &Epoch,
    call: &Waited,
    others: impl Iterator<Item = (ProcessIndex, &'a Locks)>,
) -> Vec<Wait> {
    let inside = call.from_ns + 1..=call.until_ns;
    // A lock granted after the release cannot delay a process that is still in the releasing call.
    let granted_by = if *call == own.asked { call.until_ns } else { call.from_ns };
    let held = others.flat_map(|(other, locks)| locks.list.iter().map(move |epoch| (other, epoch)));
    let before = held.filter(|(_, epoch)| epoch.excludes(own) && epoch.asked.until_ns <= granted_by);
    let held = before
        .filter_map(|(other, epoch)| Some((epoch.released.as_ref()?.from_ns, epoch.asked.until_ns, other)));
    let mut held: Vec<(u64, u64, ProcessIndex)> = held.filter(|(at, ..)| inside.contains(at)).collect();
    held.sort_unstable();
    let (mut from, mut waits) = (call.from_ns, Vec::new());
    for (until, since, culprit) in held {
        if waits.is_empty() {
            from = from.max(since).min(until);
        }
        let (span, call_of) = (Span { from, until }, Arc::clone(&call.call));
        let in_call = call.from_ns;
        waits.push(Wait { kind: Kind::LOCK, who: me, call: call_of, in_call, span, culprit, message: None });
        from = until;
    }
    waits
}
