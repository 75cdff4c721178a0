//! The output of `mpiscope run` when a hanging job is ended.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::paths;
use mpiscope_testkit::program::{Needs, Program};
use mpiscope_testkit::trials::checked;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::inspected::job::{Job, json};
use crate::subject::{Form, LIMIT, Subject};

const HANG: Program = Program { name: "hang", ranks: 2, needs: Needs::Nothing };
const SAID: &str = "deadlock: 0 -> 1 -> 0";

/// One launcher of each family is enough: they differ in their handling of signals.
const LIBRARIES: [&str; 2] = ["mpich-5.0", "openmpi-5.0"];

/// The signals sent by a terminal, by `kill` and `timeout`, and by schedulers before the time limit.
const SIGNALS: [(Signal, &str); 3] =
    [(Signal::INT, "sigint"), (Signal::TERM, "sigterm"), (Signal::USR1, "sigusr1")];

pub fn trials(subject: &Arc<Subject>, library: &Arc<Library>) -> Vec<Trial> {
    if !LIBRARIES.contains(&library.name.as_str()) {
        return Vec::new();
    }
    let trial = |(signal, name): (Signal, &str)| {
        let (subject, library) = (Arc::clone(subject), Arc::clone(library));
        let name = format!("{}::a_job_that_hangs_is_judged_once_before_it_is_ended_by_{name}", library.name);
        checked(name, move || check(&subject, &library, signal))
    };
    let mut trials: Vec<Trial> = SIGNALS.map(trial).into();
    for (form, of_form) in [(Form::AroundLauncher, ""), (Form::UnderLauncher, "_below_its_launcher")] {
        let (own, of) = (Arc::clone(subject), Arc::clone(library));
        let name = format!(
            "{}::a_job_that_hangs_is_judged_when_it_is_interrupted_at_the_terminal{of_form}",
            library.name
        );
        trials.push(checked(name, move || interrupted(&own, &of, form)));
    }
    let (own, of) = (Arc::clone(subject), Arc::clone(library));
    let name = format!("{}::a_job_that_hangs_is_judged_as_it_was_if_its_ranks_are_ended_too", library.name);
    trials.push(checked(name, move || all_are_ended(&own, &of)));
    let (own, of) = (Arc::clone(subject), Arc::clone(library));
    let name = format!("{}::the_end_of_a_job_tells_who_held_it_up_without_calling_it_hung", library.name);
    trials.push(checked(name, move || held_up(&own, &of)));
    let (own, of) = (Arc::clone(subject), Arc::clone(library));
    let name = format!("{}::ranks_that_were_killed_wait_no_longer_than_they_lived", library.name);
    trials.push(checked(name, move || killed_and_noticed_late(&own, &of)));
    trials
}

/// Runs its arguments in a new terminal, prints the process id and the terminal's output, and presses Ctrl-C
/// when it reads a line.
const TERMINAL: &str = r"
import os, pty, sys, threading
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
def interrupt():
    sys.stdin.readline()
    os.write(terminal, b'\3')
threading.Thread(target=interrupt, daemon=True).start()
print(pid, flush=True)
try:
    while shown := os.read(terminal, 65536):
        os.write(1, shown)
except OSError:
    pass
os.waitpid(pid, 0)
";

/// The delay after which a launcher learns that its ranks have ended.
const LATE: Duration = Duration::from_secs(4);

/// The watcher reads the ranks' progress at least this often; after twice that time it knows that they do not
/// move.
const READINGS_S: f64 = 5.0;

/// After a stall as long as this, the end of a job that does not hang is explained too.
const HELD_UP_S: f64 = 10.0 + 1.5 * READINGS_S;

