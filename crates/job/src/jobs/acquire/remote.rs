//! Runs this program on another host.

use super::Error;
use super::way::Way;
use crate::base::quantity;
use crate::base::refusal::Refusal;
use crate::base::time_limit::{self, MOST_BYTES, Outcome};
use crate::jobs::started_by::StartedBy;
use serde::de::DeserializeOwned;
use std::env;
use std::path::PathBuf;
use std::time::Duration;

/// `ssh` and similar commands exit with this status if the connection fails or is lost.
const NO_CONNECTION: i32 = 255;

/// Limit of the length of a host's process list: some hundred bytes for each rank of the largest jobs.
const LONGEST_LIST: usize = 1 << 28;

/// Default timeout for an answer of another host; `MPISCOPE_HOST_SECONDS` overrides it.
const SECONDS: f64 = 30.0;

/// Returns the timeout for an answer of another host.
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
    /// Path of this program on the other host.
    program: PathBuf,
    /// The basic timeout, to which the extra time of a question is added.
    limit: Duration,
}

impl Remote {
    pub(super) fn new(program: PathBuf) -> Self {
        Self { way: Way::usual(), program, limit: host_limit() }
    }

    /// Uses the way by which the job's starter reached the host.
    pub(super) fn as_started_by(&mut self, started_by: StartedBy) {
        self.way = Way::of(started_by);
    }

    /// Runs this program on another host.
    ///
    /// # Errors
    /// [`Error::Remote`] if the command cannot be started or fails; [`Error::TimedOut`] if it does not end in
    /// time; [`Error::Unreached`] if it reports that there is no connection.
    pub fn command(&self, host: &str, arguments: &[String]) -> Result<(), Error> {
        let outcome = self.ask(host, arguments, Duration::ZERO, LONGEST_LIST)?;
        if outcome.success() { Ok(()) } else { Err(self.failed(host, self.last_words(&outcome), &outcome)) }
    }

    /// Runs this program on another host with a timeout that is `longer` than usual, and parses the JSON that
    /// it prints.
    ///
    /// # Errors
    /// [`Error::Remote`] with the command's last message, or a more specific error.
    pub fn run<T: DeserializeOwned>(
        &self,
        host: &str,
        arguments: &[String],
        longer: Duration,
    ) -> Result<T, Error> {
        let outcome = self.ask(host, arguments, longer, LONGEST_LIST)?;
        // Login shells on other hosts may print messages before and after.
        let lines = outcome.stdout.split(|b| *b == b'\n').filter(|line| line.first() == Some(&b'{'));
        let mut why = None;
        for line in lines.rev() {
            match serde_json::from_slice(line) {
                Ok(answer) => return Ok(answer),
                Err(e) => why = why.or(Some(e.to_string())),
            }
        }
        let not_understood = |why: Option<String>| match why {
            Some(why) => format!("its answer cannot be parsed ({why})"),
            None => "its answer cannot be parsed".to_owned(),
        };
        // Messages of the login shell on the way are not the reason.
        let answered = outcome.success() && !outcome.stdout.is_empty();
        let why = if answered { not_understood(why) } else { self.last_words(&outcome) };
        Err(self.failed(host, why, &outcome))
    }

    /// Runs this program on another host with a timeout that is `longer` than usual, and returns everything
    /// that it prints.
    ///
    /// # Errors
    /// [`Error::Remote`] with the command's last message if it prints nothing, or a more specific error.
    pub fn output(&self, host: &str, arguments: &[String], longer: Duration) -> Result<Vec<u8>, Error> {
        let outcome = self.ask(host, arguments, longer, MOST_BYTES)?;
        let silent = outcome.stdout.is_empty();
        let why = if silent { self.last_words(&outcome) } else { String::new() };
        if silent { Err(self.failed(host, why, &outcome)) } else { Ok(outcome.stdout) }
    }

    /// Returns the command that runs this program on another host, attached to this host's terminal; `None`
    /// if that is impossible or the host name is invalid.
    #[must_use]
    pub fn terminal(&self, host: &str, arguments: &[String]) -> Option<Vec<String>> {
        is_name(host).then(|| self.way.terminal(host, &self.program, arguments))?
    }

