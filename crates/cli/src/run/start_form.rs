//! Which of the two forms of `mpiscope run` this is: started by a launcher as one of the ranks, or starting the job?

use super::launcher::command::launcher_at;
use mpiscope_job::jobs::launcher_environment::{LauncherEnvironment, place};
use std::ffi::OsString;

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
    let launcher = launcher_at(program);
    match place(|name| std::env::var(name).ok()) {
        Some(place) if launcher.is_none() => StartForm::Rank(place),
        _ => StartForm::Whole,
    }
}
