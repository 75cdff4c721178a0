//! The report at exit: at most twenty lines for people, and `report.json`.
#![allow(unsafe_code)]

use super::Options;
use mpiscope_job::Members;
use mpiscope_job::leaks::Leak;
use mpiscope_job::process::Ending;
use mpiscope_job::report::{Extreme, FunctionReport, HostReport, JobReport, RankReport, Silent};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Never more lines than this.
const MOST_LINES: usize = 20;
/// Width of lines that hold text of others (command, notes).
const WIDTH: usize = 110;

/// What the one who reports could see.
#[derive(Debug)]
pub struct Scope {
    /// The whole job (form 1) or the ranks of this host (form 2).
    pub whole: bool,
    /// How the launcher ended (form 1).
    pub ending: Option<Ending>,
}

/// Writes `report.json` and prints the report, on `screen` if that works, else on standard error. A failure is told;
/// it never changes the program's status.
pub fn deliver(options: &Options, report: JobReport, scope: &Scope, screen: Option<File>) {
    // Beyond `ulimit -f` a write is to fail, not to end us: the program's status is still to be passed on.
    // SAFETY: ignores a signal; the program has ended, so that nobody inherits it.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    let mut written = None;
    if let Some(dir) = &options.out {
        match write_json(dir, &report, scope) {
            Ok(path) => written = Some(path),
            Err(e) => eprintln!(
                "mpiscope run: --out {}: {e}; may you write there, and is there room?",
                dir.display()
            ),
        }
    }
    if options.quiet {
        return;
    }
    let text = match serde_json::to_string(&report) {
        Ok(json) if options.json => json + "\n",
        _ => lines(&report, scope, written.as_deref()).join("\n") + "\n",
    };
    // In one piece, so that output of ranks does not come in between; a closed standard error is no failure.
    let shown = screen.is_some_and(|mut screen| screen.write_all(text.as_bytes()).is_ok());
    if !shown {
        let _closed = io::stderr().lock().write_all(text.as_bytes());
    }
}

/// The host with rank 0 writes `report.json`; other hosts of the same job must not overwrite it.
fn write_json(dir: &Path, report: &JobReport, scope: &Scope) -> io::Result<PathBuf> {
    let host = report.hosts.first().map(|h| h.host.as_str()).unwrap_or_default();
    let first = report.ranks.is_empty() || report.ranks.iter().any(|r| r.rank == Some(0));
    let name = if scope.whole || first { "report.json".to_owned() } else { format!("report.{host}.json") };
    let path = dir.join(&name);
    let draft = dir.join(format!(".{name}.{}", std::process::id()));
    let mut json = serde_json::to_vec_pretty(report)?;
    json.push(b'\n');
    std::fs::write(&draft, json)?;
    std::fs::rename(&draft, &path)?;
    Ok(path)
}

fn lines(report: &JobReport, scope: &Scope, written: Option<&Path>) -> Vec<String> {
    let mut lines = vec![cut(&format!("mpiscope: {}", report.command))];
    if report.ranks.is_empty() {
        lines.extend(nobody(report, scope));
    } else {
        lines.extend(overview(report));
        lines.extend(table(report));
        lines.push(costs(report));
    }
    let mut last = ends(report);
    last.extend(leaks(report, written));
    last.extend(notes(report));
    let room = MOST_LINES - lines.len() - usize::from(written.is_some());
    if last.len() > room {
        let more = last.len() - (room - 1);
        last.truncate(room - 1);
        last.push(format!("  ... and {more} more lines: --out DIR writes everything to DIR/report.json"));
    }
    lines.extend(last);
    lines.extend(written.map(|path| format!("  report: {}", path.display())));
    lines
}

fn nobody(report: &JobReport, scope: &Scope) -> Vec<String> {
    let processes = match (scope.whole, report.silent.len()) {
        (true, 0) => "no process".to_owned(),
        (_, n) => format!("none of {n} processes on this host"),
    };
    let mut lines = vec![format!("  {processes} called MPI under the layer.")];
    if let Some(end) = scope.ending.filter(|end| *end != Ending::Exit(0)) {
        lines.push(format!(
            "  The program or its launcher ended with {}: see its own message above.",
            ending(end)
        ));
    }
    lines.push(
        "  Not an MPI program, or it ended before MPI_Init? Else: is MPI linked statically (`ldd APP` shows"
            .into(),
    );
    lines.push(
        "  no libmpi)? Is the program set-uid or has it capabilities? Did the launcher drop LD_PRELOAD?"
            .into(),
    );
    if scope.whole {
        lines
            .push("  For ranks on other hosts, and to rule out the last: mpirun ... mpiscope run APP".into());
    }
    lines
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
    let mut time = format!("  wall {:.3} s", report.wall_s);
    if let Some(share) = report.mpi_share {
        let _infallible = write!(time, "   MPI {:.1} %", share * 100.0);
    }
    match (report.load_balance, report.communication_efficiency, report.parallel_efficiency) {
        (Some(lb), Some(ce), Some(pe)) => {
            let _infallible =
                write!(time, "   load balance {lb:.2} x communication efficiency {ce:.2} = {pe:.2}");
        }
        _ if report.times => time.push_str("   (no time outside of MPI: no load balance, no efficiency)"),
        _ => time.push_str("   (calls were counted, not timed)"),
    }
    vec![cut(&ranks), cut(&library), time]
}

