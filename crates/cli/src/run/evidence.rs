//! Saves what is known of the ranks while their images are open here.

use super::follow::Seen;
use super::hosts::{FromHost, join};
use crate::render::complain;
use mpiscope_job::hosts::other_hosts::Elsewhere;
use mpiscope_job::jobs::discover::discover;
use mpiscope_job::jobs::evidence::ProcessEnd;
use mpiscope_job::jobs::job::Job;
use mpiscope_job::jobs::symbols::FileSymbols;
use mpiscope_job::save;
use std::path::Path;
use std::time::Duration;

/// Writes the ranks of this host to an evidence file: two snapshots taken `apart`, with stacks if requested.
/// Errors are reported. Returns whether the file was written.
pub fn keep(job: &str, apart: Duration, stacks: bool, file: &Path) -> bool {
    here(job, &[]).is_some_and(|found| write(&found, apart, stacks, Elsewhere::default(), file))
}

/// Writes the ranks of this host, with `ends` for those that have ended, and the ranks of other hosts.
pub fn keep_all(job: &str, ends: &[(u64, ProcessEnd)], others: &[FromHost], file: &Path) -> bool {
    let all = join::job(job, here(job, ends), others);
    !all.images.is_empty() && write(&all, Duration::ZERO, false, Elsewhere::default(), file)
}

/// Adds what was seen of the ranks while they ran to an evidence file.
pub fn add(seen: &Seen, file: &Path) -> bool {
    let mut followed = seen.now();
    followed.put_into_words(&FileSymbols::default());
    let added = save::add(file, &followed);
    if let Err(why) = &added {
        complain("run", &format!("what was observed of the ranks while they ran cannot be sent: {why}"));
    }
    added.is_ok()
}

/// Finds the part of the job on this host. `ends` tells how processes have ended.
pub fn here(job: &str, ends: &[(u64, ProcessEnd)]) -> Option<Job> {
    let mut found = discover().into_iter().find(|found| found.name == job)?;
    for image in &mut found.images {
        let end = ends.iter().find(|(inode, _)| image.inode() == Some(*inode));
        image.end = end.map(|(_, end)| end.clone());
    }
    Some(found)
}

/// Like [`keep`], for a job already discovered and with data from other hosts.
pub fn write(found: &Job, apart: Duration, stacks: bool, elsewhere: Elsewhere, file: &Path) -> bool {
    match save::save(found, apart, stacks, &*found.symbols(), elsewhere, file) {
        Ok(saved) => {
            saved.not_seen.iter().for_each(|why| complain("run", &format!("{}: {why}", file.display())));
            true
        }
        Err(why) => {
            complain(
                "run",
                &format!(
                    "what is known about the ranks cannot be saved: {why}; --out DIR names another directory"
                ),
            );
            false
        }
    }
}
