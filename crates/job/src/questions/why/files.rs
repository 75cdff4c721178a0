//! The verdict on core files and saved images: a single look, in which nothing changes any more.

use super::{Verdict, snapshot, verdict};
use crate::observation::{Observation, share_names};
use std::collections::{BTreeMap, BTreeSet};

/// Why a rank of the files' jobs is not observed.
pub const NOT_GIVEN: &str = "not among the given files, or unreadable";

/// Returns the verdict on what was read from files; `errors` lists what could not be read.
#[must_use]
pub fn of_files(mut observations: Vec<Observation>, errors: &[String]) -> Verdict {
    one_world(&mut observations);
    let kept = snapshot(&observations, NOT_GIVEN);
    let mut found = verdict(&kept, &kept, 0.0);
    found.could_not_read(errors.to_vec());
    found
}

/// Ranks that were started from separate shells may name their world differently. If the files of a job agree
/// on the size of the world and contain no rank twice, they are treated as one world. Shared objects get the same label
/// everywhere.
pub fn one_world(observations: &mut [Observation]) {
    let mut jobs: BTreeMap<String, Vec<&mut Observation>> = BTreeMap::new();
    for observation in observations.iter_mut() {
        jobs.entry(observation.job.clone()).or_default().push(observation);
    }
    for ranks in jobs.values_mut() {
        let sizes: BTreeSet<Option<u32>> = ranks.iter().map(|one| one.size).collect();
        let numbers: BTreeSet<Option<u32>> = ranks.iter().map(|one| one.rank).collect();
        let world = ranks.first().map(|one| one.world.clone()).unwrap_or_default();
        if sizes.len() == 1 && numbers.len() == ranks.len() {
            ranks.iter_mut().for_each(|one| one.world.clone_from(&world));
        }
    }
    share_names(observations);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(world: &str, rank: u32, size: u32) -> Observation {
        Observation { world: world.to_owned(), rank: Some(rank), size: Some(size), ..Observation::default() }
    }

    #[test]
    fn ranks_that_name_their_world_differently_are_one_world_unless_a_rank_appears_twice() {
        let mut one = [rank("a", 0, 2), rank("b", 1, 2)];
        one_world(&mut one);
        assert_eq!(one.map(|rank| rank.world), ["a", "a"]);
        let mut two = [rank("a", 0, 1), rank("b", 0, 1)];
        one_world(&mut two);
        assert_eq!(two.map(|rank| rank.world), ["a", "b"]);
    }
}
