//! Jobs that proceed in steps, and what `mpiscope` reports about them.

use mpiscope_testkit::mpi::{Abi, Family, Library};
use mpiscope_testkit::{paths, run, trials};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub const MPISCOPE: &str = env!("CARGO_BIN_EXE_mpiscope");
/// Time limit of each step, generous enough for a busy machine.
pub const LIMIT: Duration = Duration::from_secs(60);

/// Serializes the tests: concurrent jobs would only slow each other down.
pub fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the preload library.
pub fn layer() -> PathBuf {
    paths::libmpiscope().unwrap()
}

/// Returns the libraries without duplicates: how processes are found does not depend on a library's ABI.
pub fn libraries() -> Vec<Library> {
    let mut libraries = trials::survey().0.clone();
    let own = |library: &Library| library.abi != Abi::Standard;
    let twice: Vec<PathBuf> = libraries.iter().filter(|one| own(one)).map(|one| one.mpirun.clone()).collect();
    libraries.retain(|library| own(library) || !twice.contains(&library.mpirun));
    libraries
}

/// Whether processes of the library can spawn others here.
pub fn can_spawn(library: &Library) -> bool {
    // Debian's MPICH 4 is built without spawning, and Open MPI cannot spawn children with the standard ABI.
    let can = !(library.family == Family::Mpich && library.bin.is_none());
    if !can {
        eprintln!("{}: MPI_Comm_spawn fails without the layer as well", library.name);
    }
    can
}

/// Whether two jobs of the library can connect here, without a name server.
pub fn can_connect(library: &Library) -> bool {
    let can = library.family != Family::OpenMpi && can_spawn(library);
    if !can {
        eprintln!("{}: jobs of two launchers cannot connect without the layer either", library.name);
    }
    can
}

/// Compiles one of the programs.
pub fn compile(library: &Library, name: &str, dir: &Path) -> PathBuf {
    let program = dir.join(format!("{name}.{}", library.name));
    if !program.is_file() {
        let source = paths::programs().join("acquire").join(format!("{name}.c"));
        library.cc(&[&source], &program).unwrap();
    }
    program
}

/// Sets the variables needed by every command here.
pub fn prepare(command: &mut Command, library: &Library, layer: &Path) {
    library.set_environment(command);
    command.env("MPISCOPE_LAYER", layer);
    // Spawning and connecting need these: Intel's and MPICH's defaults for one host do not support it.
    command.env("I_MPI_FABRICS", "shm:ofi").env("MPIR_CVAR_CH4_NETMOD", "ofi").env("FI_PROVIDER", "tcp");
}

/// A running job in its own process group, killed with all its descendants on drop.
pub struct Job {
    pub child: Child,
}

impl Job {
    /// Starts `program` with `arguments` on `n` ranks, under `mpiscope run` with `options`.
    pub fn start(
        library: &Library,
        layer: &Path,
        n: usize,
        options: &[&str],
        program: &Path,
        arguments: &[&str],
    ) -> Self {
        let mut command = Command::new(MPISCOPE);
        command.env("COLUMNS", "400");
        command.args(["run", "--quiet"]).args(options).arg(&library.mpirun);
        Self::launch(command, library, layer, n, program, arguments)
    }

    /// Like [`start`](Self::start), without the layer.
    pub fn bare(library: &Library, layer: &Path, n: usize, program: &Path, arguments: &[&str]) -> Self {
        Self::launch(Command::new(&library.mpirun), library, layer, n, program, arguments)
    }

    fn launch(
        mut command: Command,
        library: &Library,
        layer: &Path,
        n: usize,
        program: &Path,
        arguments: &[&str],
    ) -> Self {
        command.args(library.launch_arguments(n));
        if library.family == Family::OpenMpi {
            // Leaves room for the children.
            command.args(["--map-by", ":OVERSUBSCRIBE"]);
        }
        command.arg(program).args(arguments);
        prepare(&mut command, library, layer);
        use std::os::unix::process::CommandExt;
        let child = command.process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        Self { child }
    }

