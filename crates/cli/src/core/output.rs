//! The postmortem as text: what failed first, a row for each kind of end, and the verdict of `mpiscope why`.

use super::requests;
use crate::ps::rows;
use crate::render::{Block, Table, age, duration, moment, or_dash, span};
use crate::why::output as verdict;
use mpiscope_job::Members;
use mpiscope_job::model::rank_status::ThreadStatus;
use mpiscope_job::questions::postmortem::{Death, FirstFailure, FrameText, Postmortem};
use mpiscope_job::questions::why::Kind;
use std::collections::BTreeSet;

/// Number of messages shown.
const MOST_MESSAGES: usize = 6;
/// Our own library.
const LAYER: &str = "libmpiscope.so";
/// Number of stack frames shown for the first failure.
const FRAMES: usize = 8;

pub fn page(postmortem: &Postmortem) -> Vec<Block> {
    if postmortem.deaths.is_empty() {
        let lines = of_evidence(postmortem);
        return lines.into_iter().chain(conclusions(postmortem)).map(Block::Line).collect();
    }
    let mut page: Vec<Block> = head(postmortem).into_iter().map(Block::Line).collect();
    if let Some(first) = &postmortem.first {
        page.extend(first_lines(postmortem, first).into_iter().map(Block::Line));
    }
    page.push("".into());
    page.push(table(postmortem).into());
    page.extend(conclusions(postmortem).into_iter().map(Block::Line));
    page
}

/// Returns the heading if there are no core files.
fn of_evidence(postmortem: &Postmortem) -> Vec<String> {
    let of = postmortem.size.map_or_else(String::new, |size| format!("{size} ranks; "));
    let library = if postmortem.library.is_empty() { "unknown MPI library" } else { &postmortem.library };
    vec![
        postmortem.command.clone(),
        format!("  an evidence file, no core files; {of}{library}; job {}", postmortem.jobs.join(", ")),
    ]
}

/// Explains why the ranks could not proceed, and what was in progress.
fn conclusions(postmortem: &Postmortem) -> Vec<String> {
    let mut lines = vec![String::new()];
    // If a rank has ended, the next thing to look at is its core file, which is shown above.
    let shown = postmortem.why.kind == Kind::RANK_GONE && postmortem.first.is_some();
    lines.extend(if shown { verdict::reasons(&postmortem.why) } else { verdict::lines(&postmortem.why) });
    lines.extend(requests::lines(postmortem));
    lines.extend(messages(postmortem));
    lines.extend(left_out(postmortem));
    lines
}

/// Returns the rank that died, for use in sentences.
fn whose(death: &Death) -> Members {
    death.rank().into_iter().collect()
}

fn head(postmortem: &Postmortem) -> Vec<String> {
    let ranks: Members = postmortem.deaths.iter().flat_map(Death::rank).collect();
    let files = postmortem.deaths.len();
    let worlds: BTreeSet<usize> = postmortem.deaths.iter().map(|death| death.now.world_number).collect();
    let of = match (worlds.len(), postmortem.size) {
        (2.., _) => format!(" in {} worlds (shown as world.rank)", worlds.len()),
        (_, Some(size)) => format!(" of {size}"),
        (_, None) => String::new(),
    };
    let mut lines = vec![format!("{}", postmortem.command)];
    lines.push(format!(
        "  {files} core file{}: {}{of}; {}; job {}",
        if files == 1 { "" } else { "s" },
        ranks.named(),
        if postmortem.library.is_empty() { "unknown MPI library" } else { &postmortem.library },
        postmortem.jobs.join(", ")
    ));
    if postmortem.jobs.len() > 1 {
        lines.push(
            "  note: the files belong to several jobs; times and ranks of different jobs cannot be compared"
                .into(),
        );
    }
    lines
}

