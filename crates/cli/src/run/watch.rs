//! The watcher: says by itself when a job hangs, in the log of the job that hangs.
//!
//! It reads images from outside and costs the ranks nothing. As long as any rank completes a call that is no polling, nothing
//! is looked at any closer. When none has for `--hang-after` seconds, [`why`](crate::why) is asked; only a verdict that is
//! a problem is said, once, and again only if it changes. A job that computes, sleeps, reads files or is slow gets no such
//! verdict.

use super::{Options, evidence};
use crate::open_files;
use crate::render::{Screen, Terminal, complain, duration};
use crate::why::{output, twice};
use mpiscope_job::jobs::discover::discover;
use mpiscope_job::jobs::evidence::{HANG, hang_file};
use mpiscope_job::jobs::job::Job;
use mpiscope_job::jobs::symbols::FileSymbols;
use mpiscope_job::questions::live::{Progress, progress};
use mpiscope_job::questions::why::{Kind, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Between the two looks of a verdict.
const APART: Duration = Duration::from_secs(1);
/// The same, when somebody is about to end the job.
const APART_AT_THE_END: Duration = Duration::from_millis(300);
/// Between two readings of how far the ranks are, at most and at least.
const READINGS: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));
/// Between two readings that cost next to nothing: of a job that somebody ends it is then known that it stood still for a second.
const OFTEN: Duration = Duration::from_millis(400);
/// How much longer than a reading the pause after it is.
const SPARING: u32 = 200;

/// After somebody has begun to end the job, so long nothing more is said: ranks that are ended one by one wait for each other.
const ENDING: Duration = Duration::from_secs(10);

/// Who ended so shortly before somebody began to end the job was ended with it.
const TOGETHER: Duration = Duration::from_secs(2);

/// What is not certain is not said before nothing has happened for this long, and for so many times as long as was asked for.
const PATIENCE: (Duration, u32) = (Duration::from_secs(10), 3);
/// Nor before that has lasted so many times as long as any silence that ended by itself.
const LONGER: u32 = 4;

/// When it is that a verdict is said as the last one.
const BEFORE_THE_END: &str = "before the end";

/// What is said of a job that hangs, and where.
struct Reporter {
    job: String,
    out: Option<PathBuf>,
    command: Option<OsString>,
    /// Standard error of the launcher, where there is one; else ours.
    screen: Option<File>,
    /// What was said last.
    said: Mutex<String>,
    /// How far the ranks were when that was read last, and since when.
    reading: Mutex<Option<Reading>>,
    /// For so long nothing must have happened, of `--hang-after`.
    after: Duration,
    /// When somebody began to end the job.
    ending: Mutex<Option<Instant>>,
}

/// How far the ranks of a job are, and since when.
#[derive(Clone)]
struct Reading {
    since: Instant,
    progress: Progress,
    /// The longest time before in which nothing happened.
    longest: Duration,
    /// Who has ended, and when that was seen.
    ended: BTreeMap<u64, Instant>,
}

impl Reading {
    fn after(before: Option<Self>, progress: Progress) -> Self {
        let now = Instant::now();
        let Some(before) = before else {
            return Self { since: now, progress, longest: Duration::ZERO, ended: BTreeMap::new() };
        };
        let mut ended = before.ended;
        ended.extend(before.progress.living.difference(&progress.living).map(|process| (*process, now)));
        let (since, longest) = match progress.calls == before.progress.calls {
            true => (before.since, before.longest),
            false => (now, before.longest.max(now - before.since)),
        };
        Self { since, progress, longest, ended }
    }

    /// Who lived until somebody began to end the job, which is now.
    fn lived(&self) -> BTreeSet<u64> {
        let just_now = self.ended.iter().filter(|(_, since)| since.elapsed() < TOGETHER);
        self.progress.living.iter().chain(just_now.map(|(process, _)| process)).copied().collect()
    }

    /// For how long nothing must have happened before something is said that is not certain.
    fn patience(&self, after: Duration) -> Duration {
        let (least, times) = PATIENCE;
        least.max(after * times).max(self.longest * LONGER)
    }
}

