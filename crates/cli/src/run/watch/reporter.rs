//! Reports on a job that hangs.

use super::reading::{ENDED_TOGETHER, ENDING, Gone};
use super::{Reading, Scope};
use crate::open_files;
use crate::render::{Screen, Terminal, complain, duration};
use crate::run::hosts::{FromHost, join};
use crate::run::{Options, evidence, signals};
use crate::whole_file;
use crate::why::{output, twice};
use mpiscope_job::base::json;
use mpiscope_job::hosts::other_hosts::Elsewhere;
use mpiscope_job::jobs::discover::discover;
use mpiscope_job::jobs::evidence::{HANG, ProcessEnd, hang_file};
use mpiscope_job::jobs::job::Job;
use mpiscope_job::jobs::job_image::{ImageId, JobImage};
use mpiscope_job::model::process::Ending;
use mpiscope_job::questions::live::{Progress, stood};
use mpiscope_job::questions::why::{Kind, Verdict};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Interval between the two snapshots of a verdict when the job is about to be ended.
const APART_AT_THE_END: Duration = Duration::from_millis(300);
/// The time given for a final verdict.
const BEFORE_THE_END: &str = "before the end";
/// If a job that was not hanging is ended after such a stall, or after one of `--hang-after`, who held it up is
/// reported.
const WORTH_REPORTING: Duration = Duration::from_secs(10);

/// Reports on a job that hangs.
pub struct Reporter {
    pub scope: Scope,
    job: String,
    out: Option<PathBuf>,
    command: Option<OsString>,
    /// Standard error of the launcher, if there is one; otherwise ours is used.
    screen: Option<File>,
    /// The latest reported verdict.
    said: Mutex<String>,
    /// The latest reading of the ranks' progress.
    reading: Mutex<Option<Reading>>,
    /// The value of `--hang-after`: how long nothing must have happened.
    after: Duration,
    /// When the end of the job began.
    ending: Mutex<Option<Instant>>,
    /// Since when ranks of a multi-host job have been waiting for ranks that are gone.
    gone: Mutex<Gone>,
}

/// A verdict, and the data to save with it.
pub struct Found {
    pub verdict: Verdict,
    /// The job if it is ending; a running job is read again when it is saved.
    job: Option<Job>,
    /// What other hosts saw.
    elsewhere: Elsewhere,
    /// Interval between the two snapshots.
    apart: Duration,
    /// How long no rank had completed a call, at least.
    stalled: Duration,
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

    /// Finds the part of the job on this host.
    fn job(&self) -> Option<Job> {
        discover().into_iter().find(|job| job.name == self.job)
    }

    /// Returns the current progress of the ranks.
    pub fn progress(&self) -> Option<Progress> {
        self.scope.progress(self.job().as_ref())
    }

    /// Returns the names of the worlds with ranks here that have passed `MPI_Init`.
    fn worlds(&self) -> BTreeSet<String> {
        let images = self.job().map(|job| job.images).unwrap_or_default();
        let worlds = images.iter().filter_map(|image| Some(image.who()?.entry.world));
        worlds.filter(|world| !world.is_empty()).collect()
    }

    /// Returns the longest time for which a rank has stalled, as far as that is known here, where ranks have
    /// for `here`.
    pub fn stalled_anywhere(&self, here: Duration) -> Duration {
        let noted = here < self.after && self.scope.is_stall_noted(self.out.as_deref(), || self.worlds());
        if noted { self.after } else { here }
    }

    /// Tells the reporting host whether a rank here has stalled for long.
    pub fn note_stall(&self, stalled: Duration) {
        self.scope.note_stall(stalled >= self.after, self.out.as_deref(), || self.worlds());
    }

    /// Records the current progress, and returns since when it has not changed.
    pub fn note(&self, now: Option<Progress>) -> Option<Instant> {
        let mut reading = self.reading.lock().ok()?;
        let before = reading.take();
        *reading = now.map(|progress| Reading::after(before, progress));
        reading.as_ref().map(|reading| reading.since)
    }

    /// Returns the latest reading.
    fn reading(&self) -> Option<Reading> {
        self.reading.lock().ok()?.clone()
    }

    /// Reports what is wrong, unless that was the latest report.
    pub fn look(&self, apart: Duration, when: &str) {
        self.tell(self.twice(apart, false), when);
    }

    /// Reports what is wrong; or what was wrong, if the signal has already reached the ranks as well.
    pub fn last_look(&self) {
        let before = self.reading();
        let is_reporter = self.scope.is_reporter(before.as_ref().map(|reading| &reading.progress));
        if !is_reporter {
            return;
        }
        let found = self.twice(APART_AT_THE_END, true);
        match before.zip(self.progress()) {
            Some((before, now)) if !now.living.is_superset(&before.lived(Instant::now())) => {
                self.look_back_to(&before);
            }
            // Without the other hosts there is nothing certain to say; their data may come after the end.
            _ => self.tell(found.filter(|found| self.scope.suffices(&found.verdict)), BEFORE_THE_END),
        }
    }

