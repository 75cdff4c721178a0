//! Waits for locks of windows: whoever asked while another one held the lock that excludes its own, until that released it.
//!
//! Several may have held it in turn: the time until the first release is waited for the first of them, and so on. A library may take a
//! lock only when it is needed; then the call that releases it is the one that waits.

use super::calls::Calls;
use super::hosts::Hosts;
use super::{Kind, Span, Wait};
use crate::observation::Observation;
use crate::observation::ledger::Waited;
use crate::observation::locks::{Epoch, Locks};
use crate::questions::why::{Joined, ProcessIndex};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Windows of processes that are remembered.
const MOST: usize = 1 << 14;
/// Numbers before the last that are remembered: more than a ring has.
const KEPT: u64 = 64;

/// What was seen of the locks of each process in each window, at all looks.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "Sent", into = "Sent")]
pub struct Watch(HashMap<Of, Seen>);

/// World and rank of a process, and a window.
type Of = (String, Option<u32>, u64);

/// A map whose keys are no words, as a list.
#[derive(Serialize, Deserialize)]
struct Sent(Vec<(Of, Seen)>);

impl From<Watch> for Sent {
    fn from(Watch(all): Watch) -> Self {
        Self(all.into_iter().collect())
    }
}

impl From<Sent> for Watch {
    fn from(Sent(all): Sent) -> Self {
        Self(all.into_iter().take(MOST).collect())
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Seen {
    newest: u64,
    /// Those up to this number are done with.
    closed: u64,
    /// Released at the look before: whoever held it before may have been seen only now.
    #[serde(skip)]
    ready: BTreeSet<u64>,
    #[serde(skip)]
    judged: BTreeSet<u64>,
    /// How many were judged with all that could have held them up.
    whole: u64,
}

/// What one look has found.
#[derive(Default)]
pub struct Found {
    pub waits: Vec<Wait>,
    /// Nanoseconds in the calls that were judged.
    pub ns: u64,
    /// How many were asked for since the look before, and how many were judged.
    pub new: u64,
    pub judged: u64,
}

/// The locks of a process in a window.
type Member<'a> = (ProcessIndex, &'a Observation, &'a Locks);

impl Watch {
    /// One more look; after the `last` one nothing comes.
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

    /// Nothing that was seen is judged again.
    pub fn close(&mut self) {
        self.0.values_mut().for_each(|seen| seen.closed = seen.newest);
    }

    /// What was seen on another host.
    pub fn take_in(&mut self, Self(other): Self) {
        for (key, seen) in other {
            if self.0.len() < MOST || self.0.contains_key(&key) {
                self.0.insert(key, seen);
            }
        }
    }

    /// How many locks there were, and how many were seen with all that could have held them up.
    pub fn counts(&self) -> (u64, u64) {
        self.0.values().fold((0u64, 0u64), |(all, whole), seen| {
            (all.saturating_add(seen.newest), whole.saturating_add(seen.whole))
        })
    }
}

impl Seen {
    /// Whether it is to be judged now, once.
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

/// Whether nothing of another process is forgotten that could have held up a lock.
fn covers(other: &Locks, epoch: &Epoch) -> bool {
    let oldest = other.list.first();
    other.list.len() as u64 == other.newest
        || oldest.is_some_and(|oldest| oldest.asked.from_ns <= epoch.asked.from_ns)
}

/// Whom one waited for in a call, one after the other.
fn in_call<'a>(
    me: ProcessIndex,
    own: &Epoch,
    call: &Waited,
    others: impl Iterator<Item = (ProcessIndex, &'a Locks)>,
) -> Vec<Wait> {
    let inside = call.from_ns + 1..=call.until_ns;
    // Who gets the lock after it was released holds nobody up who is still in the call that released it.
    let granted_by = if *call == own.asked { call.until_ns } else { call.from_ns };
    let held = others.flat_map(|(other, locks)| locks.list.iter().map(move |epoch| (other, epoch)));
    let before = held.filter(|(_, epoch)| epoch.excludes(own) && epoch.asked.until_ns <= granted_by);
    let released = before.filter_map(|(other, epoch)| Some((epoch.released.as_ref()?.from_ns, other)));
    let mut released: Vec<(u64, ProcessIndex)> = released.filter(|(at, _)| inside.contains(at)).collect();
    released.sort_unstable();
    let (mut from, mut waits) = (call.from_ns, Vec::new());
    for (until, culprit) in released {
        let (span, call_of) = (Span { from, until }, Arc::clone(&call.call));
        waits.push(Wait { kind: Kind::LOCK, who: me, call: call_of, in_call: call.from_ns, span, culprit });
        from = until;
    }
    waits
}
