//! `cargo xtask aarch64`: runs the test programs on the other architecture, under an emulator.
//!
//! Ranks are AArch64 programs under `qemu-aarch64`, with the distribution's MPI libraries for AArch64 and our
//! layer. The launcher and `mpiscope` are native; `mpiscope` reads the images of the emulated processes like
//! those of native ones.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Result, ensure};
use mpiscope_testkit::mpi::{self, Library};
use mpiscope_testkit::paths;
use mpiscope_testkit::program::{Needs, PROGRAMS, Program};

use crate::build;
use emulated::Tested;

mod emulated;
mod questions;
mod system;

/// What to run.
#[derive(clap::Args)]
pub struct Args {
    /// Only programs whose name contains this
    filter: Option<String>,
    /// Use the layer of this archive, made by `dist archive --architecture aarch64`, instead of building one
    #[arg(long, value_name = "FILE")]
    archive: Option<PathBuf>,
}

pub fn run(args: &Args) -> Result<()> {
    let began = Instant::now();
    let root = match system::fetch() {
        Ok(root) => root,
        Err(why) => {
            println!("aarch64: skipped: {why:#}");
            return Ok(());
        }
    };
    let unpacked = tempfile::tempdir()?;
    let tested = match &args.archive {
        Some(archive) => installed(archive, unpacked.path(), &root)?,
        None => compile()?,
    };
    let mpiscope =
        paths::mpiscope().ok_or_else(|| anyhow::anyhow!("build mpiscope first: cargo build -p mpiscope"))?;
    let (libraries, _) = mpi::survey();
    let mut tally = Tally::default();
    for family in system::FAMILIES {
        let Some(native) = libraries.iter().find(|library| library.name == family.native) else {
            println!(
                "{}: skipped: it needs the launcher of {}, which is not installed",
                family.name, family.native
            );
            continue;
        };
        let subject = emulated::Subject::new(&root, &tested, family, native, &mpiscope)?;
        let wanted = |name: &str| args.filter.as_ref().is_none_or(|filter| name.contains(filter.as_str()));
        for program in PROGRAMS.iter().filter(|program| wanted(program.name)) {
            let name = format!("aarch64::{}::{}", family.name, program.name);
            tally.add(&name, run_program(&subject, program, native));
        }
        for (name, question) in questions::ALL.iter().filter(|(name, _)| wanted(name)) {
            let name = format!("aarch64::{}::{name}", family.name);
            tally.add(&name, question(&subject).map(|()| Trial::Passed(String::new())));
        }
    }
    let Tally { passed, failed, skipped } = tally;
    println!("{passed} passed, {failed} failed, {skipped} skipped ({:.0} s)", began.elapsed().as_secs_f64());
    ensure!(failed == 0 && passed > 0, "{failed} failed");
    Ok(())
}

/// How often a program must fail: under the emulator some fail from time to time, without the layer too.
const ATTEMPTS: u32 = 3;

/// The result of a trial that did not fail.
enum Trial {
    /// With what was seen, in brackets, if anything.
    Passed(String),
    /// With the reason.
    Skipped(String),
}

/// Numbers of trials.
#[derive(Default)]
struct Tally {
    passed: u32,
    failed: u32,
    skipped: u32,
}

impl Tally {
    /// Counts a trial and prints its result.
    fn add(&mut self, name: &str, trial: Result<Trial>) {
        match trial {
            Ok(Trial::Passed(seen)) => {
                println!("{name}: passed{seen}");
                self.passed += 1;
            }
            Ok(Trial::Skipped(why)) => {
                println!("{name}: skipped: {why}");
                self.skipped += 1;
            }
            Err(error) => {
                println!("{name}: failed: {error:#}");
                self.failed += 1;
            }
        }
    }
}

fn run_program(subject: &emulated::Subject<'_>, program: &Program, native: &Library) -> Result<Trial> {
    let lacks = program.needs.missing_in(native).or_else(|| program.known_fault(native));
    if let Some(why) = lacks.or_else(|| not_emulated(program)) {
        return Ok(Trial::Skipped(why.to_string()));
    }
    let (mut attempt, mut earlier) = (1, String::new());
    loop {
        match subject.counts(program) {
            Ok(emulated::Outcome::Same(calls)) => {
                return Ok(Trial::Passed(format!(" ({} ranks, {calls} calls){earlier}", program.ranks)));
            }
            Ok(emulated::Outcome::NotFor(why)) => return Ok(Trial::Skipped(format!("{why}{earlier}"))),
            Err(why) if attempt == ATTEMPTS => return Err(why),
            Err(why) => {
                let why = format!("{why:#}");
                earlier += &format!("; attempt {attempt} failed: {}", why.lines().next().unwrap_or_default());
                attempt += 1;
            }
        }
    }
}

/// The reason why a program is not run under the emulator.
fn not_emulated(program: &Program) -> Option<&'static str> {
    match (program.name, program.needs) {
        ("spawn", _) => Some("the library would start a program for AArch64 without the emulator"),
        (_, Needs::Fortran | Needs::F08) => Some("no Fortran compiler for AArch64 is installed"),
        _ => None,
    }
}

/// Builds the layer and the command for AArch64.
fn compile() -> Result<Tested> {
    build::add_target(system::TARGET)?;
    let mut cargo = build::cargo();
    cargo.args([
        "build",
        "--quiet",
        "--target",
        system::TARGET,
        "--package",
        "mpiscope-layer",
        "--package",
        "mpiscope",
    ]);
    build::run(cargo.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", system::CC))?;
    let folder = paths::target_dir().join(system::TARGET).join("debug");
    Ok(Tested { layer: folder.join("libmpiscope.so"), command: folder.join("mpiscope") })
}

/// Unpacks the layer of an archive, and checks that its command runs under the emulator and finds it.
fn installed(archive: &Path, folder: &Path, root: &Path) -> Result<Tested> {
    build::run(
        Command::new("tar")
            .arg("-xf")
            .arg(archive)
            .arg("--strip-components=1")
            .arg("--directory")
            .arg(folder),
    )?;
    let folder = folder.canonicalize()?;
    let tested =
        Tested { layer: folder.join("lib/mpiscope/libmpiscope.so"), command: folder.join("bin/mpiscope") };
    let mut command = Command::new(system::EMULATOR);
    command.arg("-L").arg(root).arg(&tested.command).arg("--version").env("COLUMNS", "400");
    let output = command.output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(
        output.status.success() && text.contains(&tested.layer.display().to_string()),
        "the command of {} did not find its layer: {text}{}",
        archive.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    println!("{}", text.lines().next().unwrap_or_default());
    Ok(tested)
}
