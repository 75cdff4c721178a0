//! Saves what is known of the ranks, while their images are held here.

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

/// Writes the ranks of this host to an evidence file: two looks so far apart, and the stacks if they are wanted. A failure is
/// reported; whether the file is there now is the answer.
pub fn keep(job: &str, apart: Duration, stacks: bool, file: &Path) -> bool {
    here(job, &[]).is_some_and(|found| write(&found, apart, stacks, Elsewhere::default(), file))
}

/// Writes those of this host that have ended `ends` say how, and those of other hosts.
pub fn keep_all(job: &str, ends: &[(u64, ProcessEnd)], others: &[FromHost], file: &Path) -> bool {
    let all = join::job(job, here(job, ends), others);
    !all.images.is_empty() && write(&all, Duration::ZERO, false, Elsewhere::default(), file)
}

/// Adds what was seen of the ranks while they ran to such a file.
pub fn add(seen: &Seen, file: &Path) -> bool {
    let mut followed = seen.now();
    followed.put_into_words(&FileSymbols::default());
    let added = save::add(file, &followed);
    if let Err(why) = &added {
        complain("run", &format!("what was seen of the ranks while they ran cannot be sent: {why}"));
    }
    added.is_ok()
}

/// The job, as far as it is on this host; of its processes that have ended `ends` say how.
pub fn here(job: &str, ends: &[(u64, ProcessEnd)]) -> Option<Job> {
    let mut found = discover().into_iter().find(|found| found.name == job)?;
    for image in &mut found.images {
        let end = ends.iter().find(|(inode, _)| image.inode() == Some(*inode));
        image.end = end.map(|(_, end)| end.clone());
    }
    Some(found)
}

/// The same of a job as it was found, with what was seen on other hosts.
pub fn write(found: &Job, apart: Duration, stacks: bool, elsewhere: Elsewhere, file: &Path) -> bool {
    match save::save(found, apart, stacks, &*found.symbols(), elsewhere, file) {
        Ok(saved) => {
            saved.not_seen.iter().for_each(|why| complain("run", &format!("{}: {why}", file.display())));
            true
        }
        Err(why) => {
            complain("run", &format!("what is known of the ranks cannot be saved: {why}"));
            false
        }
    }
}
