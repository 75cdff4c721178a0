//! Tests that may not be possible on this machine: reported as ignored with the reason, never as passed.
//!
//! The standard harness decides at compile time which tests are ignored. A test file with `harness = false`
//! and
//!
//! ```ignore
//! fn main() -> ExitCode {
//!     trials::run(vec![trial!(names_cannot_control_the_terminal, needs gdb), trial!(other::test)])
//! }
//! ```
//!
//! decides at run time: a requirement (`fn() -> Option<String>`) returns the reason why a test cannot run
//! here, which then appears in parentheses after the test's name. Names, filters and panics work as usual.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use libtest_mimic::{Arguments, Completion, Trial};

use crate::mpi::{self, Library, Skipped};
use crate::paths;
use crate::room::{Room, Share};

/// Returns the reason why a test cannot run here, if any.
pub type Requirement = fn() -> Option<String>;

/// A test, given by the path of its function, with its requirements: `trial!(module::test, needs gdb,
/// second_user)`.
#[macro_export]
macro_rules! trial {
    ($test:path $(, needs $($requirement:path),+)?) => {
        $crate::trials::trial(stringify!($test), &[$($($requirement),+)?], || $test())
    };
}
pub use crate::trial;

/// Creates a test with this name, ignored with the first reason that a requirement returns.
pub fn trial(name: &str, requirements: &[Requirement], test: impl FnOnce() + Send + 'static) -> Trial {
    match requirements.iter().find_map(|requirement| requirement()) {
        Some(reason) => ignored(name, &reason),
        None => checked(name, || {
            test();
            Ok(())
        }),
    }
}

/// Creates a test that fails with the error that `check` returns.
pub fn checked(
    name: impl Into<String>,
    check: impl FnOnce() -> anyhow::Result<()> + Send + 'static,
) -> Trial {
    sharing(Share::HALF, name, check)
}

/// Like [`checked`], for a test that takes this share of the machine.
pub fn sharing(
    share: Share,
    name: impl Into<String>,
    check: impl FnOnce() -> anyhow::Result<()> + Send + 'static,
) -> Trial {
    let name = name.into();
    let noted = name.clone();
    Trial::ignorable_test(name, move || {
        let _taken = ROOM.take(share);
        if until().is_some_and(|until| SystemTime::now() >= until) {
            NOT_BEGUN.fetch_add(1, Ordering::Relaxed);
            return Ok(Completion::ignored_with("the time limit for trials was reached"));
        }
        let begun = Instant::now();
        let ended = check();
        lock(&TIMES).push((begun.elapsed(), noted));
        ended.map(|()| Completion::Completed).map_err(|error| format!("{error:#}").into())
    })
}

/// The room for all tests of the process.
static ROOM: Room = Room::new();

/// The environment variable with a time in seconds since 1970; tests that have not started by then are not
/// run.
pub const UNTIL: &str = "MPISCOPE_TRIALS_UNTIL";
/// Number of tests that were not run for that reason.
static NOT_BEGUN: AtomicUsize = AtomicUsize::new(0);

fn until() -> Option<SystemTime> {
    let seconds = std::env::var(UNTIL).ok()?.parse().ok()?;
    Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
}

/// The run time of each completed test.
static TIMES: Mutex<Vec<(Duration, String)>> = Mutex::new(Vec::new());
/// Maximum number of tests listed as the slowest, and the minimum time for a test to be listed.
const MOST: usize = 20;
const LONG: Duration = Duration::from_secs(5);

/// Prints the slowest tests, adding up those that run on several libraries.
fn print_longest() {
    let mut tests: BTreeMap<String, (Duration, usize)> = BTreeMap::new();
    for (time, name) in std::mem::take(&mut *lock(&TIMES)) {
        let test = name.split_once("::").map_or(name.as_str(), |(_library, test)| test);
        let (sum, count) = tests.entry(test.to_owned()).or_default();
        *sum += time;
        *count += 1;
    }
    let mut tests: Vec<_> = tests.into_iter().filter(|(_, (sum, _))| *sum >= LONG).collect();
    tests.sort_unstable_by_key(|(_, (sum, _))| Reverse(*sum));
    if !tests.is_empty() {
        println!("slowest tests:");
    }
    for (name, (sum, count)) in tests.iter().take(MOST) {
        println!("  {:6.1} s in {count}: {name}", sum.as_secs_f64());
    }
}

fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Creates a test that cannot run, with the reason.
pub fn ignored(name: &str, reason: &str) -> Trial {
    Trial::test(format!("{name} ({reason})"), || Ok(())).with_ignored_flag(true)
}

/// Runs the tests selected by the program's arguments.
pub fn run(trials: Vec<Trial>) -> ExitCode {
    let conclusion = libtest_mimic::run(&Arguments::from_args(), trials);
    print_longest();
    let not_begun = NOT_BEGUN.load(Ordering::Relaxed);
    if not_begun > 0 {
        println!("NOT RUN: {not_begun} of the tests above, since the time limit was reached");
    }
    conclusion.exit_code()
}

/// One ignored test for each missing library, for files whose tests run on all libraries.
pub fn missing_libraries() -> Vec<Trial> {
    let missing = |library: &Skipped| ignored(&format!("on::{}", library.name), &library.reason);
    survey().1.iter().map(missing).collect()
}

/// The available and the missing libraries, searched once.
pub fn survey() -> &'static (Vec<Library>, Vec<Skipped>) {
    static SURVEY: OnceLock<(Vec<Library>, Vec<Skipped>)> = OnceLock::new();
    SURVEY.get_or_init(mpi::survey)
}

/// Requires an MPI library.
pub fn a_library() -> Option<String> {
    survey().0.is_empty().then(|| "no MPI library is installed; `cargo xtask mpi` fetches some".to_owned())
}

/// Requires the preload library.
pub fn the_layer() -> Option<String> {
    let lacks = || "libmpiscope.so is not built: cargo build -p mpiscope-layer".to_owned();
    paths::libmpiscope().is_none().then(lacks)
}

/// Requires a gdb with Python.
pub fn gdb() -> Option<String> {
    static PYTHON: OnceLock<bool> = OnceLock::new();
    let ask = || {
        let mut gdb = Command::new("gdb");
        gdb.args(["-nx", "-batch", "-ex", "python print('has Python')"]);
        gdb.output().is_ok_and(|said| String::from_utf8_lossy(&said.stdout).contains("has Python"))
    };
    (!PYTHON.get_or_init(ask)).then(|| "no gdb with Python is installed".to_owned())
}

/// Requires lldb.
pub fn lldb() -> Option<String> {
    let is_there = Command::new("lldb").arg("--version").output().is_ok_and(|said| said.status.success());
    (!is_there).then(|| "lldb is not installed".to_owned())
}

/// Requires tmux, as a terminal that a test can type into.
pub fn tmux() -> Option<String> {
    let is_there = Command::new("tmux").arg("-V").output().is_ok_and(|said| said.status.success());
    (!is_there).then(|| "tmux is not installed".to_owned())
}

/// Requires permission to run programs as another user.
pub fn another_user() -> Option<String> {
    let root = rustix::process::geteuid().is_root();
    (!root).then(|| "only root can run programs as another user".to_owned())
}