fn first_lines(postmortem: &Postmortem, first: &FirstFailure) -> Vec<String> {
    let Some(death) = postmortem.deaths.get(first.index) else { return Vec::new() };
    let what = match first.failed.0.len() {
        0 => "first to die",
        1 if first.before_s.is_none() => "failed",
        _ => "first to fail",
    };
    let when = match first.before_s {
        _ if first.unsure => "; the core files were written too close together to be sure".to_owned(),
        Some(seconds) => format!("; {} before the next", duration(seconds)),
        None => String::new(),
    };
    let rank = whose(death);
    let host = if death.now.host.is_empty() { String::new() } else { format!(" on {}", death.now.host) };
    let mut lines = vec![format!("{what}: {}{host}: {}{when}", rank.named(), killed(death))];
    if let Some(place) = &death.place {
        let call = own_call(death).map_or_else(String::new, |call| format!(", in {call}"));
        lines.push(format!("  at {}{call}", shown(place)));
    }
    lines.extend(last_call(death));
    // The stack is worth showing if its top frame is not the program's own.
    if death.stack.first() != death.place.as_ref() || death.place.is_none() {
        let frames = below(&death.stack, death.place.as_ref());
        lines.extend(frames.map(|frame| format!("    {}", shown(frame))));
    }
    lines
}

/// Returns the frames called by the program's own frame, innermost first. Frames of the layer, between the
/// program and the MPI library, are omitted.
fn below<'a>(stack: &'a [FrameText], own: Option<&'a FrameText>) -> impl Iterator<Item = &'a FrameText> {
    let others = |frame: &&FrameText| !frame.module.is_empty() && !frame.module.starts_with(LAYER);
    stack.iter().take_while(move |frame| Some(*frame) != own).filter(others).take(FRAMES)
}

fn shown(place: &FrameText) -> String {
    let named =
        |function: &&String| place.place.strip_prefix(function.as_str()).is_some_and(|p| p.starts_with('+'));
    match place.function.as_ref().filter(|function| !named(function)) {
        Some(function) => format!("{function} at {}", place.place),
        None => place.place.clone(),
    }
}

/// Names the signal with its meaning.
fn killed(death: &Death) -> String {
    match (death.end.abort_code, death.end.killer()) {
        (Some(code), _) => format!("called MPI_Abort with code {code}"),
        (None, Some(signal)) => format!("{}, {}", signal.name, signal.meaning),
        (None, None) => "alive when the core file was taken".to_owned(),
    }
}

/// Returns the call in which the dying thread was.
fn own_call(death: &Death) -> Option<String> {
    let thread = death.now.threads.iter().find(|t| Some(t.tid) == death.tid)?;
    thread.call.as_ref().map(|call| call.function.clone())
}

/// Returns the last call, if the dying thread was in none.
fn last_call(death: &Death) -> Option<String> {
    let thread = main_thread(death).filter(|t| t.call.is_none())?;
    let last = thread.last_call.as_ref()?;
    let place = last.place.as_ref().map_or_else(String::new, |place| format!(" at {place}"));
    let ago = thread.age_s.map_or_else(String::new, |s| format!(", {} before it died", age((s, s))));
    Some(format!("  last call: {}{place}{ago}", last.function))
}

/// Ranks, minimum and maximum age, the other cells.
type Row = (Members, Option<(f64, f64)>, Vec<String>);

/// Makes a row for each kind of end, merging equal ranks.
fn table(postmortem: &Postmortem) -> Table {
    let mut table = Table::new(&[
        "RANK", "HOST", "END", "AT", "CALL", "PEER", "TAG", "COMM", "COUNT", "TYPE", "SINCE", "WHERE",
    ]);
    let mut folded: Vec<Row> = Vec::new();
    for death in &postmortem.deaths {
        let age = main_thread(death).and_then(|t| t.age_s);
        let row = (whose(death), age.map(|a| (a, a)), cells(death));
        match folded.iter_mut().find(|known| known.2 == row.2 && !known.0.meets(&row.0)) {
            Some(known) if !row.0.is_empty() => {
                known.0.join(row.0);
                known.1 = span(known.1, row.1);
            }
            _ => folded.push(row),
        }
    }
    for (ranks, since, mut cells) in folded {
        let place = cells.pop().unwrap_or_default();
        cells.insert(0, if ranks.is_empty() { "-".into() } else { ranks.to_string() });
        cells.push(or_dash(since.map(age)));
        cells.push(place);
        table.push(cells);
    }
    table
}

