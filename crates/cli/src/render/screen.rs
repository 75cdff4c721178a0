//! The output of a verb.

use super::escape::escape;
use super::fit::{indentation, wrap};
use super::{Colour, Paged, Table, Terminal};
use anyhow::{Context, Result};
use mpiscope_job::base::json;
use serde::Serialize;
use std::io::{self, BufWriter, Write};

/// What failed if an output that has no name cannot be written.
pub const NOT_WRITTEN: &str = "the output cannot be written";

/// Whether the reader of the output has gone (`mpiscope ps | head`).
pub fn reader_is_gone(error: &anyhow::Error) -> bool {
    // A JSON error does not expose the I/O error as its source.
    let kind = |error: &(dyn std::error::Error + 'static)| {
        let own = error.downcast_ref::<io::Error>().map(io::Error::kind);
        own.or_else(|| error.downcast_ref::<serde_json::Error>()?.io_error_kind())
    };
    error.chain().any(|error| kind(error) == Some(io::ErrorKind::BrokenPipe))
}

/// Ignores that the reader has gone: what was found still determines the exit status.
pub fn unless_gone(done: Result<()>) -> Result<()> {
    done.or_else(|error| if reader_is_gone(&error) { Ok(()) } else { Err(error) })
}

/// Indentation of continuation lines, beyond that of the first line.
const HANGING: usize = 4;

/// An element of a page.
#[derive(Debug, Clone)]
pub enum Block {
    /// A line of text, wrapped if it is too long.
    Line(String),
    /// A line that names the table or the lines below it.
    Caption(String),
    /// A title.
    Head(String),
    /// A line about a problem.
    Problem(String),
    Table(Table),
}

impl Block {
    /// Returns the lines as shown on a terminal.
    #[must_use]
    pub fn lines(&self, terminal: Terminal) -> Vec<String> {
        let text = |line: &str, colour| {
            let line = escape(line);
            let parts = wrap(&line, terminal.width, indentation(&line) + HANGING);
            parts.into_iter().map(|part| terminal.paint(part, colour)).collect()
        };
        match self {
            Self::Line(line) | Self::Caption(line) => text(line, None),
            Self::Head(line) => text(line, Some(Colour::Head)),
            Self::Problem(line) => text(line, Some(Colour::Problem)),
            Self::Table(table) => table
                .lines(terminal.width)
                .into_iter()
                .enumerate()
                .map(|(at, line)| terminal.paint(line, (at == 0).then_some(Colour::Head)))
                .collect(),
        }
    }
}

impl From<String> for Block {
    fn from(line: String) -> Self {
        Self::Line(line)
    }
}

impl From<&str> for Block {
    fn from(line: &str) -> Self {
        Self::Line(line.to_owned())
    }
}

impl From<Table> for Block {
    fn from(table: Table) -> Self {
        Self::Table(table)
    }
}

/// An output with its width and colors.
pub struct Screen<W: Write> {
    out: BufWriter<W>,
    terminal: Terminal,
}

impl Screen<io::StdoutLock<'static>> {
    /// Locks standard output.
    #[must_use]
    pub fn stdout() -> Self {
        let out = io::stdout().lock();
        let terminal = Terminal::of(&out);
        Self::new(out, terminal)
    }
}

impl Screen<Paged> {
    /// Locks standard output; uses a pager if it is a terminal and the text is longer than the
    /// screen.
    #[must_use]
    pub fn paged() -> Self {
        let out = Paged::stdout();
        let terminal = Terminal::of(out.output());
        Self::new(out, terminal)
    }
}

impl<W: Write> Screen<W> {
    /// Wraps any output.
    pub fn new(out: W, terminal: Terminal) -> Self {
        Self { out: BufWriter::new(out), terminal }
    }

    /// Prints a line, wrapped if it is too long.
    ///
    /// # Errors
    /// If the output cannot be written, except because its reader has gone.
    pub fn line(&mut self, line: &str) -> Result<()> {
        self.page(&[line.into()])
    }

    /// Prints a table.
    ///
    /// # Errors
    /// If the output cannot be written, except because its reader has gone.
    pub fn table(&mut self, table: Table) -> Result<()> {
        self.page(&[table.into()])
    }

    /// Prints a page.
    ///
    /// # Errors
    /// If the output cannot be written, except because its reader has gone.
    pub fn page(&mut self, page: &[Block]) -> Result<()> {
        let mut lines = page.iter().flat_map(|block| block.lines(self.terminal));
        unless_gone(lines.try_for_each(|line| writeln!(self.out, "{line}")).context(NOT_WRITTEN))
    }

    /// Prints a value as JSON in one line.
    ///
    /// # Errors
    /// If the output cannot be written, except because its reader has gone.
    pub fn json(&mut self, value: &impl Serialize) -> Result<()> {
        unless_gone(json::write(&mut self.out, value).context(NOT_WRITTEN))?;
        unless_gone(writeln!(self.out).context(NOT_WRITTEN))
    }

    /// Flushes the output.
    ///
    /// # Errors
    /// If the output cannot be written, except because its reader has gone.
    pub fn finish(self) -> Result<()> {
        unless_gone(self.finish_part())
    }

    /// Flushes an output that others follow.
    ///
    /// # Errors
    /// If the output cannot be written, also because its reader has gone: nobody needs the others.
    pub fn finish_part(mut self) -> Result<()> {
        self.out.flush().context(NOT_WRITTEN)
    }
}

/// Reports a problem on standard error: `mpiscope ps: no such job`.
pub fn complain(verb: &str, problem: &str) {
    let name = if verb.is_empty() { "mpiscope".to_owned() } else { format!("mpiscope {verb}") };
    let terminal = Terminal::of(&io::stderr());
    let mut text = Vec::new();
    let mut screen = Screen::new(&mut text, terminal);
    // A problem may have several lines, such as the usage of a command.
    for (at, line) in problem.lines().enumerate() {
        let line = if at == 0 { format!("{name}: {line}") } else { line.to_owned() };
        let _infallible = screen.line(&line);
    }
    let _infallible = screen.finish();
    // A closed standard error is not an error.
    let _closed = io::stderr().lock().write_all(&text);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(colour: bool, print: impl Fn(&mut Screen<&mut Vec<u8>>) -> Result<()>) -> String {
        let mut out = Vec::new();
        let mut screen = Screen::new(&mut out, Terminal { width: 30, colour });
        print(&mut screen).unwrap();
        screen.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_long_line_continues_indented_and_json_is_never_wrapped() {
        let text = shown(false, |screen| screen.line("  rank 3: last seen in MPI_Recv, at solver.c:17"));
        assert_eq!(text, "  rank 3: last seen in\n      MPI_Recv, at solver.c:17\n");
        let long = "x".repeat(200);
        assert_eq!(shown(false, |screen| screen.json(&long)), format!("\"{long}\"\n"));
    }

    #[test]
    fn color_sequences_from_the_job_are_never_printed() {
        let text = shown(true, |screen| screen.page(&[Block::Problem("a\x1b[2J".into())]));
        assert_eq!(text, "\x1b[31ma\\x1b[2J\x1b[0m\n");
    }
}
