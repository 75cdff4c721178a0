//! The report at exit: at most twenty lines of text on the terminal, and `report.json`.

mod ends;
mod problems;

use super::ended::told_to_end;
use super::hosts::FromHost;
use super::{Options, evidence, nobody};
use crate::render::{self, Block, Table, Terminal, calls, complain, count, duration, shorten, time_of_calls};
use crate::whole_file;
use anyhow::Result;
use ends::ends;
use mpiscope_job::Members;
use mpiscope_job::base::json;
use mpiscope_job::jobs::evidence::ProcessEnd;
use mpiscope_job::jobs::losses;
use mpiscope_job::model::process::Ending;
use mpiscope_job::performance::report::{Extreme, FunctionReport, HostReport, JobReport};
use problems::{Rest, findings, leaks};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, IsTerminal, Write as _};
use std::path::{Path, PathBuf};

pub use ends::ended_badly;

/// The file of the report in the directory of `--out`.
pub const REPORT: &str = "report.json";

/// Upper limit on the lines of the report.
const MOST_LINES: usize = 20;
/// Lines always available for abnormal ends, leaks and notes.
const LEAST_ENDS: usize = 6;
/// Columns that a wrapped line loses to the indentation of its continuation.
const MARGIN: usize = 8;
/// Number of functions shown.
const MOST_FUNCTIONS: usize = 5;
/// Share of the total MPI time below which a function is not shown.
const LEAST_SHARE: f64 = 0.001;

/// Share of the job's time below which waiting is not reported.
const LEAST_WAIT: f64 = 0.05;

/// What the reporting process could see.
pub struct Scope {
    /// The whole job (form 1) or the ranks of this host (form 2).
    pub whole: bool,
    /// How the launcher ended (form 1).
    pub ending: Option<Ending>,
    /// How each process of this host ended, keyed by its image's inode number.
    pub ends: Vec<(u64, ProcessEnd)>,
    /// Data received from other hosts.
    pub others: Vec<FromHost>,
}

impl Scope {
    /// Whether a launcher above has ended the ranks of several hosts by force: a rank called `MPI_Abort`, a
    /// wrapper was killed before it could tell how its program ended, or all were told to end.
    fn is_ended_by_force(&self, report: &JobReport) -> bool {
        let elsewhere =
            || report.worlds.iter().any(|world| (world.ranks.0.len() as u64) < u64::from(world.size));
        let several = report.hosts.len() > 1 || elsewhere();
        let aborted = || report.ranks.iter().any(|rank| rank.abort_code.is_some());
        let killed = || self.ends.iter().any(|(_, end)| end.ending.is_none());
        !self.whole && several && (aborted() || killed() || told_to_end(&self.ends))
    }

    fn seen(&self) -> nobody::Seen {
        let lost = self.others.iter().any(|other| other.evidence.is_err());
        nobody::Seen { whole: self.whole, ending: self.ending, lost }
    }
}

