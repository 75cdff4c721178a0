//! The report when no process called MPI: what is known of the reason, and what to try.

use super::launcher;
use mpiscope_job::Members;
use mpiscope_job::hosts::setup;
use mpiscope_job::model::process::Ending;
use mpiscope_job::performance::report::JobReport;
use std::borrow::Cow;
use std::ffi::OsString;

/// What the reporting process saw, as in [`Scope`](super::banner::Scope).
#[derive(Clone, Copy)]
pub struct Seen {
    pub whole: bool,
    pub ending: Option<Ending>,
    /// Whether a host sent nothing.
    pub lost: bool,
}

/// Returns the lines below the command.
pub fn lines(report: &JobReport, seen: Seen, command: &[OsString]) -> Vec<String> {
    let Seen { whole, ending, lost } = seen;
    let processes = match (whole, report.silent.len()) {
        (true, 0) => "no process".to_owned(),
        (true, n) => format!("none of the {n} processes"),
        (false, n) => format!("none of the {n} processes on this host"),
    };
    let mut lines = vec![match lost {
        true => "  nothing is known of the ranks: hosts sent nothing (see the notes).".to_owned(),
        false => format!("  {processes} called MPI under the layer."),
    }];
    if let Some(end) = ending.filter(|end| *end != Ending::Exit(0)) {
        lines.push(format!("  The program or its launcher ended with: {end}. See its own message above."));
    }
    if lost {
        return lines;
    }
    let checks = program_of(command);
    lines.extend(checks.iter().map(line));
    // Then its loader has ended it.
    if checks.iter().any(|check| check.result == setup::Result::Problem) {
        return lines;
    }
    lines.push(
        "  Did it end before MPI_Init? Did the launcher drop LD_PRELOAD? Run `mpiscope doctor COMMAND` to find out. A \
         process whose calls could not be recorded said so above."
            .into(),
    );
    if whole {
        let other_form =
            "  For ranks on other hosts, or where LD_PRELOAD is dropped: mpirun ... mpiscope run APP";
        lines.push(other_form.into());
    }
    lines
}

/// Makes the report for programs. If no process called MPI, it includes the explanation shown to
/// people.
pub fn document<'a>(report: &'a JobReport, seen: Seen, command: &[OsString]) -> Cow<'a, JobReport> {
    if !report.ranks.is_empty() {
        return Cow::Borrowed(report);
    }
    let mut document = report.clone();
    let why = lines(report, seen, command);
    document.notes.extend(why.iter().map(|line| (line.trim().to_owned(), Members::default())));
    Cow::Owned(document)
}

/// Returns findings about the program of a command, as `mpiscope doctor` reports them.
fn program_of(command: &[OsString]) -> Vec<setup::Check> {
    let program = super::below(launcher::command::split(command).1);
    let Some(program) = program.first() else { return Vec::new() };
    setup::program(&launcher::command::file_of(program)).checks
}

fn line(check: &setup::Check) -> String {
    match &check.remedy {
        Some(remedy) => format!("  {}: {remedy}.", check.found),
        None => format!("  {}.", check.found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_described_as_by_doctor() {
        let about = |words: &[&str]| -> String {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            program_of(&words).iter().map(line).collect::<Vec<_>>().join(" ")
        };
        assert!(about(&["mpirun", "-n", "2", "sh"]).contains("sh is not linked with MPI"));
        let missing = about(&["./no-such-program"]);
        assert!(
            missing.contains("./no-such-program: No such file") && missing.contains("name the program"),
            "{missing}"
        );
        assert_eq!(about(&["mpirun"]), "");
    }
}
