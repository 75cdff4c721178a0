//! `mpiscope help`: a page for each verb.

use crate::exit;
use crate::render::{ColourChoice, Paged, Terminal};
use anyhow::{Result, bail};
use clap::builder::StyledStr;
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
    out.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    out.flush()?;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Option<ColourChoice> {
        colours(line.split(' ').map(str::to_owned))
    }

    #[test]
    fn color_options_are_found_before_help_is_requested() {
        assert_eq!(of("ps --color never --help"), Some(ColourChoice::Never));
        assert_eq!(of("--color=always ps -h"), Some(ColourChoice::Always));
        assert_eq!(of("ps --help --color never"), None);
        assert_eq!(of("ps --colored -h"), None);
    }
}
