//! Compares two snapshots.

use anyhow::{Result, bail};
use mpiscope_job::observation::Observation;
use mpiscope_job::questions::live::Look;
use mpiscope_job::questions::why::{Condition, Snapshot, Verdict, snapshot, verdict};

/// Why a rank that was seen is missing from the second snapshot, if every process could be read.
const SINCE: &str = "its process has ended since the first snapshot";

/// Returns the verdict that follows from two snapshots; `unseen` is the reason why a rank may be
/// missing.
pub fn compared(before: &[Observation], after: Look, seconds: f64, unseen: &str) -> Result<Verdict> {
    if after.observations.is_empty() {
        bail!("{}", nothing(&after));
    }
    let (first, mut second) = (snapshot(before, unseen), snapshot(&after.observations, unseen));
    if after.errors.is_empty() {
        ended(&first, &mut second);
    }
    let mut found = verdict(&first, &second, seconds);
    found.could_not_read(after.errors);
    Ok(found)
}

/// Gives the reason for processes that only the first snapshot shows.
fn ended(first: &Snapshot, second: &mut Snapshot) {
    let is_unseen = |condition: &Condition| matches!(condition, Condition::Unseen(_));
    for missing in second.processes.iter_mut().filter(|process| is_unseen(&process.condition)) {
        let same = first.processes.iter().find(|one| (one.world, one.rank) == (missing.world, missing.rank));
        if same.is_some_and(|one| !is_unseen(&one.condition)) {
            missing.condition = Condition::Unseen(SINCE.into());
        }
    }
}

/// Explains why there is nothing to judge.
pub fn nothing(look: &Look) -> String {
    if look.errors.is_empty() { "the job has ended".to_owned() } else { look.errors.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpiscope_job::questions::why::scene::Scene;

    #[test]
    fn a_rank_that_only_the_first_snapshot_shows_has_ended() {
        let elsewhere = || Condition::Unseen("another host".into());
        let (mut first, mut second) = (Scene::of(3).0, Scene::of(3).0);
        first.processes[0].condition = elsewhere();
        second.processes[0].condition = elsewhere();
        second.processes[1].condition = elsewhere();
        ended(&first, &mut second);
        let conditions: Vec<_> = second.processes.iter().map(|process| process.condition.clone()).collect();
        assert_eq!(conditions, [elsewhere(), Condition::Unseen(SINCE.into()), Condition::Running]);
    }
}