fn table(report: &JobReport) -> Vec<String> {
    let top = report.functions.iter().take(5);
    let mut lines = Vec::new();
    if report.times {
        lines.push(format!(
            "  {:<24} {:>12} {:>10} {:>7} {:>10} {:<7} {:>10} {:<7} {:>9}",
            "function", "calls", "time s", "% wall", "min s", "@rank", "max s", "@rank", "bytes"
        ));
        let wall: f64 = report.ranks.iter().map(|r| r.wall_s).sum();
        lines.extend(top.map(|f| timed(f, wall)));
    } else {
        lines.push(format!("  {:<24} {:>12} {:>9}", "function", "calls", "bytes"));
        lines.extend(
            top.map(|f| format!("  {:<24} {:>12} {:>9}", f.name, f.total.count, amount(f.total.bytes))),
        );
    }
    lines
}

fn timed(f: &FunctionReport, wall: f64) -> String {
    let rank = |e: &Extreme| match (e.world, e.rank) {
        (_, None) => "@?".to_owned(),
        (0, Some(rank)) => format!("@{rank}"),
        (world, Some(rank)) => format!("@{world}.{rank}"),
    };
    let share = if wall > 0.0 { f.total.time_s / wall * 100.0 } else { 0.0 };
    format!(
        "  {:<24} {:>12} {:>10.3} {:>7.1} {:>10.4} {:<7} {:>10.4} {:<7} {:>9}",
        f.name,
        f.total.count,
        f.total.time_s,
        share,
        f.min.time_s,
        rank(&f.min),
        f.max.time_s,
        rank(&f.max),
        amount(f.total.bytes)
    )
}

fn costs(report: &JobReport) -> String {
    let wall: f64 = report.ranks.iter().map(|r| r.wall_s).sum();
    let share = if wall > 0.0 { report.own_s / wall * 100.0 } else { 0.0 };
    format!(
        "  {} in the arguments of all calls   lost records: {}   the layer itself: {:.6} s ({share:.2} %)",
        amount(report.bytes),
        report.lost,
        report.own_s
    )
}

/// How ranks ended that did not end as they should, equal ends together.
fn ends(report: &JobReport) -> Vec<String> {
    let mut ends: BTreeMap<String, Members> = BTreeMap::new();
    for rank in &report.ranks {
        if let Some(text) = bad_end(rank) {
            ends.entry(text).or_default().add(rank.world_number, rank.rank);
        }
    }
    // Where nobody called MPI, that is said already: only bad ends are worth a line.
    let nobody = report.ranks.is_empty();
    let worth = |s: &&Silent| !nobody || s.ending.is_some_and(|end| end != Ending::Exit(0));
    for silent in report.silent.iter().filter(worth) {
        let end = silent.ending.map_or_else(|| "ended".to_owned(), ending);
        ends.entry(format!("never called MPI, {end}")).or_default().add(0, silent.rank);
    }
    let mut lines: Vec<(Members, String)> = ends.into_iter().map(|(text, ranks)| (ranks, text)).collect();
    lines.sort_by_key(|(ranks, _)| ranks.first());
    let who = |ranks: &Members| match ranks.len() {
        0 => "a process of unknown rank".to_owned(),
        _ => format!("rank {ranks}"),
    };
    lines.iter().map(|(ranks, text)| cut(&format!("  {}: {text}", who(ranks)))).collect()
}

