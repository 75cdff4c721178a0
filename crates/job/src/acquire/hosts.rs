//! The processes of this host, and the command that asks other hosts.

use super::images::{self, ImageEntry};
use super::{Acquired, Error, Users};
use crate::other_hosts::announced;
use crate::process_tree::Families;
use crate::scheduler::{self, SlurmId, Steps};
use crate::shell::quoted;
use crate::time_limit::{self, Outcome};
use mpiscope_target::{Files, Live, Target, procfs};
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// What [`acquire`](super::acquire) needs of the world; tests have their own.
pub trait Hosts {
    /// The name of this host.
    fn host(&self) -> String;
    /// Whether processes of this host are meant.
    fn here(&self, host: &str) -> bool;
    /// The user that a process of this host belongs to; nothing if there is no such process.
    fn owner(&self, pid: u32) -> Option<u32>;
    /// A process of this host; its program is to be `executable`, if that is known.
    fn open(&self, pid: u32, executable: &Path) -> Result<Box<dyn Target>, Error>;
    /// The descendants of a process of this host.
    fn descendants(&self, pid: u32) -> Vec<u32>;
    /// All processes of this host that have an image.
    fn records(&self) -> Vec<ImageEntry>;
    /// Other hosts that this job has ranks on, as the one says who has started it from here or gathers it.
    fn announced(&self, job: &JobKey) -> Vec<String>;
    /// What another host knows of the processes of these users.
    fn ask(&self, host: &str, whom: &Whom, users: &Users) -> Result<Acquired, Error>;
}

/// A job: whose it is, and its name.
pub type JobKey = (u32, String);

/// From where another host is to look.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Whom {
    /// Processes there.
    pub pids: BTreeSet<u32>,
    /// Jobs, by name: a host may have ranks of one that no table names.
    pub jobs: BTreeSet<String>,
}

impl Whom {
    /// Nothing?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pids.is_empty() && self.jobs.is_empty()
    }

    /// What is not in `other`.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        Self { pids: &self.pids - &other.pids, jobs: &self.jobs - &other.jobs }
    }

    /// Takes in all of `other`.
    pub fn extend(&mut self, other: Self) {
        self.pids.extend(other.pids);
        self.jobs.extend(other.jobs);
    }

    fn words(&self) -> impl Iterator<Item = String> {
        self.pids.iter().map(u32::to_string).chain(self.jobs.iter().cloned())
    }
}

/// With this status `ssh` ends when it has no connection, or has lost it; commands like it do the same.
const NO_CONNECTION: i32 = 255;

/// How long another host may take to answer, unless `MPISCOPE_HOST_SECONDS` says otherwise.
const SECONDS: f64 = 30.0;

/// The same.
#[must_use]
pub fn host_limit() -> Duration {
    let seconds = env::var("MPISCOPE_HOST_SECONDS").ok().and_then(|text| text.parse::<f64>().ok());
    let seconds = seconds.filter(|seconds| (0.001..86_400.0).contains(seconds)).unwrap_or(SECONDS);
    Duration::from_secs_f64(seconds)
}

/// How another host is reached.
#[derive(Debug, Clone)]
pub struct Remote {
    way: Way,
    /// The program on the other host.
    program: PathBuf,
    /// What a host may take, and what it was asked to take besides.
    limit: Duration,
}

/// By which command.
#[derive(Debug, Clone)]
enum Way {
    /// Words of the command; `{host}` stands for the host. What is to be run there is added, for a shell.
    Shell(Vec<String>),
    /// A further step of this job of Slurm: many sites allow this and no other way.
    Slurm(Steps),
}

/// The real one.
#[derive(Debug, Clone)]
pub struct SystemHosts {
    host: String,
    remote: Remote,
    /// What all processes of this host have in common, read once.
    files: Arc<Files>,
    families: OnceLock<Families>,
}

