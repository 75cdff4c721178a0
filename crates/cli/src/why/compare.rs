//! Compares two snapshots.

use anyhow::{Result, bail};
use mpiscope_job::observation::Observation;
use mpiscope_job::questions::live::Look;
use mpiscope_job::questions::why::{Verdict, snapshot, verdict};

/// Returns the verdict that follows from two snapshots; `unseen` is the reason why a rank may be
/// missing.
pub fn compared(before: &[Observation], after: Look, seconds: f64, unseen: &str) -> Result<Verdict> {
    if after.observations.is_empty() {
        bail!("{}", nothing(&after));
    }
    let mut found = verdict(&snapshot(before, unseen), &snapshot(&after.observations, unseen), seconds);
    found.could_not_read(after.errors);
    Ok(found)
}

/// Explains why there is nothing to judge.
pub fn nothing(look: &Look) -> String {
    if look.errors.is_empty() { "the job has ended".to_owned() } else { look.errors.join("; ") }
}
