//! The tool information interface: conformance programs and example tools on every library.
//!
//! A conformance program runs its assertions before `MPI_Init`, between, and after `MPI_Finalize`, once with two ranks,
//! once with one rank of four threads. The example tool of the specification is stacked with the layer in either
//! order and must report exactly the receives that were made while the queue was long.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::{paths, run};

use crate::subject::LIMIT;

/// Groups of functions, by source file.
const PROGRAMS: [&str; 19] = [
    "categories",
    "counters",
    "cvars",
    "enums",
    "event_callbacks",
    "event_dropped",
    "event_hammer",
    "event_handles",
    "event_instances",
    "event_types",
    "hammer",
    "header",
    "long_queue",
    "pvar_handles",
    "pvar_info",
    "pvar_sessions",
    "pvar_startstop",
    "pvar_values",
    "strings",
];

/// What a trial does with a library.
type Check = Box<dyn Fn(&Library) -> Result<()> + Send>;

pub fn trials(library: &Arc<Library>) -> Vec<Trial> {
    let mut trials = Vec::new();
    let mut add = |name: String, check: Check| {
        let library = Arc::clone(library);
        let name = format!("{}::mpi_t_{name}", library.name);
        trials.push(Trial::test(name, move || check(&library).map_err(|error| format!("{error:#}").into())));
    };
    for program in PROGRAMS {
        for (ranks, threads) in [(2, 1), (1, 4)] {
            add(
                format!("{program}_holds_with_{ranks}_ranks_of_{threads}_threads"),
                Box::new(move |library| conforms(library, program, ranks, threads)),
            );
        }
    }
    // Its scenarios are processes of their own, each of which begins MPI: that no launcher allows.
    add("lifecycle_holds_in_every_order".to_owned(), Box::new(|library| alone(library, "lifecycle")));
    for layer_first in [true, false] {
        let order = if layer_first { "above" } else { "below" };
        add(
            format!("the_example_of_the_standard_works_{order}_the_tool"),
            Box::new(move |library| queue_tool(library, layer_first)),
        );
    }
    trials
}

fn layer() -> Result<PathBuf> {
    paths::libmpiscope().context("no libmpiscope.so; run `cargo xtask test`")
}

fn build(library: &Library, source: &Path, out: &Path, options: &[&str]) -> Result<()> {
    let include = format!("-I{}", paths::workspace().join("include").display());
    let mut all = vec![include.as_str()];
    all.extend(options);
    library.cc_with(&[source], out, &all)
}

fn program(library: &Library, name: &str, dir: &Path) -> Result<PathBuf> {
    let out = dir.join(name);
    build(library, &paths::programs().join("mpi_t").join(format!("{name}.c")), &out, &[])?;
    Ok(out)
}

fn conforms(library: &Library, name: &str, ranks: usize, threads: usize) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let binary = program(library, name, dir.path())?;
    let mut command = library.launch(ranks);
    command.arg("env").arg(format!("LD_PRELOAD={}", layer()?.display())).arg(binary);
    command.env("CONFORM_THREADS", threads.to_string()).env("CONFORM_SECONDS", "100");
    passes(&mut command)
}

fn alone(library: &Library, name: &str) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let mut command = Command::new(program(library, name, dir.path())?);
    library.set_environment(&mut command);
    command.env("LD_PRELOAD", layer()?).env("CONFORM_SECONDS", "100");
    passes(&mut command)
}

fn passes(command: &mut Command) -> Result<()> {
    let outcome = run::bounded(command, LIMIT)?;
    let failed: Vec<&str> = outcome.stdout.lines().filter(|line| line.contains("FAIL")).take(20).collect();
    ensure!(outcome.success() && failed.is_empty(), "{}\n{}", failed.join("\n"), outcome.describe());
    Ok(())
}

/// The tool's line is the program's, but for who says it.
fn queue_tool(library: &Library, layer_first: bool) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let tool = dir.path().join("unexpected_queue_tool.so");
    let source = paths::workspace().join("examples/mpi_t/unexpected_queue_tool.c");
    build(library, &source, &tool, &["-shared", "-fPIC"])?;
    let binary = program(library, "long_queue", dir.path())?;
    let (layer, tool) = (layer()?.display().to_string(), tool.display().to_string());
    let preload = if layer_first { format!("{layer}:{tool}") } else { format!("{tool}:{layer}") };
    let mut command = library.launch(2);
    command.arg("env").arg(format!("LD_PRELOAD={preload}")).arg(binary).arg("--tool");
    let outcome = run::bounded(&mut command, LIMIT)?;
    ensure!(outcome.success(), "{}", outcome.describe());
    let counts = |who: &str| {
        let line = outcome.stdout.lines().find_map(|line| line.split_once(who));
        line.and_then(|(_, rest)| rest.split_once(" receives")).map(|(counts, _)| counts.trim().to_owned())
    };
    let (expected, seen) = (counts("expected:"), counts("rank 0:"));
    ensure!(
        expected.is_some() && expected == seen,
        "the program made {expected:?} receives during a long queue, the tool saw {seen:?}\n{}",
        outcome.describe()
    );
    Ok(())
}
