//! The story for people: who failed first, a row for each kind of end, who waited for whom.

use super::requests;
use crate::ps::{rows, table};
use mpiscope_job::RankSet;
use mpiscope_job::now::ThreadNow;
use mpiscope_job::story::{Death, First, Place, Story, Wait, What};

/// Messages that are shown.
const MOST_MESSAGES: usize = 6;
/// Our own library.
const LAYER: &str = "libmpiscope.so";
/// Frames of the first to fail that are shown.
const FRAMES: usize = 8;

/// The lines.
pub fn lines(story: &Story) -> Vec<String> {
    let mut lines = head(story);
    if let Some(first) = &story.first {
        lines.extend(first_lines(story, first));
    }
    lines.push(String::new());
    lines.extend(rows_of(story));
    if !story.waits.is_empty() {
        lines.push(String::new());
        lines.extend(story.waits.iter().map(wait));
    }
    lines.extend(story.circles.iter().map(|circle| closed(circle)));
    let circled = |rank: u32| story.circles.iter().any(|circle| circle.contains(&rank));
    let first_rank = story.first.as_ref().and_then(|first| first.rank).filter(|rank| !circled(*rank));
    if let (Some(rank), 1..) = (first_rank, story.held_up.0.len()) {
        lines.push(format!("-> {} waited, directly or through others, for rank {rank}", who(&story.held_up)));
    }
    lines.extend(requests::lines(story));
    lines.extend(messages(story));
    lines.extend(left_out(story));
    lines.iter().map(|line| clean(line)).collect()
}

/// A circle of ranks, shortened in the middle if it is long.
fn closed(circle: &[u32]) -> String {
    const ENDS: usize = 8;
    let mut steps: Vec<String> = circle.iter().chain(circle.first()).map(u32::to_string).collect();
    if let [rank, _] = steps.as_slice() {
        return format!("-> rank {rank} waited for itself: it could not have gone on");
    }
    if steps.len() > 2 * ENDS {
        let hidden = steps.len() - 2 * ENDS;
        steps.splice(ENDS..steps.len() - ENDS, [format!("({hidden} more)")]);
    }
    format!("-> deadlock: {} ranks waited for each other in a circle, {}", circle.len(), steps.join(" -> "))
}

