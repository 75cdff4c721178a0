//! Whether jobs can be observed here, and what prevents it: the checks of `mpiscope doctor`, each with a
//! remedy.
//!
//! Nothing is changed and no permissions are requested. What a launcher passes on is tested rather than
//! assumed from its manual: it starts a process in place of every rank, which reports what has arrived there
//! ([`rank`]).

mod host;
mod launcher;
mod program;
pub mod rank;

pub use host::host;
pub use launcher::{Launcher, launcher};
pub use program::{Library, Program, interpreter_of_script, program};

use serde::Serialize;

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Result {
    /// Everything is as it should be.
    Fine,
    /// It works, with restrictions.
    Limited,
    /// Something will not work.
    Problem,
    /// It could not be determined.
    Unknown,
}

/// A check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Check {
    /// What was checked, in a word or two.
    pub check: &'static str,
    /// The result.
    pub result: Result,
    /// What was found, in a sentence.
    pub found: String,
    /// The remedy, unless the result is fine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl Check {
    /// A check that passed.
    pub fn fine(check: &'static str, found: impl Into<String>) -> Self {
        Self { check, result: Result::Fine, found: found.into(), remedy: None }
    }

    /// A check that did not pass, with a remedy.
    pub fn of(
        check: &'static str,
        result: Result,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { check, result, found: found.into(), remedy: Some(remedy.into()) }
    }
}

/// Families of MPI libraries whose launchers and processes are compatible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// MPICH and its derivatives.
    Mpich,
    /// Open MPI.
    OpenMpi,
}

impl Family {
    /// The name shown to users.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mpich => "the MPICH family",
            Self::OpenMpi => "Open MPI",
        }
    }
}

/// The check of a launcher, with the launcher to use instead if that of the program's library is known.
#[must_use]
pub fn usable(launcher: &Launcher, program: Option<&Program>) -> Check {
    let own = program.and_then(|program| program.library.as_ref()?.launcher());
    match own.filter(|_| launcher.check.result == Result::Problem) {
        Some(own) => {
            Check { remedy: Some(format!("start it with {}", own.display())), ..launcher.check.clone() }
        }
        None => launcher.check.clone(),
    }
}

/// Checks whether the launcher starts programs of this library as one job.
#[must_use]
pub fn fit(launcher: &Launcher, program: &Program) -> Option<Check> {
    const NAME: &str = "launcher and library";
    let library = program.library.as_ref().filter(|_| launcher.check.result == Result::Fine)?;
    let (Some(starts), Some(uses)) = (launcher.family, library.family) else {
        let found =
            format!("cannot tell whether {} and {} belong together", launcher.says, library.file.display());
        return Some(Check { check: NAME, result: Result::Unknown, found, remedy: None });
    };
    if starts == uses {
        return Some(Check::fine(NAME, format!("both belong to {}", uses.name())));
    }
    let found = format!(
        "the launcher belongs to {}, but the program uses {} of {}: every rank would be a job of its own, or fail in MPI_Init",
        starts.name(),
        library.file.display(),
        uses.name()
    );
    let own = library.launcher().map_or_else(
        || format!("start it with the mpirun of {}", uses.name()),
        |path| format!("start it with {}", path.display()),
    );
    Some(Check::of(NAME, Result::Problem, found, own))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn program(family: Option<Family>) -> Program {
        let library = Library { file: PathBuf::from("/opt/lib/libmpi.so.40"), family };
        Program { checks: Vec::new(), library: Some(library) }
    }

    fn launcher(family: Option<Family>) -> Launcher {
        Launcher { family, says: "a launcher".to_owned(), check: Check::fine("launcher", "") }
    }

    #[test]
    fn a_launcher_of_another_library_is_a_problem_and_an_unknown_one_is_not_judged() {
        let result = |starts, uses| fit(&launcher(starts), &program(uses)).map(|check| check.result);
        assert_eq!(result(Some(Family::Mpich), Some(Family::OpenMpi)), Some(Result::Problem));
        assert_eq!(result(Some(Family::OpenMpi), Some(Family::OpenMpi)), Some(Result::Fine));
        assert_eq!(result(None, Some(Family::OpenMpi)), Some(Result::Unknown));
        assert!(fit(&launcher(None), &Program { checks: Vec::new(), library: None }).is_none());
    }

    #[test]
    fn a_launcher_that_cannot_be_started_is_replaced_by_that_of_the_library() {
        let home = tempfile::tempdir().unwrap();
        for folder in ["bin", "lib"] {
            std::fs::create_dir(home.path().join(folder)).unwrap();
        }
        let own = home.path().join("bin/mpirun");
        std::fs::write(&own, "").unwrap();
        let library = Library { file: home.path().join("lib/libmpi.so.12"), family: Some(Family::Mpich) };
        let program = Program { checks: Vec::new(), library: Some(library) };
        let missing = super::launcher(std::path::Path::new("/no/such/mpirun"));
        let remedy = usable(&missing, Some(&program)).remedy;
        assert_eq!(remedy, Some(format!("start it with {}", own.display())));
        assert!(fit(&missing, &program).is_none(), "nothing is known of it");
        assert_eq!(usable(&launcher(None), Some(&program)).remedy, None);
    }
}
