//! Accuracy of the waits reported by `mpiscope run`: programs with known waits, each in one function,
//! compared with the report.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::report::{self, Wait};
use mpiscope_testkit::{paths, run as bounded};

use crate::build;

/// Name of the group.
pub const GROUP: &str = "waits";

const SOURCE: &str = "bench_waits.c";
/// Numbers of ranks, including the late one; the larger usually exceeds the number of processors.
const RANKS: [usize; 2] = [2, 4];
const LIMIT: Duration = Duration::from_secs(90);
/// Tolerance for a wait to count as exact, as a fraction of it and in seconds of the whole run.
const EXACT: (f64, f64) = (0.05, 0.004);

/// The known and the reported waits of a run.
struct Compared {
    known: f64,
    recorded: f64,
    looked: f64,
}

impl Compared {
    fn said(&self) -> f64 {
        self.recorded + self.looked
    }

    fn is_exact(&self) -> bool {
        (self.said() - self.known).abs() <= EXACT.0 * self.known + EXACT.1
    }
}

/// Prints a table for each number of ranks.
///
/// # Errors
/// If the program cannot be compiled or does not run.
pub fn run(library: &Library, dir: &Path) -> Result<()> {
    let program = dir.join("bench_waits");
    library.cc_with(&[&paths::programs().join(SOURCE)], &program, &["-g", "-O1", "-w"])?;
    let mut names = Command::new(&program);
    library.set_environment(&mut names);
    let names = bounded::bounded(&mut names, LIMIT)?.stdout;
    for ranks in RANKS {
        println!("\n  seconds that {ranks} ranks wait (with --check)");
        println!("  {:<36} {:>8} {:>8} {:>8} {:>8}", "", "known", "reported", "error", "sampled");
        let mut exact = 0;
        for name in names.lines() {
            let compared = once(library, &program, ranks, name, dir).with_context(|| name.to_owned())?;
            exact += usize::from(compared.is_exact());
            show(name, &compared);
        }
        let (part, rest) = (100.0 * EXACT.0, 1e3 * EXACT.1);
        println!("  within {part:.0} % and {rest:.0} ms: {exact} of {}", names.lines().count());
    }
    Ok(())
}

fn show(name: &str, compared: &Compared) {
    let Compared { known, looked, .. } = *compared;
    // With two ranks, no rank waits for another of every second rank.
    let off = match known > 0.0 {
        true => format!("{:+.1} %", 100.0 * (compared.said() - known) / known),
        false => "-".to_owned(),
    };
    println!("  {name:<36} {known:>8.3} {:>8.3} {off:>8} {looked:>8.3}", compared.said());
}

fn once(library: &Library, program: &Path, ranks: usize, case: &str, dir: &Path) -> Result<Compared> {
    let out = dir.join("out");
    let mut command = Command::new(build::released("mpiscope"));
    library.set_environment(&mut command);
    command.args(["run", "--check", "--hang-after", "0", "--out"]).arg(&out);
    command.arg(&library.mpirun).args(library.launch_arguments(ranks)).arg(program).arg(case);
    let outcome = bounded::bounded(&mut command, LIMIT)?;
    let word =
        |name: &str| outcome.stdout.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    let (Some(known), Some(end), true) = (word("known "), word("cases end at "), outcome.success()) else {
        bail!("{}", outcome.describe());
    };
    let waits = report::read(&out)?.waits.context("no waits in the report")?;
    let sum = |list: &[Wait]| {
        let own = list.iter().filter(|wait| is_of_case(wait, end));
        // Waits that were overwritten before they were read are estimated.
        own.fold(0.0, |sum, wait| sum + wait.estimated_s.unwrap_or(wait.seconds))
    };
    let looked = waits.sampled.as_ref().map_or(0.0, |sampled| sum(&sampled.list));
    Ok(Compared { known, recorded: sum(&waits.list), looked })
}

/// Whether the wait is on a line of the program before `end`; the lines after it are preparations.
fn is_of_case(wait: &Wait, end: f64) -> bool {
    let line = wait.line.as_deref().and_then(|line| line.strip_prefix(SOURCE)?.strip_prefix(':'));
    line.and_then(|line| line.parse::<f64>().ok()).is_some_and(|line| line < end)
}
