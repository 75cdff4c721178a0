//! `mpiscope help`: a page for each verb.

use crate::exit;
use crate::render::{ColourChoice, NOT_WRITTEN, Paged, Terminal};
use crate::run::launcher::command::is_program;
use crate::run::launcher::starts_jobs;
use anyhow::{Context, Result, bail};
use clap::builder::StyledStr;
use clap::error::ErrorKind;
use std::ffi::OsString;
use std::io::{Write, stdout};
use std::process::ExitCode;

/// Print help on mpiscope or on one of its verbs
#[derive(clap::Args)]
pub struct Options {
    /// The verb; without it, an overview
    #[arg(value_name = "VERB")]
    verb: Option<String>,
}

/// Prints the page, which is the same as for `--help`.
pub fn help(options: &Options) -> Result<ExitCode> {
    let words = ["mpiscope"].into_iter().chain(options.verb.as_deref()).chain(["--help"]);
    match crate::command(Terminal::of(&stdout()).width).try_get_matches_from(words) {
        Err(asked) => crate::answer(&asked),
        Ok(_) => bail!("this verb has no help"),
    }
}

/// Prints a help page, through a pager if it is long.
pub fn print(page: &StyledStr) -> Result<ExitCode> {
    let mut out = Paged::stdout();
    let colour = Terminal::of(out.output()).colour;
    let text = if colour { page.ansi().to_string() } else { page.to_string() };
    let end = if text.ends_with('\n') { "" } else { "\n" };
    out.write_all(format!("{text}{end}").as_bytes()).and_then(|()| out.flush()).context(NOT_WRITTEN)?;
    Ok(ExitCode::from(exit::FINE))
}

/// Returns the value of `--color` on a command line with `--help`, which the parser does not read to the end.
pub fn colours(arguments: impl Iterator<Item = String>) -> Option<ColourChoice> {
    let mut arguments = arguments.take_while(|word| !matches!(word.as_str(), "-h" | "--help" | "--"));
    let named = arguments.find_map(|word| match word.strip_prefix("--color") {
        Some("") => Some(None),
        Some(value) => Some(value.strip_prefix('=').map(str::to_owned)),
        None => None,
    })?;
    let value = named.or_else(|| arguments.next())?;
    <ColourChoice as clap::ValueEnum>::from_str(&value, false).ok()
}

/// Whether a command line with `--help` has `--no-pager`, on either side of it.
pub fn refuses_pager(arguments: impl Iterator<Item = String>) -> bool {
    arguments.take_while(|word| word != "--").any(|word| word == "--no-pager")
}

/// Returns what to type instead of a command line that was refused, if it seems meant to start a program.
pub fn instead(refused: ErrorKind, words: &[OsString]) -> Option<String> {
    let (verb, rest) = words.split_first()?;
    let starts = |word: &OsString| std::path::Path::new(word).file_name().is_some_and(starts_jobs);
    let line = |words: &[OsString]| {
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        format!("mpiscope run {}", words.join(" "))
    };
    match refused {
        ErrorKind::InvalidSubcommand if starts(verb) || is_program(verb) => {
            Some(format!("to run a program: {}", line(words)))
        }
        ErrorKind::UnknownArgument => {
            let at = rest.iter().position(starts)?;
            let verb = verb.to_string_lossy();
            let run = line(rest.get(at..)?);
            Some(format!("`mpiscope {verb}` examines what `mpiscope run` has started; to start it: {run}"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Option<ColourChoice> {
        colours(line.split(' ').map(str::to_owned))
    }

    #[test]
    fn whoever_forgets_the_verb_run_is_told() {
        let of = |refused, line: &str| {
            instead(refused, &line.split(' ').map(OsString::from).collect::<Vec<_>>()).unwrap_or_default()
        };
        let unknown = ErrorKind::InvalidSubcommand;
        assert_eq!(of(unknown, "mpirun -n 2 ./a"), "to run a program: mpiscope run mpirun -n 2 ./a");
        assert_eq!(of(unknown, "/bin/sh x"), "to run a program: mpiscope run /bin/sh x");
        assert_eq!(of(unknown, "no-such-verb"), "");
        let said = of(ErrorKind::UnknownArgument, "why --for 2 mpirun -n 2 ./a");
        assert!(said.ends_with("to start it: mpiscope run mpirun -n 2 ./a"), "{said}");
        assert_eq!(of(ErrorKind::UnknownArgument, "why --nosuch"), "");
    }

    #[test]
    fn color_options_are_found_before_help_is_requested() {
        assert_eq!(of("ps --color never --help"), Some(ColourChoice::Never));
        assert_eq!(of("--color=always ps -h"), Some(ColourChoice::Always));
        assert_eq!(of("ps --help --color never"), None);
        assert_eq!(of("ps --colored -h"), None);
    }
}
