//! Run times of programs bare, under mpiscope, and under other installed tools, in turn. EZTrace writes a
//! trace of all calls. The programs are a ping-pong, an all-to-all, and, where it is installed, the whole HPC
//! Challenge benchmark.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use mpiscope_testkit::mpi::{self, Family, Library};
use mpiscope_testkit::{paths, run as bounded};

use super::summary;
use crate::build;

/// Name of the group.
pub const GROUP: &str = "tools";

const RANKS: usize = 2;
const LIMIT: Duration = Duration::from_secs(300);
/// The libraries of the distribution, which EZTrace's modules are linked with.
const LIBRARIES: [&str; 2] = ["mpich-4.0", "openmpi-4.1"];
/// The input of Debian's HPC Challenge: a problem for four ranks.
const HPCC_INPUT: &str = "/usr/share/doc/hpcc/examples/_hpccinf.txt";
/// Tools that users would choose but that are not packaged for this system.
const MISSING: &str =
    "not packaged for Debian 12, so not measured: mpiP, Score-P, Scalasca, TAU, Extrae, HPCToolkit";

/// The tool to run a program under.
#[derive(Clone, Copy, PartialEq)]
enum Tool {
    Bare,
    /// `mpiscope run`, with these options.
    Mpiscope(&'static [&'static str]),
    Eztrace,
}

const TOOLS: [(&str, Tool); 5] = [
    ("bare", Tool::Bare),
    ("mpiscope run", Tool::Mpiscope(&[])),
    ("mpiscope run --check", Tool::Mpiscope(&["--check"])),
    ("mpiscope run --trace", Tool::Mpiscope(&["--trace"])),
    ("eztrace", Tool::Eztrace),
];

/// A program and the way it is measured.
struct Subject {
    title: &'static str,
    program: PathBuf,
    /// Whether the whole run is timed; otherwise the program prints its own measurement.
    whole: bool,
}

/// Prints a table for each library.
///
/// # Errors
/// If a program cannot be compiled or does not run.
pub fn run(rounds: usize) -> Result<()> {
    build::release()?;
    let (found, _) = mpi::survey();
    let chosen: Vec<&Library> = found.iter().filter(|one| LIBRARIES.contains(&one.name.as_str())).collect();
    ensure!(!chosen.is_empty(), "none of {} is installed", LIBRARIES.join(", "));
    let dir = tempfile::tempdir()?;
    for library in chosen {
        println!("\n{}: {}; {RANKS} ranks, median of {rounds} runs", library.name, library.version);
        let home = dir.path().join(&library.name);
        fs::create_dir_all(&home)?;
        for subject in subjects(library, &home)? {
            table(library, &subject, &home, rounds)?;
        }
    }
    println!("\n  {MISSING}");
    Ok(())
}

fn subjects(library: &Library, home: &Path) -> Result<Vec<Subject>> {
    let mut subjects = Vec::new();
    for (title, name) in
        [("ping-pong, 8 bytes one way, us", "bench_pingpong"), ("all-to-all, 8 bytes, us", "bench_alltoall")]
    {
        let program = home.join(name);
        library.cc_with(&[&paths::programs().join(format!("{name}.c"))], &program, &["-O2"])?;
        subjects.push(Subject { title, program, whole: false });
    }
    let hpcc = Path::new("/usr/bin/hpcc");
    match fs::read_to_string(HPCC_INPUT) {
        // Debian links it with Open MPI.
        Ok(input) if library.family == Family::OpenMpi && hpcc.is_file() => {
            let grid = |(at, line): (usize, &str)| {
                // Line 11 is P of the process grid P x Q.
                if at == 10 { "1            Ps".to_owned() } else { line.to_owned() }
            };
            let lines: Vec<String> = input.lines().enumerate().map(grid).collect();
            fs::write(home.join("hpccinf.txt"), lines.join("\n") + "\n")?;
            subjects.push(Subject {
                title: "HPC Challenge, whole run, s",
                program: hpcc.into(),
                whole: true,
            });
        }
        _ => {
            println!("  HPC Challenge: not installed for this library (Debian: `apt install hpcc`, Open MPI)")
        }
    }
    Ok(subjects)
}

fn table(library: &Library, subject: &Subject, home: &Path, rounds: usize) -> Result<()> {
    let there = |(_, tool): &&(&str, Tool)| *tool != Tool::Eztrace || is_installed("eztrace");
    let tools: Vec<&(&str, Tool)> = TOOLS.iter().filter(there).collect();
    let mut values = vec![Vec::new(); tools.len()];
    for _ in 0..rounds.max(1) {
        for ((name, tool), values) in tools.iter().zip(&mut values) {
            let value = once(library, subject, *tool, home);
            values.push(value.with_context(|| format!("{} under {name}", subject.title))?);
        }
    }
    println!("\n  {}", subject.title);
    println!("  {:<22} {:>10} {:>10}", "", "median", "more %");
    let bare = values.first().map_or(f64::NAN, |values| summary(values).1);
    for ((name, _), values) in tools.iter().zip(&values) {
        let median = summary(values).1;
        println!("  {name:<22} {median:>10.3} {:>+10.1}", 100.0 * (median / bare - 1.0));
    }
    if tools.len() < TOOLS.len() {
        println!("  eztrace is not installed (Debian: `apt install eztrace`)");
    }
    Ok(())
}

fn is_installed(name: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.join(name).is_file()))
}

fn once(library: &Library, subject: &Subject, tool: Tool, home: &Path) -> Result<f64> {
    let words = words(library, &subject.program, tool, home);
    let (first, rest) = words.split_first().context("no command")?;
    let mut command = Command::new(first);
    command.args(rest).current_dir(home);
    library.set_environment(&mut command);
    for variable in ["MPISCOPE_RECORD", "MPISCOPE_TRACE", "LD_PRELOAD"] {
        command.env_remove(variable);
    }
    let began = Instant::now();
    let outcome = bounded::bounded(&mut command, LIMIT)?;
    let seconds = began.elapsed().as_secs_f64();
    let said = outcome.stdout.lines().find_map(|line| line.strip_prefix("value ")?.trim().parse().ok());
    match said.filter(|_| !subject.whole).or(subject.whole.then_some(seconds)) {
        Some(value) if outcome.success() => Ok(value),
        _ => bail!("{}", outcome.describe()),
    }
}

/// The command line.
fn words(library: &Library, program: &Path, tool: Tool, home: &Path) -> Vec<OsString> {
    let mut words: Vec<OsString> = Vec::new();
    if let Tool::Mpiscope(options) = tool {
        words.extend([build::released("mpiscope").into(), "run".into(), "--quiet".into()]);
        words.extend(options.iter().map(Into::into));
    }
    words.push(library.mpirun.clone().into());
    words.extend(library.launch_arguments(RANKS));
    if tool == Tool::Eztrace {
        let module = if library.family == Family::OpenMpi { "openmpi" } else { "mpich" };
        let out = home.join("eztrace");
        words.extend(["eztrace".into(), "-t".into(), module.into(), "-o".into(), out.into()]);
    }
    words.push(program.into());
    words
}
