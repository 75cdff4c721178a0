//! What happened between two samples of a job. Times and shares are differences of those in the report.

use crate::ps::rows::call_cells;
use crate::render::time_of_calls;
use crate::report::sections::name_of;
use mpiscope_job::RankReport;
use mpiscope_job::model::rank_status::RankStatus;
use mpiscope_job::performance::report::{Efficiencies, FunctionReport};
use mpiscope_job::performance::snapshot::{JobSnapshot, Letter};
use serde::Serialize;
use std::collections::BTreeMap;

/// Schema name of a `--json` line.
pub const SCHEMA: &str = "mpiscope.top/1";

/// What happened between two samples of a job.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Interval {
    /// Name and version of this schema. Fields may be added; existing ones never change their meaning.
    pub schema: &'static str,
    pub job: String,
    pub command: String,
    /// End of the interval, in seconds since 1970.
    pub unix_s: f64,
    /// Length of the interval.
    pub seconds: f64,
    /// Wall time of the job until now.
    pub wall_s: f64,
    /// Whether times are recorded; shares are meaningless otherwise.
    pub times: bool,
    /// Share of MPI in the time of all threads that call MPI, within the interval.
    pub mpi_share: f64,
    pub polling_share: f64,
    /// Efficiencies within the interval.
    pub efficiencies: Option<Efficiencies>,
    /// Efficiencies since the start of the job.
    pub overall: Option<Efficiencies>,
    /// Messages sent but not received, as far as both sides are visible.
    pub in_flight: u64,
    pub pending: u64,
    pub posted: u64,
    /// Functions, by decreasing time.
    pub functions: Vec<Function>,
    pub ranks: Vec<Rank>,
    /// Number of processes that have not called MPI.
    pub silent: usize,
    pub lost: u64,
    /// Ranks that share fewer processors than their number: `ranks [2-3] share core 5 of host`.
    pub crowded: Vec<String>,
    /// Why the job makes no progress, if it makes none.
    pub verdict: Option<String>,
    /// What could not be seen.
    pub not_seen: Vec<String>,
}

/// A function's calls in the interval, over all ranks.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Function {
    pub name: String,
    pub calls: u64,
    /// Null if its calls were not timed.
    pub time_s: Option<f64>,
    /// Number of calls whose time is an estimate.
    pub estimated: u64,
    /// Share in the time of all threads that call MPI.
    pub share: Option<f64>,
    pub bytes: u64,
}

impl Function {
    fn seconds(&self) -> f64 {
        self.time_s.unwrap_or(0.0)
    }

    /// Formats the time and the share.
    pub fn times(&self) -> [String; 2] {
        let dash = || "-".to_owned();
        [
            time_of_calls(self.time_s, self.estimated),
            self.share.map_or_else(dash, |share| format!("{:.1}", share * 100.0)),
        ]
    }
}

/// A rank in the interval, and its state at the end.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Rank {
    /// The rank, as `world.rank` outside the first world; `?` if unknown.
    pub rank: String,
    pub host: String,
    pub pid: u32,
    /// Activity of the rank, as a letter; `mpiscope top` shows the legend.
    pub letter: char,
    /// The open call, or the last one.
    pub call: String,
    /// Whether the call is still open.
    pub open: bool,
    /// Seconds spent in the call, or since it returned.
    pub age_s: Option<f64>,
    pub place: String,
    /// Peer, tag and communicator, if the call has them.
    pub about: String,
    pub mpi_share: f64,
    pub useful_share: f64,
    pub calls: u64,
    pub bytes: u64,
    pub resident: Option<u64>,
    /// Whether something is wrong with the rank.
    pub problem: bool,
    /// Its functions since the start: calls, seconds, bytes.
    pub functions: Vec<Function>,
}