impl SystemHosts {
    /// Asks other hosts by `MPISCOPE_SSH`, or `ssh` if that is not set, to run `program` there.
    pub fn new(program: PathBuf) -> Self {
        let host = procfs::hostname().unwrap_or_default();
        Self { host, remote: Remote::new(program), files: Arc::default(), families: OnceLock::new() }
    }

    /// Other hosts are those of a job that Slurm has started, if it has: they are asked by `srun`, unless `MPISCOPE_SSH` names another
    /// way.
    #[must_use]
    pub fn started_by(mut self, slurm: Option<SlurmId>) -> Self {
        let configured = env::var("MPISCOPE_SSH").is_ok_and(|text| !text.trim().is_empty());
        if let Some(id) = slurm.filter(|_| !configured && scheduler::is_here()) {
            self.remote.way = Way::Slurm(Steps::of(id));
        }
        self
    }

    /// How other hosts are reached.
    #[must_use]
    pub fn remote(&self) -> &Remote {
        &self.remote
    }
}

impl Remote {
    fn new(program: PathBuf) -> Self {
        let template = env::var("MPISCOPE_SSH").ok().filter(|text| !text.trim().is_empty());
        let template = template.unwrap_or_else(|| "ssh -o BatchMode=yes -o ConnectTimeout=10 {host}".into());
        let mut shell: Vec<String> = template.split_whitespace().map(str::to_owned).collect();
        if !shell.iter().any(|word| word.contains("{host}")) {
            shell.push("{host}".into());
        }
        Self { way: Way::Shell(shell), program, limit: host_limit() }
    }

    /// Runs this program on another host.
    ///
    /// # Errors
    /// [`Error::Remote`], when the command cannot be started, does not end in time, or says that it failed; [`Error::Unreached`], when
    /// it says that there is no connection.
    pub fn command(&self, host: &str, arguments: &[String]) -> Result<(), Error> {
        let outcome = self.ask(host, arguments, Duration::ZERO)?;
        if outcome.success() { Ok(()) } else { Err(self.failed(host, last_words(&outcome), &outcome)) }
    }

    /// Runs this program on another host for `longer` than usual, and reads the JSON that it prints.
    ///
    /// # Errors
    /// [`Error::Remote`], with the last thing that the command said.
    pub fn run<T: DeserializeOwned>(
        &self,
        host: &str,
        arguments: &[String],
        longer: Duration,
    ) -> Result<T, Error> {
        let outcome = self.ask(host, arguments, longer)?;
        // Shells on other hosts like to say good morning first.
        let mut lines = outcome.stdout.split(|b| *b == b'\n');
        let answer = lines.rfind(|line| line.first() == Some(&b'{')).unwrap_or_default();
        serde_json::from_slice(answer).map_err(|e| {
            let silent = outcome.stdout.is_empty() || !outcome.stderr.is_empty();
            let why =
                if silent { last_words(&outcome) } else { format!("the answer is not understood ({e})") };
            self.failed(host, why, &outcome)
        })
    }

    /// Runs this program on another host for `longer` than usual, and gives all that it prints.
    ///
    /// # Errors
    /// [`Error::Remote`], with the last thing that the command said if it prints nothing.
    pub fn output(&self, host: &str, arguments: &[String], longer: Duration) -> Result<Vec<u8>, Error> {
        let outcome = self.ask(host, arguments, longer)?;
        let silent = outcome.stdout.is_empty();
        let why = if silent { last_words(&outcome) } else { String::new() };
        if silent { Err(self.failed(host, why, &outcome)) } else { Ok(outcome.stdout) }
    }

    /// What went wrong on the way to a host is mended by other means than what went wrong there.
    fn failed(&self, host: &str, why: String, outcome: &Outcome) -> Error {
        let host = host.to_owned();
        let refused = outcome.status.and_then(|status| status.code()) == Some(NO_CONNECTION);
        match &self.way {
            Way::Shell(_) if refused => Error::Unreached { host, why },
            Way::Shell(_) | Way::Slurm(_) => Error::Remote { host, why },
        }
    }

