//! Events of the tool information interface: all of our types, forced drops, and the example tools on real
//! programs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use mpiscope_testkit::mpi::{Family, Library};
use mpiscope_testkit::{paths, run};

use crate::skipped;
use crate::subject::LIMIT;
use crate::tool::{Check, build, conforms, layer, passes, program, trial};

/// Debian's MPICH 4.0 can neither spawn nor open a port.
pub const CANNOT_MEET: &str = "Debian's MPICH 4.0 cannot spawn or open a port";

pub fn trials(library: &Arc<Library>) -> Vec<Trial> {
    let mut trials = Vec::new();
    let mut add = |name: String, check: Check| trials.push(trial(library, &name, check));
    for (name, ranks, threads) in [
        ("event_kinds", 2, 1),
        ("event_kinds", 1, 4),
        ("event_drops", 1, 1),
        ("event_origins", 1, 1),
        ("event_origins", 1, 4),
    ] {
        add(
            format!("{name}_holds_with_{ranks}_ranks_of_{threads}_threads"),
            Box::new(move |library| conforms(library, name, ranks, threads)),
        );
    }
    add("message_logger_logs_sent_and_received_messages".to_owned(), Box::new(message_logger));
    add("every_message_is_reconstructed_with_both_ends_from_events".to_owned(), Box::new(message_pairs));
    add("live_histogram_counts_received_messages_by_size".to_owned(), Box::new(live_histogram));
    add("late_sender_names_the_late_rank_and_its_delay".to_owned(), Box::new(late_sender));
    if library.fortran.is_some() {
        add(
            "calls_of_a_fortran_program_are_attributed_to_it_and_not_to_a_binding".to_owned(),
            Box::new(fortran_callers),
        );
    }
    for (how, ranks) in [("spawn", 1), ("port", 2), ("join", 2)] {
        let name = format!("processes_that_meet_by_{how}_are_events");
        if library.family == Family::Mpich && !library.has(4, 1) {
            trials.push(skipped(format!("{}::mpi_t_{name}", library.name), CANNOT_MEET));
        } else {
            let check = Box::new(move |library: &Library| meet(library, how, ranks));
            trials.push(trial(library, &name, check));
        }
    }
    trials
}

fn meet(library: &Library, how: &str, ranks: usize) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let binary = program(library, "event_meetings", dir.path())?;
    let mut command = library.launch(ranks);
    command.arg("env").arg(format!("LD_PRELOAD={}", layer()?.display())).arg(binary).arg(how);
    command.env("CONFORM_SECONDS", "60");
    // MPICH's and Intel's defaults for a single host cannot.
    command.env("I_MPI_FABRICS", "shm:ofi").env("MPIR_CVAR_CH4_NETMOD", "ofi").env("FI_PROVIDER", "tcp");
    passes(&mut command)
}

fn fortran_callers(library: &Library) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let (programs, binary) = (paths::programs(), dir.path().join("fortran_mpif"));
    let sources = [programs.join("fortran_mpif.f90"), programs.join("mpi_t/fortran_callers.c")];
    let include = format!("-I{}", paths::workspace().join("include").display());
    // Linked into the program itself: with a library that calls MPI, calls are followed up the stack.
    library.fc_with(&sources.each_ref().map(PathBuf::as_path), &binary, &[&include])?;
    let mut command = library.launch(2);
    command.arg("env").arg(format!("LD_PRELOAD={}", layer()?.display())).arg(&binary);
    let outcome = run::bounded(&mut command, LIMIT)?;
    ensure!(outcome.success(), "{}", outcome.describe());
    let said: Vec<&str> = outcome.stderr.lines().filter(|line| line.contains("events of calls")).collect();
    let well = said.len() == 2 && said.iter().all(|line| line.ends_with(" 0 from elsewhere"));
    ensure!(well, "{said:?}: {}", outcome.describe());
    Ok(())
}

/// An example tool with a program of the test kit.
struct Pair<'a> {
    tool: &'a str,
    app: &'a str,
    ranks: usize,
    arguments: &'a [&'a str],
    /// Whether `mpiscope run` preloads the layer before the tool; otherwise the layer is preloaded after it.
    wrapped: bool,
}

/// Runs both; returns the standard error.
fn with_tool(library: &Library, pair: &Pair, dir: &Path) -> Result<String> {
    let Pair { tool, app, ranks, arguments, wrapped } = *pair;
    let (so, binary) = (dir.join(format!("{tool}.so")), dir.join(app));
    let name = format!("{tool}.c");
    let example = paths::workspace().join("examples/mpi_t").join(&name);
    let source = if example.exists() { example } else { paths::programs().join("mpi_t").join(&name) };
    build(library, &source, &so, &["-shared", "-fPIC"])?;
    build(library, &paths::programs().join(format!("{app}.c")), &binary, &[])?;
    let mut command = library.launch(ranks);
    command.arg("env").arg(format!("MESSAGE_LOG_DIR={}", dir.display()));
    command.arg(format!("TRAFFIC_OUT={}", dir.join("output").display()));
    if wrapped {
        let mpiscope = paths::mpiscope().context("no mpiscope command; run `cargo xtask test`")?;
        command.arg(format!("MPISCOPE_LAYER={}", layer()?.display()));
        command.arg(format!("LD_PRELOAD={}", so.display())).arg(mpiscope).arg("run");
    } else {
        command.arg(format!("LD_PRELOAD={} {}", so.display(), layer()?.display()));
    }
    command.arg(binary).args(arguments);
    let outcome = run::bounded(&mut command, LIMIT)?;
    ensure!(outcome.success(), "{}", outcome.describe());
    Ok(outcome.stderr)
}

