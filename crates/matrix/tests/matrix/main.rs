//! One trial for each MPI library and test program.
//!
//! A trial runs the program with and without the layer and compares standard output, exit status, and each
//! rank's calls in `report.json` with the calls that the program itself counted.

use std::env;
use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::Trial;
use mpiscope_testkit::{mpi, order, paths, trials};

mod balanced;
mod call_paths;
mod collective_bytes;
mod comments;
mod doctor;
mod endings;
mod events;
mod findings;
mod imb;
mod inert;
mod inspected;
mod last_look;
mod linked_in;
mod misuse;
mod mock;
mod namesakes;
mod patience;
mod probing;
mod programs;
mod python;
mod python_suite;
mod queue_plugin;
mod reported;
mod request_bytes;
mod scribbled;
mod small;
mod starts;
mod subject;
mod sums;
mod tool;
mod totals;
mod traced;
mod variables;
mod views;
mod waits;
mod watched;
mod why;
mod wrong_handles;

fn main() -> ExitCode {
    let wanted = env::var_os("MPISCOPE_MATRIX").is_some();
    let subject = Arc::new(subject::Subject::new());
    let libraries = if wanted { trials::survey().0.clone() } else { Vec::new() };
    let mut trials = inert::trials(&subject, &libraries);
    if wanted {
        trials.extend(trials::missing_libraries());
    }
    trials.extend(mock::trials(&subject));
    trials.extend(variables::refusals());
    trials.push(small::trial());
    let of_libraries = libraries.iter().flat_map(|library| {
        let library = Arc::new(library.clone());
        let mut trials = of_library(&subject, &library);
        trials.extend(doctor::trials(&subject, &library, &libraries));
        trials
    });
    trials.extend(order::in_rounds(of_libraries.collect(), order::day()));
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
    trials::run(trials)
}

/// All trials of one library.
fn of_library(subject: &Arc<subject::Subject>, library: &Arc<mpi::Library>) -> Vec<Trial> {
    let mut trials = programs::trials(subject, library);
    trials.extend(linked_in::trials(subject, library));
    trials.extend(probing::trials(library));
    trials.extend(namesakes::trials(subject, library));
    trials.extend(misuse::trials(subject, library));
    trials.push(wrong_handles::trial(library));
    trials.extend(endings::trials(subject, library));
    trials.extend(inspected::trials(subject, library));
    trials.extend(call_paths::trials(subject, library));
    trials.extend(python::trials(subject, library));
    trials.extend(python_suite::trials(subject, library));
    trials.extend(reported::trials(library));
    trials.extend(starts::trials(library));
    trials.extend(totals::trials(subject, library));
    trials.extend(collective_bytes::trials(subject, library));
    trials.extend(request_bytes::trials(subject, library));
    trials.extend(traced::trials(library));
    trials.extend(scribbled::trials(subject, library));
    trials.extend(imb::trials(subject, library));
    trials.extend(tool::trials(library));
    trials.extend(variables::trials(subject, library));
    trials.extend(events::trials(library));
    trials.extend(findings::trials(subject, library));
    trials.extend(views::trials(subject, library));
    trials.push(watched::trial(subject, library));
    trials.extend(last_look::trials(subject, library));
    trials.extend(waits::trials(subject, library));
    trials.extend(balanced::trials(subject, library));
    trials.extend(why::trials(subject, library));
    trials
}

/// A trial that is ignored for this reason.
fn skipped(name: String, reason: &str) -> Trial {
    trials::ignored(&name, reason)
}
