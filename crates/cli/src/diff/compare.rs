//! Quantities compared: the run, its functions, its ranks.

use super::side::Side;
use super::stats::{corrected, mean, variance, welch};
use crate::report::sections::name_of;
use mpiscope_job::base::total::total;
use mpiscope_job::performance::report::JobReport;
use mpiscope_job::performance::waits::Cause;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Schema name.
pub const SCHEMA: &str = "mpiscope.diff/1";
/// Share of the wall time below which a quantity is ignored.
const LEAST: f64 = 0.001;

/// A comparison of two sides.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Name and version of this schema. Fields may be added; existing ones never change their meaning.
    pub schema: &'static str,
    pub before: Runs,
    pub after: Runs,
    /// The probability above which a difference counts as noise; see `--chance`.
    pub chance: f64,
    /// Whether B takes longer, by more than chance.
    pub slower: bool,
    pub wall: Quantity,
    /// The run as a whole: shares and efficiencies.
    pub whole: Vec<Quantity>,
    /// Seconds in each function and outside MPI, mean over the ranks; largest difference first.
    pub functions: Vec<Quantity>,
    /// Seconds at each call site, mean over the ranks; largest difference first.
    pub sites: Vec<Quantity>,
    /// Seconds that other ranks waited because of what a rank did, mean over the ranks; largest difference
    /// first.
    pub causes: Vec<Quantity>,
    /// Useful seconds (outside MPI) of each rank; largest difference first.
    pub ranks: Vec<Quantity>,
    /// Differences between the sides other than their times.
    pub unlike: Vec<String>,
}

/// The runs of a side.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Runs {
    pub name: String,
    pub command: String,
    pub runs: usize,
    pub ranks: usize,
}

/// A quantity on both sides.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Quantity {
    pub name: String,
    pub before: f64,
    pub after: f64,
    /// Standard deviations; null for a single run.
    pub before_deviation: Option<f64>,
    pub after_deviation: Option<f64>,
    pub difference: f64,
    /// Probability that chance alone causes such a difference, corrected for the number of comparisons; null
    /// for single runs.
    pub chance: Option<f64>,
    /// The rank whose own difference is the largest, and that difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most: Option<(String, f64)>,
}

impl Quantity {
    fn of(name: &str, a: &[f64], b: &[f64]) -> Self {
        let deviation = |values: &[f64]| variance(values).map(f64::sqrt);
        Self {
            name: name.to_owned(),
            before: mean(a),
            after: mean(b),
            before_deviation: deviation(a),
            after_deviation: deviation(b),
            difference: mean(b) - mean(a),
            chance: welch(a, b),
            most: None,
        }
    }

    /// Whether the difference is more than chance.
    pub fn is_real(&self, limit: f64) -> bool {
        self.chance.is_some_and(|chance| chance < limit)
    }
}

impl Comparison {
    /// Compares two sides.
    pub fn new(a: &Side, b: &Side, chance: f64) -> Self {
        let wall = each("wall time", a, b, |report| report.wall_s);
        let mut whole: Vec<Quantity> = WHOLE.iter().filter_map(|(name, of)| known(name, a, b, of)).collect();
        let least = LEAST * wall.before.max(wall.after);
        let mut functions = functions(a, b);
        functions.retain(|quantity| quantity.before.max(quantity.after) >= least);
        let mut sites = sites(a, b);
        sites.retain(|quantity| quantity.before.max(quantity.after) >= least);
        let mut causes = causes(a, b);
        causes.retain(|quantity| quantity.before.max(quantity.after) >= least);
        let mut ranks = ranks(a, b);
        for list in [&mut whole, &mut functions, &mut sites, &mut causes, &mut ranks] {
            let chances: Vec<Option<f64>> = list.iter().map(|quantity| quantity.chance).collect();
            list.iter_mut().zip(corrected(&chances)).for_each(|(quantity, chance)| quantity.chance = chance);
        }
        for list in [&mut functions, &mut sites, &mut causes, &mut ranks] {
            list.sort_by(|a, b| b.difference.abs().total_cmp(&a.difference.abs()));
        }
        Self {
            schema: SCHEMA,
            before: Runs::of(a),
            after: Runs::of(b),
            chance,
            slower: wall.difference > 0.0 && wall.is_real(chance),
            unlike: unlike(a, b),
            wall,
            whole,
            functions,
            sites,
            causes,
            ranks,
        }
    }
}

