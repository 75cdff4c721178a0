//! The tool information interface: conformance programs and example tools on every library.
//!
//! A conformance program runs its assertions before `MPI_Init`, between `MPI_Init` and `MPI_Finalize`, and
//! after `MPI_Finalize`, once with two ranks and once with one rank of four threads. The example tool of the
//! specification is stacked with the layer in either order and must report exactly the receives that were
//! made while the queue was long, even if it starts in a rank before the others have left `MPI_Init`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use mpiscope_testkit::mpi::{Abi, Family, Library};
use mpiscope_testkit::program::Needs;
use mpiscope_testkit::trials::checked;
use mpiscope_testkit::{paths, run};

use crate::subject::LIMIT;

/// Programs that test one group of functions, by source file: with two ranks, and with four concurrent
/// threads.
const GROUPS: [&str; 15] = [
    "categories",
    "cvars",
    "enums",
    "event_callbacks",
    "event_dropped",
    "event_hammer",
    "event_handles",
    "event_instances",
    "event_types",
    "pvar_handles",
    "pvar_info",
    "pvar_sessions",
    "pvar_startstop",
    "pvar_values",
    "strings",
];

/// Programs that create their own threads, and their numbers of ranks.
const OTHERS: [(&str, usize); 11] = [
    ("moved_bytes", 2),
    ("header", 1),
    ("hammer", 1),
    ("sampler", 2),
    ("long_queue", 3),
    ("unexpected", 2),
    ("gauges", 3),
    ("file_gauges", 2),
    ("counters", 2),
    ("counters", 5),
    ("counters", 8),
];

/// The function that a trial runs on a library.
pub type Check = Box<dyn Fn(&Library) -> Result<()> + Send>;

/// A trial on a library.
pub fn trial(library: &Arc<Library>, name: &str, check: Check) -> Trial {
    let library = Arc::clone(library);
    let name = format!("{}::mpi_t_{name}", library.name);
    checked(name, move || check(&library))
}

pub fn trials(library: &Arc<Library>) -> Vec<Trial> {
    let mut trials = Vec::new();
    let mut add = |name: String, check: Check| trials.push(trial(library, &name, check));
    let in_threads = GROUPS.iter().flat_map(|program| [(*program, 2, 1), (*program, 1, 4)]);
    for (program, ranks, threads) in in_threads.chain(OTHERS.map(|(program, ranks)| (program, ranks, 1))) {
        add(
            format!("{program}_holds_with_{ranks}_ranks_of_{threads}_threads"),
            Box::new(move |library| conforms(library, program, ranks, threads)),
        );
    }
    match Needs::Mpi4Parts.missing_in(library) {
        None => add(
            "objects_of_a_session_are_bound_to_without_mpi_init".to_owned(),
            Box::new(|library| conforms(library, "session_objects", 2, 1)),
        ),
        Some(why) => trials.push(crate::skipped(
            format!("{}::mpi_t_objects_of_a_session_are_bound_to_without_mpi_init", library.name),
            why,
        )),
    }
    let mut add = |name: String, check: Check| trials.push(trial(library, &name, check));
    // Components of networks that the machine lacks stay loaded, with variables that must not be read; but
    // not if a tool comes before `MPI_Init`.
    if library.family == Family::OpenMpi {
        let looking =
            |command: &mut Command| _ = command.env_remove("OMPI_MCA_mtl").args(["--phase", "between"]);
        add(
            "pvar_handles_holds_with_missing_networks".to_owned(),
            Box::new(move |library| conforms_in(library, "pvar_handles", 1, 1, looking)),
        );
    }
    // Its scenarios are separate processes that each start MPI, which no launcher allows.
    add("lifecycle_holds_in_every_order".to_owned(), Box::new(|library| alone(library, "lifecycle")));
    // It tests the program itself and is the same on every library.
    if library.family == Family::Mpich && library.abi == Abi::Mpich {
        add("the_sampler_finds_torn_lost_and_rejected_values".to_owned(), Box::new(sampler_can_fail));
    }
    for (stack, name) in [
        (&[Part::Layer, Part::Tool][..], "below_the_layer"),
        (&[Part::Tool, Part::Layer], "above_the_layer"),
        (&[Part::Tool, Part::Layer, Part::SlowInit], "when_the_other_ranks_are_late"),
    ] {
        add(
            format!("the_example_tool_of_the_standard_works_{name}"),
            Box::new(move |library| queue_tool(library, stack)),
        );
    }
    trials
}

pub fn layer() -> Result<PathBuf> {
    paths::libmpiscope().context("no libmpiscope.so; run `cargo xtask test`")
}

pub fn build(library: &Library, source: &Path, out: &Path, options: &[&str]) -> Result<()> {
    let include = format!("-I{}", paths::workspace().join("include").display());
    let mut all = vec![include.as_str()];
    all.extend(options);
    library.cc_with(&[source], out, &all)
}