    /// Distinguishes errors on the way to a host from errors on the host: their remedies differ.
    fn failed(&self, host: &str, why: String, outcome: &Outcome) -> Error {
        let host = host.to_owned();
        if let Some(refusal) = Refusal::said_in(&outcome.stderr) {
            return Error::Refused { host, refusal };
        }
        let refused = outcome.status.and_then(|status| status.code()) == Some(NO_CONNECTION);
        match self.way.trial(&host) {
            Some(trial) if refused => Error::Unreached { host, why, trial },
            _ => Error::Remote { host, why },
        }
    }

    fn last_words(&self, outcome: &Outcome) -> String {
        last_words(outcome, self.way.explains_first())
    }

    fn ask(&self, host: &str, arguments: &[String], longer: Duration, most: usize) -> Result<Outcome, Error> {
        let fail = |why: String| Error::Remote { host: host.to_owned(), why };
        if !is_name(host) {
            return Err(Error::HostName { host: host.to_owned() });
        }
        let mut command = self.way.command(host, &self.program, arguments).map_err(fail)?;
        let limit = self.limit.saturating_add(longer);
        let outcome = time_limit::run_up_to(&mut command, limit, most);
        let outcome = outcome.map_err(|e| fail(format!("{}: {e}", command.get_program().display())))?;
        if outcome.too_long {
            let most = quantity::bytes(most as u64);
            return Err(fail(format!("its answer is longer than {most}: was it mpiscope that answered?")));
        }
        match outcome.status {
            Some(_) => Ok(outcome),
            None => Err(Error::TimedOut { host: host.to_owned(), seconds: limit.as_secs_f64() }),
        }
    }
}

/// Whether this can be a host name: the name comes from another process's memory and becomes an argument of a
/// command.
fn is_name(host: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || ".-_:%".contains(c);
    !host.starts_with('-') && host.chars().all(plain) && !host.is_empty()
}

/// Status of a shell that does not find a command or may not run it.
const NOT_FOUND: std::ops::RangeInclusive<i32> = 126..=127;