fn bad_end(rank: &RankReport) -> Option<String> {
    let mut parts = Vec::new();
    match (rank.abort_code, rank.finalized) {
        (Some(code), _) => parts.push(format!("called MPI_Abort with code {code}")),
        (None, false) if rank.alive => parts.push("still running".to_owned()),
        (None, false) => parts.push("ended without MPI_Finalize".to_owned()),
        (None, true) => {}
    }
    match rank.ending {
        Some(Ending::Exit(0)) | None => {}
        Some(end) => parts.push(ending(end)),
    }
    match (&rank.in_call, &rank.last_call) {
        _ if rank.finalized || rank.abort_code.is_some() => {}
        (Some(call), _) => parts.push(format!("last seen in {call}")),
        (None, Some(call)) => parts.push(format!("last call {call}")),
        (None, None) => {}
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn ending(ending: Ending) -> String {
    match ending {
        Ending::Exit(code) => format!("exit status {code}"),
        Ending::Signal(signal) => match signal_name(signal) {
            Some(name) => format!("killed by signal {signal} ({name})"),
            None => format!("killed by signal {signal}"),
        },
    }
}

fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGALRM => "SIGALRM",
        libc::SIGTERM => "SIGTERM",
        libc::SIGXCPU => "SIGXCPU, out of CPU time",
        _ => return None,
    })
}

/// Objects that nobody freed: at most three lines.
fn leaks(report: &JobReport, written: Option<&Path>) -> Vec<String> {
    const MOST: usize = 3;
    let shown = if report.leaks.len() > MOST { MOST - 1 } else { MOST };
    let line = |leak: &Leak| cut(&format!("  not freed: {leak}"));
    let mut lines: Vec<String> = report.leaks.iter().take(shown).map(line).collect();
    let rest = report.leaks.get(shown..).unwrap_or_default();
    if !rest.is_empty() {
        let count = rest.iter().fold(0u64, |sum, leak| sum.saturating_add(leak.count));
        let all = match written {
            Some(path) => format!("all: {}", path.display()),
            None => "`mpiscope run --out DIR` writes all".to_owned(),
        };
        lines.push(cut(&format!(
            "  not freed: {count} more objects, made at {} other places; {all}",
            rest.len()
        )));
    }
    lines
}

fn notes(report: &JobReport) -> Vec<String> {
    let note = |(text, ranks): &(String, Members)| match ranks.len() {
        0 => cut(&format!("  note: {text}")),
        _ => cut(&format!("  note (rank {ranks}): {text}")),
    };
    report.notes.iter().map(note).collect()
}

/// Bytes for people: three digits and a decimal unit.
fn amount(bytes: u64) -> String {
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1000.0;
    let mut units = ["kB", "MB", "GB", "TB", "PB", "EB"].iter();
    let mut unit = units.next();
    while value >= 999.5 && units.len() > 0 {
        value /= 1000.0;
        unit = units.next();
    }
    let digits = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.digits$} {}", unit.unwrap_or(&"B"))
}

/// One line of at most [`WIDTH`] characters, without control characters that others may have put in.
fn cut(text: &str) -> String {
    let clean = || text.chars().map(|c| if c.is_control() { ' ' } else { c });
    if clean().count() <= WIDTH {
        return clean().collect();
    }
    clean().take(WIDTH - 3).chain("...".chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_rounded_to_three_digits() {
        let wanted = [(0, "0 B"), (999, "999 B"), (1000, "1.00 kB"), (4096, "4.10 kB"), (16384, "16.4 kB")];
        for (bytes, text) in wanted {
            assert_eq!(amount(bytes), text);
        }
        assert_eq!(amount(999_499_999), "999 MB");
        assert_eq!(amount(999_999_999), "1.00 GB");
        assert_eq!(amount(u64::MAX), "18.4 EB");
    }

    #[test]
    fn leaks_are_at_most_three_lines_and_the_last_one_says_how_many_more_there_are_and_where_to_find_them() {
        let leak = |line: u64| Leak {
            kind: mpiscope_job::objects::Kind::Communicator,
            function: "MPI_Comm_dup".into(),
            place: format!("heat.c:{line}"),
            count: line,
            ranks: Members::default(),
        };
        let told = |count: u64, written: Option<&Path>| {
            let mut report = JobReport::new("./heat".into(), Vec::new());
            report.leaks = (1..=count).map(leak).collect();
            leaks(&report, written)
        };
        assert_eq!(told(0, None).len(), 0);
        let three = told(3, None);
        assert!(
            three.len() == 3 && three.iter().all(|line| line.contains("MPI_Comm_dup at heat.c:")),
            "{three:?}"
        );
        let last = |written| told(5, written).pop().unwrap();
        assert_eq!(told(5, None).len(), 3);
        let rest = "  not freed: 12 more objects, made at 3 other places; ";
        assert_eq!(last(None), format!("{rest}`mpiscope run --out DIR` writes all"));
        assert_eq!(last(Some(Path::new("out/report.json"))), format!("{rest}all: out/report.json"));
    }

    #[test]
    fn text_of_others_is_cut_and_cannot_control_the_terminal() {
        assert_eq!(cut("a\x1b[31mb\nc"), "a [31mb c");
        assert_eq!(cut(&"x".repeat(500)).len(), WIDTH);
    }
}
