//! The plug-ins asked about a program that runs on each real library, and about the core file of the same program.
//!
//! One program, two ways to look, one truth: every answer from the core file equals the one from the living process.

mod ask;
mod expect;
mod hostile;
mod inspected;
mod items;
mod program;

use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};
use mpiscope_testkit::{mpi, paths};

/// One library, from compilation to the core file.
const LIMIT: Duration = Duration::from_secs(240);

fn main() {
    let arguments = Arguments::from_args();
    let mut trials =
        vec![Trial::test("items", || items::complete().map_err(|e| Failed::from(format!("{e:#}"))))];
    match (paths::libmpiscope(), ask::plugins()) {
        (Some(layer), Ok(plugins)) => {
            let libraries = mpi::found();
            // Damage does not depend on the library: the one whose handles need no symbols will do.
            if let Some(library) = libraries.iter().find(|library| library.abi == mpi::Abi::Mpich).cloned() {
                let (layer, plugins) = (layer.clone(), plugins.clone());
                trials.push(Trial::test("hostile", move || {
                    let running = program::start(&library, &layer, LIMIT)
                        .map_err(|e| Failed::from(format!("{e:#}")))?;
                    hostile::everything(&running, &plugins).map_err(|e| Failed::from(format!("{e:#}")))
                }));
            }
            for library in libraries {
                let (layer, plugins) = (layer.clone(), plugins.clone());
                let name = format!("objects::{}", library.name);
                trials.push(Trial::test(name, move || {
                    let mut running = program::start(&library, &layer, LIMIT)
                        .map_err(|e| Failed::from(format!("{e:#}")))?;
                    expect::everything(&library, &mut running, &plugins)
                        .map_err(|e| Failed::from(format!("{e:#}")))
                }));
            }
        }
        (None, _) => {
            let reason = "no libmpiscope.so: build it with `cargo build -p mpiscope-layer`, or name it in MPISCOPE_LIB";
            eprintln!("skipped: {reason}");
        }
        (_, Err(error)) => trials.push(Trial::test("plugins", move || Err(Failed::from(error.to_string())))),
    }
    libtest_mimic::run(&arguments, trials).exit();
}
