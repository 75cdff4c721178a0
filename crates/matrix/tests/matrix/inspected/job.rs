//! A job that is idle while it is inspected.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::program::Program;
use mpiscope_testkit::{paths, run, schema};
use serde_json::Value;
use tempfile::TempDir;

use super::PROGRAM;
use crate::patience;
use crate::subject::{LIMIT, Subject};

/// A job under `mpiscope run`, ended with all its descendants.
pub struct Job {
    child: Child,
    dir: TempDir,
    ranks: usize,
    ended: bool,
}

impl Job {
    /// Starts the program in a mode, each rank below `wrapper`.
    pub fn start(subject: &Subject, library: &Library, mode: &str, wrapper: &[&str]) -> Result<Self> {
        Self::start_of(&PROGRAM, subject, library, &[mode], wrapper)
    }

    /// Starts a program; its last argument is the directory where it signals that it is ready.
    pub fn start_of(
        program: &Program,
        subject: &Subject,
        library: &Library,
        modes: &[&str],
        wrapper: &[&str],
    ) -> Result<Self> {
        let mut words: Vec<OsString> = wrapper.iter().map(OsString::from).collect();
        words.push(subject.binary(program, library)?.into());
        words.extend(modes.iter().map(OsString::from));
        Self::start_words(library, program.ranks, &words, &|_| ())
    }

    /// Starts any command on this many ranks; its last argument is the directory where it may signal that it
    /// is ready.
    pub fn start_words(
        library: &Library,
        ranks: usize,
        words: &[OsString],
        adjust: &dyn Fn(&mut Command),
    ) -> Result<Self> {
        let dir = tempfile::tempdir()?;
        let mpiscope = paths::mpiscope().context("no mpiscope command; run `cargo xtask test`")?;
        // Waiting ranks spin at full speed; this gives priority to the command that inspects them.
        let mut command = Command::new("nice");
        command.arg("--adjustment=15").arg(&mpiscope).args(["run", "--out"]).arg(dir.path().join("out"));
        library.set_environment(&mut command);
        patience::have(&mut command)?;
        command.arg(&library.mpirun).args(library.launch_arguments(ranks)).args(words).arg(dir.path());
        adjust(&mut command);
        run::apart(&mut command, dir.path());
        // Tests search for whole lines.
        command.env("COLUMNS", "400");
        let file = |name: &str| File::create(dir.path().join(name)).map(Stdio::from);
        command.stdin(Stdio::null()).stdout(file("stdout")?).stderr(file("stderr")?).process_group(0);
        Ok(Self { child: command.spawn()?, dir, ranks, ended: false })
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The job's name for the command: the process id of `mpiscope run`.
    pub fn target(&self) -> String {
        self.child.id().to_string()
    }

    fn output(&self) -> String {
        let text = |name: &str| std::fs::read_to_string(self.path().join(name)).unwrap_or_default();
        format!("--- stdout\n{}\n--- stderr\n{}", text("stdout"), text("stderr"))
    }

    pub fn stderr(&self) -> String {
        std::fs::read_to_string(self.path().join("stderr")).unwrap_or_default()
    }

    /// Waits until a condition holds.
    pub fn until(&mut self, what: &str, mut so: impl FnMut() -> Result<bool>) -> Result<()> {
        let end = Instant::now() + LIMIT;
        loop {
            if so()? {
                return Ok(());
            }
            self.is_there(what)?;
            ensure!(Instant::now() < end, "timed out before: {what}\n{}", self.output());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Fails if the job has ended before the condition held.
    pub fn is_there(&mut self, what: &str) -> Result<()> {
        if let Some(status) = self.child.try_wait()? {
            self.ended = true;
            bail!("the job ended ({status}) before: {what}\n{}", self.output());
        }
        Ok(())
    }

    /// Waits until every rank has signaled that it is ready.
    pub fn all_ready(&mut self) -> Result<()> {
        self.each_has("ready")
    }

    /// Waits until every rank has given this signal.
    pub fn each_has(&mut self, said: &str) -> Result<()> {
        let files: Vec<PathBuf> = (0..self.ranks).map(|r| self.path().join(format!("{said}.{r}"))).collect();
        self.until(said, || Ok(files.iter().all(|file| file.exists())))
    }

    /// The report that `mpiscope run` wrote at the end.
    pub fn report(&self) -> Result<Value> {
        let file = self.path().join("out/report.json");
        let text = std::fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        Ok(serde_json::from_str(&text)?)
    }

    /// Lets the program continue.
    pub fn signal(&self, name: &str) -> Result<()> {
        File::create(self.path().join(name))?;
        Ok(())
    }

    /// Waits for the end of the job.
    pub fn finish(&mut self) -> Result<()> {
        let end = Instant::now() + LIMIT;
        while self.child.try_wait()?.is_none() {
            ensure!(Instant::now() < end, "the job did not end\n{}", self.output());
            std::thread::sleep(Duration::from_millis(20));
        }
        self.ended = true;
        Ok(())
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        if !self.ended {
            let _gone = run::kill(&mut self.child);
        }
    }
}

/// Runs the command.
pub fn mpiscope(arguments: &[OsString]) -> Result<run::Outcome> {
    let mpiscope = paths::mpiscope().context("no mpiscope command; run `cargo xtask test`")?;
    Ok(run::bounded(Command::new(mpiscope).args(arguments), LIMIT)?)
}

/// Converts words of a command.
pub fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

/// The command's JSON output, validated against the published schema.
pub fn json(arguments: &[&str]) -> Result<Value> {
    let outcome = mpiscope(&words(arguments))?;
    let about = || format!("{arguments:?}: {}", outcome.describe());
    let value = serde_json::from_str(&outcome.stdout).with_context(about)?;
    schema::check(&value).with_context(about)?;
    Ok(value)
}

/// The command's output; it must not report a problem.
pub fn text(arguments: &[&str]) -> Result<String> {
    let outcome = mpiscope(&words(arguments))?;
    ensure!(outcome.success(), "{arguments:?}: {}", outcome.describe());
    Ok(outcome.stdout)
}
