//! A view as text: the lines at the top of the screen, and the whole view for `--once`.

use super::interval::{Interval, Rank};
use super::view::View;
use crate::render::{Block, Table, bytes, count, duration};
use mpiscope_job::performance::snapshot::Letter;

/// Number of ranks shown by `--once`.
const MOST_RANKS: usize = 32;
/// Number of functions and places shown.
pub const MOST_HOT: usize = 5;
/// Columns of the strip of `--once`.
const STRIP: usize = 76;

pub fn page(view: &View) -> Vec<Block> {
    let Some(latest) = view.latest.as_deref() else { return Vec::new() };
    let mut page: Vec<Block> = head(view, latest).into_iter().map(Block::Line).collect();
    page.extend(problems(latest).into_iter().map(Block::Problem));
    page.extend(view.strip.lines(STRIP, 1).into_iter().map(|line| Block::Line(format!("  {line}"))));
    page.push(Block::Line(format!("  {}", legend(view))));
    page.push(Block::Line(String::new()));
    page.push(functions(latest).into());
    page.push(Block::Line(String::new()));
    page.push(ranks(view, latest).into());
    let rest = latest.ranks.len().saturating_sub(MOST_RANKS);
    if rest > 0 {
        page.push(Block::Line(format!("  ... and {} that work less; --json has all", count(rest, "rank"))));
    }
    page
}

/// Returns the lines at the top.
pub fn head(view: &View, latest: &Interval) -> Vec<String> {
    let mut hosts: Vec<&str> = latest.ranks.iter().map(|rank| rank.host.as_str()).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let silent = if latest.silent > 0 {
        format!(" + {} that have not called MPI", latest.silent)
    } else {
        String::new()
    };
    let ranks = format!("{}{silent} on {}", count(latest.ranks.len(), "rank"), count(hosts.len(), "host"));
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let mut shares = if latest.times {
        format!("MPI {}, polling {}", percent(latest.mpi_share), percent(latest.polling_share))
    } else {
        "times are not recorded".to_owned()
    };
    if let Some(found) = latest.efficiencies {
        shares += &format!(
            ", balance {:.2} x communication {:.2} = {:.2}",
            found.load_balance, found.communication, found.parallel
        );
    }
    let lost = if latest.lost > 0 { format!(", {} records lost", latest.lost) } else { String::new() };
    vec![
        format!("{}  {}", view.job, latest.command),
        format!("{ranks}, wall {}; in the last {}:", duration(latest.wall_s), duration(latest.seconds)),
        shares,
        format!(
            "messages in flight {}, operations pending {}, receives posted {}{lost}",
            latest.in_flight, latest.pending, latest.posted
        ),
    ]
}

/// Returns the problems of the job.
pub fn problems(latest: &Interval) -> Vec<String> {
    let verdict = latest.verdict.iter().cloned();
    let not_seen = latest.not_seen.iter().map(|what| format!("not seen: {what}"));
    verdict.chain(latest.crowded.iter().cloned()).chain(not_seen).collect()
}

/// Returns the letters in use, with their meanings.
pub fn legend(view: &View) -> String {
    let Some(latest) = view.latest.as_deref() else { return String::new() };
    let used =
        Letter::ALL.iter().filter(|(letter, _)| latest.ranks.iter().any(|rank| rank.letter == letter.0));
    let words: Vec<String> = used.map(|(letter, meaning)| format!("{} {meaning}", letter.0)).collect();
    words.join("   ")
}

fn functions(latest: &Interval) -> Table {
    let mut table = Table::new(&["FUNCTION", "CALLS", "TIME", "% TIME", "BYTES"]).numbers(&[1, 2, 3, 4]);
    for f in latest.functions.iter().take(MOST_HOT) {
        let [time, share] = f.times();
        table.push(vec![f.name.clone(), f.calls.to_string(), time, share, bytes(f.bytes)]);
    }
    table
}

/// Returns the cells of a rank, in the order of [`COLUMNS`].
pub fn cells(rank: &Rank) -> [String; 9] {
    [
        rank.rank.clone(),
        rank.letter.to_string(),
        format!("{:.0}", rank.useful_share * 100.0),
        format!("{:.0}", rank.mpi_share * 100.0),
        rank.calls.to_string(),
        rank.resident.map_or_else(|| "-".to_owned(), bytes),
        rank.age_s.map_or_else(|| "-".to_owned(), duration),
        rank.call.clone(),
        rank.place.clone(),
    ]
}

/// The heads of the columns.
pub const COLUMNS: [&str; 9] = ["RANK", "", "% USEFUL", "% MPI", "CALLS", "MEMORY", "AGE", "CALL", "WHERE"];

/// Returns all ranks, or if there are too many, those that the others wait for.
fn ranks(view: &View, latest: &Interval) -> Table {
    let mut shown: Vec<&Rank> = view.shown().into_iter().filter_map(|at| latest.ranks.get(at)).collect();
    if shown.len() > MOST_RANKS {
        shown.sort_by(|a, b| b.useful_share.total_cmp(&a.useful_share));
        shown.truncate(MOST_RANKS);
    }
    let mut table = Table::new(&COLUMNS).numbers(&[2, 3, 4, 5, 6]);
    shown.into_iter().for_each(|rank| table.push(cells(rank).to_vec()));
    table
}
