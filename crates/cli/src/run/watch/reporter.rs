//! What is said of a job that hangs, and where.

use super::reading::{ENDING, Gone};
use super::{Reading, Scope};
use crate::open_files;
use crate::render::{Screen, Terminal, complain};
use crate::run::hosts::{FromHost, join};
use crate::run::{Options, evidence, signals};
use crate::why::{output, twice};
use mpiscope_job::hosts::other_hosts::Elsewhere;
use mpiscope_job::jobs::discover::discover;
use mpiscope_job::jobs::evidence::{HANG, ProcessEnd, hang_file};
use mpiscope_job::jobs::job::Job;
use mpiscope_job::model::process::Ending;
use mpiscope_job::questions::live::{Progress, stood};
use mpiscope_job::questions::why::{Kind, Verdict};
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Between the two looks of a verdict, when somebody is about to end the job.
const APART_AT_THE_END: Duration = Duration::from_millis(300);
/// When it is that a verdict is said as the last one.
const BEFORE_THE_END: &str = "before the end";

/// What is said of a job that hangs, and where.
pub struct Reporter {
    pub scope: Scope,
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
    /// Since when ranks of a job of several hosts are waited for that are gone.
    gone: Mutex<Gone>,
}

/// A verdict, and what there is to save with it.
pub struct Found {
    pub verdict: Verdict,
    /// The job if it ends; one that runs is looked at again.
    job: Option<Job>,
    /// What other hosts saw.
    elsewhere: Elsewhere,
    /// How long between the two looks.
    apart: Duration,
}

impl Reporter {
    pub fn new(job: &str, options: &Options, screen: Option<File>, scope: Scope) -> Self {
        Self {
            scope,
            job: job.to_owned(),
            out: options.out.clone(),
            command: options.on_hang.clone(),
            screen,
            said: Mutex::default(),
            reading: Mutex::default(),
            after: Duration::try_from_secs_f64(options.hang_after).unwrap_or_default(),
            ending: Mutex::default(),
            gone: Mutex::default(),
        }
    }

    /// What of the job is on this host.
    fn job(&self) -> Option<Job> {
        discover().into_iter().find(|job| job.name == self.job)
    }

    /// How far the ranks are now.
    pub fn progress(&self) -> Option<Progress> {
        self.scope.progress(self.job().as_ref())
    }

    /// Notes how far the ranks are now, and says since when they are there.
    pub fn note(&self, now: Option<Progress>) -> Option<Instant> {
        let mut reading = self.reading.lock().ok()?;
        let before = reading.take();
        *reading = now.map(|progress| Reading::after(before, progress));
        reading.as_ref().map(|reading| reading.since)
    }

    /// What was read last.
    fn reading(&self) -> Option<Reading> {
        self.reading.lock().ok()?.clone()
    }

    /// Says what is wrong, unless that was said last.
    pub fn look(&self, apart: Duration, when: &str) {
        self.tell(self.twice(apart, false), when);
    }

    /// Says what is wrong; or was, if whoever ends the job has sent the signal to its ranks as well.
    pub fn last_look(&self) {
        let before = self.reading();
        let speaks = self.scope.speaks(before.as_ref().map(|reading| &reading.progress));
        if !speaks {
            return;
        }
        let found = self.twice(APART_AT_THE_END, true);
        match before.zip(self.progress()) {
            Some((before, now)) if !now.living.is_superset(&before.lived(Instant::now())) => {
                self.look_back_to(&before);
            }
            _ => self.tell(found, BEFORE_THE_END),
        }
    }

    /// Says what was wrong when the job was as its images show it now.
    pub fn look_back(&self) {
        if let Some(before) = self.reading() {
            self.look_back_to(&before);
        }
    }

    /// The same of a job of which this was read last, whether its ranks live yet or not. Those of other hosts are looked back on when
    /// these have sent what they know.
    fn look_back_to(&self, before: &Reading) {
        if !self.scope.ends_elsewhere()
            && let Some(job) = self.job()
        {
            self.tell(self.as_it_was(job, before, Instant::now()), BEFORE_THE_END);
        }
    }

    /// The same of a job of several hosts that has ended, if signals have ended it. `ends` says how those of this host did.
    pub fn look_back_on(&self, ends: &[(u64, ProcessEnd)], others: &[FromHost]) {
        let Some(before) = self.reading().filter(|_| self.scope.ends_elsewhere()) else { return };
        let end = before.last_end();
        let began = self.began_to_end(end);
        if began.is_some() || ended_by_signals(others) {
            let job = join::job(&self.job, evidence::here(&self.job, ends), others);
            self.tell(self.as_it_was(job, &before, began.unwrap_or(end)), BEFORE_THE_END);
        }
    }