/// The terminal signals the launcher and the `mpiscope run` in front of it at the same moment; one behind the
/// launcher learns only that the ranks have ended.
fn interrupted(subject: &Subject, library: &Library, form: Form) -> Result<()> {
    let mpiscope = paths::mpiscope().context("no mpiscope command")?;
    let (launch, folder) = (library.launch(2), tempfile::tempdir()?);
    let mut terminal = Command::new("python3");
    // The shell keeps the terminal open after the launcher's end.
    terminal.args(["-c", TERMINAL, "sh", "-c", "trap : INT; \"$@\"; sleep 5", "sh"]);
    let run = |terminal: &mut Command| _ = terminal.arg(&mpiscope).args(["run", "--hang-after", "600"]);
    if form == Form::AroundLauncher {
        run(&mut terminal);
    }
    terminal.arg(launch.get_program()).args(launch.get_args());
    if form == Form::UnderLauncher {
        run(&mut terminal);
    }
    terminal.arg(subject.binary(&HANG, library)?).arg("two_receives");
    library.set_environment(&mut terminal);
    terminal.current_dir(&folder).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut terminal = terminal.spawn()?;
    let mut shown = BufReader::new(terminal.stdout.take().context("no output")?);
    let mut pid = String::new();
    shown.read_line(&mut pid)?;
    let end = Instant::now() + LIMIT;
    loop {
        let why = json(&["why", pid.trim(), "--for", "0.3", "--json"]).unwrap_or_default();
        let since = why["evidence"][0]["since_s"][0].as_f64().unwrap_or(0.0);
        if why["kind"] == "deadlock" && since > 2.0 * READINGS_S {
            break;
        }
        ensure!(Instant::now() < end, "it did not hang: {why}");
        thread::sleep(Duration::from_millis(500));
    }
    terminal.stdin.take().context("no input")?.write_all(b"\n")?;
    let mut said = String::new();
    shown.read_to_string(&mut said)?;
    terminal.wait()?;
    ensure!(said.contains(&format!("mpiscope: before the end: {SAID}")), "message missing:\n{said}");
    ensure!(said.matches(SAID).count() == 1, "message printed more than once:\n{said}");
    Ok(())
}

/// Each rank has its own `mpiscope run` below the one around the launcher; only the latter watches and
/// reports.
fn check(subject: &Subject, library: &Library, signal: Signal) -> Result<()> {
    let mpiscope = paths::mpiscope().context("no mpiscope command")?;
    let inner = [&mpiscope.display().to_string(), "run", "--hang-after", "0.5"];
    let mut job = Job::start_of(&HANG, subject, library, &["two_receives"], &inner)?;
    let target = job.target();
    job.until("the ranks hang", || {
        Ok(json(&["why", &target, "--for", "0.3", "--json"]).unwrap_or_default()["kind"] == "deadlock")
    })?;
    let run = Pid::from_raw(target.parse()?).context("no process")?;
    kill_process(run, signal)?;
    let (said, end) = (format!("mpiscope: before the end: {SAID}"), Instant::now() + LIMIT);
    while !job.stderr().contains(&said) {
        ensure!(Instant::now() < end, "message missing\n{}", job.stderr());
        thread::sleep(Duration::from_millis(20));
    }
    // A signal that announces the end need not end the job.
    if signal != Signal::USR1 {
        job.finish()?;
    }
    let printed = job.stderr();
    ensure!(printed.matches(SAID).count() == 1, "message printed more than once\n{printed}");
    Ok(())
}

/// All processes of a job are signaled: ranks have ended before `mpiscope run` has sampled twice.
fn all_are_ended(subject: &Subject, library: &Library) -> Result<()> {
    let mut job = Job::start_of(&HANG, subject, library, &["two_receives"], &[])?;
    let target = job.target();
    job.until("the ranks hang for some readings", || {
        thread::sleep(Duration::from_millis(500));
        let why = json(&["why", &target, "--for", "0.3", "--json"]).unwrap_or_default();
        Ok(why["kind"] == "deadlock" && why["evidence"][0]["since_s"][0].as_f64() > Some(2.0 * READINGS_S))
    })?;
    let ps = json(&["ps", &target, "--json"])?;
    let ranks = ps["ranks"].as_array().into_iter().flatten();
    let pids: Vec<i64> = ranks.filter_map(|rank| rank["pid"].as_i64()).collect();
    ensure!(pids.len() == 2, "{pids:?}");
    for pid in std::iter::once(target.parse()?).chain(pids) {
        match kill_process(Pid::from_raw(i32::try_from(pid)?).context("no process")?, Signal::TERM) {
            // The signal to `mpiscope run` is passed on, and may already have ended this one.
            Err(Errno::SRCH) => {}
            sent => sent?,
        }
    }
    job.finish()?;
    let printed = job.stderr();
    ensure!(printed.contains(&format!("mpiscope: before the end: {SAID}")), "message missing\n{printed}");
    ensure!(printed.matches("before the end").count() == 1, "more than one message\n{printed}");
    let saved = printed.lines().find_map(|line| line.strip_prefix("saved: ")?.split(' ').next());
    let saved = job.path().join(saved.with_context(|| format!("no file was saved\n{printed}"))?);
    let why = json(&["why", &saved.display().to_string(), "--json"])?;
    ensure!(why["verdict"].as_str().is_some_and(|verdict| verdict.starts_with(SAID)), "{why:#}");
    Ok(())
}

