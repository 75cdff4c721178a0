//! Evidence of a whole job: one file, or the files of its hosts, as `mpiscope run --out DIR` leaves them in its folder.

use super::{Evidence, is_evidence, open};
use crate::Error;
use crate::base::parallel;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// The evidence files that a path means: the file itself, or those of all hosts in the folder of a run, that of the host with
/// rank 0 first; none if it is something else.
#[must_use]
pub fn files(path: &Path) -> Option<Vec<PathBuf>> {
    if !path.is_dir() {
        return is_evidence(path).then(|| vec![path.to_owned()]);
    }
    let mut files: Vec<PathBuf> = fs::read_dir(path).ok()?.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| name(file).starts_with("evidence.") && name(file).ends_with(".mpiscope"));
    files.retain(|file| is_evidence(file));
    files.sort_by_key(|file| (name(file).len(), file.clone()));
    (!files.is_empty()).then_some(files)
}

fn name(path: &Path) -> &str {
    path.file_name().and_then(OsStr::to_str).unwrap_or_default()
}

/// Opens the evidence files of one job. What was seen of it while it ran is in the first one only.
///
/// # Errors
/// When there is none, or one of them cannot be read.
pub fn open_all(files: &[PathBuf]) -> Result<Evidence, Error> {
    let mut opened = parallel::work(files, |file| asked(file)).into_iter();
    let mut whole = opened.next().unwrap_or_else(|| Err(Error::NotFound("no evidence file".to_owned())))?;
    for part in opened {
        let part = part?;
        whole.job.not_seen.extend(part.job.not_seen.iter().cloned());
        whole.job.take_in(part.job, |_| true);
        whole.manifest.not_seen.extend(part.manifest.not_seen);
        whole.manifest.before.extend(part.manifest.before);
        whole.manifest.seconds = whole.manifest.seconds.max(part.manifest.seconds);
    }
    Ok(whole)
}

/// One file, with what is asked of its images first: side by side, that is quicker.
fn asked(file: &Path) -> Result<Evidence, Error> {
    let found = open(file)?;
    found.job.images.iter().for_each(|image| drop(image.who()));
    Ok(found)
}