/// What programs put into names cannot control the terminal.
fn clean(line: &str) -> String {
    line.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

pub(super) fn who(ranks: &RankSet) -> String {
    let plural = if ranks.0.len() == 1 { "" } else { "s" };
    if ranks.0.is_empty() { "a process of unknown rank".into() } else { format!("rank{plural} {ranks}") }
}

fn head(story: &Story) -> Vec<String> {
    let ranks: RankSet = story.deaths.iter().filter_map(|d| d.now.rank).collect();
    let files = story.deaths.len();
    let of = story.size.map_or_else(String::new, |size| format!(" of {size}"));
    let mut lines = vec![format!("{}", story.command)];
    lines.push(format!(
        "  {files} core file{}: {}{of}; {}; job {}",
        if files == 1 { "" } else { "s" },
        who(&ranks),
        if story.library.is_empty() { "unknown MPI library" } else { &story.library },
        story.jobs.join(", ")
    ));
    if story.jobs.len() > 1 {
        lines.push(
            "  note: the files are of several jobs; times and ranks of different jobs do not belong together"
                .into(),
        );
    }
    lines
}

fn first_lines(story: &Story, first: &First) -> Vec<String> {
    let Some(death) = story.deaths.get(first.index) else { return Vec::new() };
    let what = match first.failed.0.len() {
        0 => "first to die",
        1 if first.before_s.is_none() => "failed",
        _ => "first to fail",
    };
    let when = match first.before_s {
        _ if first.unsure => "; the times of the core files are too near to be sure".to_owned(),
        Some(seconds) => format!("; {seconds:.2} s before the next"),
        None => String::new(),
    };
    let rank: RankSet = death.now.rank.into_iter().collect();
    let host = if death.now.host.is_empty() { String::new() } else { format!(" on {}", death.now.host) };
    let mut lines = vec![format!("{what}: {}{host}: {}{when}", who(&rank), killed(death))];
    if let Some(place) = &death.place {
        let call = own_call(death).map_or_else(String::new, |call| format!(", in {call}"));
        lines.push(format!("  at {}{call}", shown(place)));
    }
    lines.extend(last_call(death));
    // The first frame is worth showing when it is not the program's own.
    if death.stack.first() != death.place.as_ref() || death.place.is_none() {
        let frames = below(&death.stack, death.place.as_ref());
        lines.extend(frames.map(|frame| format!("    {}", shown(frame))));
    }
    lines
}

/// The frames that the program's own called, innermost first. The layer between the program and the MPI library is of no
/// interest.
fn below<'a>(stack: &'a [Place], own: Option<&'a Place>) -> impl Iterator<Item = &'a Place> {
    let others = |frame: &&Place| !frame.module.is_empty() && !frame.module.starts_with(LAYER);
    stack.iter().take_while(move |frame| Some(*frame) != own).filter(others).take(FRAMES)
}

fn shown(place: &Place) -> String {
    let known = place.place.starts_with(&format!("{}+", place.module));
    match &place.function {
        Some(function) if known => format!("{function} ({})", place.place),
        Some(function) => format!("{function} at {}", place.place),
        None => place.place.clone(),
    }
}

/// The signal with what it means.
fn killed(death: &Death) -> String {
    match (death.abort_code, death.killer()) {
        (Some(code), _) => format!("called MPI_Abort with code {code}"),
        (None, Some(signal)) => format!("{}, {}", signal.name, signal.meaning),
        (None, None) => "alive when the core file was taken".to_owned(),
    }
}

/// The call that the thread that died was in.
fn own_call(death: &Death) -> Option<String> {
    let thread = death.now.threads.iter().find(|t| Some(t.tid) == death.tid)?;
    thread.call.as_ref().map(|call| call.function.clone())
}

/// The call that it had made last, if the thread that died was in none.
fn last_call(death: &Death) -> Option<String> {
    let thread = main_thread(death).filter(|t| t.call.is_none())?;
    let last = thread.last_call.as_ref()?;
    let place = last.place.as_ref().map_or_else(String::new, |place| format!(" at {place}"));
    let ago = thread.age_s.map_or_else(String::new, |s| format!(", {} before it died", table::age((s, s))));
    Some(format!("  last call: {}{place}{ago}", last.function))
}

/// Ranks, least and greatest age, the other cells.
type Row = (RankSet, Option<(f64, f64)>, Vec<String>);

/// A row for every kind of end, equal ranks folded.
fn rows_of(story: &Story) -> Vec<String> {
    let head =
        ["RANK", "HOST", "END", "AT", "CALL", "PEER", "TAG", "COMM", "COUNT", "TYPE", "SINCE", "WHERE"];
    let mut table = vec![head.map(str::to_owned).to_vec()];
    let mut folded: Vec<Row> = Vec::new();
    for death in &story.deaths {
        let age = main_thread(death).and_then(|t| t.age_s);
        let row = (death.now.rank.into_iter().collect::<RankSet>(), age.map(|a| (a, a)), cells(death));
        match folded.iter_mut().find(|known| known.2 == row.2 && known.0.0.is_disjoint(&row.0.0)) {
            Some(known) if !row.0.0.is_empty() => {
                known.0.0.extend(row.0.0);
                known.1 = rows::span(known.1, row.1);
            }
            _ => folded.push(row),
        }
    }
    for (ranks, age, mut cells) in folded {
        let place = cells.pop().unwrap_or_default();
        cells.insert(0, if ranks.0.is_empty() { "-".into() } else { ranks.to_string() });
        cells.push(age.map_or_else(|| "-".into(), table::age));
        cells.push(place);
        table.push(cells);
    }
    table::align(&table)
}

/// The thread that died if it is known to the layer, else one that was in MPI.
fn main_thread(death: &Death) -> Option<&ThreadNow> {
    let threads = &death.now.threads;
    threads.iter().find(|t| Some(t.tid) == death.tid).or_else(|| threads.first())
}

fn cells(death: &Death) -> Vec<String> {
    let end = match (death.abort_code, death.killer()) {
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

fn wait(wait: &Wait) -> String {
    let number = wait.number.map_or_else(String::new, |n| format!(" #{n}"));
    let place = wait.place.as_ref().map_or_else(String::new, |p| format!(" ({p})"));
    let call = format!("{} in {}{number} on {}{place}", who(&wait.ranks), wait.function, wait.comm);
    let missing: Vec<String> =
        wait.missing.iter().map(|m| format!("{} ({})", who(&m.ranks), m.did)).collect();
    let verb = if wait.ranks.0.len() == 1 { "was" } else { "were" };
    match (wait.what, missing.is_empty()) {
        (What::Others, true) => {
            format!("{call}: all members had entered, as far as their core files are here")
        }
        (What::Others, false) => format!("{call}: had not entered it: {}", missing.join(", ")),
        (_, true) => format!("{call}: {verb} waiting for a rank that is not known"),
        (What::Any, false) => {
            format!("{call}: {verb} waiting for a message from any of: {}", missing.join(", "))
        }
        (What::From, false) => format!("{call}: {verb} waiting for a message from {}", missing.join(", ")),
        (What::To, false) => format!("{call}: {verb} sending to {}", missing.join(", ")),
    }
}

/// The last messages of the first to fail.
fn messages(story: &Story) -> Vec<String> {
    let death = story.first.as_ref().and_then(|first| story.deaths.get(first.index));
    let Some(death) = death.filter(|death| !death.messages.is_empty()) else { return Vec::new() };
    let rank: RankSet = death.now.rank.into_iter().collect();
    let mut lines = vec![String::new(), format!("last messages of {}, newest first:", who(&rank))];
    lines.extend(death.messages.iter().take(MOST_MESSAGES).map(|message| {
        let way = if message.sent { "sent to" } else { "received from" };
        let comm = message.comm.as_ref().map_or_else(String::new, |comm| format!(" on {comm}"));
        let open = if message.complete { "" } else { ", not known to be complete" };
        let (peer, tag, bytes) = (message.peer, message.tag, message.bytes);
        format!(
            "  {:.3} s after the start: {way} {peer} tag {tag}{comm}, {bytes} bytes{open}",
            message.seconds
        )
    }));
    lines
}

/// What could not be seen.
fn left_out(story: &Story) -> Vec<String> {
    let mut lines = Vec::new();
    if !story.absent.0.is_empty() {
        lines.push(format!("no core file here of {}: what they did is not known", who(&story.absent)));
    }
    for death in &story.deaths {
        let rank: RankSet = death.now.rank.into_iter().collect();
        if let Some(missing) = death.missing_bytes {
            lines.push(format!(
                "note ({}): {} is cut off, {missing} bytes are missing",
                who(&rank),
                death.file
            ));
        }
    }
    let mut notes: Vec<(&String, RankSet)> = Vec::new();
    for death in &story.deaths {
        for note in &death.notes {
            match notes.iter_mut().find(|(text, _)| *text == note) {
                Some((_, ranks)) => ranks.0.extend(death.now.rank),
                None => notes.push((note, death.now.rank.into_iter().collect())),
            }
        }
    }
    lines.extend(notes.iter().map(|(text, ranks)| format!("note ({}): {text}", who(ranks))));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_the_layer_stand_in_no_stack_and_those_of_the_library_end_at_the_program() {
        let frame = |place: &str, module: &str| Place {
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