    /// Waits until the file exists.
    pub fn reaches(&mut self, file: &Path) {
        let until = Instant::now() + LIMIT;
        while !file.exists() {
            assert!(Instant::now() < until, "{} does not appear", file.display());
            if let Some(status) = self.child.try_wait().unwrap() {
                panic!("the job ended ({status}) before {}", file.display());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits for the end of the job.
    pub fn ends(&mut self) {
        let until = Instant::now() + LIMIT;
        while self.child.try_wait().unwrap().is_none() {
            assert!(Instant::now() < until, "the job does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits for the end of the job, which must succeed.
    pub fn succeeds(&mut self) {
        self.ends();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}");
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let _gone = run::kill(&mut self.child);
    }
}

/// Lets all programs of the folder proceed beyond a step.
pub fn go(dir: &Path, step: u32) {
    std::fs::write(dir.join(format!("go.{step}")), "").unwrap();
}

/// Returns the processes that have left their file in the folder, once there are `n` of them.
pub fn pids(dir: &Path, n: usize) -> BTreeSet<u32> {
    let until = Instant::now() + LIMIT;
    loop {
        let names = std::fs::read_dir(dir).unwrap().filter_map(|e| e.unwrap().file_name().into_string().ok());
        let pids: BTreeSet<u32> = names.filter_map(|name| name.strip_prefix("pid.")?.parse().ok()).collect();
        if pids.len() >= n {
            return pids;
        }
        assert!(Instant::now() < until, "{} of {n} processes came", pids.len());
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Runs `mpiscope` with these arguments.
pub fn mpiscope(arguments: &[&str]) -> Output {
    Command::new(MPISCOPE).env("COLUMNS", "400").args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// Returns the output of `procs --json` for one process.
pub fn procs(pid: u32) -> Value {
    let output = mpiscope(&["procs", "--json", &pid.to_string()]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    serde_json::from_str(&text)
        .unwrap_or_else(|_| panic!("{pid}: {text}{}", String::from_utf8_lossy(&output.stderr)))
}

/// Returns the process ids in the output of `procs`.
pub fn found(report: &Value) -> BTreeSet<u32> {
    let processes = report["processes"].as_array().unwrap();
    processes.iter().map(|p| p["pid"].as_u64().unwrap() as u32).collect()
}

/// Checks that `procs` reports exactly these processes, and the same from each of them.
pub fn same_from_each(pids: &BTreeSet<u32>, when: &str) -> Value {
    let mut first: Option<Value> = None;
    for pid in pids {
        let report = procs(*pid);
        assert_eq!(&found(&report), pids, "{when}, from {pid}: {report}");
        assert_eq!(report["problems"], Value::Array(Vec::new()), "{when}, from {pid}");
        if let Some(first) = &first {
            assert_eq!(&report["processes"], &first["processes"], "{when}, from {pid}");
        }
        first.get_or_insert(report);
    }
    first.unwrap()
}

/// Makes a folder for one job. Socket names have a small length limit, so its path must be short.
pub fn folder() -> TempDir {
    TempDir::with_prefix("acq").unwrap()
}

/// Returns a library for tests that need only one: MPICH, or else any.
pub fn one() -> Library {
    let mut all = libraries();
    let best = all.iter().position(|l| l.family == Family::Mpich && l.bin.is_some() && l.abi == Abi::Mpich);
    all.swap_remove(best.unwrap_or(0))
}

/// Reads `MPIR_proctable` in the starter at the first stop.
pub const STARTER: &str = r#"set pagination off
set confirm off
break MPIR_Breakpoint
run
set language c
printf "SEEN state %d size %d\n", *(int *)&MPIR_debug_state, *(int *)&MPIR_proctable_size
set $n = *(int *)&MPIR_proctable_size
set $k = 0
while $k < $n
  set $e = *(char **)&MPIR_proctable + 24 * $k
  printf "SEEN rank %d pid %d host %s program %s\n", $k, *(int *)($e + 16), *(char **)$e, *(char **)($e + 8)
  set $k = $k + 1
end
continue
"#;

/// Makes a copy without debug information, which is what the scripts expect. (With it gdb takes `char` for
/// Rust's, of four bytes.)
pub fn strip(file: &Path, dir: &Path) -> PathBuf {
    let out = dir.join(file.file_name().unwrap());
    assert!(Command::new("strip").arg("-o").arg(&out).arg(file).status().unwrap().success());
    out
}

/// Returns the rest of each line from the given word: launchers may put a prefix before it.
pub fn seen<'a>(text: &'a str, word: &str) -> Vec<&'a str> {
    text.lines().filter_map(|line| line.find(word).map(|at| &line[at..])).collect()
}

/// Returns the pairs (rank, pid) printed by the program itself, or read by gdb.
pub fn pairs(lines: &[&str], rank_at: usize, pid_at: usize) -> BTreeSet<(u32, u32)> {
    let number = |line: &str, at: usize| line.split_whitespace().nth(at)?.parse().ok();
    lines.iter().filter_map(|line| Some((number(line, rank_at)?, number(line, pid_at)?))).collect()
}
