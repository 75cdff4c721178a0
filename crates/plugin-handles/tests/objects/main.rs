//! The plug-ins, queried about a program that runs on each real library, and about the core file of the same
//! program.
//!
//! Every answer from the core file must equal the one from the living process.

mod ask;
mod expect;
mod hostile;
mod inspected;
mod items;
mod phases;
mod program;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use libtest_mimic::{Failed, Trial};
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::{cores, mpi, paths, trials};

use crate::program::Running;

/// Time limit for one library, from compilation to the core file.
const LIMIT: Duration = Duration::from_secs(240);

fn main() -> ExitCode {
    let mut all = vec![trial("items".to_owned(), items::complete)];
    let Some(layer) = paths::libmpiscope() else {
        let reason =
            "no libmpiscope.so: build it with `cargo build -p mpiscope-layer`, or name it in MPISCOPE_LIB";
        all.push(trials::ignored("objects", reason));
        return trials::run(all);
    };
    all.extend(lacking());
    let libraries = trials::survey().0.clone();
    // Damage does not depend on the library: use the one whose handles need no symbols.
    if let Some(library) = libraries.iter().find(|library| library.abi == mpi::Abi::Mpich).cloned() {
        let layer = layer.clone();
        all.push(trial("hostile".to_owned(), move || {
            let running = started(&library, &layer)?;
            hostile::everything(&running, &ask::plugins(&running, &layer)?)
        }));
    }
    for library in libraries {
        let (of, beside) = (library.clone(), layer.clone());
        all.push(trial(format!("objects::{}", library.name), move || {
            let mut running = started(&of, &beside)?;
            let plugins = ask::plugins(&running, &beside)?;
            expect::everything(&of, &mut running, &plugins)
        }));
        let layer = layer.clone();
        all.push(trial(format!("phases::{}", library.name), move || phases::everything(&library, &layer)));
    }
    all.extend(trials::missing_libraries());
    trials::run(all)
}

/// Returns what cannot be tested on this machine, as ignored trials.
fn lacking() -> Vec<Trial> {
    let part = |name: &str, reason: Option<String>| reason.map(|reason| trials::ignored(name, &reason));
    let parts =
        [("objects::gdb", trials::gdb()), ("objects::core_files", cores::written_where_the_program_runs())];
    parts.into_iter().filter_map(|(name, reason)| part(name, reason)).collect()
}

fn trial(name: String, check: impl FnOnce() -> Result<()> + Send + 'static) -> Trial {
    Trial::test(name, || check().map_err(|e| Failed::from(format!("{e:#}"))))
}

/// Starts the program with objects of all kinds, ready to be queried.
fn started(library: &Library, layer: &Path) -> Result<Running> {
    let mut running = program::start(library, layer, "objects.c", 2, &[], LIMIT)?;
    running.enter("rank0/handles")?;
    Ok(running)
}
