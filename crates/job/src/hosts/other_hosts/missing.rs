//! Which ranks of a job were not seen because a host did not answer: users want to know their numbers.

use crate::base::rankset::RankSet;
use crate::jobs::job::Job;
use crate::jobs::job_image::JobImage;
use crate::jobs::silent;
use mpiscope_target::Files;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Names the missing ranks of the job's only world; `None` if there are several worlds or the size is
/// unknown.
pub fn ranks(job: &Job) -> Option<String> {
    let seen: Vec<_> = job.images.iter().filter_map(JobImage::who).map(|who| who.entry).collect();
    let worlds: BTreeSet<&String> = seen.iter().map(|entry| &entry.world).collect();
    let files = Arc::new(Files::default());
    let size = || job.images.iter().find_map(|image| image.read(&files).ok().flatten()?.1.size);
    let size = (worlds.len() == 1).then(size)??;
    let silent = job.silent.iter().map(|silent| silent.rank);
    let seen: BTreeSet<u32> = seen.iter().filter_map(|entry| entry.rank).chain(silent).collect();
    sentence(size, seen.iter().copied())?;
    // Ranks of this host that have not called MPI have no image, and finding them requires a scan of all
    // processes.
    let here = silent::ranks(job.owner, &job.name, |_, _| false).into_iter().map(|silent| silent.rank);
    sentence(size, seen.into_iter().chain(here))
}

fn sentence(size: u32, seen: impl Iterator<Item = u32>) -> Option<String> {
    let seen: BTreeSet<u32> = seen.collect();
    let missing: RankSet = (0..size).filter(|rank| !seen.contains(rank)).collect();
    (!missing.0.is_empty()).then(|| format!("not seen: {} of {size}", missing.named()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unseen_ranks_are_named_if_there_are_any() {
        let said = sentence(6, [3, 0, 1, 2].into_iter());
        assert_eq!(said.as_deref(), Some("not seen: ranks [4-5] of 6"));
        assert_eq!(sentence(2, [0].into_iter()).as_deref(), Some("not seen: rank 1 of 2"));
        assert_eq!(sentence(2, [0, 1].into_iter()), None);
        assert_eq!(ranks(&Job::default()), None);
    }
}