/// Writes `report.json` and an evidence file, and prints the report to `screen`, or to standard error if that
/// fails. A launcher that ends a job on several hosts by force may pass on nothing of what is printed after that
/// (Hydra after `MPI_Abort`, PRRTE after SIGTERM): without `report.json`, the report then also goes to a file in
/// the current directory. Errors are reported but never change the program's exit status.
pub fn deliver(options: &Options, job: &str, report: JobReport, scope: Scope, screen: Option<File>) {
    let mut written = None;
    let document = nobody::document(&report, scope.seen(), &options.program);
    if let Some(dir) = &options.out {
        match write_json(dir, &document, &scope) {
            Ok(path) => written = Some(path),
            Err(e) => complain(
                "run",
                &format!("--out {}: {e:#}; is it writable, and is there space left?", dir.display()),
            ),
        }
    }
    if let Some(dir) = options.out.as_ref().filter(|_| !report.ranks.is_empty()) {
        // The images stay open until we exit, including those of dead ranks.
        let file = dir.join(file_name(&report, &scope, "evidence", "mpiscope"));
        evidence::keep_all(job, &scope.ends, &scope.others, &file);
    }
    if options.quiet {
        return;
    }
    let terminal = screen.as_ref().map_or_else(|| Terminal::of(&io::stderr()), Terminal::of);
    let json = if options.json { json::text(&*document).ok() } else { None };
    let mut text = json.unwrap_or_else(|| {
        lines(&report, &scope, &options.program, written.as_deref(), terminal).join("\n").into_bytes()
    });
    text.push(b'\n');
    // Written in one piece so that output of ranks does not interleave; a closed standard error is not an
    // error.
    let is_lost = screen.as_ref().is_none_or(|screen| !lasts(screen)) && scope.is_ended_by_force(&report);
    let shown = screen.is_some_and(|mut screen| screen.write_all(&text).is_ok());
    if !shown {
        let _closed = io::stderr().lock().write_all(&text);
    }
    if is_lost && written.is_none() {
        let file = file_name(&report, &scope, &format!("mpiscope-report-{job}"), "txt");
        // There is nowhere left to report a failure.
        let _unread = whole_file::replace(Path::new(&file), &text);
    }
}

/// Whether what is written there remains without anyone who passes it on.
fn lasts(screen: &File) -> bool {
    screen.is_terminal() || screen.metadata().is_ok_and(|about| about.is_file())
}

/// Returns the name of an output file. Only the host with rank 0 writes `report.json` itself: other hosts of
/// the same job must not overwrite it.
fn file_name(report: &JobReport, scope: &Scope, stem: &str, extension: &str) -> String {
    let host = report.hosts.first().map(|h| h.host.as_str()).unwrap_or_default();
    let first = report.ranks.is_empty() || report.ranks.iter().any(|r| r.rank == Some(0));
    if scope.whole || first { format!("{stem}.{extension}") } else { format!("{stem}.{host}.{extension}") }
}

fn write_json(dir: &Path, report: &JobReport, scope: &Scope) -> Result<PathBuf> {
    let (stem, extension) = REPORT.split_once('.').unwrap_or((REPORT, ""));
    let name = file_name(report, scope, stem, extension);
    let path = dir.join(&name);
    let mut json = serde_json::to_vec_pretty(report)?;
    json.push(b'\n');
    whole_file::replace(&path, &json)?;
    Ok(path)
}

/// Returns the text of the report, normally at most [`MOST_LINES`] lines.
fn lines(
    report: &JobReport,
    scope: &Scope,
    command: &[OsString],
    written: Option<&Path>,
    terminal: Terminal,
) -> Vec<String> {
    let short = |line: String| Block::Line(shorten(&line, 2 * terminal.width - MARGIN));
    let mut head = vec![short(format!("mpiscope: {}", report.command))];
    if report.ranks.is_empty() {
        head.extend(nobody::lines(report, scope.seen(), command).into_iter().map(Block::Line));
    } else {
        head.extend(overview(report).into_iter().map(short));
        head.push(table(report).into());
        head.extend(twice(report).map(Block::Line));
        head.push(totals(report).into());
    }
    let rest = written.map_or(Rest::NotWritten, Rest::Written);
    let found: Vec<Block> = findings(report, &rest).into_iter().map(Block::Problem).collect();
    let mut last: Vec<Block> = ends(report).into_iter().map(Block::Problem).collect();
    last.extend(losses(report).into_iter().map(short));
    last.extend(most_waiting(report).map(Block::Line));
    last.extend(report.sections.crowded.iter().map(|crowd| short(format!("  {crowd}"))));
    last.extend(leaks(report, &rest).into_iter().map(short));
    last.extend(notes(report).into_iter().map(short));
    let shown = |blocks: &[Block]| blocks.iter().flat_map(|block| block.lines(terminal)).collect::<Vec<_>>();
    let mut lines = shown(&head);
    // Problems come first, and none of them is cut.
    lines.extend(shown(&found));
    let room = MOST_LINES.saturating_sub(lines.len() + usize::from(written.is_some())).max(LEAST_ENDS);
    lines.extend(within(room, last.iter().map(|block| block.lines(terminal)).collect(), &rest));
    let path = written.map(|path| Block::Line(format!("  report: {}", path.display())));
    lines.extend(path.into_iter().flat_map(|block| block.lines(terminal)));
    lines
}