    fn ask(&self, host: &str, arguments: &[String], longer: Duration) -> Result<Outcome, Error> {
        let fail = |why: String| Error::Remote { host: host.to_owned(), why };
        // The name comes from another process's memory and becomes an argument of a command.
        let plain = |c: char| c.is_ascii_alphanumeric() || ".-_:%".contains(c);
        if host.starts_with('-') || !host.chars().all(plain) || host.is_empty() {
            return Err(Error::HostName { host: host.to_owned() });
        }
        let mut command = match &self.way {
            Way::Shell(shell) => {
                let mut words = shell.iter().map(|word| word.replace("{host}", host));
                let Some(first) = words.next() else { return Err(fail("MPISCOPE_SSH is empty".into())) };
                let mut command = Command::new(first);
                // The shell on the other side takes the words apart again.
                command.args(words).arg(quoted(&self.program.to_string_lossy()));
                command.args(arguments.iter().map(|argument| quoted(argument)));
                command
            }
            Way::Slurm(steps) => {
                let mut command = steps.on(host);
                command.arg(&self.program).args(arguments);
                command
            }
        };
        let limit = self.limit.saturating_add(longer);
        let outcome = time_limit::run(&mut command, limit);
        let outcome = outcome.map_err(|e| fail(format!("{}: {e}", command.get_program().display())))?;
        match outcome.status {
            Some(_) => Ok(outcome),
            None => Err(fail(format!("it did not answer within {} s", limit.as_secs_f64()))),
        }
    }
}

/// The last line on standard error, of this program there if that one has spoken: what brought it there likes to have the last
/// word. Of a command that has said nothing, how it ended.
fn last_words(output: &Outcome) -> String {
    let said = mpiscope_image::text(&output.stderr);
    let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty()).rev();
    let of_ours = lines.clone().find_map(|line| line.strip_prefix("mpiscope: "));
    match (of_ours.or_else(|| lines.next()), output.status) {
        (Some(line), _) => line.to_owned(),
        (None, Some(status)) => format!("mpiscope there ended without an answer ({status})"),
        (None, None) => "mpiscope there ended without an answer".to_owned(),
    }
}

/// Two names of one host: equal, or one is the other with its domain.
pub(crate) fn same_host(one: &str, other: &str) -> bool {
    let with_domain = |long: &str, short: &str| {
        !short.is_empty() && long.len() > short.len() && long.as_bytes().get(short.len()) == Some(&b'.')
            && long.get(..short.len()).is_some_and(|head| head.eq_ignore_ascii_case(short))
            // Addresses have dots, too.
            && !long.bytes().next().is_some_and(|b| b.is_ascii_digit())
    };
    one.eq_ignore_ascii_case(other) || with_domain(one, other) || with_domain(other, one)
}

impl Hosts for SystemHosts {
    fn host(&self) -> String {
        self.host.clone()
    }

    fn here(&self, host: &str) -> bool {
        same_host(host, &self.host) || ["localhost", "127.0.0.1", "::1"].contains(&host)
    }

    fn owner(&self, pid: u32) -> Option<u32> {
        procfs::user(pid).ok()
    }

    fn open(&self, pid: u32, executable: &Path) -> Result<Box<dyn Target>, Error> {
        let live = Live::open_among(pid, self.files.clone())?;
        if procfs::status(pid)?.has_ended() {
            return Err(mpiscope_target::Error::NoProcess { pid }.into());
        }
        let now = live.executable().unwrap_or_default();
        let name = |path: &Path| {
            let text = path.as_os_str().to_string_lossy().into_owned();
            text.strip_suffix(" (deleted)").unwrap_or(&text).to_owned()
        };
        // The number of a process that has ended may belong to another by now.
        if !executable.as_os_str().is_empty()
            && Path::new(&name(&now)).file_name() != Path::new(&name(executable)).file_name()
        {
            return Err(mpiscope_target::Error::NoProcess { pid }.into());
        }
        Ok(Box::new(live))
    }

