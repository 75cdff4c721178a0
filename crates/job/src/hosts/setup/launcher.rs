//! Identifies the family of a launcher by its version output.

use super::{Check, Family, Result};
use crate::base::time_limit;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const NAME: &str = "launcher";
/// How long a launcher may take to print its version.
const PATIENCE: Duration = Duration::from_secs(10);

/// A launcher.
#[derive(Debug, Clone)]
pub struct Launcher {
    /// The family whose programs it starts; `None` for a launcher that serves several families or
    /// is unknown.
    pub family: Option<Family>,
    /// The first line of its version output.
    pub says: String,
    /// Whether it can be used.
    pub check: Check,
}

/// Runs a launcher to identify it.
#[must_use]
pub fn launcher(command: &Path) -> Launcher {
    let unknown = |found: String, remedy: &str| Launcher {
        family: None,
        says: command.display().to_string(),
        check: Check::of(NAME, Result::Problem, found, remedy),
    };
    let shown = command.display();
    match time_limit::run(Command::new(command).arg("--version"), PATIENCE) {
        Err(why) => unknown(
            format!("{shown} cannot be started: {why}"),
            "use the mpirun of the program's MPI library",
        ),
        Ok(outcome) if outcome.status.is_none() => unknown(
            format!("`{shown} --version` did not finish"),
            "run it by hand: is the installation complete?",
        ),
        Ok(outcome) => {
            let text = [outcome.stdout, outcome.stderr].concat();
            let text = String::from_utf8_lossy(&text).into_owned();
            let (family, says) = read(&text).unwrap_or((None, "an unknown launcher".to_owned()));
            let check = Check::fine(NAME, format!("{shown}: {says}"));
            Launcher { family, says, check }
        }
    }
}

/// Parses the output of `--version`.
fn read(text: &str) -> Option<(Option<Family>, String)> {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    let is = |word: &str| text.to_ascii_lowercase().contains(word);
    if is("hydra build details") {
        let version = text.lines().find_map(|line| line.trim().strip_prefix("Version:")).unwrap_or_default();
        return Some((Some(Family::Mpich), format!("Hydra {}", version.trim())));
    }
    let family = if is("intel(r) mpi") || is("mvapich") {
        Some(Family::Mpich)
    } else if is("open mpi") || is("openrte") || is("prrte") || is("prterun") {
        Some(Family::OpenMpi)
    } else {
        // Slurm and others start programs of any family, by plug-ins for PMI and PMIx.
        None
    };
    Some((family, first.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_are_recognized_by_their_version_output() {
        let family = |text| read(text).unwrap().0;
        assert_eq!(
            read("HYDRA build details:\n    Version:      4.0.2\n"),
            Some((Some(Family::Mpich), "Hydra 4.0.2".into()))
        );
        assert_eq!(family("mpirun.openmpi (OpenRTE) 4.1.4\n"), Some(Family::OpenMpi));
        assert_eq!(family("mpirun (Open MPI) 5.0.11\n"), Some(Family::OpenMpi));
        assert_eq!(family("Intel(R) MPI Library for Linux* OS, Version 2021.19.0"), Some(Family::Mpich));
        assert_eq!(family("slurm 23.02.1\n"), None);
        assert_eq!(read("\n"), None);
    }

    #[test]
    fn something_that_is_not_a_launcher_is_a_problem_with_a_remedy() {
        let missing = launcher(Path::new("/no/such/mpirun"));
        assert_eq!(missing.check.result, Result::Problem);
        assert!(missing.check.remedy.is_some(), "{missing:?}");
    }
}
