//! Epochs of general active target synchronization (MPI 5.0, section "General Active Target
//! Synchronization"): which processes must act.
//!
//! A process that accesses memory waits for every target that has not posted. One that has exposed its memory
//! waits for every origin that has started and not completed. An origin that has not even started may have
//! completed earlier, so if none has an open epoch, at least one of them has yet to start, and it is one of those that have
//! never completed one on the window, if there are such.
//!
//! One that waits in `MPI_Win_start` although all its targets have posted is a round ahead: it has completed the
//! epoch for which they posted, and they must post again.

use super::{Joiner, Observation};
use crate::observation::windows::Group;
use crate::observation::{self, Call, Window};
use crate::questions::why::Kind;
use crate::questions::why::snapshot::{Need, ProcessIndex};

/// Seconds after which `MPI_Win_start` would have returned if what it waits for had happened.
const SOON: f64 = 1.0;

/// Maximum size of a group that is examined for every member.
const MOST: usize = 1 << 10;

impl Joiner<'_> {
    /// Returns the needs of a process that synchronizes an epoch on a window.
    pub(super) fn epoch(
        &self,
        seen: &Observation,
        call: &Call,
        (window, access): (u64, bool),
        name: &str,
    ) -> Vec<Need> {
        let mine = seen.windows.iter().find(|known| known.identity == window);
        let group = mine.and_then(|mine| if access { mine.start.as_ref() } else { mine.post.as_ref() });
        let needs = match (group, seen.rank) {
            (Some(group), Some(rank)) if access => match self.targets(window, rank, group, name) {
                none if none.is_empty() && lasts(call) => self.again(window, group, name),
                needs => needs,
            },
            (Some(group), Some(rank)) => self.origins(window, rank, group, name),
            _ => Vec::new(),
        };
        if !needs.is_empty() {
            return needs;
        }
        let what = format!("one-sided synchronization on {name}").into();
        vec![Need::Outside { what, kind: Kind::RMA }]
    }

    /// Targets that have not posted.
    fn targets(&self, window: u64, rank: u32, group: &Group, name: &str) -> Vec<Need> {
        let missing = self.members(window, group).into_iter().filter(|(_, known)| !has_posted(known, rank));
        let what = format!("expose its memory in {name} (MPI_Win_post)");
        missing.map(|(by, _)| self.action(vec![by], &what, Kind::RMA)).collect()
    }

    /// All targets have posted, and the process has completed the epoch for which they did.
    fn again(&self, window: u64, group: &Group, name: &str) -> Vec<Need> {
        let by: Vec<ProcessIndex> = self.members(window, group).into_iter().map(|(by, _)| by).collect();
        let what = format!("expose its memory in {name} again (MPI_Win_wait, MPI_Win_post)");
        if by.is_empty() { Vec::new() } else { vec![self.action(by, &what, Kind::RMA)] }
    }

    /// Whether a process waits to start another epoch, having completed the one for which its targets have
    /// posted.
    fn is_ahead(&self, origin: ProcessIndex, window: u64) -> bool {
        let Some((_, _, Some(seen))) = self.slots.get(origin as usize) else { return false };
        let Some(rank) = seen.rank else { return false };
        let starts = |need: &observation::Need| matches!(need, observation::Need::Epoch { window: of, access: true, .. } if *of == window);
        let mut calls = seen.threads.iter().filter_map(|thread| thread.call.as_ref());
        let mine = seen.windows.iter().find(|known| known.identity == window);
        calls.any(|call| lasts(call) && call.needs.iter().any(starts))
            && mine.and_then(|mine| mine.start.as_ref()).is_some_and(|group| {
                let targets = self.members(window, group);
                !targets.is_empty() && targets.iter().all(|(_, known)| has_posted(known, rank))
            })
    }

    /// Origins that have not completed.
    fn origins(&self, window: u64, rank: u32, group: &Group, name: &str) -> Vec<Need> {
        let mut members = self.members(window, group);
        members.retain(|(by, _)| !self.is_ahead(*by, window));
        let started = |known: &Window| known.start.as_ref().is_some_and(|group| group.has(rank));
        let what = format!("complete its access to {name} (MPI_Win_complete)");
        let under_way = members.iter().filter(|(_, known)| started(known));
        let needs: Vec<Need> = under_way.map(|(by, _)| self.action(vec![*by], &what, Kind::RMA)).collect();
        if !needs.is_empty() || members.is_empty() {
            return needs;
        }
        let what = format!("start and complete its access to {name} (MPI_Win_start, MPI_Win_complete)");
        let never = members.iter().filter(|(_, known)| known.completed == Some(false));
        let never: Vec<ProcessIndex> = never.map(|(by, _)| *by).collect();
        let by = if never.is_empty() { members.iter().map(|(by, _)| *by).collect() } else { never };
        vec![self.action(by, &what, Kind::RMA)]
    }

    /// Returns the observed members of a group with what they know about the window; empty if the group is
    /// too large.
    fn members(&self, window: u64, group: &Group) -> Vec<(ProcessIndex, &Window)> {
        let (world, ..) = *self.slot;
        let of_world = (0..).zip(self.slots).filter(|(_, (other, ..))| *other == world);
        let members = of_world.filter(|(_, (_, rank, _))| group.has(*rank)).take(MOST + 1);
        let known = members.filter_map(|(index, (_, _, seen))| {
            let window = seen.as_ref()?.windows.iter().find(|known| known.identity == window)?;
            Some((index, window))
        });
        let known: Vec<_> = known.collect();
        if known.len() > MOST { Vec::new() } else { known }
    }
}

