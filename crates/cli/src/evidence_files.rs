//! The evidence files that the user names: files, and folders of runs.

use anyhow::Result;
use mpiscope_job::jobs::evidence::{self, Evidence};
use std::path::{Path, PathBuf};

/// The evidence files that paths mean.
pub struct EvidenceFiles {
    files: Vec<PathBuf>,
    /// What was saved while the job hung, in the folder of its run.
    pub hang: Option<PathBuf>,
}

impl EvidenceFiles {
    /// If the paths mean nothing else: files, and folders of runs.
    pub fn of<P: AsRef<Path>>(paths: &[P]) -> Option<Self> {
        let found: Option<Vec<_>> = paths.iter().map(|path| evidence::files(path.as_ref())).collect();
        let files: Vec<PathBuf> = found?.into_iter().flatten().collect();
        let hang = match paths {
            [one] => evidence::hang_in(one.as_ref()).filter(|hang| !files.contains(hang)),
            _ => None,
        };
        Some(Self { files, hang })
    }

    /// What they have kept.
    pub fn open(&self) -> Result<Evidence> {
        Ok(evidence::open_all(&self.files)?)
    }
}