pub fn program(library: &Library, name: &str, dir: &Path) -> Result<PathBuf> {
    let out = dir.join(name);
    build(library, &paths::programs().join("mpi_t").join(format!("{name}.c")), &out, &[])?;
    Ok(out)
}

pub fn conforms(library: &Library, name: &str, ranks: usize, threads: usize) -> Result<()> {
    conforms_in(library, name, ranks, threads, |_| ())
}

/// [`conforms`] with a modified command: other variables, more program arguments.
fn conforms_in(
    library: &Library,
    name: &str,
    ranks: usize,
    threads: usize,
    change: impl FnOnce(&mut Command),
) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let binary = program(library, name, dir.path())?;
    let mut command = library.launch(ranks);
    command.arg("env").arg(format!("LD_PRELOAD={}", layer()?.display())).arg(binary);
    command.env("CONFORM_THREADS", threads.to_string()).env("CONFORM_SECONDS", "100");
    // For the sampler: a second or two.
    command.env("CONFORM_MESSAGES", "30000");
    change(&mut command);
    passes(&mut command)
}

fn alone(library: &Library, name: &str) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let mut command = Command::new(program(library, name, dir.path())?);
    library.set_environment(&mut command);
    command.env("LD_PRELOAD", layer()?).env("CONFORM_SECONDS", "100");
    passes(&mut command)
}

pub fn passes(command: &mut Command) -> Result<()> {
    let outcome = run::bounded(command, LIMIT)?;
    let failed: Vec<&str> = outcome.stdout.lines().filter(|line| line.contains("FAIL")).take(20).collect();
    ensure!(outcome.success() && failed.is_empty(), "{}\n{}", failed.join("\n"), outcome.describe());
    Ok(())
}

/// The sampler detects the faults of a broken interface, and none if the same wrapper breaks nothing.
fn sampler_can_fail(library: &Library) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let binary = program(library, "sampler", dir.path())?;
    let wrapper = shared(library, &paths::programs().join("mpi_t/broken_counters.c"), dir.path())?;
    let preload = format!("{}:{}", wrapper.display(), layer()?.display());
    // The assertions that must fail, and those that may: a torn value also differs from the written one.
    let faults: [(&str, &[&str]); 4] =
        [("", &[]), ("torn", &["SM-3", "SM-4"]), ("lost", &["SM-2"]), ("refused", &["SM-1"])];
    for (broken, failing) in faults {
        let mut command = library.launch(2);
        command.arg("env").args([format!("LD_PRELOAD={preload}"), format!("BROKEN={broken}")]).arg(&binary);
        command.env("CONFORM_SECONDS", "50").env("CONFORM_MESSAGES", "10000");
        let outcome = run::bounded(&mut command, LIMIT)?;
        let failed: Vec<&str> = outcome
            .stdout
            .lines()
            .filter_map(|line| line.split_once("FAIL ")?.1.split(' ').find(|word| word.starts_with("SM-")))
            .collect();
        let only = failed.iter().all(|label| failing.contains(label));
        ensure!(
            only && failing.first().is_none_or(|label| failed.contains(label)),
            "{broken:?} fails {failed:?}, not {failing:?}\n{}",
            outcome.describe()
        );
    }
    Ok(())
}

/// The libraries that are preloaded with the example tool.
#[derive(Clone, Copy)]
enum Part {
    /// `libmpiscope.so`.
    Layer,
    /// The example of the standard.
    Tool,
    /// The library that keeps the other ranks in `MPI_Init`.
    SlowInit,
}

impl Part {
    /// The file to preload.
    fn file(self, library: &Library, dir: &Path) -> Result<PathBuf> {
        let programs = paths::programs().join("mpi_t");
        let source = match self {
            Self::Layer => return layer(),
            Self::Tool => paths::workspace().join("examples/mpi_t/unexpected_queue_tool.c"),
            Self::SlowInit => programs.join("slow_init.c"),
        };
        shared(library, &source, dir)
    }
}

/// Compiles a library for preloading.
pub fn shared(library: &Library, source: &Path, dir: &Path) -> Result<PathBuf> {
    let name = source.file_stem().context("the source has no name")?;
    let out = dir.join(name).with_extension("so");
    build(library, source, &out, &["-shared", "-fPIC"])?;
    Ok(out)
}

/// The tool's line equals the program's, except for the prefix.
fn queue_tool(library: &Library, stack: &[Part]) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let binary = program(library, "long_queue", dir.path())?;
    let files = stack.iter().map(|part| part.file(library, dir.path())).collect::<Result<Vec<_>>>()?;
    let preload = files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(":");
    let mut command = library.launch(3);
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
        "the program made {expected:?} receives during a long queue, the tool counted {seen:?}\n{}",
        outcome.describe()
    );
    Ok(())
}