/// Watches a job until it is dropped.
pub struct Watch {
    reporter: Arc<Reporter>,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Begins to watch, unless `--hang-after 0` forbids it.
    pub fn begin(job: &str, options: &Options, screen: Option<File>) -> Self {
        let reporter = Arc::new(Reporter {
            job: job.to_owned(),
            out: options.out.clone(),
            command: options.on_hang.clone(),
            screen,
            said: Mutex::default(),
            reading: Mutex::default(),
            after: Duration::try_from_secs_f64(options.hang_after).unwrap_or_default(),
            ending: Mutex::default(),
        });
        let mut watch = Self { reporter, stop: None, thread: None };
        if options.hang_after > 0.0 {
            let (stop, stopped) = channel();
            let (reporter, after) =
                (Arc::clone(&watch.reporter), Duration::from_secs_f64(options.hang_after));
            let work = move || reporter.watch(after, &stopped);
            watch.thread = thread::Builder::new().name("watch".into()).spawn(work).ok();
            watch.stop = Some(stop);
        }
        watch
    }

    /// The job is about to be ended by a signal: says what is wrong with it, if anything is.
    pub fn last_look(&self) {
        if self.stop.is_some() {
            self.reporter.ends();
            self.reporter.last_look();
        }
    }

    /// The terminal has sent a signal to the job, which may end at any moment: says what was wrong with it, if it had not moved for a
    /// while.
    pub fn look_back(&self) {
        if self.stop.is_some() {
            self.reporter.ends();
            self.reporter.look_back();
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A watcher that panicked has said so.
            let _ended = thread.join();
        }
    }
}

/// How long nothing is read after a reading that took so long.
fn pause_after(reading: Duration, hang_after: Duration) -> Duration {
    let longest = (hang_after / 8).clamp(READINGS.0, READINGS.1);
    (reading * SPARING).clamp(OFTEN.min(longest), longest)
}

