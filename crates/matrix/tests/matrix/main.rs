//! One trial for each MPI library and test program.
//!
//! A trial runs the program bare and under the layer and compares standard output, exit status, and each rank's
//! calls in `report.json` with the calls that the program itself counted.

use std::env;
use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Trial};
use mpiscope_testkit::{mpi, paths};

mod endings;
mod events;
mod imb;
mod inert;
mod inspected;
mod mock;
mod programs;
mod python;
mod subject;
mod tool;
mod variables;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let wanted = env::var_os("MPISCOPE_MATRIX").is_some();
    let subject = Arc::new(subject::Subject::new());
    let libraries = if wanted { mpi::found() } else { Vec::new() };
    let mut trials = inert::trials(&subject, &libraries);
    trials.extend(mock::trials(&subject));
    trials.extend(variables::refusals());
    for library in libraries.into_iter().map(Arc::new) {
        trials.extend(programs::trials(&subject, &library));
        trials.extend(endings::trials(&subject, &library));
        trials.extend(inspected::trials(&subject, &library));
        trials.extend(python::trials(&subject, &library));
        trials.extend(imb::trials(&subject, &library));
        trials.extend(tool::trials(&library));
        trials.extend(variables::trials(&subject, &library));
        trials.extend(events::trials(&library));
    }
    if !wanted {
        eprintln!("the matrix runs in `cargo xtask test`, which builds what it tests");
        trials = trials.into_iter().map(|trial| trial.with_ignored_flag(true)).collect();
    } else if paths::mpiscope().is_none() || paths::libmpiscope().is_none() {
        eprintln!(
            "no mpiscope or libmpiscope.so in {}; run `cargo xtask test`",
            paths::target_dir().display()
        );
        return ExitCode::FAILURE;
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// A trial that says why it cannot be run.
fn skipped(name: String, reason: &'static str) -> Trial {
    Trial::test(format!("{name} ({reason})"), || Ok(())).with_ignored_flag(true)
}
