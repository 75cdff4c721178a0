//! `mpiscope doctor`: checks whether jobs can be observed here, and what prevents it.

use crate::exit;
use crate::render::{Screen, while_working};
use crate::run;
use crate::run::environment::{Environment, find_layer, new_job};
use crate::run::hosts::wrapped::may_leave;
use crate::run::launcher::command;
use crate::seconds::{self, DAY};
use anyhow::Result;
use mpiscope_job::base::time_limit;
use mpiscope_job::hosts::setup::rank::{self, Facts, MARK};
use mpiscope_job::hosts::setup::{self, Check, Result as Outcome};
use mpiscope_job::jobs::launcher_environment;
use rustix::fs::{MemfdFlags, memfd_create};
use serde::Serialize;
use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

/// Check whether jobs can be observed here, and suggest remedies if not
///
/// Without a command, checks this host. With a command that starts a job, as after `mpiscope run`, also
/// checks whether launcher, program and MPI library belong together, and what reaches the ranks; for this the
/// launcher starts a process of mpiscope in place of each rank, not the program itself. Exit status: 0 all is
/// well, 1 something will not work, 2 nothing could be checked.
#[derive(clap::Args)]
pub struct Options {
    /// Print everything as JSON (schema mpiscope.doctor/1)
    #[arg(long)]
    json: bool,
    /// Seconds that the launcher may take
    #[arg(long = "for", value_name = "SECONDS", default_value_t = 30.0, allow_negative_numbers = true, value_parser = seconds::between(1.0, DAY))]
    seconds: f64,
    /// Run in place of a rank: report what has arrived
    #[arg(long, hide = true)]
    as_rank: bool,
    /// The launcher, its options, and the program
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// The output of `--json`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Report {
    /// Name and version of this schema. Fields may be added; existing ones never change their meaning.
    schema: &'static str,
    /// Whether no check found a problem.
    well: bool,
    checks: Vec<Check>,
}

/// Runs the checks and prints the results.
pub fn doctor(options: &Options) -> Result<ExitCode> {
    if options.as_rank {
        return report();
    }
    run::refuse_option("doctor", &options.command)?;
    let checks = while_working("checking", || checks(options))?;
    let well = checks.iter().all(|check| check.result != Outcome::Problem);
    let mut screen = Screen::stdout();
    if options.json {
        screen.json(&Report { schema: "mpiscope.doctor/1", well, checks })?;
    } else {
        for line in checks.iter().flat_map(lines) {
            screen.line(&line)?;
        }
    }
    screen.finish()?;
    Ok(ExitCode::from(if well { exit::FINE } else { exit::PROBLEM }))
}

fn lines(check: &Check) -> Vec<String> {
    let mark = match check.result {
        Outcome::Fine => "ok",
        Outcome::Limited => "limited",
        Outcome::Problem => "PROBLEM",
        Outcome::Unknown => "?",
    };
    let mut lines = vec![format!("{mark:<8} {}: {}", check.check, check.found)];
    lines.extend(check.remedy.iter().map(|remedy| format!("         try: {remedy}")));
    lines
}

fn checks(options: &Options) -> Result<Vec<Check>> {
    let layer = match find_layer() {
        Ok(layer) => layer,
        Err(why) => {
            let remedy = "install libmpiscope.so next to mpiscope, or in ../lib";
            return Ok(vec![Check::of("layer", Outcome::Problem, why.to_string(), remedy)]);
        }
    };
    let mut checks = vec![Check::fine("layer", layer.display().to_string())];
    checks.extend(setup::host(&layer, rustix::process::getuid().as_raw()));
    let words = run::below(&options.command);
    let (launcher, words) = command::split(&words);
    let program = run::below(words);
    let found = program.first().map(|program| setup::program(&command::file_of(program)));
    checks.extend(found.iter().flat_map(|program| program.checks.clone()));
    if let Some(first) = launcher.first() {
        let about = setup::launcher(Path::new(first));
        checks.push(setup::usable(&about, found.as_ref()));
        checks.extend(found.as_ref().and_then(|program| setup::fit(&about, program)));
        if about.check.result == Outcome::Fine {
            let wrapped = may_leave(launcher) || matches!(program, Cow::Owned(_));
            checks.extend(ranks((launcher, wrapped), &layer, Duration::from_secs_f64(options.seconds))?);
        }
    } else if !program.is_empty() && checks.iter().all(|check| check.result != Outcome::Problem) {
        let found = "there is none in this command, so what reaches the ranks was not checked";
        let command = program.join(OsStr::new(" ")).to_string_lossy().into_owned();
        let remedy = format!("mpiscope doctor mpirun -n 2 {command}");
        checks.push(Check::of("launcher", Outcome::Unknown, found, remedy));
    }
    Ok(checks)
}

