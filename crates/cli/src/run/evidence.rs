//! Saves what is known of the ranks while their images are open here.

use super::follow::Seen;
use super::hosts::{FromHost, join};
use crate::render::complain;
use mpiscope_job::hosts::other_hosts::Elsewhere;
use mpiscope_job::jobs::discover::discover;
use mpiscope_job::jobs::evidence::ProcessEnd;
use mpiscope_job::jobs::job::Job;
use mpiscope_job::jobs::symbols::FileSymbols;
use mpiscope_job::save::{self, Saved};
use std::fs::File;
use std::path::Path;
use std::time::Duration;

/// What helps if a temporary file cannot be written.
const ELSEWHERE: &str = "TMPDIR names another directory";

/// Returns the ranks of this host as an evidence file without a name, of which nothing remains if this process
/// is killed: two snapshots taken `apart`, with stacks if requested. Errors are reported.
pub fn of_host(job: &str, apart: Duration, stacks: bool) -> Option<File> {
    unnamed(&here(job, &[])?, apart, stacks)
}

/// Like [`of_host`], with `ends` for the ranks that have ended, and what was seen of them while they ran.
pub fn at_the_end(job: &str, ends: &[(u64, ProcessEnd)], seen: &Seen) -> Option<File> {
    let found = here(job, ends).filter(|found| !found.images.is_empty())?;
    let file = unnamed(&found, Duration::ZERO, false)?;
    add(seen, &file).then_some(file)
}

fn unnamed(found: &Job, apart: Duration, stacks: bool) -> Option<File> {
    let (folder, nothing) = (std::env::temp_dir(), Elsewhere::default());
    let failed = |why: std::io::Error| complain("run", &format!("{}: {why}; {ELSEWHERE}", folder.display()));
    let file = tempfile::tempfile().map_err(failed).ok()?;
    let saved = save::write(found, apart, stacks, &*found.symbols(), nothing, (&file, &folder));
    is_saved(saved, &folder, ELSEWHERE).then_some(file)
}

/// Writes the ranks of this host, with `ends` for those that have ended, and the ranks of other hosts.
pub fn keep_all(job: &str, ends: &[(u64, ProcessEnd)], others: &[FromHost], file: &Path) -> bool {
    let all = join::job(job, here(job, ends), others);
    !all.images.is_empty() && write(&all, Duration::ZERO, false, Elsewhere::default(), file)
}

/// Adds what was seen of the ranks while they ran to an evidence file.
fn add(seen: &Seen, file: &File) -> bool {
    let mut followed = seen.now();
    followed.put_into_words(&FileSymbols::default());
    let added = save::add((file, &std::env::temp_dir()), &followed);
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

/// Writes a job, with what other hosts sent, to an evidence file. Errors are reported. Returns whether the file
/// was written.
pub fn write(found: &Job, apart: Duration, stacks: bool, elsewhere: Elsewhere, file: &Path) -> bool {
    let saved = save::save(found, apart, stacks, &*found.symbols(), elsewhere, file);
    is_saved(saved, file, "--out DIR names another directory")
}

fn is_saved(saved: Result<Saved, mpiscope_job::Error>, file: &Path, remedy: &str) -> bool {
    match saved {
        Ok(saved) => {
            saved.not_seen.iter().for_each(|why| complain("run", &format!("{}: {why}", file.display())));
            true
        }
        Err(why) => {
            complain("run", &format!("what is known about the ranks cannot be saved: {why}; {remedy}"));
            false
        }
    }
}