    fn descendants(&self, pid: u32) -> Vec<u32> {
        self.families.get_or_init(Families::now).descendants(pid)
    }

    fn records(&self) -> Vec<ImageEntry> {
        images::all()
    }

    fn announced(&self, job: &JobKey) -> Vec<String> {
        announced::all()
            .into_iter()
            .find(|found| (found.owner, &found.name) == (job.0, &job.1))
            .map_or_else(Vec::new, |found| found.parts.map(|parts| parts.hosts).unwrap_or_default())
    }

    fn ask(&self, host: &str, whom: &Whom, users: &Users) -> Result<Acquired, Error> {
        let mut words = ["procs", "--json", "--here"].map(str::to_owned).to_vec();
        if !users.unnamed() {
            words.extend(["--user".to_owned(), users.to_string()]);
        }
        words.extend(whom.words());
        self.remote.run(host, &words, Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_name_of_a_host_is_neither_asked_nor_put_into_advice_to_paste() {
        for host in ["", "-oProxyCommand=true", "a;true", "a b", "$(true)", "a\nb", "a\'b"] {
            let error = SystemHosts::new("true".into()).remote().command(host, &[]).unwrap_err();
            assert!(matches!(error, Error::HostName { .. }), "{error}");
            let text = error.to_string();
            assert!(!text.contains("ssh") && !text.contains('\n'), "{text}");
        }
    }

    #[test]
    fn a_host_whose_command_is_killed_without_a_word_is_said_to_have_given_no_answer() {
        let shell = ["sh", "-c", "kill -9 $$", "{host}"].map(str::to_owned).to_vec();
        let remote = Remote { way: Way::Shell(shell), program: "0".into(), limit: Duration::from_secs(60) };
        let killed = "n3: mpiscope there ended without an answer (signal: 9";
        let error = remote.output("n3", &[], Duration::ZERO).unwrap_err().to_string();
        assert!(error.contains(killed), "{error}");
        let error = remote.run::<Acquired>("n3", &[], Duration::ZERO).unwrap_err().to_string();
        assert!(error.contains(killed), "{error}");
        assert!(!error.contains("log in"), "it was reached: {error}");
    }

    #[test]
    fn advice_on_logging_in_is_given_where_that_failed_and_only_there() {
        let remote = |script: &str| {
            let shell = ["sh", "-c", script, "{host}"].map(str::to_owned).to_vec();
            Remote { way: Way::Shell(shell), program: "0".into(), limit: Duration::from_secs(60) }
        };
        let said = |script| remote(script).output("n3", &[], Duration::ZERO).unwrap_err().to_string();
        assert!(said("echo Permission denied >&2; exit 255").contains("denied; can you log in there"));
        for script in ["echo no such file >&2; exit 127", "kill -15 $$", "exit 2"] {
            assert!(!said(script).contains("log in"), "{}", said(script));
        }
    }

    #[test]
    fn a_host_that_hangs_is_given_up_and_named() {
        let (shell, program) = (["sleep", "600", "{host}"].map(str::to_owned).to_vec(), "0".into());
        let remote = Remote { way: Way::Shell(shell), program, limit: Duration::from_millis(200) };
        let error = remote.output("1", &[], Duration::ZERO).unwrap_err().to_string();
        assert!(error.contains("did not answer within 0.2 s"), "{error}");
    }

    #[test]
    fn a_host_is_the_same_with_and_without_its_domain_but_an_address_is_not_a_prefix() {
        assert!(same_host("node7", "NODE7") && same_host("node7.site.org", "node7"));
        assert!(!same_host("node7", "node70") && !same_host("10.0.0.1", "10") && !same_host("", "a"));
    }
}