/// A rank that sleeps, and that the others wait for when the job's time is over, is the likely reason why it
/// was.
fn held_up(subject: &Subject, library: &Library) -> Result<()> {
    let mut job = Job::start_of(&Program { ranks: 3, ..HANG }, subject, library, &["one_sleeps"], &[])?;
    let target = job.target();
    job.until("ranks wait for the one that sleeps", || {
        let why = json(&["why", &target, "--for", "0.3", "--json"]).unwrap_or_default();
        Ok(why["kind"] == "slow" && why["evidence"][0]["since_s"][0].as_f64() > Some(HELD_UP_S))
    })?;
    kill_process(Pid::from_raw(target.parse()?).context("no process")?, Signal::TERM)?;
    job.finish()?;
    let printed = job.stderr();
    let said = "mpiscope: when it was ended, no rank had completed an MPI call for ";
    let line = printed.lines().find_map(|line| line.strip_prefix(said)).with_context(|| printed.clone())?;
    ensure!(line.contains("wait for rank 0: sleeping"), "{printed}");
    ensure!(!printed.contains("no rank has completed"), "called hung\n{printed}");
    Ok(())
}

/// The launcher learns late that its ranks were killed: until then they count as not waiting, whatever their
/// images say.
fn killed_and_noticed_late(subject: &Subject, library: &Library) -> Result<()> {
    let mut job = Job::start_of(&HANG, subject, library, &["two_receives"], &[])?;
    let target = job.target();
    job.until("the ranks hang", || {
        let why = json(&["why", &target, "--for", "0.3", "--json"]).unwrap_or_default();
        Ok(why["kind"] == "deadlock" && why["evidence"][0]["since_s"][0].as_f64() > Some(2.0))
    })?;
    let ps = json(&["ps", &target, "--json"])?;
    let ranks = ps["ranks"].as_array().into_iter().flatten();
    let pids: Vec<i64> = ranks.filter_map(|rank| rank["pid"].as_i64()).collect();
    let children = std::fs::read_to_string(format!("/proc/{target}/task/{target}/children"))?;
    let launcher: Vec<i64> = children.split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
    ensure!(pids.len() == 2 && !launcher.is_empty(), "{pids:?} {launcher:?}");
    let send = |pids: &[i64], signal| -> Result<()> {
        for pid in pids {
            let pid = Pid::from_raw(i32::try_from(*pid)?).context("no process")?;
            // The end of one may have caused the end of the other.
            ensure!(matches!(kill_process(pid, signal), Ok(()) | Err(Errno::SRCH)), "{pid:?}");
        }
        Ok(())
    };
    send(&launcher, Signal::STOP)?;
    send(&pids, Signal::KILL)?;
    thread::sleep(LATE);
    send(&launcher, Signal::CONT)?;
    job.finish()?;
    waits_end_with_their_calls(&job.report()?)
}

fn waits_end_with_their_calls(report: &Value) -> Result<()> {
    let functions = report["functions"].as_array().into_iter().flatten();
    let inside = functions.filter(|function| function["name"] == "MPI_Recv");
    let inside: f64 = inside.filter_map(|function| function["total"]["time_s"].as_f64()).sum();
    let waits = &report["waits"]["sampled"];
    let waited = waits["seconds"].as_f64().context("no waits were found")?;
    ensure!(inside > 2.0, "{inside} s in MPI_Recv");
    // A sample represents the time to the next one; two ranks that were sampled until the launcher knew would
    // have twice as much.
    let most = inside + LATE.as_secs_f64() / 2.0;
    ensure!(waited <= most, "waits of {waited} s in calls of {inside} s\n{waits:#}");
    Ok(())
}