/// Returns the lines of as many blocks as there is room for, at least of one, and how many lines are omitted. No block is
/// cut: half a sentence may mislead.
fn within(room: usize, blocks: Vec<Vec<String>>, rest: &Rest<'_>) -> Vec<String> {
    let all: usize = blocks.iter().map(Vec::len).sum();
    if all <= room {
        return blocks.concat();
    }
    let mut lines: Vec<String> = Vec::new();
    for block in blocks {
        if !lines.is_empty() && lines.len() + block.len() >= room {
            break;
        }
        lines.extend(block);
    }
    let more = all - lines.len();
    let omitted = (more > 0).then(|| format!("  ... and {}; {}", count(more, "more line"), rest.place()));
    lines.extend(omitted);
    lines
}

/// Returns the beginning of every view of a report: the command, the ranks, the efficiencies and the
/// problems.
pub fn head(report: &JobReport) -> Vec<Block> {
    let mut head = vec![Block::Line(format!("mpiscope: {}", report.command))];
    head.extend(overview(report).into_iter().map(Block::Line));
    head.push(Block::Line(totals(report)));
    head.extend(ends(report).into_iter().map(Block::Problem));
    head.extend(losses(report).into_iter().map(Block::Line));
    head.extend(findings(report, &Rest::Json).into_iter().map(Block::Problem));
    head.extend(leaks(report, &Rest::Json).into_iter().map(Block::Line));
    head.extend(notes(report).into_iter().map(Block::Line));
    head
}

fn overview(report: &JobReport) -> Vec<String> {
    let seen = report.ranks.iter().filter(|r| r.rank.is_some()).count();
    let host = |h: &HostReport| match h.ranks.len() {
        0 => h.host.clone(),
        _ => format!("{} {}", h.host, h.ranks),
    };
    let hosts: Vec<String> = report.hosts.iter().take(4).map(host).collect();
    let more = if report.hosts.len() > 4 { ", ..." } else { "" };
    let size: usize = report.worlds.iter().map(|world| world.size as usize).sum();
    let of = if seen < size { format!(" of {size}") } else { String::new() };
    let worlds = match report.worlds.len() {
        0 | 1 => String::new(),
        n => format!(" in {n} worlds (shown as world.rank)"),
    };
    let plural = |n: usize| if n == 1 { "" } else { "s" };
    let ranks = format!(
        "  {seen}{of} rank{}{worlds} on {} host{}: {}{more}",
        plural(seen.max(size)),
        report.hosts.len(),
        plural(report.hosts.len()),
        hosts.join(", ")
    );
    let library = if report.library.is_empty() { "unknown MPI library" } else { &report.library };
    let library = format!("  {library}; {} ABI, MPI {}", report.abi, report.mpi_version);
    let mut time = format!("  wall {}", duration(report.wall_s));
    if let Some(share) = report.mpi_share {
        let _infallible = write!(time, "   MPI {:.1} %", share * 100.0);
    }
    if let Some(share) = report.polling_share.filter(|share| *share >= 0.001) {
        let _infallible = write!(time, " + polling {:.1} %", share * 100.0);
    }
    match (report.load_balance, report.communication_efficiency, report.parallel_efficiency) {
        (Some(lb), Some(ce), Some(pe)) => {
            let _infallible = write!(time, "   load balance {lb:.2} x communication efficiency {ce:.2}");
            if let (Some(se), Some(te)) = (report.serialisation_efficiency, report.transfer_efficiency) {
                let _infallible = write!(time, " (serialization {se:.2} x transfer {te:.2})");
            }
            let _infallible = write!(time, " = {pe:.2}");
        }
        _ if report.times => {
            time.push_str("   (no time outside of MPI, so no load balance and no efficiency)")
        }
        _ => time.push_str("   (calls were counted, not timed)"),
    }
    vec![ranks, library, time]
}