/// Returns the dying thread if the layer knows it, or else one that was in MPI.
fn main_thread(death: &Death) -> Option<&ThreadStatus> {
    let died = death.now.threads.iter().find(|t| Some(t.tid) == death.tid);
    died.or_else(|| death.now.busy().first().copied())
}

fn cells(death: &Death) -> Vec<String> {
    let end = match (death.end.abort_code, death.end.killer()) {
        (Some(code), _) => format!("MPI_Abort {code}"),
        (None, Some(signal)) => signal.name.clone(),
        (None, None) => "-".to_owned(),
    };
    let at = death.place.as_ref().map_or_else(|| "-".to_owned(), |place| place.place.clone());
    let thread = main_thread(death);
    let mut call = rows::call_cells(thread);
    let host = if death.now.host.is_empty() { "-".to_owned() } else { death.now.host.clone() };
    call.splice(0..0, [host, end, at]);
    call
}

/// Lists the last messages of the rank that failed first.
fn messages(postmortem: &Postmortem) -> Vec<String> {
    let death = postmortem.first.as_ref().and_then(|first| postmortem.deaths.get(first.index));
    let Some(death) = death.filter(|death| !death.messages.is_empty()) else { return Vec::new() };
    let rank = whose(death);
    let mut lines = vec![String::new(), format!("last messages of {}, newest first:", rank.named())];
    lines.extend(death.messages.iter().take(MOST_MESSAGES).map(|message| {
        let way = if message.sent { "sent to" } else { "received from" };
        let comm = message.comm.as_ref().map_or_else(String::new, |comm| format!(" on {comm}"));
        let open = if message.complete { "" } else { ", not known to be complete" };
        let (peer, tag) = (message.peer, message.tag);
        let bytes = message.bytes.map_or_else(|| "size unknown".to_owned(), |bytes| format!("{bytes} bytes"));
        format!("  {} after the start: {way} {peer} tag {tag}{comm}, {bytes}{open}", moment(message.seconds))
    }));
    if let Some(rest) = death.messages.len().checked_sub(MOST_MESSAGES).filter(|rest| *rest > 0) {
        lines.push(format!("  ... and {rest} more: --json has all"));
    }
    lines
}

/// Lists what could not be seen.
fn left_out(postmortem: &Postmortem) -> Vec<String> {
    let mut lines = Vec::new();
    for death in &postmortem.deaths {
        let rank = whose(death);
        if let Some(missing) = death.missing_bytes {
            lines.push(format!(
                "note ({}): {} is truncated, {missing} bytes are missing",
                rank.named(),
                death.file
            ));
        }
    }
    let mut notes: Vec<(&String, Members)> = Vec::new();
    for death in &postmortem.deaths {
        for note in &death.notes {
            match notes.iter_mut().find(|(text, _)| *text == note) {
                Some((_, ranks)) => ranks.join(whose(death)),
                None => notes.push((note, whose(death))),
            }
        }
    }
    lines.extend(notes.iter().map(|(text, ranks)| format!("note ({}): {text}", ranks.named())));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_omit_frames_of_the_layer_and_end_at_the_program() {
        let frame = |place: &str, module: &str| FrameText {
            function: None,
            place: place.to_owned(),
            module: module.to_owned(),
        };
        let stack = [
            frame("libmpi.so.40+0x10", "libmpi.so.40"),
            frame("libmpiscope.so+0x20", "libmpiscope.so"),
            frame("0x30", ""),
            frame("heat.c:52", "heat"),
            frame("libc.so.6+0x40", "libc.so.6"),
        ];
        let shown: Vec<&str> = below(&stack, stack.get(3)).map(|frame| frame.place.as_str()).collect();
        assert_eq!(shown, ["libmpi.so.40+0x10"]);
        let all: Vec<&str> = below(&stack, None).map(|frame| frame.module.as_str()).collect();
        assert_eq!(all, ["libmpi.so.40", "heat", "libc.so.6"]);
    }
}
