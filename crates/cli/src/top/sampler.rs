//! Samples a job repeatedly on a separate thread, so that slow hosts do not delay the keyboard.

use super::interval::Interval;
use crate::host_scope::HostScope;
use crate::selection::{self, Target};
use crate::why;
use anyhow::{Result, bail};
use mpiscope_job::base::refusal::Refusal;
use mpiscope_job::jobs::job::{Job, names};
use mpiscope_job::jobs::live_process::Reader;
use mpiscope_job::performance::snapshot::{self, JobSnapshot};
use mpiscope_job::questions::why::Verdict;
use std::ffi::OsStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Number of intervals without a completed call before the cause is determined.
const STILL: u32 = 2;
/// Interval between the two snapshots for that.
const APART: Duration = Duration::from_millis(300);
/// Maximum length of the first interval, so that something appears soon.
const FIRST: Duration = Duration::from_millis(500);

/// Samples a job.
pub struct Sampler {
    job: String,
    intervals: Receiver<Box<Interval>>,
    stop: Arc<AtomicBool>,
    over: Arc<AtomicBool>,
    failure: Arc<Mutex<Option<String>>>,
}

impl Sampler {
    /// Finds the job and starts sampling; `single` if only one interval is needed.
    pub fn begin(
        target: Option<&OsStr>,
        host_scope: HostScope,
        pause: Duration,
        single: bool,
    ) -> Result<Self> {
        let job = job(target)?;
        let name = job.name.clone();
        // One pending interval is enough.
        let (sender, intervals) = sync_channel(1);
        let (stop, over) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let failure = Arc::default();
        let work = Work {
            name: name.clone(),
            again: again(&job),
            host_scope,
            pause,
            single,
            stop: Arc::clone(&stop),
            failure: Arc::clone(&failure),
        };
        let ended = Arc::clone(&over);
        thread::Builder::new().name("looks".into()).spawn(move || {
            work.go(job, &sender);
            ended.store(true, Ordering::Relaxed);
        })?;
        Ok(Self { job: name, intervals, stop, over, failure })
    }

    /// Returns the name of the job.
    pub fn job(&self) -> &str {
        &self.job
    }

    /// Whether the job has ended.
    pub fn over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Returns why sampling stopped, if not because the job ended.
    pub fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits for the next interval; `None` if the job has ended or the deadline has passed.
    pub fn next(&mut self, until: Option<Instant>) -> Option<Box<Interval>> {
        match until {
            None => self.intervals.recv().ok(),
            Some(until) => self.intervals.recv_timeout(until.saturating_duration_since(Instant::now())).ok(),
        }
    }

    /// Waits a short time for an interval; an error means that the job has ended.
    pub fn poll(&self, patience: Duration) -> Result<Option<Box<Interval>>, RecvTimeoutError> {
        match self.intervals.recv_timeout(patience) {
            Ok(interval) => Ok(Some(interval)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(ended) => Err(ended),
        }
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn job(target: Option<&OsStr>) -> Result<Job> {
    match selection::find_one(target)? {
        Target::Job(job) if job.runs_here() => Ok(job),
        Target::Job(job) => bail!("{}: it has ended; `mpiscope report` shows what it did", job.name),
        Target::Jobs(jobs) => {
            bail!(Refusal::several(names(&jobs), "mpiscope top ", ""));
        }
        Target::Files(files) => {
            bail!("{}: no such running job; `mpiscope report` shows files", selection::shown(&files))
        }
    }
}

/// Returns the name by which to find the job again: its qualified name, or its Slurm number if it has no
/// process here.
fn again(job: &Job) -> String {
    if let Some(id) = &job.named {
        return id.to_string();
    }
    let scheduled = job.parts.as_ref().is_some_and(|parts| parts.slurm.is_some());
    if scheduled { job.name.clone() } else { selection::full_name(job) }
}

/// The state of the thread.
struct Work {
    name: String,
    again: String,
    host_scope: HostScope,
    pause: Duration,
    single: bool,
    stop: Arc<AtomicBool>,
    failure: Arc<Mutex<Option<String>>>,
}

impl Work {
    fn go(&self, job: Job, sender: &SyncSender<Box<Interval>>) {
        let (mut before, mut since) = (self.look(job), Instant::now());
        if self.fails(&before) {
            return;
        }
        let (mut still, mut pause) = (0, self.pause.min(FIRST));
        while !self.stop.load(Ordering::Relaxed) {
            thread::sleep(pause.saturating_sub(since.elapsed()));
            pause = self.pause;
            let Some(job) = self.find() else { return };
            let seconds = since.elapsed().as_secs_f64();
            since = Instant::now();
            let after = self.look(job);
            if self.fails(&after) || after.report.ranks.is_empty() && after.silent == 0 {
                return;
            }
            let mut interval = Interval::between(&self.name, &before, &after, seconds);
            still = if interval.calls() == 0 && !interval.ranks.is_empty() { still + 1 } else { 0 };
            // With a single interval, nothing else distinguishes a hang from a short computation.
            if still >= if self.single { 1 } else { STILL } {
                let found = self.ask();
                interval.verdict =
                    found.filter(|found| found.problem || !self.single).map(|found| found.verdict);
            }
            before = after;
            if sender.send(Box::new(interval)).is_err() {
                return;
            }
        }
    }

    /// Whether nothing was seen for a known reason.
    fn fails(&self, seen: &JobSnapshot) -> bool {
        let fails = seen.report.ranks.is_empty() && seen.silent == 0 && !seen.errors.is_empty();
        if fails {
            *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(seen.errors.join("; "));
        }
        fails
    }

    /// Finds the job again, as ranks come and go. If all its processes are gone, only collectors still hold
    /// it.
    fn find(&self) -> Option<Job> {
        let job = selection::find_one(Some(self.again.as_ref())).ok()?;
        match job {
            Target::Job(job) => Some(job),
            _ => None,
        }
    }

    fn look(&self, mut job: Job) -> JobSnapshot {
        let elsewhere = self.host_scope.join(&mut job, Duration::ZERO, false);
        let symbols = job.symbols();
        let mut found = snapshot::take(&job, &Reader::default(), &*symbols);
        found.errors.extend(elsewhere.not_seen);
        found
    }

    fn ask(&self) -> Option<Verdict> {
        let mut job = self.find()?;
        let join = |job: &mut Job| self.host_scope.join(job, APART, false);
        Some(why::twice(&mut job, APART, join).ok()?.0)
    }
}