/// Makes a table of the functions that took the most time, down to [`LEAST_SHARE`].
fn table(report: &JobReport) -> Table {
    if !report.times {
        let mut table = Table::new(&["  function", "calls", "bytes"]).numbers(&[1, 2]);
        for f in report.functions.iter().take(MOST_FUNCTIONS) {
            table.push(vec![
                format!("  {}", f.name),
                calls(f.total.count, f.open),
                render::bytes(f.total.bytes),
            ]);
        }
        return table;
    }
    let head = ["  function", "calls", "time", "% time", "min", "@rank", "max", "@rank", "bytes"];
    let mut table = Table::new(&head).numbers(&[1, 2, 3, 4, 6, 8]);
    let total: f64 = report.functions.iter().map(|f| f.total.seconds()).sum();
    let worth = |(at, f): &(usize, &FunctionReport)| *at == 0 || f.total.seconds() >= total * LEAST_SHARE;
    for (_, f) in report.functions.iter().take(MOST_FUNCTIONS).enumerate().filter(worth) {
        // Relative to the time of all threads that called MPI, so that the shares add up to MPI's share.
        let all = report.thread_s;
        let share = if all > 0.0 { f.total.seconds() / all * 100.0 } else { 0.0 };
        let dash = || "-".to_owned();
        table.push(vec![
            format!("  {}", f.name),
            calls(f.total.count, f.open),
            time_of_calls(f.total.time_s, f.total.estimated),
            f.total.time_s.map_or_else(dash, |_| format!("{share:.1}")),
            f.min.time_s.map_or_else(dash, duration),
            at_rank(&f.min),
            f.max.time_s.map_or_else(dash, duration),
            at_rank(&f.max),
            render::bytes(f.total.bytes),
        ]);
    }
    table
}

/// Names the rank that an extreme belongs to.
pub fn at_rank(extreme: &Extreme) -> String {
    match (extreme.world, extreme.rank) {
        _ if extreme.time_s.is_none() => "-".to_owned(),
        (_, None) => "@?".to_owned(),
        (0, Some(rank)) => format!("@{rank}"),
        (world, Some(rank)) => format!("@{world}.{rank}"),
    }
}

/// Explains that the times of calls made in callbacks or before `MPI_Init` are not additional time of the
/// rank. `None` if these times are negligible.
pub fn twice(report: &JobReport) -> Option<String> {
    let nested_s = report.nested_s();
    (report.times && nested_s >= LEAST_SHARE * report.mpi_s() && nested_s > 0.0).then(|| {
        let all = duration(nested_s);
        format!("  {all} of these are counted in two rows (calls that callbacks make inside other calls) or before MPI_Init")
    })
}

fn totals(report: &JobReport) -> String {
    let both = report.bytes.saturating_sub(report.sent).saturating_sub(report.received);
    let [all, sent, received, both] = [report.bytes, report.sent, report.received, both].map(render::bytes);
    let unsized_ones = match report.sections.messages.received_unsized {
        0 => String::new(),
        some => format!(" without {some} messages of unknown size"),
    };
    format!(
        "  {all} moved by all calls ({sent} out, {received} in{unsized_ones}, {both} by collectives)   lost records: {}",
        report.lost
    )
}

/// Makes one line for each kind of loss: how much was lost, on which ranks and why.
fn losses(report: &JobReport) -> Vec<String> {
    let ranks = report.ranks.iter().map(|rank| ((rank.world_number, rank.rank), &rank.losses));
    losses::joined(ranks).iter().map(|lost| format!("  {lost}")).collect()
}

/// Describes the largest cause of waiting: the rank that caused it, the ranks that waited, and where.
/// `mpiscope report` has the rest.
fn most_waiting(report: &JobReport) -> Option<String> {
    Some(format!("  most waiting: {}", report.waits.foremost(LEAST_WAIT)?))
}

