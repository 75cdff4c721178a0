//! What `mpiscope run` says of a job that hangs when somebody ends it.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::paths;
use mpiscope_testkit::program::{Needs, Program};
use mpiscope_testkit::trials::checked;
use rustix::process::{Pid, Signal, kill_process};

use crate::inspected::job::{Job, json};
use crate::subject::{LIMIT, Subject};

const HANG: Program = Program { name: "hang", ranks: 2, needs: Needs::Nothing };
const SAID: &str = "deadlock: 0 -> 1 -> 0";

/// One launcher of each family is enough: what differs is what it does with signals.
const LIBRARIES: [&str; 2] = ["mpich-5.0", "openmpi-5.0"];

/// What a terminal sends, what `kill` and `timeout` send, and what schedulers send ahead of the end of the time.
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
    SIGNALS.map(trial).into_iter().collect()
}

/// Each rank has a `mpiscope run` of its own below the one around the launcher, which watches and speaks alone.
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
        ensure!(Instant::now() < end, "not said\n{}", job.stderr());
        thread::sleep(Duration::from_millis(20));
    }
    // What announces the end need not bring it.
    if signal != Signal::USR1 {
        job.finish()?;
    }
    let told = job.stderr();
    ensure!(told.matches(SAID).count() == 1, "said more than once\n{told}");
    Ok(())
}
