//! Saves what is known of the ranks, while their images are held here.

use crate::render::complain;
use crate::save;
use mpiscope_job::discover::discover;
use std::path::Path;
use std::time::Duration;

/// Writes the ranks of this host to an evidence file. A failure is reported; whether the file is there now is the answer.
pub fn keep(job: &str, apart: Duration, stacks: bool, file: &Path) -> bool {
    let Some(found) = discover().into_iter().find(|found| found.name == job) else { return false };
    match save::write(&found, apart, stacks, file) {
        Ok(saved) => {
            saved.not_seen.iter().for_each(|why| complain("run", &format!("{}: {why}", file.display())));
            true
        }
        Err(why) => {
            complain("run", &format!("what is known of the ranks cannot be saved: {why:#}"));
            false
        }
    }
}
