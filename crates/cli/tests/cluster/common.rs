//! The cluster shared by all tests here, and jobs on it.

use mpiscope_testkit::cluster::{Cluster, Ended};
use mpiscope_testkit::mpi::{Family, Library};
use mpiscope_testkit::run::{self, Outcome};
use mpiscope_testkit::{paths, trials};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub const MPISCOPE: &str = env!("CARGO_BIN_EXE_mpiscope");
/// Time limit of each job, generous enough for a busy machine.
pub const LIMIT: Duration = Duration::from_secs(90);

/// Serializes the tests: concurrent jobs would only slow each other down.
pub fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A head node and three hosts, shared by all tests that leave them intact, since creating them takes
/// seconds.
struct Shared {
    cluster: Ended,
    slurm: bool,
    /// The cluster's keys and sockets, needed for its whole lifetime.
    _dir: TempDir,
}

static SHARED: Mutex<Option<Arc<Shared>>> = Mutex::new(None);

fn shared() -> MutexGuard<'static, Option<Arc<Shared>>> {
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn new() -> Self {
        // Socket names have a small length limit, so the path must be short.
        let dir = TempDir::with_prefix("clu").unwrap();
        let mut cluster = Ended(Cluster::make(dir.path(), &["login", "n1", "n2", "n3"]).unwrap());
        cluster.0.add_ssh().unwrap();
        Self { cluster, slurm: false, _dir: dir }
    }
}

/// Shuts down the shared hosts.
pub fn end_hosts() {
    drop(shared().take());
}

/// The hosts, and a folder for this test.
pub struct Hosts {
    shared: Arc<Shared>,
    pub dir: TempDir,
}

impl Hosts {
    /// Gets hosts with `ssh`, and with Slurm if requested.
    pub fn new(slurm: bool) -> Self {
        let mut all = shared();
        let shared = all.get_or_insert_with(|| Arc::new(Shared::new()));
        if slurm && !shared.slurm {
            let shared = Arc::get_mut(shared).expect("tests take turns");
            shared.cluster.0.add_slurm().unwrap();
            shared.slurm = true;
        }
        let hosts = Self { shared: Arc::clone(shared), dir: TempDir::with_prefix("clu").unwrap() };
        if slurm {
            hosts.free();
        }
        hosts
    }

