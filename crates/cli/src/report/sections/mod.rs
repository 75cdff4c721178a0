//! The sections of a report as lines and tables, shared by the text and HTML forms.

mod collectives;
mod files;
mod memory;
pub mod messages;
pub mod peers;
mod sites;
mod time;
mod waits;
pub mod windows;

use crate::render::{Block, time_of_calls};
use crate::run::banner;
use mpiscope_job::performance::report::JobReport;
use mpiscope_job::performance::waits::Waits;

pub use time::name_of;

/// A section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Section {
    /// Functions and ranks: where the time went
    Time,
    /// Which ranks waited, for which rank, and what that rank did meanwhile
    Waits,
    /// Call sites: calls, time, bytes
    Sites,
    /// How much each rank sent to each other rank
    Peers,
    /// Collectives by communicator
    Collectives,
    /// Sizes of messages, and how many were in flight
    Messages,
    /// Files by name
    Files,
    /// Memory, and where ranks run
    Memory,
}

impl Section {
    /// All sections, in display order.
    const ALL: [Self; 8] = [
        Self::Time,
        Self::Waits,
        Self::Sites,
        Self::Peers,
        Self::Collectives,
        Self::Messages,
        Self::Files,
        Self::Memory,
    ];

    /// Returns the section's title.
    pub fn title(self) -> &'static str {
        match self {
            Self::Time => "Time",
            Self::Waits => "Waits",
            Self::Sites => "Call sites",
            Self::Peers => "Peers",
            Self::Collectives => "Collectives",
            Self::Messages => "Messages",
            Self::Files => "Files",
            Self::Memory => "Memory and placement",
        }
    }

    /// What is said of a section that was asked for and is empty.
    const fn nothing(self) -> &'static str {
        match self {
            // A communicator of one process has no others that it could wait for.
            Self::Collectives => "  nothing was recorded on communicators of more than one process",
            _ => "  nothing was recorded",
        }
    }

    fn blocks(self, report: &JobReport) -> Vec<Block> {
        match self {
            Self::Time => {
                let time = time::blocks(report).into_iter().chain(windows::blocks(report));
                time.chain(not_followed(report)).collect()
            }
            Self::Waits => waits::blocks(report).into_iter().chain(not_followed(report)).collect(),
            Self::Sites => sites::blocks(report),
            Self::Peers => peers::blocks(report),
            Self::Collectives => collectives::blocks(report),
            Self::Messages => messages::blocks(report),
            Self::Files => files::blocks(report),
            Self::Memory => memory::blocks(report),
        }
    }
}

/// Returns the beginning of a report, as at the end of a run.
pub fn head(report: &JobReport) -> Vec<Block> {
    banner::head(report)
}

/// Returns the requested sections, or else those that have something to report.
pub fn all(report: &JobReport, wanted: &[Section]) -> Vec<(Section, Vec<Block>)> {
    let chosen = if wanted.is_empty() { &Section::ALL } else { wanted };
    let shown = |section: &Section| match (section.blocks(report), wanted.is_empty()) {
        (blocks, _) if !blocks.is_empty() => Some((*section, blocks)),
        (_, true) => None,
        (_, false) => Some((*section, vec![Block::Line(section.nothing().to_owned())])),
    };
    chosen.iter().filter_map(shown).collect()
}

/// Explains why a running job has no windows and lacks some waits.
fn not_followed(report: &JobReport) -> Option<Block> {
    report.not_followed.as_ref().map(|why| Block::Line(format!("  {why}")))
}

/// Why waits by communicator are marked: they include an estimate for waits that were not seen.
const ESTIMATED: &str = "includes an estimate for waits that were not seen";
/// The same for messages that were not recorded individually.
const SAMPLED: &str = "from samples; `mpiscope run --check` records each message";

/// Returns why the waits in collectives are marked, if they are.
fn collectives_marked(waits: &Waits) -> Option<&'static str> {
    waits.estimated.map(|_| ESTIMATED)
}

/// Returns why the waits for messages are marked, if they are.
fn messages_marked(waits: &Waits) -> Option<&'static str> {
    if waits.messages { waits.estimated.map(|_| ESTIMATED) } else { Some(SAMPLED) }
}

/// Formats seconds of waits by communicator.
fn waited(seconds: Option<f64>, marked: Option<&str>) -> String {
    time_of_calls(seconds, u64::from(marked.is_some()))
}

/// Explains the mark of [`waited`] if one of these has it.
fn mark(shown: impl IntoIterator<Item = Option<f64>>, marked: Option<&str>) -> Option<Block> {
    let why = marked.filter(|_| shown.into_iter().any(|seconds| seconds.is_some()))?;
    Some(Block::Line(format!("  ~: {why}")))
}

/// Returns the name of a communicator without the size that follows if it has no name of its own: headings give
/// the number of ranks.
pub fn without_size(communicator: &str) -> &str {
    let named = communicator.strip_suffix(')').and_then(|name| name.rsplit_once(" (size"));
    named.filter(|(_, sizes)| sizes.starts_with([' ', 's'])).map_or(communicator, |(name, _)| name)
}

/// Makes a note on the rows omitted from a table, if any; `one` and `many` name one of them and several.
pub fn more(shown: usize, all: usize, [one, many]: [&str; 2]) -> Option<Block> {
    let rest = all.checked_sub(shown).filter(|rest| *rest > 0)?;
    let what = if rest == 1 { one } else { many };
    Some(Block::Line(format!("  ... and {rest} more {what}; --json has all of them")))
}

/// Formats a part of a whole as a percentage: `12.3`.
pub fn percent(part: f64, whole: f64) -> String {
    if whole > 0.0 { format!("{:.1}", part / whole * 100.0) } else { "-".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_omitted_row_is_not_said_to_be_several() {
        let text = |all| match more(4, all, ["wait", "waits"]) {
            Some(Block::Line(text)) => text,
            _ => String::new(),
        };
        assert_eq!(text(4), "");
        assert_eq!(text(5), "  ... and 1 more wait; --json has all of them");
        assert_eq!(text(6), "  ... and 2 more waits; --json has all of them");
    }

    #[test]
    fn a_heading_gives_the_size_of_a_communicator_once() {
        assert_eq!(without_size("id:6300d509 (size 3)"), "id:6300d509");
        assert_eq!(without_size("id:6300d509 (sizes 1 and 3)"), "id:6300d509");
        assert_eq!(without_size("MPI_COMM_WORLD"), "MPI_COMM_WORLD");
        assert_eq!(without_size("\"mine (size 3)\""), "\"mine (size 3)\"");
    }
}
