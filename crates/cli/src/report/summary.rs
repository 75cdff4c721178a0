//! One line per job: a record for administrators.

use super::Source;
use serde::Serialize;

/// Schema name of the line.
pub const SCHEMA: &str = "mpiscope.summary/1";

/// The record of a job. Shares and efficiencies are those of `report.json`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Summary<'a> {
    /// Name and version of this schema. Fields may be added; existing ones never change their meaning.
    schema: &'static str,
    job: &'a str,
    command: &'a str,
    library: &'a str,
    mpi_version: &'a str,
    running: bool,
    ranks: usize,
    hosts: Vec<&'a str>,
    wall_s: f64,
    mpi_share: Option<f64>,
    polling_share: Option<f64>,
    load_balance: Option<f64>,
    communication_efficiency: Option<f64>,
    parallel_efficiency: Option<f64>,
    sent: u64,
    received: u64,
    messages: u64,
    file_read_bytes: u64,
    file_written_bytes: u64,
    /// The function that took the most time, and its share of the total time.
    top_function: Option<&'a str>,
    top_function_share: Option<f64>,
    /// The highest memory use of any rank, if known.
    peak_resident: Option<u64>,
    aborted: bool,
    /// The kinds of problems found, without duplicates.
    findings: Vec<&'static str>,
    lost: u64,
    /// Number of things that could not be seen.
    not_seen: usize,
}

impl<'a> Summary<'a> {
    /// Summarizes a job.
    pub fn of(source: &'a Source) -> Self {
        let report = &source.report;
        let top = report.functions.first();
        let mut findings: Vec<&'static str> = report.findings.iter().map(|finding| finding.kind.0).collect();
        findings.sort_unstable();
        findings.dedup();
        let files = &report.sections.files;
        let peak =
            report.sections.memory.iter().filter_map(|memory| Some(memory.placement.as_ref()?.peak)).max();
        Self {
            schema: SCHEMA,
            job: &source.job,
            command: &report.command,
            library: &report.library,
            mpi_version: &report.mpi_version,
            running: report.ranks.iter().any(|rank| rank.alive && !rank.finalized),
            ranks: report.ranks.len(),
            hosts: report.hosts.iter().map(|host| host.host.as_str()).collect(),
            wall_s: report.wall_s,
            mpi_share: report.mpi_share,
            polling_share: report.polling_share,
            load_balance: report.load_balance,
            communication_efficiency: report.communication_efficiency,
            parallel_efficiency: report.parallel_efficiency,
            sent: report.sent,
            received: report.received,
            messages: report.sections.messages.sent,
            file_read_bytes: files.iter().fold(0, |sum, file| sum.saturating_add(file.read_bytes)),
            file_written_bytes: files.iter().fold(0, |sum, file| sum.saturating_add(file.written_bytes)),
            top_function: top.map(|f| f.name.as_str()),
            top_function_share: top
                .filter(|_| report.thread_s > 0.0)
                .map(|f| f.total.seconds() / report.thread_s),
            peak_resident: peak,
            aborted: report.ranks.iter().any(|rank| rank.abort_code.is_some()),
            findings,
            lost: report.lost,
            not_seen: source.errors.len(),
        }
    }
}