impl Interval {
    /// Computes the interval from one sample to a later one.
    pub fn between(job: &str, before: &JobSnapshot, after: &JobSnapshot, seconds: f64) -> Self {
        let report = &after.report;
        let known: BTreeMap<_, &RankReport> =
            before.report.ranks.iter().map(|rank| (key(rank), rank)).collect();
        let spans: Vec<Span> =
            report.ranks.iter().map(|rank| Span::of(known.get(&key(rank)).copied(), rank)).collect();
        let thread_s: f64 = spans.iter().map(|span| span.thread_s).sum();
        let part = |time: f64| if thread_s > 0.0 { (time / thread_s).clamp(0.0, 1.0) } else { 0.0 };
        let wall = spans.iter().map(|span| span.wall_s).fold(0.0, f64::max);
        let ended = |rank: &RankReport| rank.finalized || !rank.alive;
        let useful: Vec<f64> =
            report.ranks.iter().zip(&spans).map(|(rank, span)| span.useful_s(wall, ended(rank))).collect();
        let memory = &report.sections.memory;
        let residents =
            memory.iter().map(|memory| memory.placement.as_ref().map(|placement| placement.resident));
        let mut residents: Vec<Option<u64>> = residents.collect();
        residents.resize(report.ranks.len(), None);
        let ranks = report.ranks.iter().zip(&after.statuses).zip(&spans).zip(residents);
        let messages = &report.sections.messages;
        let overall =
            report.load_balance.zip(report.communication_efficiency).zip(report.parallel_efficiency);
        Self {
            schema: SCHEMA,
            job: job.to_owned(),
            command: report.command.clone(),
            unix_s: std::time::UNIX_EPOCH.elapsed().map_or(0.0, |since| since.as_secs_f64()),
            // Sampling many ranks takes a while; what counts is the time between the two samples of the same
            // rank.
            seconds: if wall > 0.0 { wall } else { seconds },
            wall_s: report.wall_s,
            times: report.times,
            mpi_share: part(spans.iter().map(|span| span.mpi_s).sum()),
            polling_share: part(spans.iter().map(|span| span.polling_s).sum()),
            efficiencies: Efficiencies::of(&useful, wall).filter(|_| report.times),
            overall: overall.map(|((load_balance, communication), parallel)| Efficiencies {
                load_balance,
                communication,
                parallel,
            }),
            in_flight: messages.sent.saturating_sub(messages.received),
            pending: messages.pending,
            posted: messages.posted,
            functions: functions(&before.report.functions, &report.functions, thread_s),
            ranks: ranks
                .map(|(((rank, status), span), resident)| of_rank(rank, status, span, resident))
                .collect(),
            silent: after.silent,
            lost: report.lost,
            crowded: report.sections.crowded.iter().map(ToString::to_string).collect(),
            verdict: None,
            not_seen: after.errors.clone(),
        }
    }

    /// Returns the number of completed calls.
    pub fn calls(&self) -> u64 {
        self.ranks.iter().fold(0, |sum, rank| sum.saturating_add(rank.calls))
    }
}

fn key(rank: &RankReport) -> (&str, &str, u32) {
    (&rank.world, &rank.host, rank.pid)
}

/// How much a rank's totals have grown between the samples.
#[derive(Debug, Default, Clone, Copy)]
struct Span {
    wall_s: f64,
    thread_s: f64,
    mpi_s: f64,
    polling_s: f64,
    calls: u64,
    bytes: u64,
}

impl Span {
    fn of(before: Option<&RankReport>, after: &RankReport) -> Self {
        let whole = |rank: &RankReport| Self {
            wall_s: rank.wall_s,
            thread_s: rank.thread_s,
            mpi_s: rank.mpi_s,
            polling_s: rank.polling_share * rank.thread_s,
            calls: rank.calls.values().fold(0, |sum, calls| sum.saturating_add(calls.count)),
            bytes: rank.bytes,
        };
        let (a, b) = (before.map(whole).unwrap_or_default(), whole(after));
        Self {
            wall_s: more(a.wall_s, b.wall_s),
            thread_s: more(a.thread_s, b.thread_s),
            mpi_s: more(a.mpi_s, b.mpi_s),
            polling_s: more(a.polling_s, b.polling_s),
            calls: b.calls.saturating_sub(a.calls),
            bytes: b.bytes.saturating_sub(a.bytes),
        }
    }

    fn share(&self, time: f64) -> f64 {
        if self.thread_s > 0.0 { (time / self.thread_s).clamp(0.0, 1.0) } else { 0.0 }
    }

