//! Cost of finding and reading a job by its number of ranks: idle processes under the layer on the mock
//! library, and each verb that reads all of them.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use mpiscope_testkit::{paths, run as bounded};

use super::LIMIT;
use crate::build;

/// Name of the group on the command line.
pub const GROUP: &str = "discover";

const SIZES: [usize; 3] = [64, 128, 256];
const VERBS: [&[&str]; 4] = [&["ps", "--here"], &["procs", "--here"], &["inspect"], &["why", "--for", "0"]];

/// Prints the minimum and median seconds per verb and size, and how they grow.
///
/// # Errors
/// If the ranks do not start, or a verb prints nothing.
pub fn run(rounds: usize) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let program = compile(dir.path())?;
    println!("\nfinding and reading the ranks of one host, seconds (minimum / median of {rounds})");
    println!("{:<14}{}", "ranks", VERBS.map(|verb| format!("{:>20}", verb[0])).concat());
    let mut least = Vec::new();
    for size in SIZES {
        let mut job = Job::start(&program, dir.path(), size)?;
        let times = VERBS.map(|verb| job.look(verb, rounds));
        job.end()?;
        let mut cells = String::new();
        let mut row = Vec::new();
        for times in times {
            let mut times = times?;
            times.sort_by(f64::total_cmp);
            let (first, median) = (times.first().copied(), times.get(times.len() / 2).copied());
            let (first, median) = first.zip(median).context("no round")?;
            cells.push_str(&format!("{:>20}", format!("{first:.3} / {median:.3}")));
            row.push(first);
        }
        println!("{size:<14}{cells}");
        least.push(row);
    }
    let (Some(few), Some(many)) = (least.first(), least.last()) else { return Ok(()) };
    let growth = few.iter().zip(many).map(|(few, many)| format!("{:>20}", format!("{:.1} x", many / few)));
    let times = SIZES[SIZES.len() - 1] / SIZES[0];
    println!("{:<14}{}", format!("{times} x ranks"), growth.collect::<String>());
    Ok(())
}

fn compile(dir: &Path) -> Result<std::path::PathBuf> {
    let program = dir.join("bench_discover");
    let mut cc = Command::new("cc");
    cc.arg("-I").arg(paths::workspace().join("crates/mock-mpi/include"));
    cc.arg(paths::programs().join("bench_discover.c")).arg("-o").arg(&program);
    cc.arg(build::released("libmockmpi.so"));
    let compiled = bounded::bounded(&mut cc, LIMIT)?;
    ensure!(compiled.success(), "{}", compiled.describe());
    Ok(program)
}

/// Idle ranks under `mpiscope run`.
struct Job {
    child: Child,
    stop: std::path::PathBuf,
}

impl Job {
    fn start(program: &Path, dir: &Path, size: usize) -> Result<Self> {
        let stop = dir.join(format!("stop.{size}"));
        let mut command = Command::new(build::released("mpiscope"));
        command.args(["run", "--quiet", "--hang-after", "0", "sh", "-c"]);
        command.arg("rank=0; while [ $rank -lt $PMI_SIZE ]; do PMI_RANK=$rank \"$@\" & rank=$((rank + 1)); done; wait");
        command.arg("ranks").arg(program).arg(&stop).stdin(Stdio::null());
        command.env("PMI_SIZE", size.to_string()).env("MPI_LOCALNRANKS", size.to_string());
        command.env("LD_LIBRARY_PATH", build::released("").parent().context("no target directory")?);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let output = child.stdout.take().context("no output")?;
        let ready = BufReader::new(output).lines().take(size).filter(Result::is_ok).count();
        ensure!(ready == size, "only {ready} of {size} ranks started");
        Ok(Self { child, stop })
    }

    /// Measures the seconds that a verb takes.
    fn look(&self, verb: &[&str], rounds: usize) -> Result<Vec<f64>> {
        let once = || {
            let mut command = Command::new(build::released("mpiscope"));
            command.args(verb).arg(self.child.id().to_string());
            let began = Instant::now();
            let outcome = bounded::bounded(&mut command, LIMIT)?;
            let seconds = began.elapsed().as_secs_f64();
            ensure!(!outcome.stdout.is_empty(), "{}", outcome.describe());
            Ok(seconds)
        };
        (0..rounds.max(1)).map(|_| once()).collect()
    }

    fn end(&mut self) -> Result<()> {
        File::create(&self.stop)?;
        let until = Instant::now() + Duration::from_secs(30);
        while self.child.try_wait()?.is_none() {
            ensure!(Instant::now() < until, "the ranks did not end");
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let _stopped = File::create(&self.stop);
        let _reaped = self.child.wait();
    }
}
