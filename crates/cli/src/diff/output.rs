//! A comparison as text: the answer first.

use super::compare::{Comparison, OUTSIDE, Quantity, Runs};
use crate::render::{Block, Table, count, duration};

/// Maximum number of rows per table.
const MOST: usize = 12;
/// Share of a function's extra time that a rank must have caused as waiting to be named as the cause.
const BEGAN: f64 = 0.5;

pub fn page(found: &Comparison) -> Vec<Block> {
    let mut page = vec![Block::Head(answer(found))];
    for (name, runs) in [("A", &found.before), ("B", &found.after)] {
        page.push(Block::Line(format!("  {name}: {}", side(runs))));
    }
    page.extend(found.unlike.iter().map(|what| Block::Problem(format!("  the sides differ in {what}"))));
    page.extend(single(found).map(Block::Line));
    if !found.differs() {
        return page;
    }
    page.push(Block::Line(String::new()));
    page.push(shares(found).into());
    page.push(Block::Line(String::new()));
    page.push(times("  FUNCTION, MEAN OF RANKS", &found.functions, found.chance, true).into());
    page.extend(more(found.functions.len(), "functions"));
    if !found.sites.is_empty() {
        page.push(Block::Line(String::new()));
        page.push(times("  PLACE, MEAN OF RANKS", &found.sites, found.chance, false).into());
        page.extend(more(found.sites.len(), "places"));
    }
    page.push(Block::Line(String::new()));
    if !found.causes.is_empty() {
        page.push(times("  MADE OTHERS WAIT, MEAN OF RANKS", &found.causes, found.chance, false).into());
        page.extend(more(found.causes.len(), "causes"));
        page.push(Block::Line(String::new()));
    }
    page.push(times("  OUTSIDE OF MPI", &found.ranks, found.chance, false).into());
    page.extend(more(found.ranks.len(), "ranks"));
    page
}

fn more(all: usize, what: &str) -> Option<Block> {
    let rest = all.checked_sub(MOST).filter(|rest| *rest > 0)?;
    Some(Block::Line(format!(
        "  ... and {rest} more {what} with smaller differences; --json has all of them"
    )))
}

fn side(runs: &Runs) -> String {
    let what = format!("{}, {}", count(runs.runs, "run"), count(runs.ranks, "rank"));
    format!("{} ({what}): {}", runs.name, runs.command)
}

/// Returns a note that single runs prove nothing, if there are any.
fn single(found: &Comparison) -> Option<String> {
    let few = found.before.runs.min(found.after.runs);
    let help = "name several runs on each side: mpiscope diff A1,A2,A3 B1,B2,B3";
    (few < 2).then(|| format!("  single runs prove nothing, since times vary from run to run; {help}"))
}

/// Returns the answer in one sentence.
fn answer(found: &Comparison) -> String {
    let wall = &found.wall;
    let times = format!("{} to {}", duration(wall.before), duration(wall.after));
    let part = if wall.before > 0.0 { wall.difference / wall.before * 100.0 } else { 0.0 };
    if !found.differs() {
        return format!("nothing differs between A and B ({} each)", duration(wall.after));
    }
    // A difference smaller than the displayed precision is not called faster or slower.
    if part.abs() < 0.05 {
        return format!("A and B take the same time ({times})");
    }
    let how = if wall.difference > 0.0 { "slower" } else { "faster" };
    let size = format!("B is {:.1} % {how} than A ({times})", part.abs());
    let Some(chance) = wall.chance else { return format!("{size}, in single runs; {}", where_to(found)) };
    if !wall.is_real(found.chance) {
        let size = format!("{size}, which happens by chance with probability {chance:.2}");
        return parts(found).map_or_else(
            || format!("no difference beyond chance: {size}"),
            |parts| format!("no difference of the wall time beyond chance, but of {parts}: {size}"),
        );
    }
    format!("{size}, which happens by chance with probability {}; {}", probability(chance), where_to(found))
}