/// Whether the memory of a process is exposed to a rank.
fn has_posted(known: &Window, rank: u32) -> bool {
    known.post.as_ref().is_some_and(|group| group.has(rank))
}

fn lasts(call: &Call) -> bool {
    call.age_s.is_some_and(|age_s| age_s >= SOON)
}

#[cfg(test)]
mod tests {
    use crate::observation::windows::{Group, Window};
    use crate::observation::{Call, Communicator, Need, Observation, Stage, Thread};
    use crate::questions::why::{Verdict, snapshot, verdict};

    /// Rank 2 has posted for ranks 0 and 1, which have freed the window or wait for that; `completed` tells which of
    /// them are known to have completed an epoch.
    fn exposed(completed: [Option<bool>; 2]) -> Verdict {
        let rank = |rank: u32, need: Need, window: Window| {
            let world = Communicator {
                identity: 7,
                rank,
                size: 3,
                members: Some(vec![0, 1, 2]),
                ..Communicator::default()
            };
            let call = Call { function: "MPI_Win".into(), needs: vec![need], ..Call::default() };
            Observation {
                world: "w".into(),
                rank: Some(rank),
                size: Some(3),
                stage: Stage::Running,
                communicators: vec![world],
                windows: vec![Window { identity: 9, comm: 7, name: "w".into(), ..window }],
                threads: vec![Thread { call: Some(call), ..Thread::default() }],
                ..Observation::default()
            }
        };
        let waits =
            Need::Message(crate::observation::Receive { comm: 7, from: Some(2), ..Default::default() });
        let [first, second] = completed.map(|completed| Window { completed, ..Window::default() });
        let post = Some(Group::Ranks(vec![0, 1]));
        let epoch = Need::Epoch { window: 9, access: false, name: "window w".into() };
        let job = [
            rank(0, waits.clone(), first),
            rank(1, waits, second),
            rank(2, epoch, Window { post, ..Window::default() }),
        ];
        let job = snapshot(&job, "unseen");
        verdict(&job, &job, 1.0)
    }

    #[test]
    fn an_origin_that_has_never_completed_an_epoch_is_the_one_that_must_start() {
        let named = |completed| {
            let said = exposed(completed);
            let of = |one: &crate::questions::why::Culprit| one.ranks.to_string();
            said.culprits.iter().map(of).collect::<Vec<_>>()
        };
        assert_eq!(named([Some(true), Some(false)]), ["1"]);
        assert_eq!(named([Some(true), Some(true)]), ["0", "1"], "either may have one more to go");
        assert_eq!(named([None, None]), ["0", "1"]);
    }
}
