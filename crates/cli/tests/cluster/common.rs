//! The cluster of all tests here, and jobs on it.

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
/// No job here takes longer, on a machine that does other things too.
pub const LIMIT: Duration = Duration::from_secs(90);

/// Jobs of several tests at once would only make each other slow.
pub fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A head and three hosts, of all tests that leave them as they were; it takes seconds to make them.
struct Shared {
    cluster: Ended,
    slurm: bool,
    /// Its keys and sockets, which it needs to its end.
    _dir: TempDir,
}

static SHARED: Mutex<Option<Arc<Shared>>> = Mutex::new(None);

fn shared() -> MutexGuard<'static, Option<Arc<Shared>>> {
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn new() -> Self {
        // Names of sockets are short, so it must not lie deep.
        let dir = TempDir::with_prefix("clu").unwrap();
        let mut cluster = Ended(Cluster::make(dir.path(), &["login", "n1", "n2", "n3"]).unwrap());
        cluster.0.add_ssh().unwrap();
        Self { cluster, slurm: false, _dir: dir }
    }
}

/// No test needs the hosts any more.
pub fn end_hosts() {
    drop(shared().take());
}

/// The hosts, and a folder of this test.
pub struct Hosts {
    shared: Arc<Shared>,
    pub dir: TempDir,
}

impl Hosts {
    /// With `ssh`, and with Slurm if that is wanted.
    pub fn new(slurm: bool) -> Self {
        let mut all = shared();
        let shared = all.get_or_insert_with(|| Arc::new(Shared::new()));
        if slurm && !shared.slurm {
            let shared = Arc::get_mut(shared).expect("tests take turns");
            shared.cluster.0.add_slurm().unwrap();
            shared.slurm = true;
        }
        Self { shared: Arc::clone(shared), dir: TempDir::with_prefix("clu").unwrap() }
    }

    /// Takes a host off the network. The next test gets other hosts: what runs on this one stays there.
    pub fn cut(&self, host: &str) {
        end_hosts();
        self.shared.cluster.0.cut(host).unwrap();
    }

    /// Ends a host; the next test gets others.
    pub fn kill(&self, host: &str) {
        end_hosts();
        self.shared.cluster.0.kill(host);
    }

    /// A command on a host.
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
        // Hosts that share a machine do not share memory in the sense of transports.
        command.env("I_MPI_FABRICS", "shm:ofi").env("MPIR_CVAR_CH4_NETMOD", "ofi").env("FI_PROVIDER", "tcp");
        command.env("FI_TCP_IFACE", "eth0").env("UCX_TLS", "tcp,self").env("TMPDIR", "/tmp");
        command.env("OMPI_MCA_btl_tcp_if_include", "eth0").env("OMPI_MCA_oob_tcp_if_include", "eth0");
        command
    }

    /// Runs it to its end.
    pub fn run(&self, command: &mut Command) -> Outcome {
        run::bounded(command, LIMIT).unwrap()
    }

    /// The report that a command wrote to a folder.
    pub fn report(&self, out: &str) -> Option<Value> {
        serde_json::from_slice(&std::fs::read(self.dir.path().join(out).join("report.json")).ok()?).ok()
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        // Nobody knows what a test has left behind that has failed.
        if std::thread::panicking() {
            end_hosts();
        }
    }
}

/// The libraries whose launcher can start ranks on other hosts: with `MPISCOPE_EVERY_SIZE` all of them, else the newest of each
/// family.
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

/// MPICH with its own launcher, else any.
pub fn one() -> Library {
    let mut all = libraries();
    let best = all.iter().position(|library| library.name.starts_with("mpich-5"));
    all.swap_remove(best.unwrap_or(0))
}

/// The launcher of a library, for two ranks on each host.
pub fn launcher(library: &Library) -> Vec<String> {
    launcher_of(library, 2)
}

/// The same for so many.
pub fn launcher_of(library: &Library, each: usize) -> Vec<String> {
    launcher_for(library, each, 3 * each)
}

/// The same for `all`, at most `each` on a host.
pub fn launcher_for(library: &Library, each: usize, all: usize) -> Vec<String> {
    let mpirun = library.mpirun.display().to_string();
    let words = match library.family {
        Family::Mpich => format!("-launcher ssh -hosts n1,n2,n3 -n {all} -ppn {each}"),
        Family::Intel => format!("-bootstrap ssh -hosts n1,n2,n3 -n {all} -ppn {each}"),
        Family::OpenMpi => format!("--host n1:{each},n2:{each},n3:{each} -np {all}"),
    };
    std::iter::once(mpirun).chain(words.split(' ').map(str::to_owned)).collect()
}

/// That of Slurm, for two ranks on each host.
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

/// A job that runs while the test looks; ended in the end.
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

    /// Ends what was started, as a scheduler would; not the program that has brought it to its host.
    pub fn terminate(&self) {
        let pid = self.child.id();
        let children =
            std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        let child = children.split_whitespace().next().and_then(|pid| pid.parse().ok());
        // One that has ended by itself needs no signal.
        if let Some(child) = child.and_then(rustix::process::Pid::from_raw) {
            let _gone = rustix::process::kill_process(child, rustix::process::Signal::TERM);
        }
    }

    /// Ends it as people do: a launcher that waits for a host that it has lost may need the signal again, twice in a second.
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

    /// Waits for the end, and says how long it took.
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