impl Comparison {
    /// Whether any compared quantity differs at all.
    pub fn differs(&self) -> bool {
        let lists = [&self.whole, &self.functions, &self.sites, &self.causes, &self.ranks];
        let mut all = lists.into_iter().flatten().chain([&self.wall]);
        !self.unlike.is_empty() || all.any(|quantity| quantity.difference != 0.0)
    }
}

impl Runs {
    fn of(side: &Side) -> Self {
        let first = side.reports.first();
        Self {
            name: side.name.clone(),
            command: first.map_or_else(String::new, |report| report.command.clone()),
            runs: side.reports.len(),
            ranks: first.map_or(0, |report| report.ranks.len()),
        }
    }
}

fn each(name: &str, a: &Side, b: &Side, of: impl Fn(&JobReport) -> f64) -> Quantity {
    let values = |side: &Side| side.reports.iter().map(&of).collect::<Vec<_>>();
    Quantity::of(name, &values(a), &values(b))
}

/// A share or efficiency of a run, if known.
type Share = fn(&JobReport) -> Option<f64>;

/// The shares and efficiencies compared.
const WHOLE: [(&str, Share); 7] = [
    ("MPI share", |report| report.mpi_share),
    ("polling share", |report| report.polling_share),
    ("load balance", |report| report.load_balance),
    ("communication efficiency", |report| report.communication_efficiency),
    ("serialization efficiency", |report| report.serialisation_efficiency),
    ("transfer efficiency", |report| report.transfer_efficiency),
    ("parallel efficiency", |report| report.parallel_efficiency),
];

/// Compares what is known of all runs: what is unknown is not zero.
fn known(name: &str, a: &Side, b: &Side, of: &Share) -> Option<Quantity> {
    let values = |side: &Side| side.reports.iter().map(of).collect::<Option<Vec<_>>>();
    Some(Quantity::of(name, &values(a)?, &values(b)?))
}

/// Name for the time outside MPI in a list of functions.
pub const OUTSIDE: &str = "(not in MPI)";

/// Compares functions that were timed in all runs.
fn functions(a: &Side, b: &Side) -> Vec<Quantity> {
    let reports = || a.reports.iter().chain(&b.reports);
    let all = || reports().flat_map(|report| &report.functions);
    let untimed: BTreeSet<&str> =
        all().filter(|f| f.total.time_s.is_none()).map(|f| f.name.as_str()).collect();
    let names: BTreeSet<&str> =
        all().map(|f| f.name.as_str()).filter(|name| !untimed.contains(name)).collect();
    let of_rank = |report: &JobReport| report.ranks.len().max(1) as f64;
    let inside = |report: &JobReport, name: &str| {
        report.functions.iter().find(|f| f.name == name).map_or(0.0, |f| f.total.seconds()) / of_rank(report)
    };
    let outside = |report: &JobReport| {
        let all = total(report.functions.iter().map(|f| f.total.seconds()));
        (report.thread_s - all).max(0.0) / of_rank(report)
    };
    let mut rest = each(OUTSIDE, a, b, outside);
    rest.most = most(a, b, |rank| (rank.thread_s - rank.mpi_s).max(0.0));
    let mut found = vec![rest];
    for name in names {
        let mut quantity = each(name, a, b, |report| inside(report, name));
        quantity.most = most(a, b, |rank| rank.calls.get(name).map_or(0.0, |calls| calls.seconds()));
        found.push(quantity);
    }
    found
}

