//! Checks whether files belong to one job: conclusions from ranks of different jobs hold for none of them.

use crate::model::process::Process;
use std::path::{Path, PathBuf};

/// The first of several files.
#[derive(Debug, Default)]
pub struct OneJob(Option<First>);

#[derive(Debug)]
struct First {
    path: PathBuf,
    job: String,
    world: String,
    said: bool,
}

impl OneJob {
    /// Takes another file and returns a warning if it belongs to a job other than the first one's; the
    /// warning is given once. A job launched separately on each host has several names but one world.
    pub fn other(&mut self, path: &Path, process: &Process) -> Option<String> {
        let (job, world) = (&process.job, &process.world);
        let Some(first) = &mut self.0 else {
            let (path, job, world) = (path.to_owned(), job.clone(), world.clone());
            self.0 = Some(First { path, job, world, said: false });
            return None;
        };
        let same = *job == first.job || (!world.is_empty() && *world == first.world);
        if same || std::mem::replace(&mut first.said, true) {
            return None;
        }
        let (one, other) = (first.path.display(), path.display());
        Some(format!(
            "{other} belongs to job {job}, {one} to job {}: statements about both together apply to neither",
            first.job
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_another_job_is_named_once_and_one_world_is_one_job() {
        let process = |job: &str, world: &str| {
            let mut process = Process::untouched();
            (process.job, process.world) = (job.into(), world.into());
            process
        };
        let mut one = OneJob::default();
        let mut other = |path: &str, process: &Process| one.other(Path::new(path), process);
        assert_eq!(other("a", &process("1-a", "h:1")), None);
        assert_eq!(other("b", &process("1-a", "")), None);
        assert_eq!(other("c", &process("on-the-other-host", "h:1")), None);
        let said = other("d", &process("2-b", "h:2")).unwrap();
        assert!(said.starts_with("d belongs to job 2-b, a to job 1-a"), "{said}");
        assert_eq!(other("e", &process("3-c", "")), None);
    }
}
