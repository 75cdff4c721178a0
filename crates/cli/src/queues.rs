//! `mpiscope queues`: messages that were sent but not received, and pending receives.

use crate::exit;
use crate::host_scope::HostScope;
use crate::render::{Screen, Table, bytes, complain, or_dash, while_working};
use crate::why;
use anyhow::Result;
use mpiscope_job::questions::queues::{Entry, queues};
use std::collections::HashMap;
use std::ffi::OsString;
use std::process::ExitCode;

/// Show unreceived messages and posted receives over all ranks
///
/// One table per communicator; equal entries share a row. "posted": a receive without a matching message;
/// "unexpected": a message without a matching posted receive; "paired": both exist; "matched": a probe
/// (MPI_Mprobe) has taken the message and nothing has received it. Ranks are those of MPI_COMM_WORLD. No rank is
/// stopped or slowed. Exit status: 0 everything is shown, 1 part of the job could not be read, 2 nothing could be
/// read.
#[derive(clap::Args)]
pub struct Options {
    /// A job, the process id of a rank or of its launcher, an evidence file, the directory of `run --out`, or
    /// core files and directories with core files; not needed if there is only one job
    #[arg(value_name = "JOB|PID|FILE|DIR")]
    targets: Vec<OsString>,
    /// Show every row, however many there are
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    host_scope: HostScope,
    /// Print everything as JSON (schema mpiscope.queues/1)
    #[arg(long)]
    json: bool,
}

/// Rows shown per communicator without `--all`.
const MOST_ROWS: usize = 40;

pub fn show(options: &Options) -> Result<ExitCode> {
    let (snapshot, errors) =
        while_working("reading the ranks", || why::once("queues", &options.targets, options.host_scope))?;
    let mut found = queues(&snapshot);
    let partial = !errors.is_empty();
    found.not_seen.extend(errors);
    let mut screen = Screen::paged();
    if options.json {
        screen.json(&found)?;
    } else {
        if found.communicators.is_empty() {
            screen.line(nothing(&found.not_seen))?;
        }
        for queue in &found.communicators {
            let most = if options.all { usize::MAX } else { MOST_ROWS };
            let rows = rows(&queue.entries);
            screen.line(&queue.communicator)?;
            screen.table(table(rows.get(..most).unwrap_or(&rows)))?;
            let more: usize = rows.iter().skip(most).map(|(count, _)| count).sum();
            if more > 0 {
                screen.line(&format!("  ... and {more} more (--all shows them)"))?;
            }
        }
    }
    screen.finish()?;
    if !options.json {
        found.not_seen.iter().for_each(|what| complain("queues", &format!("not seen: {what}")));
    }
    Ok(exit::answer(false, partial))
}

/// Says that there are no entries, which is only sure if everything was seen.
fn nothing(not_seen: &[String]) -> &'static str {
    match not_seen {
        [] => "no message is in flight and no receive is posted",
        _ => "no message in flight and no posted receive was seen",
    }
}

/// Returns the cells of entries that look different, in the order of the first of each kind, and how many
/// entries each row stands for.
fn rows(entries: &[Entry]) -> Vec<(usize, Vec<String>)> {
    let mut rows: Vec<(usize, Vec<String>)> = Vec::new();
    let mut known: HashMap<Vec<String>, usize> = HashMap::new();
    for entry in entries {
        let cells = row(entry);
        match known.get(&cells).and_then(|at| rows.get_mut(*at)) {
            Some((count, _)) => *count += 1,
            None => {
                known.insert(cells.clone(), rows.len());
                rows.push((1, cells));
            }
        }
    }
    rows
}

/// The numbers of entries are shown only if some row stands for several.
fn table(rows: &[(usize, Vec<String>)]) -> Table {
    let counted = rows.iter().any(|(count, _)| *count > 1);
    let mut columns = vec!["STATE", "FROM", "TO", "TAG", "BYTES", "ROOM", "SENT AT", "POSTED AT"];
    columns.splice(0..0, counted.then_some("COUNT"));
    let mut table = Table::new(&columns).numbers(if counted { &[0] } else { &[] });
    for (count, cells) in rows {
        let count = counted.then(|| count.to_string());
        table.push(count.into_iter().chain(cells.iter().cloned()).collect());
    }
    table
}

fn row(entry: &Entry) -> Vec<String> {
    let any = |text: Option<String>| text.unwrap_or_else(|| "any".to_owned());
    vec![
        entry.state.text().to_owned(),
        any(entry.from.clone()),
        entry.to.clone(),
        any(entry.tag.map(|tag| tag.to_string())),
        or_dash(entry.bytes.map(bytes)),
        or_dash(entry.room.map(bytes)),
        or_dash(entry.sent_at.clone()),
        or_dash(entry.posted_at.clone()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpiscope_job::questions::queues::State;

    #[test]
    fn nothing_is_only_claimed_if_everything_was_seen() {
        assert_eq!(nothing(&[]), "no message is in flight and no receive is posted");
        assert_eq!(
            nothing(&["a.core is truncated".into()]),
            "no message in flight and no posted receive was seen"
        );
    }

    fn entry(tag: i32) -> Entry {
        Entry {
            state: State::Unexpected,
            to: "1".into(),
            from: Some("0".into()),
            tag: Some(tag),
            bytes: Some(8),
            room: None,
            sent_at: Some("a.c:5".into()),
            posted_at: None,
        }
    }

    #[test]
    fn entries_that_look_alike_share_a_row_with_their_number() {
        let rows = rows(&[7, 8, 7, 7].map(entry));
        assert_eq!(
            rows.iter().map(|(count, cells)| (*count, cells[3].as_str())).collect::<Vec<_>>(),
            [(3, "7"), (1, "8")]
        );
        let table = table(&rows);
        assert_eq!(table.head()[..2], ["COUNT", "STATE"]);
        assert_eq!(table.rows()[0][..2], ["3", "unexpected"]);
    }

    #[test]
    fn single_entries_are_not_counted() {
        let table = table(&rows(&[7, 8].map(entry)));
        assert_eq!((table.head()[0].as_str(), table.rows().len()), ("STATE", 2));
    }
}