/// Checks what reaches the ranks that the launcher starts. `wrapped` means that `mpiscope run` is in front of
/// each rank: because of the command, or because ranks may run on other hosts.
fn ranks((launcher, wrapped): (&[OsString], bool), layer: &Path, limit: Duration) -> Result<Vec<Check>> {
    let Some((first, arguments)) = launcher.split_first() else { return Ok(Vec::new()) };
    let mut command = Command::new(first);
    let variables = Environment::new(layer, &new_job())?.variables();
    command.args(arguments);
    if wrapped {
        // Like `mpiscope run`: not every launcher passes variables on.
        command.arg("env").args(variables.iter().map(|(name, value)| {
            let mut word = OsString::from(format!("{name}="));
            word.push(value);
            word
        }));
    }
    command.arg(std::env::current_exe()?).args(["doctor", "--as-rank"]).envs(variables);
    let outcome = time_limit::run(&mut command, limit)?;
    let text = String::from_utf8_lossy(&outcome.stdout);
    let facts: Vec<Facts> = text.lines().filter_map(Facts::read).collect();
    let mut checks = rank::checks(&facts, layer);
    if outcome.status.is_none() {
        let found = format!("it did not finish within {} s", limit.as_secs());
        checks.push(Check::of(
            "launcher",
            Outcome::Problem,
            found,
            "is a host down, or does it ask for a password?",
        ));
    } else if !outcome.success() {
        let said = said(&String::from_utf8_lossy(&outcome.stderr));
        checks.push(Check::of(
            "launcher",
            Outcome::Problem,
            format!("it failed and said: {said}"),
            "run it by hand",
        ));
    }
    Ok(checks)
}

/// Number of lines shown of a launcher's message.
const MOST_SAID: usize = 4;

/// Returns a launcher's message in one line, without the rules drawn around it.
fn said(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| line.contains(char::is_alphabetic));
    let mut words: Vec<&str> = lines.take(MOST_SAID + 1).collect();
    if words.is_empty() {
        return "nothing".to_owned();
    }
    if words.len() > MOST_SAID {
        words.truncate(MOST_SAID);
        words.push("...");
    }
    words.join(" ")
}

/// Reports the facts when run in place of a rank.
fn report() -> Result<ExitCode> {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let rank = launcher_environment::place(|name| std::env::var(name).ok()).and_then(|place| place.rank);
    let memory_file = memfd_create("mpiscope:doctor", MemfdFlags::CLOEXEC).is_ok();
    writeln!(io::stdout(), "{MARK}{}", serde_json::to_string(&Facts::here(host, rank, memory_file))?)?;
    Ok(ExitCode::from(exit::FINE))
}

#[cfg(test)]
mod tests {
    use super::said;

    #[test]
    fn launcher_messages_are_shown_without_rules_and_shortened() {
        let slots =
            "-----\nThere are not enough slots for the 4\nslots that were requested:\n\n  ./app\n-----\n";
        assert_eq!(said(slots), "There are not enough slots for the 4 slots that were requested: ./app");
        assert_eq!(said("a\nb\nc\nd\ne\nf"), "a b c d ...");
        assert_eq!(said("\n---\n"), "nothing");
    }
}
