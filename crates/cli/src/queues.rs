//! `mpiscope queues`: messages that were sent but not received, and pending receives.

use crate::exit;
use crate::host_scope::HostScope;
use crate::render::{Screen, Table, bytes, complain, or_dash, while_working};
use crate::why;
use anyhow::Result;
use mpiscope_job::questions::queues::{Entry, Queue, queues};
use std::ffi::OsString;
use std::process::ExitCode;

/// Show unreceived messages and posted receives over all ranks
///
/// One table per communicator. "posted": a receive without a matching message; "unexpected": a message
/// without a matching posted receive; "paired": both exist; "matched": a probe (MPI_Mprobe) has taken the
/// message and nothing has received it. Ranks are those of MPI_COMM_WORLD. No rank is stopped or slowed. Exit
/// status: 0 everything is shown, 1 part of the job could not be read, 2 nothing could be read.
#[derive(clap::Args)]
pub struct Options {
    /// A job, the process id of a rank or of its launcher, an evidence file, the directory of `run --out`, or
    /// core files and directories with core files; not needed if there is only one job
    #[arg(value_name = "JOB|PID|FILE|DIR")]
    targets: Vec<OsString>,
    /// Show every entry, however many there are
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    host_scope: HostScope,
    /// Print everything as JSON (schema mpiscope.queues/1)
    #[arg(long)]
    json: bool,
}

/// Entries shown per communicator without `--all`.
const MOST_ENTRIES: usize = 40;

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
            screen.line("no message is in flight and no receive is posted")?;
        }
        for queue in &found.communicators {
            let most = if options.all { usize::MAX } else { MOST_ENTRIES };
            screen.line(&queue.communicator)?;
            screen.table(table(queue, most))?;
            if let Some(more @ 1..) = queue.entries.len().checked_sub(most) {
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

fn table(queue: &Queue, most: usize) -> Table {
    let mut table = Table::new(&["STATE", "FROM", "TO", "TAG", "BYTES", "ROOM", "SENT AT", "POSTED AT"]);
    for entry in queue.entries.iter().take(most) {
        table.push(row(entry));
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
