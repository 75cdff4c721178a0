//! Evidence of a whole job: one file, or one file per host as `mpiscope run --out DIR` writes them.

use super::{Evidence, is_evidence, open};
use crate::Error;
use crate::base::parallel;
use crate::jobs::job::Job;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// Name of the file with the state of a hung job in the folder of its run.
pub const HANG: &str = "hang.mpiscope";

/// Returns the evidence files that a path denotes: the file itself, or those of all hosts in the folder of a
/// run, beginning with the host of rank 0; if the end was not recorded, what was saved there during a hang.
/// `None` for anything else.
#[must_use]
pub fn files(path: &Path) -> Option<Vec<PathBuf>> {
    if !path.is_dir() {
        return is_evidence(path).then(|| vec![path.to_owned()]);
    }
    let mut files: Vec<PathBuf> = fs::read_dir(path).ok()?.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| name(file).starts_with("evidence.") && name(file).ends_with(".mpiscope"));
    files.retain(|file| is_evidence(file));
    files.sort_by_key(|file| (name(file).len(), file.clone()));
    if files.is_empty() {
        files.extend(hang_in(path));
    }
    (!files.is_empty()).then_some(files)
}

/// Returns the file saved during a hang in the folder of a run.
#[must_use]
pub fn hang_in(folder: &Path) -> Option<PathBuf> {
    Some(folder.join(HANG)).filter(|file| is_evidence(file))
}

fn name(path: &Path) -> &str {
    path.file_name().and_then(OsStr::to_str).unwrap_or_default()
}

/// Opens the evidence files of one job. Only the first contains what was observed while the job ran.
///
/// # Errors
/// When there is none, or one of them cannot be read.
pub fn open_all(files: &[PathBuf]) -> Result<Evidence, Error> {
    let mut opened = parallel::work(files, |file| asked(file)).into_iter();
    let mut whole = opened.next().unwrap_or_else(|| Err(Error::NotFound("no evidence file".to_owned())))?;
    for (part, file) in opened.zip(files.iter().skip(1)) {
        let part = part?;
        if let Some((first, why)) = files.first().zip(stranger(&whole, &part)) {
            return Err(Error::NotFound(format!(
                "{}: {why} than {}: name the files of one job (`mpiscope diff` compares two)",
                file.display(),
                first.display()
            )));
        }
        whole.job.not_seen.extend(part.job.not_seen.iter().cloned());
        whole.job.take_in(part.job, |_| true);
        whole.manifest.not_seen.extend(part.manifest.not_seen);
        whole.manifest.before.extend(part.manifest.before);
        whole.manifest.seconds = whole.manifest.seconds.max(part.manifest.seconds);
    }
    Ok(whole)
}

/// Explains why a part belongs to another job: it has another name, none of its processes shares a world (as
/// those of a job started separately on each host do), and the jobs are not connected.
fn stranger(whole: &Evidence, part: &Evidence) -> Option<String> {
    let (one, other) = (&whole.job, &part.job);
    let worlds = |job: &Job| -> BTreeSet<String> {
        let all = job.images.iter().filter_map(|image| Some(image.who()?.entry.world.clone()));
        all.filter(|world| !world.is_empty()).collect()
    };
    let ends = |job: &Job| -> BTreeSet<u64> { job.connected.iter().map(|one| one.identity).collect() };
    let same = (&one.name, one.owner) == (&other.name, other.owner);
    let related = || !worlds(one).is_disjoint(&worlds(other)) || !ends(one).is_disjoint(&ends(other));
    (!same && !related()).then(|| format!("it belongs to a different job ({})", other.name))
}

/// Opens one file and reads the identities in its images, so that this happens in parallel.
fn asked(file: &Path) -> Result<Evidence, Error> {
    let found = open(file)?;
    found.job.images.iter().for_each(|image| drop(image.who()));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_stands_for_the_final_files_of_all_hosts_or_else_for_the_one_saved_during_a_hang() {
        let dir = tempfile::tempdir().unwrap();
        let make = |name: &str| fs::write(dir.path().join(name), b"PK\x03\x04").unwrap();
        let named = || {
            let found = files(dir.path()).unwrap_or_default();
            found.iter().map(|file| name(file).to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(files(dir.path()), None);
        make("other.mpiscope");
        assert_eq!(files(dir.path()), None);
        make(HANG);
        assert_eq!(named(), [HANG]);
        make("evidence.node7.mpiscope");
        make("evidence.mpiscope");
        assert_eq!(named(), ["evidence.mpiscope", "evidence.node7.mpiscope"]);
        assert_eq!(hang_in(dir.path()), Some(dir.path().join(HANG)));
    }
}