fn notes(report: &JobReport) -> Vec<String> {
    let note = |(text, ranks): &(String, Members)| match ranks.len() {
        0 => format!("  note: {text}"),
        _ => format!("  note ({}): {text}", ranks.named()),
    };
    report.notes.iter().map(note).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpiscope_job::performance::report::Silent;
    use mpiscope_job::performance::waits::{self, Lost};
    use mpiscope_job::questions::findings::{Finding, Kind};

    #[test]
    fn a_block_for_which_there_is_no_room_is_omitted_as_a_whole() {
        let block = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
        let blocks = vec![block(&["a"]), block(&["b", "c"]), block(&["d", "e", "f"])];
        let shown = |room| within(room, blocks.clone(), &Rest::NotWritten);
        assert_eq!(shown(6), ["a", "b", "c", "d", "e", "f"]);
        assert_eq!(shown(5)[..3], ["a", "b", "c"]);
        assert!(shown(5)[3].starts_with("  ... and 3 more lines; "), "{:?}", shown(5));
        assert_eq!(shown(3)[0], "a");
        assert!(shown(3)[1].starts_with("  ... and 5 more lines; "), "{:?}", shown(3));
        assert_eq!(within(1, vec![block(&["a", "b"])], &Rest::NotWritten), ["a", "b"]);
    }

    #[test]
    fn the_largest_cause_of_waiting_is_named_if_it_is_significant() {
        let lost = |share| Lost {
            kind: waits::Kind::LATE_SENDER,
            ranks: Members::from_iter([(0, Some(1))]),
            function: "MPI_Recv".into(),
            line: Some("heat.c:52".into()),
            seconds: 2.0,
            estimated_s: None,
            share,
            times: 1,
            culprit: Members::from_iter([(0, Some(0))]),
            meanwhile: "computing after MPI_Send at heat.c:40".into(),
            began: Vec::new(),
        };
        let line = |share| {
            let mut report = JobReport::new("./heat".into(), Vec::new());
            report.waits.list = vec![lost(share)];
            most_waiting(&report)
        };
        let wanted = "  most waiting: rank 1 lost 2.00 s (20 %) in MPI_Recv at heat.c:52 waiting for rank 0, which was computing after \
                      MPI_Send at heat.c:40";
        assert_eq!(line(0.2).as_deref(), Some(wanted));
        assert_eq!(line(0.04), None);
    }

    #[test]
    fn findings_come_before_everything_that_may_be_omitted() {
        let mut report = JobReport::new("./heat".into(), Vec::new());
        let finding = |n: u32| Finding {
            kind: Kind::NOT_FREED,
            ranks: Members::default(),
            line: None,
            sentence: format!("wrong {n}"),
        };
        report.findings =
            (0..3).map(|n| Finding { kind: Kind::MESSAGE_NEVER_RECEIVED, ..finding(n) }).collect();
        report.silent = (0..40)
            .map(|rank| Silent {
                rank: Some(rank),
                host: None,
                pid: 0,
                ending: Some(Ending::Exit(1 + rank as i32)),
            })
            .collect();
        report.notes = (0..40).map(|n| (format!("note {n}"), Members::default())).collect();
        let scope = Scope { whole: false, ending: None, ends: Vec::new(), others: Vec::new() };
        let shown = |written| {
            lines(&report, &scope, &["./heat".into()], written, Terminal { width: 80, colour: false })
        };
        let lines = shown(None);
        let at = |text: &str| lines.iter().position(|line| line.contains(text));
        let (last, first_end) = (at("finding: wrong 2").unwrap(), at("rank 0: never called MPI").unwrap());
        assert!(at("finding: wrong 0").is_some() && last < first_end, "{lines:#?}");
        let last = lines.last().unwrap();
        assert!(last.ends_with(" more lines; `mpiscope run --out DIR` writes all"), "{lines:#?}");
        let written = shown(Some(Path::new("out/report.json")));
        assert!(
            written.iter().any(|line| line.ends_with(" more lines; all: out/report.json")),
            "{written:#?}"
        );
    }
}
