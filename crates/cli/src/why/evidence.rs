//! The verdict on a job in evidence files.

use super::compare::compared;
use crate::evidence_files::EvidenceFiles;
use crate::render::complain;
use anyhow::Result;
use mpiscope_job::jobs::evidence::{self, Evidence};
use mpiscope_job::jobs::job::Job;
use mpiscope_job::questions::live::look;
use mpiscope_job::questions::why::{Kind, Verdict};

/// Why a rank of the job is not seen.
pub const UNSEEN: &str = "the evidence file contains nothing about it";

/// Judges the two snapshots in the files. If a job hung until it was killed, its end shows only that the
/// ranks are gone; the reason is in the file that was saved while it hung.
pub fn verdict(files: &EvidenceFiles) -> Result<(Job, Verdict)> {
    let end = files.open()?;
    let same = |hang: &Evidence| (&hang.job.name, hang.job.owner) == (&end.job.name, end.job.owner);
    let hang = files.hang.as_ref().and_then(|file| Some((file, evidence::open(file).ok().filter(same)?)));
    let (job, found) = judged(end)?;
    match hang {
        Some((file, hang)) if found.kind == Kind::RANK_GONE => {
            complain(
                "why",
                &format!(
                    "the job hung before it was ended: this is its state at that time, from {}",
                    file.display()
                ),
            );
            judged(hang)
        }
        Some((file, _)) => {
            complain(
                "why",
                &format!("the job made no progress before its end: mpiscope why {}", file.display()),
            );
            Ok((job, found))
        }
        None => Ok((job, found)),
    }
}

fn judged(Evidence { manifest, job, .. }: Evidence) -> Result<(Job, Verdict)> {
    let mut after = look(&job, &*job.symbols());
    after.errors.extend(manifest.not_seen);
    let found = compared(&manifest.before, after, manifest.seconds, UNSEEN)?;
    Ok((job, found))
}