    /// The verdict on a job as it was at its end, if nobody had gone on for a while then. What was read last may be of earlier: it says
    /// who lived, and the images for how long they stood still.
    fn as_it_was(&self, job: Job, before: &Reading, end: Instant) -> Option<Found> {
        let mut job = job.as_it_was(&before.lived(end), stood);
        let apart = job.stood.filter(|stood| *stood >= APART_AT_THE_END)?;
        let (verdict, elsewhere) = twice(&mut job, apart, |_| Elsewhere::default()).ok()?;
        Some(Found { verdict, job: Some(job), elsewhere, apart })
    }

    /// The verdict on a job that runs. `ends` says that somebody is about to end it.
    pub fn twice(&self, apart: Duration, ends: bool) -> Option<Found> {
        let mut job = self.here();
        let join = |job: &mut Job| self.scope.join(job, (apart, false), ends);
        let (verdict, elsewhere) = twice(&mut job, apart, join).ok()?;
        // Nobody may be there to be looked at again.
        let job = ends.then_some(job);
        Some(Found { verdict, job, elsewhere, apart })
    }

    /// What of the job is on this host, even if that is nothing.
    fn here(&self) -> Job {
        self.job().unwrap_or_else(|| Job { name: self.job.clone(), ..Job::default() })
    }

    pub fn tell(&self, found: Option<Found>, when: &str) {
        let Some(found) = found else { return };
        let verdict = &found.verdict;
        // A server that waits for clients may do so for long, and ranks that have ended without anybody waiting for them do
        // not hang: the report says how they ended.
        let over = matches!(verdict.kind, Kind::RANK_GONE | Kind::NO_PARTNER) && verdict.stuck.is_empty();
        let runs = when != BEFORE_THE_END;
        let too_late = runs && (self.is_ending() || self.may_be_ended(&found));
        if !verdict.problem || over || too_late || !(verdict.certain || self.has_lasted()) {
            return;
        }
        if let Ok(mut said) = self.said.lock() {
            if *said == verdict.verdict {
                return;
            }
            said.clone_from(&verdict.verdict);
        }
        self.say(verdict, when);
        self.keep(verdict);
        let file = self.file();
        let verdict = found.verdict.clone();
        let saved = self.save(found, &file);
        if saved {
            self.say_saved(&file);
        }
        self.call(&verdict, saved.then_some(&*file));
    }

    /// Saves everything that is known of the job. Nobody is slowed by a short stop of ranks that nobody can release, so that their
    /// stacks are saved as well.
    fn save(&self, found: Found, file: &Path) -> bool {
        let Found { job, elsewhere, apart, .. } = found;
        match job {
            Some(job) => evidence::write(&job, apart, true, elsewhere, file),
            None => {
                let mut job = self.here();
                let now = self.scope.join(&mut job, (Duration::ZERO, true), false);
                let elsewhere = Elsewhere { before: elsewhere.before, ..now };
                evidence::write(&job, apart, true, elsewhere, file)
            }
        }
    }

    /// Somebody ends the job, or has begun to: a second signal may follow the first.
    pub fn ends(&self) {
        let began = self.began_to_end(Instant::now());
        if let Ok(mut ending) = self.ending.lock() {
            *ending = began.or_else(|| Some(Instant::now()));
        }
    }

    fn is_ending(&self) -> bool {
        self.began_to_end(Instant::now()).is_some()
    }

    /// Whether ranks that are waited for may have been ended with the others, which are yet to end: of other hosts nobody says whether
    /// somebody has sent signals there.
    fn may_be_ended(&self, found: &Found) -> bool {
        let several = !found.elsewhere.before.is_empty();
        let gone = several && found.verdict.kind == Kind::RANK_GONE;
        self.gone.lock().is_ok_and(|mut since| since.is_new(gone, Instant::now()))
    }

    /// When somebody began to end the job that is about to end at this time. A program may also do something with a signal and go on.
    fn began_to_end(&self, end: Instant) -> Option<Instant> {
        let began = self.ending.lock().ok().and_then(|ending| *ending)?;
        (end.saturating_duration_since(began) < ENDING).then_some(began)
    }

    /// Nothing has happened for so long that it will not by itself.
    fn has_lasted(&self) -> bool {
        self.reading().is_some_and(|reading| reading.since.elapsed() >= reading.patience(self.after))
    }

    /// Where everything that is known of a job that hangs is saved.
    fn file(&self) -> PathBuf {
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

/// Whether nothing but signals of those who end jobs has ended processes of these hosts.
fn ended_by_signals(others: &[FromHost]) -> bool {
    let evidence = others.iter().filter_map(|other| other.evidence.as_ref().ok());
    let ends =
        evidence.flat_map(|evidence| &evidence.job.images).filter_map(|image| image.end.as_ref()?.ending);
    let mut signals = ends.filter_map(|ending| match ending {
        Ending::Signal(signal) => Some(signal),
        Ending::Exit(_) => None,
    });
    let is_it = |signal| signals::ends_jobs(signal) || signal == libc::SIGKILL;
    signals.next().is_some_and(is_it) && signals.all(is_it)
}
