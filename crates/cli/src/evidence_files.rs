//! The evidence files that the user names: files, and output directories of runs.

use anyhow::Result;
use mpiscope_job::jobs::evidence::{self, Evidence};
use std::path::{Path, PathBuf};

/// The evidence files that the paths refer to.
pub struct EvidenceFiles {
    files: Vec<PathBuf>,
    /// The file saved while the job hung, if the path is the directory of its run.
    pub hang: Option<PathBuf>,
}

impl EvidenceFiles {
    /// Finds the evidence files; `None` if any path refers to something else.
    pub fn of<P: AsRef<Path>>(paths: &[P]) -> Option<Self> {
        let found: Option<Vec<_>> = paths.iter().map(|path| evidence::files(path.as_ref())).collect();
        let files: Vec<PathBuf> = found?.into_iter().flatten().collect();
        let hang = match paths {
            [one] => evidence::hang_in(one.as_ref()).filter(|hang| !files.contains(hang)),
            _ => None,
        };
        Some(Self { files, hang })
    }

    /// Opens and merges the files.
    pub fn open(&self) -> Result<Evidence> {
        Ok(evidence::open_all(&self.files)?)
    }
}
