//! The width of the output, and whether it shows colors.

use rustix::termios::tcgetwinsize;
use std::io::IsTerminal;
use std::os::fd::AsFd;
use std::sync::OnceLock;

/// Columns of a terminal of unknown size.
const DEFAULT_WIDTH: usize = 80;
/// Smaller sizes are ignored: nothing could be shown.
const LEAST_WIDTH: usize = 20;

/// Width and colors of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terminal {
    /// Width in columns.
    pub width: usize,
    /// Whether colors are enabled.
    pub colour: bool,
}

/// When to use colors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum ColourChoice {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Also in files and pipes
    Always,
    /// Nowhere
    Never,
}

/// The user's choice; [`ColourChoice::Auto`] until it is set.
static CHOSEN: OnceLock<ColourChoice> = OnceLock::new();

impl ColourChoice {
    /// Makes this the choice for all outputs; only the first call counts.
    pub fn choose(self) {
        let _first = CHOSEN.set(self);
    }
}

/// The meaning of a color; the words always express it too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// The head of a table, or a title.
    Head,
    /// A problem.
    Problem,
}

impl Terminal {
    /// Determines the properties of an output. The width is that of the terminal, or else COLUMNS, or else
    /// 80. Colors follow the user's choice; by default they need a terminal and no NO_COLOR.
    pub fn of(output: &(impl AsFd + IsTerminal)) -> Self {
        let is_terminal = output.is_terminal();
        let size = is_terminal.then(|| tcgetwinsize(output).ok()).flatten();
        let get = |name: &str| std::env::var(name).ok();
        let chosen = CHOSEN.get().copied().unwrap_or_default();
        Self::from_facts(is_terminal, size.map(|size| size.ws_col.into()), chosen, get)
    }

    fn from_facts(
        is_terminal: bool,
        columns: Option<usize>,
        chosen: ColourChoice,
        get: impl Fn(&str) -> Option<String>,
    ) -> Self {
        let named = || get("COLUMNS")?.trim().parse().ok().filter(|columns| *columns > 0);
        let width = columns.filter(|n| *n > 0).or_else(named).unwrap_or(DEFAULT_WIDTH).max(LEAST_WIDTH);
        let refused = get("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = get("TERM").is_none_or(|term| term == "dumb");
        let colour = match chosen {
            ColourChoice::Auto => is_terminal && !refused && !dumb,
            ColourChoice::Always => true,
            ColourChoice::Never => false,
        };
        Self { width, colour }
    }

    /// Colors the text if colors are enabled.
    #[must_use]
    pub fn paint(self, text: String, colour: Option<Colour>) -> String {
        match colour.filter(|_| self.colour) {
            None => text,
            Some(Colour::Head) => format!("\x1b[1m{text}\x1b[0m"),
            Some(Colour::Problem) => format!("\x1b[31m{text}\x1b[0m"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terminal(is_terminal: bool, columns: Option<usize>, variables: &[(&str, &str)]) -> (usize, bool) {
        let get = |name: &str| variables.iter().find(|v| v.0 == name).map(|v| v.1.to_owned());
        let found = Terminal::from_facts(is_terminal, columns, ColourChoice::Auto, get);
        (found.width, found.colour)
    }

    #[test]
    fn the_terminals_width_takes_precedence_over_the_environment() {
        assert_eq!(terminal(true, Some(132), &[("COLUMNS", "100"), ("TERM", "xterm")]), (132, true));
        assert_eq!(terminal(false, None, &[("COLUMNS", "100"), ("TERM", "xterm")]), (100, false));
        assert_eq!(terminal(false, None, &[("COLUMNS", "wide")]), (80, false));
        assert_eq!(terminal(true, Some(0), &[]), (80, false));
        assert_eq!(terminal(false, None, &[("COLUMNS", "0")]), (80, false));
        assert_eq!(terminal(false, None, &[("COLUMNS", "1")]), (20, false));
    }

    #[test]
    fn the_command_line_takes_precedence_over_the_environment() {
        let get = |name: &str| (name == "NO_COLOR").then(|| "1".to_owned());
        let colour = |is_terminal, chosen| Terminal::from_facts(is_terminal, None, chosen, get).colour;
        assert!(colour(false, ColourChoice::Always));
        assert!(!colour(true, ColourChoice::Never));
        assert!(!colour(true, ColourChoice::Auto));
    }

    #[test]
    fn colors_can_be_turned_off() {
        assert_eq!(terminal(true, None, &[("NO_COLOR", "1"), ("TERM", "xterm")]), (80, false));
        assert_eq!(terminal(true, None, &[("NO_COLOR", ""), ("TERM", "xterm")]), (80, true));
        assert_eq!(terminal(true, None, &[("TERM", "dumb")]), (80, false));
    }
}
