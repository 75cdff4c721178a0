//! Epochs of general active target synchronization (MPI 5.0, section "General Active Target
//! Synchronization"): which processes must act.
//!
//! A process that accesses memory waits for every target that has not posted. One that has exposed its memory
//! waits for every origin that has started and not completed. An origin that has not even started may have
//! completed earlier, so if none has an open epoch, at least one of them has yet to start.

use super::{Joiner, Observation};
use crate::observation::Window;
use crate::observation::windows::Group;
use crate::questions::why::Kind;
use crate::questions::why::snapshot::{Need, ProcessIndex};

/// Maximum size of a group that is examined for every member.
const MOST: usize = 1 << 10;

impl Joiner<'_> {
    /// Returns the needs of a process that synchronizes an epoch on a window.
    pub(super) fn epoch(&self, seen: &Observation, window: u64, access: bool, name: &str) -> Vec<Need> {
        let mine = seen.windows.iter().find(|known| known.identity == window);
        let group = mine.and_then(|mine| if access { mine.start.as_ref() } else { mine.post.as_ref() });
        let needs = match (group, seen.rank) {
            (Some(group), Some(rank)) if access => self.targets(window, rank, group, name),
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
        let posted = |known: &Window| known.post.as_ref().is_some_and(|group| group.has(rank));
        let missing = self.members(window, group).into_iter().filter(|(_, known)| !posted(known));
        let what = format!("expose its memory in {name} (MPI_Win_post)");
        missing.map(|(by, _)| self.action(vec![by], &what, Kind::RMA)).collect()
    }

    /// Origins that have not completed.
    fn origins(&self, window: u64, rank: u32, group: &Group, name: &str) -> Vec<Need> {
        let members = self.members(window, group);
        let started = |known: &Window| known.start.as_ref().is_some_and(|group| group.has(rank));
        let what = format!("complete its access to {name} (MPI_Win_complete)");
        let under_way = members.iter().filter(|(_, known)| started(known));
        let needs: Vec<Need> = under_way.map(|(by, _)| self.action(vec![*by], &what, Kind::RMA)).collect();
        if !needs.is_empty() || members.is_empty() {
            return needs;
        }
        let by = members.iter().map(|(by, _)| *by).collect();
        let what = format!("start and complete its access to {name} (MPI_Win_start, MPI_Win_complete)");
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