    /// Cancels the jobs that Slurm still has and waits until they are gone: those of the last test may still be
    /// completing, and tests take "the only job" for theirs.
    pub fn free(&self) {
        let on_login = |program, arguments: &[&str]| {
            let mut command = self.shared.cluster.0.on("login", program).unwrap();
            self.run(command.args(arguments))
        };
        let until = Instant::now() + Duration::from_secs(30);
        loop {
            let queue = on_login("squeue", &["--noheader", "--format", "%A"]);
            let left: Vec<&str> = queue.stdout.split_whitespace().collect();
            if left.is_empty() {
                return;
            }
            assert!(Instant::now() < until, "jobs of earlier tests do not end: {}", queue.describe());
            let _cancelled = on_login("scancel", &left);
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Disconnects a host from the network. The next test gets new hosts, as programs may keep running on
    /// this one.
    pub fn cut(&self, host: &str) {
        end_hosts();
        self.shared.cluster.0.cut(host).unwrap();
    }

    /// Kills a host; the next test gets new hosts.
    pub fn kill(&self, host: &str) {
        end_hosts();
        self.shared.cluster.0.kill(host);
    }

    /// Returns a command on a host.
    pub fn on(&self, host: &str, program: &str, library: &Library) -> Command {
        let mut command = self.shared.cluster.0.on(host, program).unwrap();
        let mut path = None;
        for (name, value) in library.environment() {
            match name {
                // The cluster's own programs come first.
                "PATH" => path = Some(value),
                _ => drop(command.env(name, value)),
            }
        }
        let own = command
            .get_envs()
            .find_map(|(name, value)| (name == "PATH").then(|| value.map(ToOwned::to_owned)));
        if let (Some(path), Some(Some(mut own))) = (path, own) {
            own.push(":");
            own.push(path);
            command.env("PATH", own);
        }
        command.env("MPISCOPE_LAYER", paths::libmpiscope().unwrap()).env("COLUMNS", "400");
        // Hosts on one machine must not use shared memory as a transport.
        command.env("I_MPI_FABRICS", "shm:ofi").env("MPIR_CVAR_CH4_NETMOD", "ofi").env("FI_PROVIDER", "tcp");
        command.env("FI_TCP_IFACE", "eth0").env("UCX_TLS", "tcp,self").env("TMPDIR", "/tmp");
        command.env("OMPI_MCA_btl_tcp_if_include", "eth0").env("OMPI_MCA_oob_tcp_if_include", "eth0");
        command
    }

    /// Runs a command to its end.
    pub fn run(&self, command: &mut Command) -> Outcome {
        run::bounded(command, LIMIT).unwrap()
    }

    /// Returns the report that a command wrote to a folder.
    pub fn report(&self, out: &str) -> Option<Value> {
        serde_json::from_slice(&std::fs::read(self.dir.path().join(out).join("report.json")).ok()?).ok()
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        // The hosts are in an unknown state after a failed test.
        if std::thread::panicking() {
            end_hosts();
        }
    }
}

/// Returns the libraries whose launcher can start ranks on other hosts: all of them with
/// `MPISCOPE_EVERY_SIZE`, otherwise the newest of each family.
pub fn libraries() -> Vec<Library> {
    let all = trials::survey().0.iter().filter(|library| !library.name.ends_with("-abi"));
    let mut all: Vec<Library> = all.cloned().collect();
    if std::env::var_os("MPISCOPE_EVERY_SIZE").is_none() {
        all.sort_by(|a, b| b.name.cmp(&a.name));
        let mut families = Vec::new();
        all.retain(|library| {
            let is_new = !families.contains(&library.family);
            families.push(library.family);
            is_new
        });
    }
    all
}

/// Returns MPICH with its own launcher, or else any library.
pub fn one() -> Library {
    let mut all = libraries();
    let best = all.iter().position(|library| library.name.starts_with("mpich-5"));
    all.swap_remove(best.unwrap_or(0))
}

/// Returns a library's launcher command for two ranks on each host.
pub fn launcher(library: &Library) -> Vec<String> {
    launcher_of(library, 2)
}

/// Like [`launcher`], for `each` ranks on each host.
pub fn launcher_of(library: &Library, each: usize) -> Vec<String> {
    launcher_for(library, each, 3 * each)
}

/// Like [`launcher`], for `all` ranks, at most `each` on a host.
pub fn launcher_for(library: &Library, each: usize, all: usize) -> Vec<String> {
    let mpirun = library.mpirun.display().to_string();
    let words = match library.family {
        Family::Mpich => format!("-launcher ssh -hosts n1,n2,n3 -n {all} -ppn {each}"),
        Family::Intel => format!("-bootstrap ssh -hosts n1,n2,n3 -n {all} -ppn {each}"),
        Family::OpenMpi => format!("--host n1:{each},n2:{each},n3:{each} -np {all}"),
    };
    std::iter::once(mpirun).chain(words.split(' ').map(str::to_owned)).collect()
}

/// Returns Slurm's launcher command for two ranks on each host.
pub fn srun() -> Vec<String> {
    "srun -N 3 -n 6 --mpi=pmi2".split(' ').map(str::to_owned).collect()
}

/// Compiles a program of the testkit.
pub fn compile(library: &Library, source: &str, dir: &Path) -> PathBuf {
    let program = dir.join(format!("{}.{}", source.replace('/', "_"), library.name));
    if !program.is_file() {
        library.cc(&[&paths::programs().join(format!("{source}.c"))], &program).unwrap();
    }
    program
}

/// A job that runs while the test examines it; killed on drop.
pub struct Job {
    pub child: Child,
}

impl Job {
    pub fn start(command: &mut Command, said: &Path) -> Self {
        use std::os::unix::process::CommandExt;
        let file = std::fs::File::create(said).unwrap();
        command.stdin(Stdio::null()).stdout(file.try_clone().unwrap()).stderr(file).process_group(0);
        Self { child: command.spawn().unwrap() }
    }

    /// Terminates the job as a scheduler would, but not the program that started it on its host.
    pub fn terminate(&self) {
        self.signal(rustix::process::Signal::TERM);
    }

    /// Sends a signal to the first process of the job.
    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = self.child.id();
        let children =
            std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        let child = children.split_whitespace().next().and_then(|pid| pid.parse().ok());
        // A job that has already ended needs no signal.
        if let Some(child) = child.and_then(rustix::process::Pid::from_raw) {
            let _gone = rustix::process::kill_process(child, signal);
        }
    }

    /// Terminates the job as a user would: a launcher that waits for a lost host may need the signal twice
    /// within a second.
    pub fn is_ended(&mut self, patience: Duration, limit: Duration) {
        let began = Instant::now();
        let mut output = Instant::now();
        self.terminate();
        while self.child.try_wait().unwrap().is_none() {
            assert!(began.elapsed() < limit, "the job does not end within {} s", limit.as_secs());
            if began.elapsed() > patience && output.elapsed() > Duration::from_millis(500) {
                eprintln!(
                    "the launcher has not ended after {} s: it gets the signal again",
                    began.elapsed().as_secs()
                );
                self.terminate();
                output = Instant::now();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits for the end of the job, and returns how long it took.
    pub fn ends(&mut self, limit: Duration) -> Duration {
        let began = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            assert!(began.elapsed() < limit, "the job does not end within {} s", limit.as_secs());
            std::thread::sleep(Duration::from_millis(20));
        }
        began.elapsed()
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let _gone = run::end(&mut self.child);
    }
}

/// Waits for a file.
pub fn reaches(file: &Path, said: &Path) {
    let until = Instant::now() + LIMIT;
    while !file.exists() {
        let text = || std::fs::read_to_string(said).unwrap_or_default();
        assert!(Instant::now() < until, "{} does not appear: {}", file.display(), text());
        std::thread::sleep(Duration::from_millis(20));
    }
}