    /// Reports what was wrong, from the current state of the images.
    pub fn look_back(&self) {
        if let Some(before) = self.reading() {
            self.look_back_to(&before);
        }
    }

    /// Reports what was wrong, given the latest reading; ranks may or may not still be alive. Multi-host jobs
    /// are handled later, when the other hosts have sent their data.
    fn look_back_to(&self, before: &Reading) {
        if !self.scope.ends_elsewhere()
            && let Some(job) = self.job()
        {
            self.tell(self.as_it_was(job, &before.lived(Instant::now())), BEFORE_THE_END);
        }
    }

    /// Reports what was wrong with a job, if signals ended it that did not reach us first: its ranks are on
    /// several hosts, or its launcher has ended them. `ends` are the ends of local processes.
    pub fn look_back_on(&self, ends: &[(u64, ProcessEnd)], others: &[FromHost]) {
        let Some(before) = self.reading().filter(|_| self.scope.is_judged_after_its_end()) else { return };
        let end = before.last_end();
        let began = self.began_to_end(end);
        if began.is_some() || ended_by_signals(ends, others) {
            let job = join::job(&self.job, evidence::here(&self.job, ends), others);
            let mut lived = before.lived(began.unwrap_or(end));
            if !self.scope.ends_elsewhere() {
                lived.extend(others.iter().flat_map(ended_with_the_job));
            }
            let found = self.as_it_was(job, &lived);
            self.tell(found.filter(|found| self.scope.suffices(&found.verdict)), BEFORE_THE_END);
        }
    }

    /// Judges a job as of the time of its end, when the processes in `lived` existed, if no rank had made
    /// progress for a while: the images tell for how long.
    fn as_it_was(&self, job: Job, lived: &BTreeSet<ImageId>) -> Option<Found> {
        let mut job = job.as_it_was(lived, stood);
        let apart = job.stood.filter(|stood| *stood >= APART_AT_THE_END)?;
        let (verdict, elsewhere) = twice(&mut job, apart, |_| Elsewhere::default()).ok()?;
        Some(Found { verdict, job: Some(job), elsewhere, apart, stalled: apart })
    }

    /// Judges a running job. `ends` means that the job is about to be ended.
    pub fn twice(&self, apart: Duration, ends: bool) -> Option<Found> {
        let mut job = self.here();
        let join = |job: &mut Job| self.scope.join(job, (apart, false), ends);
        let (verdict, elsewhere) = twice(&mut job, apart, join).ok()?;
        // At the end there may be nothing left to read again.
        let job = ends.then_some(job);
        let stalled = self.reading().map_or(Duration::ZERO, |reading| reading.since.elapsed());
        Some(Found { verdict, job, elsewhere, apart, stalled })
    }

    /// Finds the part of the job on this host, possibly empty.
    fn here(&self) -> Job {
        self.job().unwrap_or_else(|| Job { name: self.job.clone(), ..Job::default() })
    }

    pub fn tell(&self, found: Option<Found>, when: &str) {
        let Some(found) = found else { return };
        let verdict = &found.verdict;
        // A server may wait for clients for long, and ranks that have ended without others waiting for them
        // do not hang: the report describes their end.
        let over = matches!(verdict.kind, Kind::RANK_GONE | Kind::NO_PARTNER) && verdict.stuck.is_empty();
        let runs = when != BEFORE_THE_END;
        let too_late = runs && (self.is_ending() || self.may_be_ended(&found));
        if !runs && self.was_held_up(&found) {
            let stalled = duration(found.stalled.as_secs_f64());
            self.deliver(
                found,
                &format!("when it was ended, no rank had completed an MPI call for {stalled}"),
            );
            return;
        }
        if !verdict.problem || over || too_late || !(verdict.certain || self.is_persistent_stall()) {
            return;
        }
        let verdict = verdict.clone();
        if let Some(saved) = self.deliver(found, when) {
            self.call(&verdict, saved.as_deref());
        }
    }

    /// Whether ranks of a job that does not hang have waited long for one that computes, sleeps or uses a file. Of
    /// ranks that are not seen, the host that sees all of them may know more.
    fn was_held_up(&self, found: &Found) -> bool {
        let Verdict { kind, culprits, unseen, .. } = &found.verdict;
        matches!(*kind, Kind::SLOW | Kind::FILE)
            && !culprits.is_empty()
            && unseen.is_empty()
            && found.stalled >= self.after.min(WORTH_REPORTING)
    }

    /// Prints and saves a verdict, unless it was the latest; returns the file, if it could be written.
    fn deliver(&self, found: Found, when: &str) -> Option<Option<PathBuf>> {
        if let Ok(mut said) = self.said.lock() {
            if *said == found.verdict.verdict {
                return None;
            }
            said.clone_from(&found.verdict.verdict);
        }
        self.say(&found.verdict, when);
        self.keep(&found.verdict);
        let file = self.file();
        let saved = self.save(found, &file);
        if saved {
            self.say_saved(&file);
        }
        Some(saved.then_some(file))
    }