/// Compares call sites by function and place. Objects are not distinguished: the reports do that, but only
/// names are the same in all runs.
fn sites(a: &Side, b: &Side) -> Vec<Quantity> {
    let reports = || a.reports.iter().chain(&b.reports);
    let all = || reports().flat_map(|report| &report.call_sites.sites);
    let untimed: BTreeSet<&str> =
        all().filter(|site| site.totals.time_s.is_none()).map(|site| site.function.as_str()).collect();
    let keys: BTreeSet<(&str, &str)> = all()
        .map(|site| (site.function.as_str(), site.place.as_str()))
        .filter(|(function, place)| !place.is_empty() && !untimed.contains(function))
        .collect();
    let inside = |report: &JobReport, (function, place): (&str, &str)| {
        let own =
            report.call_sites.sites.iter().filter(|site| site.function == function && site.place == place);
        total(own.map(|site| site.totals.seconds())) / report.ranks.len().max(1) as f64
    };
    keys.into_iter()
        .map(|key| each(&format!("{} at {}", key.0, key.1), a, b, |report| inside(report, key)))
        .collect()
}

/// Compares the causes of waiting, by late rank and its activity: functions show only which ranks waited, not
/// for which rank.
fn causes(a: &Side, b: &Side) -> Vec<Quantity> {
    let named = |cause: &Cause| format!("{}, {}", cause.culprit.named(), cause.doing);
    let reports = || a.reports.iter().chain(&b.reports);
    let names: BTreeSet<String> = reports().flat_map(|report| &report.waits.causes).map(named).collect();
    let cost = |report: &JobReport, name: &str| {
        let own = report.waits.causes.iter().filter(|cause| named(cause) == name);
        total(own.map(|cause| cause.seconds)) / report.ranks.len().max(1) as f64
    };
    names.iter().map(|name| each(name, a, b, |report| cost(report, name))).collect()
}

/// World and rank.
type Who = (usize, Option<u32>);
/// Name of a rank, and its value in each run.
type Values = (String, Vec<f64>);

/// Returns the values in the runs of a side, by rank.
fn by_rank(side: &Side, of: impl Fn(&mpiscope_job::RankReport) -> f64) -> BTreeMap<Who, Values> {
    let mut found: BTreeMap<Who, Values> = BTreeMap::new();
    for rank in side.reports.iter().flat_map(|report| &report.ranks) {
        let slot = found.entry((rank.world_number, rank.rank)).or_insert_with(|| (name_of(rank), Vec::new()));
        slot.1.push(of(rank));
    }
    found
}

/// Returns the rank whose own difference is the largest.
fn most(a: &Side, b: &Side, of: impl Fn(&mpiscope_job::RankReport) -> f64) -> Option<(String, f64)> {
    let (before, after) = (by_rank(a, &of), by_rank(b, &of));
    let difference = |(key, (name, values)): (&Who, &Values)| {
        Some((name.clone(), mean(values) - mean(&before.get(key)?.1)))
    };
    let all = after.iter().filter_map(difference);
    all.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs())).filter(|(_, difference)| *difference != 0.0)
}

fn ranks(a: &Side, b: &Side) -> Vec<Quantity> {
    let useful = |rank: &mpiscope_job::RankReport| rank.wall_s * rank.useful_share;
    let (before, after) = (by_rank(a, useful), by_rank(b, useful));
    let both = after.iter().filter_map(|(key, (name, values))| Some((name, &before.get(key)?.1, values)));
    both.map(|(name, a, b)| Quantity::of(&format!("rank {name}"), a, b)).collect()
}

/// A property that runs should have in common.
type Fact = fn(&JobReport) -> String;

/// Describes the number of hosts and of ranks on each; their names do not matter.
fn layout(report: &JobReport) -> String {
    let mut hosts: BTreeMap<usize, usize> = BTreeMap::new();
    for host in &report.hosts {
        *hosts.entry(host.ranks.len()).or_default() += 1;
    }
    let words = |(ranks, hosts): (&usize, &usize)| {
        format!("{hosts} with {ranks} {}", if *ranks == 1 { "rank" } else { "ranks" })
    };
    match report.hosts.len() {
        0 | 1 => report.hosts.len().to_string(),
        _ => hosts.iter().rev().map(words).collect::<Vec<_>>().join(" and "),
    }
}