/// Returns the last line on standard error, preferably this program's own, because the command that started
/// it there may print more after that. If nothing was printed, describes the exit status.
fn last_words(output: &Outcome, explains_first: bool) -> String {
    let said = mpiscope_image::text(&output.stderr);
    let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty()).rev();
    if let Some(line) = lines.clone().find_map(|line| line.strip_prefix("mpiscope: ")) {
        return line.to_owned();
    }
    // A program that rejects its arguments prints more after that line.
    if let Some(line) = lines.clone().find(|line| line.starts_with("error: ")) {
        return format!("{line}; is another version of mpiscope installed there?");
    }
    let code = output.status.and_then(|status| status.code());
    let line = if explains_first { lines.next_back() } else { lines.next() };
    match (line, output.status) {
        (Some(line), _) if code.is_some_and(|code| NOT_FOUND.contains(&code)) => {
            format!("{line}; set MPISCOPE_REMOTE to the path of mpiscope on other hosts")
        }
        (Some(line), _) => line.to_owned(),
        (None, Some(status)) => format!("mpiscope on that host exited without an answer ({status})"),
        (None, None) => "mpiscope on that host exited without an answer".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::acquire::{Acquired, SystemHosts};

    #[test]
    fn invalid_host_names_are_neither_contacted_nor_put_into_suggested_commands() {
        for host in ["", "-oProxyCommand=true", "a;true", "a b", "$(true)", "a\nb", "a\'b"] {
            let error = SystemHosts::new("true".into()).remote().command(host, &[]).unwrap_err();
            assert!(matches!(error, Error::HostName { .. }), "{error}");
            let text = error.to_string();
            assert!(!text.contains("ssh") && !text.contains('\n'), "{text}");
        }
    }

    #[test]
    fn a_host_whose_command_is_killed_silently_is_reported_as_giving_no_answer() {
        let shell = ["sh", "-c", "kill -9 $$", "{host}"].map(str::to_owned).to_vec();
        let remote =
            Remote { way: Way::Shell(Ok(shell)), program: "0".into(), limit: Duration::from_secs(60) };
        let killed = "n3: mpiscope on that host exited without an answer (signal: 9";
        let error = remote.output("n3", &[], Duration::ZERO).unwrap_err().to_string();
        assert!(error.contains(killed), "{error}");
        let error = remote.run::<Acquired>("n3", &[], Duration::ZERO).unwrap_err().to_string();
        assert!(error.contains(killed), "{error}");
        assert!(!error.contains("log in"), "it was reached: {error}");
    }

    #[test]
    fn advice_on_logging_in_is_given_only_if_that_failed() {
        let remote = |script: &str| {
            let shell = ["sh", "-c", script, "{host}"].map(str::to_owned).to_vec();
            Remote { way: Way::Shell(Ok(shell)), program: "0".into(), limit: Duration::from_secs(60) }
        };
        let said = |script| remote(script).output("n3", &[], Duration::ZERO).unwrap_err().to_string();
        assert!(said("echo Permission denied >&2; exit 255").contains("denied; can you log in there"));
        for script in ["echo no such file >&2; exit 127", "kill -15 $$", "exit 2"] {
            assert!(!said(script).contains("log in"), "{}", said(script));
        }
    }

    #[test]
    fn output_of_shells_around_an_answer_is_ignored() {
        let shell = |script: &str| ["sh", "-c", script, "{host}"].map(str::to_owned).to_vec();
        let remote = |script: &str| Remote {
            way: Way::Shell(Ok(shell(script))),
            program: "0".into(),
            limit: Duration::from_secs(60),
        };
        let answer = r#"{"processes":[],"elsewhere":[],"problems":["it"]}"#;
        let run = |script: &str| remote(script).run::<Acquired>("n3", &[], Duration::ZERO);
        let noisy = format!("echo cannot rehash >&2; echo '{{ hello'; echo '{answer}'; echo '{{ bye }}'");
        assert_eq!(run(&noisy).unwrap().problems, ["it"]);
        let none = run("echo cannot rehash >&2; echo hello").unwrap_err().to_string();
        assert!(none.contains("its answer cannot be parsed") && !none.contains("rehash"), "{none}");
    }

    #[test]
    fn the_reason_in_a_commands_output_is_shown_with_a_remedy() {
        let said = |script: &str| {
            let shell = ["sh", "-c", script, "{host}"].map(str::to_owned).to_vec();
            let remote =
                Remote { way: Way::Shell(Ok(shell)), program: "0".into(), limit: Duration::from_secs(60) };
            remote.output("n3", &[], Duration::ZERO).unwrap_err().to_string()
        };
        let usage =
            said("printf \"error: unexpected argument '--here' found\\n\\nUsage: mpiscope\\n\" >&2; exit 2");
        assert!(
            usage.ends_with("'--here' found; is another version of mpiscope installed there?"),
            "{usage}"
        );
        let missing = said("echo 'sh: /opt/mpiscope: not found' >&2; exit 127");
        assert!(missing.contains("not found; set MPISCOPE_REMOTE to the path"), "{missing}");
        let launched =
            said("echo 'mpiscope: no job' >&2; echo 'srun: error: n3: task 0: Exited' >&2; exit 2");
        assert!(launched.ends_with("host n3: no job"), "{launched}");
    }

    #[test]
    fn a_host_without_the_job_is_recognized_whatever_its_message_says() {
        let script =
            "echo 'mpiscope-refusal {\"code\":\"none-here\"}' >&2; echo 'mpiscope: nobody' >&2; exit 2";
        let shell = ["sh", "-c", script, "{host}"].map(str::to_owned).to_vec();
        let remote =
            Remote { way: Way::Shell(Ok(shell)), program: "0".into(), limit: Duration::from_secs(60) };
        let error = remote.output("n3", &[], Duration::ZERO).unwrap_err();
        assert!(matches!(error, Error::Refused { refusal: Refusal::NoneHere, .. }), "{error}");
    }

    #[test]
    fn a_host_that_hangs_times_out_and_is_named() {
        let (shell, program) = (["sleep", "600", "{host}"].map(str::to_owned).to_vec(), "0".into());
        let remote = Remote { way: Way::Shell(Ok(shell)), program, limit: Duration::from_millis(200) };
        let error = remote.output("1", &[], Duration::ZERO).unwrap_err().to_string();
        assert!(error.contains("did not answer within 0.2 s"), "{error}");
    }
}
