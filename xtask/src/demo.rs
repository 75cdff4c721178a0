//! `cargo xtask demo`: runs a real job and shows it from inside.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use mpiscope_testkit::mpi::{self, Family, Library};
use mpiscope_testkit::{paths, run as bounded};

use crate::build;
use crate::mpi as libraries;

const RANKS: usize = 4;
/// Time for the launcher to start the ranks before they are read.
const BEFORE_LOOK: Duration = Duration::from_millis(1500);
const LIMIT: Duration = Duration::from_secs(120);

/// The options of the demo.
#[derive(clap::Args)]
pub struct Args {
    /// Side of the plate in cells
    #[arg(long, default_value_t = 768)]
    side: u32,
    /// Number of steps
    #[arg(long, default_value_t = 4000)]
    steps: u32,
    /// MPI library to use, by its name in `cargo xtask mpi` (default: MPICH)
    #[arg(long)]
    library: Option<String>,
}

pub fn run(args: &Args) -> Result<()> {
    build::release()?;
    let library = choose(args.library.as_deref())?;
    let mpiscope = build::released("mpiscope");
    let dir = tempfile::tempdir()?;
    let heat = dir.path().join("heat");
    library.cc_with(&[&paths::workspace().join("examples/heat.c")], &heat, &["-O2"])?;

    println!("\n{}\n", library.version);
    println!("$ mpiscope run mpirun -n {RANKS} ./heat {} {}", args.side, args.steps);
    let mut job = start(&mpiscope, &library, &heat, args)?;
    std::thread::sleep(BEFORE_LOOK);
    if job.try_wait()?.is_none() {
        println!("\n$ mpiscope ps        # in another terminal");
        let mut ps = Command::new(&mpiscope);
        ps.arg("ps");
        let seen = bounded::bounded(&mut ps, Duration::from_secs(20))?;
        println!("{}{}", seen.stdout, seen.stderr);
    }
    finish(&mut job)
}

fn choose(name: Option<&str>) -> Result<Library> {
    libraries::fetch_all(&[name.unwrap_or("mpich-5.0").to_owned()]);
    let (found, skipped) = mpi::survey();
    let wanted = |library: &&Library| match name {
        Some(name) => library.name == name,
        None => library.family == Family::Mpich,
    };
    // Prefer the wheel to the distribution's package: `mpich-5.0` before `mpich-4.0`.
    let chosen = found.iter().filter(|library| library.bin.is_some()).find(wanted);
    if let Some(library) = chosen.or_else(|| found.iter().find(wanted)).or_else(|| found.first()) {
        return Ok(library.clone());
    }
    libraries::print_skipped(&skipped);
    anyhow::bail!("no MPI library for the demo; the lines above give the reasons")
}

fn start(mpiscope: &Path, library: &Library, heat: &Path, args: &Args) -> Result<Child> {
    let mut command = Command::new(mpiscope);
    library.set_environment(&mut command);
    // The launcher's directory is first in PATH, so that the report shows the command as a user would type
    // it.
    let mpirun = if library.bin.is_some() { Path::new("mpirun") } else { &library.mpirun };
    let program = Path::new(".").join(heat.file_name().unwrap_or(heat.as_os_str()));
    command.current_dir(heat.parent().unwrap_or(Path::new(".")));
    command.arg("run").arg(mpirun).args(library.launch_arguments(RANKS)).arg(program);
    command.args([args.side.to_string(), args.steps.to_string()]);
    // In a separate process group, so that no process is left behind after a timeout.
    command.stdin(Stdio::null()).process_group(0).spawn().with_context(|| format!("cannot start {command:?}"))
}

fn finish(job: &mut Child) -> Result<()> {
    let deadline = Instant::now() + LIMIT;
    while Instant::now() < deadline {
        if let Some(status) = job.try_wait()? {
            ensure!(status.success(), "the job ended with {status}");
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    bounded::end(job)?;
    anyhow::bail!("the job did not end within {} s and was killed", LIMIT.as_secs())
}
