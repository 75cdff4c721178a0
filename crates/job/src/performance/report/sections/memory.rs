//! The memory of each rank: from the kernel's last answers while it ran, and from the windows of the run.

use super::Part;
use crate::jobs::worlds::Members;
use crate::performance::monitor::windows::Windows;
use crate::performance::report::document::{Memory, Sections};

/// Returns the memory of a rank as its starter last saw it.
pub(super) fn of_rank(part: &Part<'_>) -> Memory {
    Memory {
        world: part.world,
        rank: part.rank,
        host: part.host.to_owned(),
        image: part.facts.image,
        placement: part.facts.placement.clone(),
    }
}

impl Sections {
    /// Raises peaks to the memory that ranks had in one of the windows: these are sampled more often, and the
    /// kernel no longer knows the peak of a process that has ended.
    pub fn reach(&mut self, windows: &Windows) {
        for memory in &mut self.memory {
            let name = Members::from_iter([(memory.world, memory.rank)]).to_string();
            let mut same = windows.ranks.iter().enumerate().filter(|(_, rank)| **rank == name);
            let (Some((at, _)), None, Some(placement)) = (same.next(), same.next(), &mut memory.placement)
            else {
                continue;
            };
            let levels = windows.list.iter().filter_map(|window| window.resident.get(at).copied().flatten());
            placement.peak = levels.fold(placement.peak, u64::max);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::placement::Placement;
    use crate::performance::monitor::windows::Window;

    #[test]
    fn the_peak_of_a_rank_is_not_below_its_memory_in_any_window() {
        let memory = |rank, peak| Memory {
            world: 0,
            rank: Some(rank),
            host: "h".into(),
            image: 0,
            placement: Some(Placement { resident: 50, peak, ..Placement::default() }),
        };
        let mut sections = Sections { memory: vec![memory(0, 90), memory(1, 60)], ..Sections::default() };
        let window = |resident| Window { resident, ..Window::default() };
        let windows = Windows {
            ranks: vec!["0".into(), "1".into()],
            list: vec![window(vec![Some(80), Some(70)]), window(vec![None, Some(65)])],
            ..Windows::default()
        };
        sections.reach(&windows);
        let peaks = sections.memory.iter().filter_map(|memory| memory.placement.as_ref());
        assert_eq!(peaks.map(|seen| (seen.resident, seen.peak)).collect::<Vec<_>>(), [(50, 90), (50, 70)]);
    }
}