/// A message as reported by both sides: `send` or `recv`, peer, tag, bytes.
type Message = (String, i64, i64, u64);

/// The messages of a rank of the random traffic on MPI_COMM_WORLD, unordered.
fn output(dir: &Path, rank: usize) -> Result<BTreeMap<Message, usize>> {
    let text = fs::read_to_string(dir.join(format!("output.{rank}")))?;
    let world = text.lines().find_map(|line| line.strip_prefix("comm world ")?.split(' ').next());
    let world = world.context("the ledger does not name the world")?;
    let mut messages = BTreeMap::new();
    for line in text.lines() {
        if let [what @ ("send" | "recv"), comm, peer, tag, bytes] = line.split(' ').collect::<Vec<_>>()[..]
            && comm == world
        {
            *messages.entry((what.to_owned(), peer.parse()?, tag.parse()?, bytes.parse()?)).or_default() += 1;
        }
    }
    ensure!(!messages.is_empty(), "rank {rank} has no messages");
    Ok(messages)
}

fn message_logger(library: &Library) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let arguments = &["11", "2"];
    let pair = Pair { tool: "message_logger", app: "traffic", ranks: 3, arguments, wrapped: false };
    with_tool(library, &pair, dir.path())?;
    for rank in 0..3 {
        let text = fs::read_to_string(dir.path().join(format!("messages.{rank}.log")))?;
        let mut logged: BTreeMap<Message, usize> = BTreeMap::new();
        let mut count = 0;
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let [seconds, what, peer, tag, bytes] = line.split(' ').collect::<Vec<_>>()[..] else {
                anyhow::bail!("{line}");
            };
            ensure!((0.0..120.0).contains(&seconds.parse::<f64>()?), "{line}");
            let message = (what.to_owned(), peer.parse()?, tag.parse()?, bytes.parse()?);
            *logged.entry(message).or_default() += 1;
            count += 1;
        }
        ensure!(logged == output(dir.path(), rank)?, "rank {rank}: the log differs from the ledger:\n{text}");
        let last = format!("# {count} messages, 0 events dropped");
        ensure!(text.lines().last() == Some(last.as_str()), "{:?}, not {last:?}", text.lines().last());
    }
    Ok(())
}

fn message_pairs(library: &Library) -> Result<()> {
    for (ranks, arguments) in [(2, &["3", "3"]), (3, &["7", "2"]), (4, &["11", "2"])] {
        let dir = tempfile::tempdir()?;
        let pair = Pair { tool: "message_pairs", app: "traffic", ranks, arguments, wrapped: false };
        let stderr = with_tool(library, &pair, dir.path())?;
        let line = stderr.lines().find_map(|line| line.strip_prefix("pairs ")).context(stderr.clone())?;
        let numbers: Vec<usize> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
        let [pairs, sends, receives, faults] = numbers[..] else { anyhow::bail!("{line}") };
        ensure!(pairs > 50 && pairs == sends && pairs == receives && faults == 0, "{ranks} ranks: {stderr}");
    }
    Ok(())
}

fn live_histogram(library: &Library) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let arguments = &["5", "3"];
    let pair = Pair { tool: "live_histogram", app: "traffic", ranks: 2, arguments, wrapped: true };
    let stderr = with_tool(library, &pair, dir.path())?;
    let mut expected: BTreeMap<u64, usize> = BTreeMap::new();
    for ((what, _, _, bytes), count) in output(dir.path(), 0)? {
        if what == "recv" {
            *expected.entry(if bytes == 0 { 1 } else { (bytes + 1).next_power_of_two() }).or_default() +=
                count;
        }
    }
    // The last table is printed at the end.
    let total: usize = expected.values().sum();
    let (_, table) = stderr.rsplit_once("received ").context("no histogram")?;
    let table = table.split("mpiscope:").next().unwrap_or(table);
    ensure!(table.starts_with(&format!("{total} messages")), "{total} messages expected:\n{stderr}");
    let mut seen = BTreeMap::new();
    for line in table.lines().skip(1) {
        if let ["<", size, unit, count, ..] = line.split_whitespace().collect::<Vec<_>>()[..] {
            let unit = match unit {
                "B" => 1,
                "KiB" => 1 << 10,
                _ => 1 << 20,
            };
            seen.insert(size.parse::<u64>()? * unit, count.parse::<usize>()?);
        }
    }
    ensure!(seen == expected, "seen {seen:?}, expected {expected:?}\n{stderr}");
    Ok(())
}

fn late_sender(library: &Library) -> Result<()> {
    [false, true].into_iter().try_for_each(|wrapped| late_sender_in(library, wrapped))
}

fn late_sender_in(library: &Library, wrapped: bool) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let arguments = &["5", "3", "40"];
    let pair = Pair { tool: "late_sender", app: "latecomer", ranks: 2, arguments, wrapped };
    let stderr = with_tool(library, &pair, dir.path())?;
    let line = |start: &str| {
        let line = stderr.lines().find_map(|line| line.strip_prefix(start));
        line.map(|line| line.split([' ', ',', ';']).map(str::to_owned).collect::<Vec<_>>())
    };
    let all = line("rank 0: ").context("no output of rank 0")?;
    let number = |words: &[String], at: usize| words.get(at).and_then(|word| word.parse::<f64>().ok());
    ensure!(number(&all, 0) == Some(3.0) && all.contains(&"5".to_owned()), "{stderr}");
    let one = line("rank 0:   for rank 1: ").context("no output about rank 1")?;
    let seconds = number(&one, 3).unwrap_or(0.0);
    ensure!(number(&one, 0) == Some(3.0) && (0.12..5.0).contains(&seconds), "{seconds} s: {stderr}");
    Ok(())
}
