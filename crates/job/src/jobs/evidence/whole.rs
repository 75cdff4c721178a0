//! Evidence of a whole job: one file, or the files of its hosts, as `mpiscope run --out DIR` leaves them in its folder.

use super::{Evidence, is_evidence, open};
use crate::Error;
use crate::base::parallel;
use crate::jobs::job::Job;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// What is known of a job that hangs, in the folder of its run.
pub const HANG: &str = "hang.mpiscope";

/// The evidence files that a path means: the file itself, or those of all hosts in the folder of a run, that of the host with
/// rank 0 first, or what was saved there while it hung if its end was not; none if it is something else.
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

/// What was saved in the folder of a run while it hung.
#[must_use]
pub fn hang_in(folder: &Path) -> Option<PathBuf> {
    Some(folder.join(HANG)).filter(|file| is_evidence(file))
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
    for (part, file) in opened.zip(files.iter().skip(1)) {
        let part = part?;
        if let Some((first, why)) = files.first().zip(stranger(&whole, &part)) {
            return Err(Error::NotFound(format!(
                "{}: {why} than {}: name files of one job (`mpiscope diff` compares two)",
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

/// That a part is of another job: one with another name, none of whose processes is of the same world, as those of a job are that
/// was started on each host by itself, and that is not connected with it.
fn stranger(whole: &Evidence, part: &Evidence) -> Option<String> {
    let (one, other) = (&whole.job, &part.job);
    let worlds = |job: &Job| -> BTreeSet<String> {
        let all = job.images.iter().filter_map(|image| Some(image.who()?.entry.world.clone()));
        all.filter(|world| !world.is_empty()).collect()
    };
    let ends = |job: &Job| -> BTreeSet<u64> { job.connected.iter().map(|one| one.identity).collect() };
    let same = (&one.name, one.owner) == (&other.name, other.owner);
    let related = || !worlds(one).is_disjoint(&worlds(other)) || !ends(one).is_disjoint(&ends(other));
    (!same && !related()).then(|| format!("it is of another job ({})", other.name))
}

/// One file, with what is asked of its images first: side by side, that is quicker.
fn asked(file: &Path) -> Result<Evidence, Error> {
    let found = open(file)?;
    found.job.images.iter().for_each(|image| drop(image.who()));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_means_the_ends_of_all_hosts_and_without_any_what_was_saved_while_it_hung() {
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
