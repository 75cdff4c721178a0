//! Which of the two forms of `mpiscope run` this is: started by a launcher as one of the ranks, or starting the job?

use super::launcher;
use mpiscope_job::jobs::launcher_environment::{LauncherEnvironment, place};
use std::ffi::OsString;
use std::path::Path;

/// StartForm of `mpiscope run`.
#[derive(Debug, PartialEq, Eq)]
pub enum StartForm {
    /// We start the job.
    Whole,
    /// A launcher started us as one rank of many.
    Rank(LauncherEnvironment),
}

/// Looks at the program to start and at our environment.
pub fn detect(program: &[OsString]) -> StartForm {
    let launcher =
        program.first().map(Path::new).and_then(Path::file_name).is_some_and(launcher::starts_jobs);
    match place(|name| std::env::var(name).ok()) {
        Some(place) if !launcher => StartForm::Rank(place),
        _ => StartForm::Whole,
    }
}