/// Names the parts of the run that differ by more than chance, if any.
fn parts(found: &Comparison) -> Option<String> {
    let lists = [
        (&found.whole, ["share", "shares"]),
        (&found.functions, ["function", "functions"]),
        (&found.sites, ["place", "places"]),
        (&found.causes, ["cause of waiting", "causes of waiting"]),
        (&found.ranks, ["rank", "ranks"]),
    ];
    let real = |list: &[Quantity]| list.iter().filter(|quantity| quantity.is_real(found.chance)).count();
    let named = |(list, [one, more]): (&Vec<Quantity>, [&str; 2])| match real(list) {
        0 => None,
        1 => Some(format!("1 {one}")),
        count => Some(format!("{count} {more}")),
    };
    let parts: Vec<String> = lists.into_iter().filter_map(named).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Returns the largest difference in the direction of the whole.
fn where_to(found: &Comparison) -> String {
    let sign = found.wall.difference.signum();
    let Some(first) = found.functions.iter().find(|quantity| quantity.difference * sign > 0.0) else {
        return "no function differs in that direction".to_owned();
    };
    // A rank that waits longer is seldom the one that became slower.
    let began = |cause: &&Quantity| cause.difference * sign >= BEGAN * first.difference * sign;
    if first.name != OUTSIDE
        && let Some(cause) = found.causes.iter().find(began)
    {
        return format!(
            "most of it in {} ({} a rank), in waits that began with {} ({} a rank)",
            first.name,
            signed(first.difference),
            cause.name,
            signed(cause.difference)
        );
    }
    let place =
        if first.name == OUTSIDE { "outside of MPI".to_owned() } else { format!("in {}", first.name) };
    let rank = first
        .most
        .as_ref()
        .map_or_else(String::new, |(rank, by)| format!(", most on rank {rank} ({})", signed(*by)));
    format!("most of it {place}: {} a rank{rank}", signed(first.difference))
}

fn probability(chance: f64) -> String {
    if chance < 0.001 { "below 0.001".to_owned() } else { format!("{chance:.3}") }
}

/// Formats seconds with a sign: `+1.20 s`, `-30.0 ms`.
fn signed(seconds: f64) -> String {
    format!("{}{}", if seconds < 0.0 { "-" } else { "+" }, duration(seconds.abs()))
}

fn verdict(quantity: &Quantity, limit: f64) -> String {
    match quantity.chance {
        None => "?".to_owned(),
        Some(chance) if quantity.is_real(limit) => probability(chance),
        Some(_) => "noise".to_owned(),
    }
}

fn shares(found: &Comparison) -> Table {
    let mut table = Table::new(&["  WHOLE RUN", "A", "B", "DIFFERENCE", "CHANCE"]).numbers(&[1, 2, 3, 4]);
    let wall = &found.wall;
    table.push(vec![
        format!("  {}", wall.name),
        with_deviation(wall.before, wall.before_deviation),
        with_deviation(wall.after, wall.after_deviation),
        signed(wall.difference),
        verdict(wall, found.chance),
    ]);
    for quantity in &found.whole {
        table.push(vec![
            format!("  {}", quantity.name),
            format!("{:.3}", quantity.before),
            format!("{:.3}", quantity.after),
            format!("{:+.3}", quantity.difference),
            verdict(quantity, found.chance),
        ]);
    }
    table
}

fn with_deviation(value: f64, deviation: Option<f64>) -> String {
    deviation.map_or_else(
        || duration(value),
        |deviation| format!("{} +- {}", duration(value), duration(deviation)),
    )
}

fn times(title: &str, quantities: &[Quantity], limit: f64, most: bool) -> Table {
    let head = [title, "A", "B", "DIFFERENCE", "CHANCE", if most { "MOST ON RANK" } else { "" }];
    let head = if most { &head[..] } else { &head[..5] };
    let mut table = Table::new(head).numbers(&[1, 2, 3, 4]);
    for quantity in quantities.iter().take(MOST) {
        let rank = quantity
            .most
            .as_ref()
            .map_or_else(|| "-".to_owned(), |(rank, by)| format!("{rank} {}", signed(*by)));
        table.push(vec![
            format!("  {}", quantity.name),
            duration(quantity.before),
            duration(quantity.after),
            signed(quantity.difference),
            verdict(quantity, limit),
            rank,
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::side::Side;
    use super::*;
    use mpiscope_job::jobs::worlds::Members;
    use mpiscope_job::performance::report::{Calls, FunctionReport, JobReport};
    use mpiscope_job::performance::waits::Cause;

    fn side(wall: &[f64]) -> Side {
        let report = |wall_s: &f64| {
            let mut report = JobReport::new("./a".into(), Vec::new());
            (report.wall_s, report.thread_s, report.times) = (*wall_s, *wall_s, true);
            report
        };
        Side { name: "a".into(), reports: wall.iter().map(report).collect(), errors: Vec::new() }
    }

    fn answered(a: &[f64], b: &[f64]) -> (String, usize) {
        let found = Comparison::new(&side(a), &side(b), 0.05);
        let tables = page(&found).iter().filter(|block| matches!(block, Block::Table(_))).count();
        (answer(&found), tables)
    }

    #[test]
    fn equal_runs_do_not_differ_and_an_invisible_difference_is_neither_faster_nor_slower() {
        assert_eq!(answered(&[2.0], &[2.0]), ("nothing differs between A and B (2.00 s each)".into(), 0));
        let (same, tables) = answered(&[2.0, 2.1, 2.2], &[2.0, 2.1, 2.2]);
        assert_eq!((same.as_str(), tables), ("nothing differs between A and B (2.10 s each)", 0));
        let (near, tables) = answered(&[2.0], &[2.0001]);
        assert!(tables > 0 && near == "A and B take the same time (2.00 s to 2.00 s)", "{near}");
        assert!(answered(&[2.0], &[2.2]).0.starts_with("B is 10.0 % slower than A"));
    }

    #[test]
    fn parts_that_differ_are_announced_even_if_the_wall_time_does_not() {
        let side = |walls: &[f64], waited: f64| {
            let mut side = side(walls);
            for (number, report) in side.reports.iter_mut().enumerate() {
                report.functions = vec![FunctionReport {
                    name: "MPI_Barrier".into(),
                    total: Calls {
                        count: 1,
                        time_s: Some(waited + 0.01 * number as f64),
                        ..Calls::default()
                    },
                    open: 0,
                    min: Default::default(),
                    max: Default::default(),
                }];
            }
            side
        };
        let noisy = [3.0, 5.0, 9.0];
        let found = Comparison::new(&side(&noisy, 1.0), &side(&noisy, 1.0), 0.05);
        assert!(!answer(&found).contains("but of"), "{}", answer(&found));
        let found = Comparison::new(&side(&noisy, 1.0), &side(&[3.0, 5.0, 9.5], 2.0), 0.05);
        let wanted = "no difference of the wall time beyond chance, but of 1 function: B is 2.9 % slower";
        assert!(answer(&found).starts_with(wanted), "{}", answer(&found));
    }

    #[test]
    fn the_rank_that_made_others_wait_is_named_if_a_function_takes_longer() {
        let side = |waited: f64| {
            let mut side = side(&[5.0 + waited]);
            let report = &mut side.reports[0];
            report.functions = vec![FunctionReport {
                name: "MPI_Barrier".into(),
                total: Calls { count: 1, time_s: Some(waited), ..Calls::default() },
                open: 0,
                min: Default::default(),
                max: Default::default(),
            }];
            report.waits.causes = vec![Cause {
                culprit: Members::from_iter([(0, Some(2))]),
                doing: "computing after MPI_Bcast at a.c:9".into(),
                ranks: Members::from_iter([(0, Some(0)), (0, Some(1))]),
                seconds: 0.9 * waited,
                share: 0.1,
                handed_on_s: 0.0,
            }];
            side
        };
        let found = Comparison::new(&side(1.0), &side(3.0), 0.05);
        let wanted = "most of it in MPI_Barrier (+2.00 s a rank), in waits that began with rank 2, computing after MPI_Bcast at \
                      a.c:9 (+1.80 s a rank)";
        assert_eq!(where_to(&found), wanted);
        let less = Comparison::new(&side(3.0), &side(1.0), 0.05);
        assert!(where_to(&less).contains("began with rank 2"), "{}", where_to(&less));
    }
}
