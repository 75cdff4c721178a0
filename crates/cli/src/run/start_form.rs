//! Detects the form of `mpiscope run`: started by a launcher as one of the ranks, or starting the job itself.

use super::launcher::command::launcher_at;
use mpiscope_job::jobs::launcher_environment::{LauncherEnvironment, place};
use std::ffi::OsString;

/// The form of `mpiscope run`.
#[derive(Debug, PartialEq, Eq)]
pub enum StartForm {
    /// This process starts the job.
    Whole,
    /// A launcher started this process as one of many ranks.
    Rank(LauncherEnvironment),
}

/// Decides by the program to start and by our environment.
pub fn detect(program: &[OsString]) -> StartForm {
    let launcher = launcher_at(program);
    match place(|name| std::env::var(name).ok()) {
        Some(place) if launcher.is_none() => StartForm::Rank(place),
        _ => StartForm::Whole,
    }
}