    fn useful_share(&self) -> f64 {
        self.share(self.thread_s - self.mpi_s - self.polling_s)
    }

    /// Returns the useful time in the interval. The time between samples varies between ranks, which must not
    /// look like imbalance; so a rank's own time counts only if it has ended.
    fn useful_s(&self, wall_s: f64, ended: bool) -> f64 {
        self.useful_share() * if ended { self.wall_s } else { wall_s }
    }
}

/// Relative change of times without any activity, because the length of a tick is measured anew at every
/// sample.
const CLOCK: f64 = 1e-7;

/// Returns the growth of a time.
fn more(before: f64, after: f64) -> f64 {
    let grown = after - before;
    if grown > CLOCK * after { grown } else { 0.0 }
}

fn functions(before: &[FunctionReport], after: &[FunctionReport], thread_s: f64) -> Vec<Function> {
    let known: BTreeMap<&str, &FunctionReport> = before.iter().map(|f| (f.name.as_str(), f)).collect();
    let function = |f: &FunctionReport| {
        let was = known.get(f.name.as_str()).map(|f| f.total).unwrap_or_default();
        let time_s = f.total.time_s.map(|now| more(was.seconds(), now));
        Function {
            name: f.name.clone(),
            calls: f.total.count.saturating_sub(was.count),
            time_s,
            estimated: f.total.estimated.saturating_sub(was.estimated),
            share: time_s.map(|time| if thread_s > 0.0 { (time / thread_s).min(1.0) } else { 0.0 }),
            bytes: f.total.bytes.saturating_sub(was.bytes),
        }
    };
    let mut found: Vec<Function> = after.iter().map(function).collect();
    found.retain(|f| f.calls > 0 || f.seconds() > 0.0);
    found.sort_by(|a, b| b.seconds().total_cmp(&a.seconds()).then(b.calls.cmp(&a.calls)));
    found
}

fn of_rank(rank: &RankReport, status: &RankStatus, span: &Span, resident: Option<u64>) -> Rank {
    let busy = status.busy();
    let thread = busy.iter().find(|thread| thread.main).or(busy.first()).copied();
    let open = thread.is_some_and(|thread| thread.call.is_some());
    let mut cells = call_cells(thread).into_iter().map(|cell| if cell == "-" { String::new() } else { cell });
    let call = cells.next().unwrap_or_default();
    let mut about: Vec<String> = cells.collect();
    let place = about.pop().unwrap_or_default();
    let named =
        ["peer", "tag", "on", "count", "type"].iter().zip(&about).filter(|(_, value)| !value.is_empty());
    let about: Vec<String> = named.map(|(name, value)| format!("{name} {value}")).collect();
    let mut functions: Vec<Function> = rank
        .calls
        .iter()
        .map(|(name, calls)| Function {
            name: name.clone(),
            calls: calls.count,
            time_s: calls.time_s,
            estimated: calls.estimated,
            share: calls.time_s.map(|time| if rank.thread_s > 0.0 { time / rank.thread_s } else { 0.0 }),
            bytes: calls.bytes,
        })
        .collect();
    functions.sort_by(|a, b| b.seconds().total_cmp(&a.seconds()));
    Rank {
        rank: name_of(rank),
        host: rank.host.clone(),
        pid: rank.pid,
        letter: Letter::of(status).0,
        call,
        open,
        age_s: thread.and_then(|thread| thread.polling_s.or(thread.age_s)),
        place,
        about: about.join(", "),
        mpi_share: span.share(span.mpi_s),
        useful_share: span.useful_share(),
        calls: span.calls,
        bytes: span.bytes,
        resident,
        problem: status.problem,
        functions,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uneven_sampling_is_no_imbalance_but_an_ended_rank_is() {
        let span = |seconds| Span { wall_s: seconds, thread_s: seconds, ..Span::default() };
        let of = |ends: bool| {
            let useful = [span(1.2).useful_s(1.3, false), span(0.65).useful_s(1.3, ends)];
            Efficiencies::of(&useful, 1.3).unwrap().load_balance
        };
        assert!((of(false) - 1.0).abs() < 1e-9 && (of(true) - 0.75).abs() < 1e-9);
    }
}