    /// Saves everything known about the job. Briefly stopping ranks that can never proceed slows nothing
    /// down, so their stacks are saved as well.
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

    /// Records that the end of the job has begun. A second signal may follow the first.
    pub fn ends(&self) {
        let began = self.began_to_end(Instant::now());
        if let Ok(mut ending) = self.ending.lock() {
            *ending = began.or_else(|| Some(Instant::now()));
        }
    }

    fn is_ending(&self) -> bool {
        self.began_to_end(Instant::now()).is_some()
    }

    /// Whether the missing ranks may have been killed together with the others, whose end is still to come.
    /// There is no information on signals sent on other hosts.
    fn may_be_ended(&self, found: &Found) -> bool {
        let several = !found.elsewhere.before.is_empty();
        let gone = several && found.verdict.kind == Kind::RANK_GONE;
        self.gone.lock().is_ok_and(|mut since| since.is_new(gone, Instant::now()))
    }

    /// Returns when the end of a job began that is about to end at `end`. A program may also handle a signal
    /// and continue.
    fn began_to_end(&self, end: Instant) -> Option<Instant> {
        let began = self.ending.lock().ok().and_then(|ending| *ending)?;
        (end.saturating_duration_since(began) < ENDING).then_some(began)
    }

    /// Whether the stall has lasted so long that it will not resolve by itself.
    fn is_persistent_stall(&self) -> bool {
        self.reading().is_some_and(|reading| reading.since.elapsed() >= reading.patience(self.after))
    }

    /// Returns the file for everything known about a job that hangs.
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
        // One write, so that output of ranks does not interleave.
        let written = match &self.screen {
            Some(screen) => (&*screen).write_all(&text),
            None => std::io::stderr().lock().write_all(&text),
        };
        // There is nowhere left to report a failure.
        drop(written);
    }

    /// Writes the verdict to the directory of `--out`.
    fn keep(&self, found: &Verdict) {
        let Some(dir) = &self.out else { return };
        let file = dir.join("why.json");
        let written = json::text(found).map_err(anyhow::Error::from);
        if let Err(why) = written.and_then(|text| whole_file::replace(&file, &text)) {
            complain("run", &format!("{why:#}; the verdict was not written"));
        }
    }

    /// Runs the command of `--on-hang`, with the details in its environment.
    fn call(&self, found: &Verdict, saved: Option<&Path>) {
        let Some(command) = &self.command else { return };
        let mut shell = Command::new("/bin/sh");
        shell.arg("-c").arg(command).stdin(Stdio::null());
        shell.env("MPISCOPE_JOB", &self.job).env("MPISCOPE_VERDICT", &found.verdict);
        shell.env("MPISCOPE_VERDICT_KIND", found.kind.0);
        if let Some(file) = saved {
            shell.env("MPISCOPE_EVIDENCE", file);
        }
        match open_files::as_before(&mut shell).status() {
            Ok(status) if status.success() => {}
            Ok(status) => complain("run", &format!("the command of --on-hang failed: {status}")),
            Err(why) => complain("run", &format!("--on-hang cannot be run: {why}")),
        }
    }
}

/// Returns the processes of another host that a signal ended together with the job. Their progress was unknown
/// here; their host saved its part when the last of them had ended.
fn ended_with_the_job(other: &FromHost) -> Vec<ImageId> {
    let with_the_job = |image: &&JobImage| {
        let Some((end, saved)) = image.end.as_ref().zip(image.about()) else { return false };
        let by_signal = matches!(end.ending, Some(Ending::Signal(signal)) if signals::ends_jobs(signal));
        let ago = |ended_ns| Duration::from_nanos(saved.moment.monotonic_ns.saturating_sub(ended_ns));
        by_signal && end.ended_ns.is_some_and(|ended_ns| ago(ended_ns) < ENDED_TOGETHER)
    };
    let images = other.evidence.iter().flat_map(|evidence| &evidence.job.images).filter(with_the_job);
    images.filter_map(|image| image.id(&image.who()?.entry.place.host)).collect()
}

/// Whether all processes that died by a signal were killed by one used to end jobs, and at least one was. A
/// process of this host whose end nobody has told was killed together with its wrapper.
fn ended_by_signals(ends: &[(u64, ProcessEnd)], others: &[FromHost]) -> bool {
    let here = ends.iter().map(|(_, end)| end).filter(|end| end.ended_ns.is_some());
    let here = here.map(|end| end.ending.unwrap_or(Ending::Signal(libc::SIGKILL)));
    let evidence = others.iter().filter_map(|other| other.evidence.as_ref().ok());
    let there =
        evidence.flat_map(|evidence| &evidence.job.images).filter_map(|image| image.end.as_ref()?.ending);
    let mut signals = here.chain(there).filter_map(|ending| match ending {
        Ending::Signal(signal) => Some(signal),
        Ending::Exit(_) => None,
    });
    let is_it = |signal| signals::ends_jobs(signal) || signal == libc::SIGKILL;
    signals.next().is_some_and(is_it) && signals.all(is_it)
}