/// Lists differences that make a comparison of times doubtful.
fn unlike(a: &Side, b: &Side) -> Vec<String> {
    let facts: [(&str, Fact); 4] = [
        ("ranks", |report| report.ranks.len().to_string()),
        ("hosts", layout),
        ("library", |report| report.library.clone()),
        ("command", |report| report.command.clone()),
    ];
    let mut found = Vec::new();
    for (name, fact) in facts {
        let of = |side: &Side| side.reports.iter().map(fact).collect::<BTreeSet<_>>();
        let (before, after) = (of(a), of(b));
        if before != after || before.len() > 1 {
            let text = |facts: BTreeSet<String>| facts.into_iter().collect::<Vec<_>>().join(", ");
            found.push(format!("{name}: {} / {}", text(before), text(after)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpiscope_job::performance::report::{Calls, FunctionReport, HostReport};

    /// Makes runs that differ only in their time in one function.
    fn side(name: &str, waits: &[f64]) -> Side {
        let report = |wait: &f64| {
            let mut report = JobReport::new("./a".into(), Vec::new());
            (report.wall_s, report.thread_s, report.times) = (5.0 + wait, 5.0 + wait, true);
            let function = |name: &str, time_s: f64| FunctionReport {
                name: name.into(),
                total: Calls { count: 1, time_s: Some(time_s), ..Calls::default() },
                open: 0,
                min: Default::default(),
                max: Default::default(),
            };
            report.functions = vec![function("MPI_Wait", *wait), function("MPI_Send", 1.0)];
            report
        };
        Side { name: name.into(), reports: waits.iter().map(report).collect(), errors: Vec::new() }
    }

    #[test]
    fn a_function_that_takes_longer_is_named_and_unchanged_ones_are_not() {
        let found = Comparison::new(&side("a", &[1.0, 1.1, 0.9]), &side("b", &[2.0, 2.1, 1.9]), 0.05);
        assert!(found.slower && found.unlike.is_empty(), "{found:?}");
        let wait = &found.functions[0];
        assert!(
            wait.name == "MPI_Wait" && (wait.difference - 1.0).abs() < 1e-9 && wait.is_real(0.05),
            "{wait:?}"
        );
        let send = found.functions.iter().find(|f| f.name == "MPI_Send").unwrap();
        assert!(!send.is_real(0.05), "{send:?}");
    }

    #[test]
    fn single_runs_and_runs_that_vary_more_than_they_differ_prove_nothing() {
        let single = Comparison::new(&side("a", &[1.0]), &side("b", &[9.0]), 0.05);
        assert!(!single.slower && single.wall.chance.is_none());
        let noisy = Comparison::new(&side("a", &[1.0, 9.0, 4.0]), &side("b", &[2.0, 10.0, 5.0]), 0.05);
        assert!(!noisy.slower && noisy.wall.chance.is_some_and(|chance| chance > 0.5), "{:?}", noisy.wall);
    }

    #[test]
    fn an_efficiency_that_is_unknown_in_a_run_is_not_compared() {
        let with = |balance: Option<f64>, transfer: Option<f64>| {
            let mut side = side("a", &[1.0]);
            (side.reports[0].load_balance, side.reports[0].transfer_efficiency) = (balance, transfer);
            side
        };
        let found = Comparison::new(&with(Some(0.5), Some(0.75)), &with(None, Some(0.25)), 0.05);
        let names: Vec<(&str, f64)> =
            found.whole.iter().map(|one| (one.name.as_str(), one.difference)).collect();
        assert!(names.contains(&("transfer efficiency", -0.5)), "{names:?}");
        assert!(!names.iter().any(|(name, _)| *name == "load balance"), "{names:?}");
    }

    #[test]
    fn equally_many_hosts_with_different_rank_counts_differ() {
        let on = |ranks: &[u32]| {
            let mut side = side("a", &[1.0]);
            let host = |(number, ranks): (usize, &u32)| HostReport {
                host: format!("n{number}"),
                ranks: (0..*ranks).map(|rank| (0, Some(rank))).collect(),
                clock_later_s: None,
                clock_error_s: None,
            };
            side.reports[0].hosts = ranks.iter().enumerate().map(host).collect();
            side
        };
        assert_eq!(unlike(&on(&[2, 2, 2]), &on(&[2, 2, 2])), [""; 0]);
        let found = unlike(&on(&[2, 2, 2]), &on(&[1, 4, 1]));
        assert_eq!(found, ["hosts: 3 with 2 ranks / 1 with 4 ranks and 2 with 1 rank"]);
    }
}