impl Reporter {
    fn watch(&self, after: Duration, stopped: &Receiver<()>) {
        let mut pause = pause_after(Duration::ZERO, after);
        while stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
            let began = Instant::now();
            let now = self.job().and_then(|job| progress(&job));
            pause = pause_after(began.elapsed(), after);
            let still = self.note(now).map_or(Duration::ZERO, |since| since.elapsed());
            if still >= after
                && let Some(job) = self.job()
            {
                let when = format!("no rank has completed an MPI call for {}", duration(still.as_secs_f64()));
                self.look(&job, APART, &when);
            }
        }
    }

    fn job(&self) -> Option<Job> {
        discover().into_iter().find(|job| job.name == self.job)
    }

    /// Notes how far the ranks are now, and says since when they are there.
    fn note(&self, now: Option<Progress>) -> Option<Instant> {
        let mut reading = self.reading.lock().ok()?;
        let before = reading.take();
        *reading = now.map(|progress| Reading::after(before, progress));
        reading.as_ref().map(|reading| reading.since)
    }

    /// What was read last.
    fn reading(&self) -> Option<Reading> {
        self.reading.lock().ok()?.clone()
    }

    /// Says what is wrong; or was, if whoever ends the job has sent the signal to its ranks as well.
    fn last_look(&self) {
        let Some(job) = self.job() else { return };
        let before = self.reading();
        let found = twice(&job, APART_AT_THE_END, &FileSymbols::default());
        match before.zip(progress(&job)) {
            Some((before, now)) if !now.living.is_superset(&before.lived()) => {
                self.look_back_to(job, &before);
            }
            _ => self.tell(&job, found, APART_AT_THE_END, BEFORE_THE_END),
        }
    }

    /// Says what was wrong when the job was as its images show it now.
    fn look_back(&self) {
        if let (Some(job), Some(before)) = (self.job(), self.reading()) {
            self.look_back_to(job, &before);
        }
    }

    /// The same, if nobody has gone on since this reading, whether he lives yet or not.
    fn look_back_to(&self, job: Job, before: &Reading) {
        let still = before.since.elapsed();
        let stood = progress(&job).is_some_and(|now| now.calls == before.progress.calls);
        if still >= APART_AT_THE_END && stood {
            let job = job.as_it_was(still, &before.lived());
            self.look(&job, still, BEFORE_THE_END);
        }
    }

    /// Says what is wrong, unless that was said last.
    fn look(&self, job: &Job, apart: Duration, when: &str) {
        self.tell(job, twice(job, apart, &FileSymbols::default()), apart, when);
    }

    fn tell(&self, job: &Job, found: anyhow::Result<Verdict>, apart: Duration, when: &str) {
        let Ok(found) = found else { return };
        // A server that waits for clients may do so for long, and ranks that have ended without anybody waiting for them do
        // not hang: the report says how they ended.
        let over = matches!(found.kind, Kind::RANK_GONE | Kind::NO_PARTNER) && found.stuck.is_empty();
        let too_late = when != BEFORE_THE_END && self.is_ending();
        if !found.problem || over || too_late || !(found.certain || self.has_lasted()) {
            return;
        }
        if let Ok(mut said) = self.said.lock() {
            if *said == found.verdict {
                return;
            }
            said.clone_from(&found.verdict);
        }
        self.say(&found, when);
        let evidence = self.evidence();
        // Nobody is slowed by a short stop of ranks that nobody can release.
        let saved = evidence::write(job, apart, true, &evidence);
        if saved {
            self.say_saved(&evidence);
        }
        self.keep(&found);
        self.call(&found, saved.then_some(&*evidence));
    }

    fn ends(&self) {
        if let Ok(mut ending) = self.ending.lock() {
            *ending = Some(Instant::now());
        }
    }

    /// A program may also do something with the signal and go on.
    fn is_ending(&self) -> bool {
        let since = self.ending.lock().ok().and_then(|ending| *ending);
        since.is_some_and(|since| since.elapsed() < ENDING)
    }

    /// Nothing has happened for so long that it will not by itself.
    fn has_lasted(&self) -> bool {
        self.reading().is_some_and(|reading| reading.since.elapsed() >= reading.patience(self.after))
    }

    /// Where everything that is known of a job that hangs is saved.
    fn evidence(&self) -> PathBuf {
        match &self.out {
            Some(dir) => dir.join(HANG),
            None => hang_file(&self.job),
        }
    }

    fn say(&self, found: &Verdict, when: &str) {
        let mut lines = output::lines(found);
        if let Some(first) = lines.first_mut() {
            *first = format!("mpiscope: {when}: {first}");
        }
        self.print(&lines);
    }

    fn say_saved(&self, file: &Path) {
        self.print(&[format!("saved: {} (for `mpiscope why`, `ps`, `inspect`)", file.display())]);
    }

    fn print(&self, lines: &[String]) {
        let terminal = self.screen.as_ref().map_or_else(|| Terminal::of(&std::io::stderr()), Terminal::of);
        let mut text = Vec::new();
        let mut screen = Screen::new(&mut text, terminal);
        for line in lines {
            let _infallible = screen.line(line);
        }
        let _infallible = screen.finish();
        // One write: the ranks' own output is not to come between.
        let written = match &self.screen {
            Some(screen) => (&*screen).write_all(&text),
            None => std::io::stderr().lock().write_all(&text),
        };
        // Nobody is left to learn of it.
        drop(written);
    }

    /// Writes the verdict to the directory of `--out`.
    fn keep(&self, found: &Verdict) {
        let Some(dir) = &self.out else { return };
        let file = dir.join("why.json");
        let written = serde_json::to_vec(found).map_err(std::io::Error::from);
        if let Err(why) = written.and_then(|text| std::fs::write(&file, text)) {
            complain("run", &format!("{}: cannot be written: {why}", file.display()));
        }
    }

    /// Runs the command of `--on-hang`, with what it needs to look further.
    fn call(&self, found: &Verdict, saved: Option<&Path>) {
        let Some(command) = &self.command else { return };
        let mut shell = Command::new("/bin/sh");
        shell.arg("-c").arg(command).stdin(Stdio::null());
        shell.env("MPISCOPE_JOB", &self.job).env("MPISCOPE_VERDICT", &found.verdict);
        shell.env("MPISCOPE_VERDICT_KIND", found.kind.0);
        if let Some(file) = saved {
            shell.env("MPISCOPE_EVIDENCE", file);
        }
        if let Err(why) = open_files::as_before(&mut shell).status() {
            complain("run", &format!("--on-hang cannot be run: {why}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_just_ended_lived_and_who_ended_earlier_did_not() {
        let progress = |living: &[u64]| Progress { calls: 7, living: living.iter().copied().collect() };
        let first = Reading::after(None, progress(&[1, 2, 3]));
        let since = first.since;
        let mut second = Reading::after(Some(first), progress(&[1, 3]));
        second.ended.insert(2, Instant::now() - 2 * TOGETHER);
        let third = Reading::after(Some(second), progress(&[3]));
        assert_eq!(third.lived(), [1, 3].into());
        assert_eq!(third.since, since, "nobody has gone on");
        let fourth = Reading::after(Some(third), Progress { calls: 8, living: [3].into() });
        assert!(fourth.since > since);
    }

    #[test]
    fn what_costs_little_is_read_often_and_no_reading_takes_more_than_a_hundredth_of_the_time() {
        let pause = |reading, after| pause_after(Duration::from_millis(reading), Duration::from_secs(after));
        assert_eq!(pause(0, 60), OFTEN);
        assert_eq!(pause(10, 60), Duration::from_secs(2));
        assert_eq!(pause(400, 60), READINGS.1);
        assert_eq!(pause(0, 1), Duration::from_millis(125), "as short as asked for");
    }
}
