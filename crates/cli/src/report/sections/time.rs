//! Where the time went: functions over all ranks, ranks, threads.

use super::{more, percent};
use crate::render::{Block, ESTIMATED, Table, bytes, calls, duration, time_of_calls};
use crate::run::banner::{at_rank, twice};
use mpiscope_job::Members;
use mpiscope_job::performance::report::{JobReport, RankReport};

/// Number of functions shown.
const MOST_FUNCTIONS: usize = 15;
/// Number of ranks shown individually; if there are more, only the extremes.
const MOST_RANKS: usize = 16;

/// Returns the section's blocks.
pub fn blocks(report: &JobReport) -> Vec<Block> {
    let mut blocks =
        vec![Block::Caption("  by function, all ranks together".to_owned()), functions(report).into()];
    blocks.extend(more(MOST_FUNCTIONS, report.functions.len(), ["function", "functions"]));
    if report.times && report.functions.iter().take(MOST_FUNCTIONS).any(|f| f.total.estimated > 0) {
        blocks.push(Block::Line(format!("  {ESTIMATED}")));
    }
    blocks.extend(twice(report).map(Block::Line));
    if report.times {
        blocks.push(Block::Caption("  by rank".to_owned()));
        blocks.push(ranks(report).into());
        let shown = chosen(report).len();
        blocks.extend(more(shown, report.ranks.len(), ["rank between these", "ranks between these"]));
    }
    blocks
}

/// Makes the table of functions. Its first row is the time outside MPI, so that the column adds up
/// to the total.
fn functions(report: &JobReport) -> Table {
    if !report.times {
        let mut table = Table::new(&["  FUNCTION", "CALLS", "BYTES"]).numbers(&[1, 2]);
        for f in report.functions.iter().take(MOST_FUNCTIONS) {
            table.push(vec![format!("  {}", f.name), calls(f.total.count, f.open), bytes(f.total.bytes)]);
        }
        return table;
    }
    let head = ["  FUNCTION", "CALLS", "TIME", "% TIME", "MIN", "@RANK", "MAX", "@RANK", "BYTES"];
    let mut table = Table::new(&head).numbers(&[1, 2, 3, 4, 6, 8]);
    let all = report.thread_s;
    let outside = (all - report.mpi_s()).max(0.0);
    let dash = || "-".to_owned();
    table.push(vec![
        "  (not in MPI)".to_owned(),
        dash(),
        duration(outside),
        percent(outside, all),
        dash(),
        dash(),
        dash(),
        dash(),
        dash(),
    ]);
    for f in report.functions.iter().take(MOST_FUNCTIONS) {
        table.push(vec![
            format!("  {}", f.name),
            calls(f.total.count, f.open),
            time_of_calls(f.total.time_s, f.total.estimated),
            f.total.time_s.map_or_else(dash, |time| percent(time, all)),
            f.min.time_s.map_or_else(dash, duration),
            at_rank(&f.min),
            f.max.time_s.map_or_else(dash, duration),
            at_rank(&f.max),
            bytes(f.total.bytes),
        ]);
    }
    table
}

fn ranks(report: &JobReport) -> Table {
    let head = ["  RANK", "HOST", "WALL", "USEFUL", "% MPI", "% POLLING", "OUT", "IN", "MOST TIME IN"];
    let mut table = Table::new(&head).numbers(&[2, 3, 4, 5, 6, 7]);
    for rank in chosen(report) {
        let time = |name: &String| rank.time_in(name).unwrap_or(0.0);
        let most = rank.functions().max_by(|a, b| time(a).total_cmp(&time(b)));
        let most = most.map_or_else(|| "-".to_owned(), Clone::clone);
        table.push(vec![
            format!("  {}", name_of(rank)),
            rank.host.clone(),
            duration(rank.wall_s),
            duration(rank.wall_s * rank.useful_share),
            percent(rank.mpi_share, 1.0),
            percent(rank.polling_share, 1.0),
            bytes(rank.sent),
            bytes(rank.received),
            most,
        ]);
    }
    table
}

/// Returns all ranks, or those with the most and the least useful time.
fn chosen(report: &JobReport) -> Vec<&RankReport> {
    let mut ranks: Vec<&RankReport> = report.ranks.iter().collect();
    if ranks.len() <= MOST_RANKS {
        return ranks;
    }
    let useful = |rank: &RankReport| rank.wall_s * rank.useful_share;
    ranks.sort_by(|a, b| useful(b).total_cmp(&useful(a)));
    let least = ranks.split_off(ranks.len() - MOST_RANKS / 2);
    ranks.truncate(MOST_RANKS / 2);
    ranks.extend(least);
    ranks
}

/// Formats a rank: `3`, or `1.3` in another world.
pub fn name_of(rank: &RankReport) -> String {
    let name = Members::from_iter([(rank.world_number, rank.rank)]).to_string();
    if name.is_empty() { "?".to_owned() } else { name }
}
