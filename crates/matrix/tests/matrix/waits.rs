//! Wait states of programs that know them: they are found, with seconds, line and culprit, and no others.

use std::fs;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use mpiscope_testkit::mpi::{Abi, Library};
use mpiscope_testkit::program::{Needs, Program};
use mpiscope_testkit::report;
use mpiscope_testkit::trials::checked;
use serde_json::Value;

use crate::inspected::job::{Job, json};
use crate::subject::{Form, Subject, word};
use crate::sums;

const RANKS: usize = 3;
/// Seconds by which a rank is late.
const LATE: &str = "0.15";
/// Tolerance in addition to 5 %: a process may be preempted between its own reading of the clock and its
/// call.
const SLACK: f64 = 0.015;

/// The program's statement about one part: kind, line, late rank, seconds.
struct Known {
    kind: String,
    line: String,
    culprit: String,
    seconds: f64,
}

type Check = fn(&Subject, &Library) -> Result<()>;

pub fn trials(subject: &Arc<Subject>, library: &Arc<Library>) -> Vec<Trial> {
    let checks: [(&str, Check); 10] = [
        ("ranks_that_work_in_turn_lose_time_to_serialization_and_mark_their_iterations", check_turns),
        ("waits_in_neighborhoods_for_nonblocking_operations_late_completion_and_locks", check_more),
        ("waits_in_probes_are_as_long_as_the_program_measured_however_it_receives", check_probes),
        ("waits_in_polling_loops_are_as_long_as_the_program_measured", check_loops),
        ("waits_on_windows_and_files_are_as_long_as_the_program_measured", check_objects),
        ("waits_are_as_long_as_the_program_measured_and_name_line_and_culprit", check),
        ("waits_in_collectives_are_found_during_the_run_before_their_records_are_overwritten", check_many),
        ("waits_for_messages_are_found_during_the_run_before_their_records_are_overwritten", check_messages),
        ("waits_for_unrecorded_messages_are_found_by_sampling", check_sampled),
        ("a_propagated_delay_is_attributed_to_its_origin", check_chain),
    ];
    let trial = |(name, check): (&str, Check)| {
        let (subject, library) = (Arc::clone(subject), Arc::clone(library));
        checked(format!("{}::{name}", library.name), move || check(&subject, &library))
    };
    let mut trials: Vec<Trial> = checks.into_iter().map(trial).collect();
    // Half a minute of sampling from outside, which does not depend on the ABI that a program was built for.
    let epochs = "waits_for_probes_epochs_and_other_groups_are_found_by_sampling";
    trials.push(match library.abi {
        Abi::Standard => {
            crate::skipped(format!("{}::{epochs}", library.name), "run with the ABI of the library's own")
        }
        _ => trial((epochs, check_epochs)),
    });
    trials
}

/// Runs a program of six parts that knows its waits, with all messages recorded; returns its knowledge and
/// the reported waits.
fn recorded(
    subject: &Subject,
    library: &Library,
    (name, ranks): (&'static str, usize),
) -> Result<(Vec<Known>, report::Waits)> {
    let program = Program { name, ranks, needs: Needs::Nothing };
    let what = [word(&subject.binary(&program, library)?), LATE.into()];
    let ran = subject.launch(library, ranks, Form::AroundLauncher, &what, &|command| {
        command.env("MPISCOPE_RECORD_MESSAGES", "1");
        // A polling call that yields the processor takes milliseconds on a busy machine: too rare for a loop.
        command.env("OMPI_MCA_mpi_yield_when_idle", "0");
    })?;
    ensure!(ran.outcome.success(), "{}", ran.outcome.describe());
    let file = format!("{name}.c");
    let known: Vec<Known> =
        ran.outcome.stdout.lines().map(|line| known_in(&file, line)).collect::<Result<_>>()?;
    ensure!(known.len() == 6, "the program printed: {}", ran.outcome.stdout);
    Ok((known, report::read(&ran.out())?.waits.context("no waits in the report")?))
}

fn check(subject: &Subject, library: &Library) -> Result<()> {
    let (known, waits) = recorded(subject, library, ("waits", RANKS))?;
    ensure!(waits.messages && waits.seen_share > 0.99, "not everything was observed: {waits:#?}");
    for part in &known {
        let here = found(part, &waits, |wait| is_at(wait, &part.line))?;
        let working = here.iter().any(|wait| wait.meanwhile.starts_with("computing after MPI_Barrier at "));
        ensure!(working, "not said what the late rank did: {here:#?}");
    }
    for kind in ["late-sender", "late-receiver", "late-root", "early-root"] {
        let elsewhere = |wait: &&report::Wait| {
            wait.kind == kind && wait.seconds > SLACK && known.iter().all(|part| !is_at(wait, &part.line))
        };
        let wrong: Vec<_> =
            waits.list.iter().filter(elsewhere).filter(|w| w.function != "MPI_Gather").collect();
        ensure!(wrong.is_empty(), "waits at places without waiting: {wrong:#?}");
    }
    Ok(())
}

/// On a busy machine, a rank may really leave the preceding barrier later than others, and the report is
/// right to say so.
fn left_late(wait: &report::Wait) -> bool {
    wait.meanwhile.starts_with("in MPI_Barrier at ")
}

fn check_more(subject: &Subject, library: &Library) -> Result<()> {
    const RANKS: usize = 4;
    let (known, waits) = recorded(subject, library, ("waits_more", RANKS))?;
    let (collectives, locks) = (waits.collectives_seen == waits.collectives, waits.locks_seen == waits.locks);
    ensure!(collectives && locks && waits.locks == RANKS as u64, "not everything was observed: {waits:#?}");
    for part in &known {
        let lock = part.kind == "lock-contention";
        // A library may acquire a lock lazily; then the wait is in the call that releases it.
        let at = |wait: &report::Wait| if lock { wait.kind == part.kind } else { is_at(wait, &part.line) };
        found(part, &waits, at)?;
    }
    for kind in ["late-completion", "lock-contention", "late-root"] {
        let all: f64 = waits.list.iter().filter(|wait| wait.kind == kind).map(|wait| wait.seconds).sum();
        let part = known.iter().find(|part| part.kind == kind).context("the program has no such part")?;
        ensure!(all <= 1.05 * part.seconds + 2.0 * SLACK, "{all} s of {kind}: {waits:#?}");
    }
    Ok(())
}

fn check_probes(subject: &Subject, library: &Library) -> Result<()> {
    let (known, waits) = recorded(subject, library, ("waits_probes", RANKS))?;
    ensure!(waits.messages && waits.seen_share > 0.99, "not everything was observed: {waits:#?}");
    all_found(&known, &waits)?;
    // There is no work between probe and receive, and no wait is found a second time by sampling.
    let all: f64 = waits.list.iter().filter(|wait| wait.kind == "late-sender").map(|wait| wait.seconds).sum();
    let known: f64 = known.iter().map(|part| part.seconds).sum();
    ensure!(all <= 1.05 * known + 2.0 * SLACK, "{all} s of {known} s: {waits:#?}");
    let looked: Vec<_> = waits.sampled.iter().flat_map(|sampled| &sampled.list).collect();
    ensure!(looked.iter().all(|wait| !wait.function.contains("robe")), "found twice: {looked:#?}");
    Ok(())
}

/// Waiting in a call and polling in a loop make no difference.
fn check_loops(subject: &Subject, library: &Library) -> Result<()> {
    let (known, waits) = recorded(subject, library, ("waits_loops", 2))?;
    ensure!(waits.messages && waits.seen_share > 0.99, "not everything was observed: {waits:#?}");
    all_found(&known, &waits)
}

/// Checks that each part of a program is found with its seconds and attributed only to the right rank.
fn all_found(known: &[Known], waits: &report::Waits) -> Result<()> {
    known.iter().try_for_each(|part| found(part, waits, |wait| is_at(wait, &part.line)).map(drop))
}

/// Checks one part, whose waits are those `at` its place. Returns the ones attributed to the right rank.
fn found<'a>(
    part: &Known,
    waits: &'a report::Waits,
    at: impl Fn(&report::Wait) -> bool,
) -> Result<Vec<&'a report::Wait>> {
    let right = |wait: &&report::Wait| (&wait.kind, &wait.culprit) == (&part.kind, &part.culprit);
    let (here, others): (Vec<_>, Vec<_>) = waits.list.iter().filter(|wait| at(wait)).partition(right);
    let seconds: f64 = here.iter().map(|wait| wait.seconds).sum();
    let near = (seconds - part.seconds).abs() <= 0.05 * part.seconds + SLACK;
    ensure!(near, "{} at {}: {} s, not {seconds} s: {waits:#?}", part.kind, part.line, part.seconds);
    let wrong: f64 = others.iter().filter(|wait| !left_late(wait)).map(|wait| wait.seconds).sum();
    ensure!(wrong <= SLACK, "others are named for {}: {others:#?}", part.line);
    Ok(here)
}

fn check_objects(subject: &Subject, library: &Library) -> Result<()> {
    let program = Program { name: "waits_objects", ranks: RANKS, needs: Needs::Nothing };
    let binary = subject.binary(&program, library)?;
    let directory = tempfile::tempdir()?;
    let what = [word(&binary), LATE.into(), directory.path().join("file").into_os_string()];
    let ran = subject.launch(library, RANKS, Form::AroundLauncher, &what, &|_| ())?;
    ensure!(ran.outcome.success(), "{}", ran.outcome.describe());
    let known = ran.outcome.stdout.lines().map(|line| known_in("waits_objects.c", line));
    let known: Vec<Known> = known.collect::<Result<_>>()?;
    ensure!(known.len() == 6, "the program printed: {}", ran.outcome.stdout);
    let waits = report::read(&ran.out())?.waits.context("no waits in the report")?;
    all_found(&known, &waits)?;
    let at = |wait: &&report::Wait| known.iter().any(|part| is_at(wait, &part.line));
    let twice: Vec<_> = waits.sampled.iter().flat_map(|sampled| &sampled.list).filter(at).collect();
    ensure!(twice.is_empty(), "found twice: {twice:#?}");
    Ok(())
}

fn check_turns(subject: &Subject, library: &Library) -> Result<()> {
    const COUNT: u64 = 400;
    let program = Program { name: "waits_turns", ranks: 2, needs: Needs::Nothing };
    let binary = subject.binary(&program, library)?;
    let what = [word(&binary), COUNT.to_string().into()];
    let ran = subject.launch(library, 2, Form::AroundLauncher, &what, &|command| {
        command.env("MPISCOPE_RECORD_MESSAGES", "1");
    })?;
    ensure!(ran.outcome.success(), "{}", ran.outcome.describe());
    let report = report::read(&ran.out())?;
    let windows = report.windows.context("no windows in the report")?;
    let marked = windows.iterations.as_ref().context("no iterations")?;
    let right = marked.count == COUNT && marked.collectives == 0 && marked.functions == ["MPI_Pcontrol"];
    ensure!(right, "{marked:?}");
    let whole =
        (report.communication_efficiency, report.serialisation_efficiency, report.transfer_efficiency);
    let (Some(communication), Some(serialization), Some(transfer)) = whole else {
        anyhow::bail!("no efficiencies: {whole:?}")
    };
    ensure!((serialization * transfer - communication).abs() < 0.001, "{whole:?}");
    // While they compute in turn, each waits at least half of the time, and less is lost to transfer.
    let inside = |window: &&report::Window| {
        window.iterations_over.is_some_and(|over| (0.1..0.8).contains(&(over / COUNT as f64)))
    };
    let inside: Vec<_> = windows.list.iter().filter(inside).collect();
    let mean = |of: fn(&report::Window) -> Option<f64>| {
        let all: Vec<f64> = inside.iter().filter_map(|window| of(window)).collect();
        ensure!(!all.is_empty(), "no window has a value: {windows:#?}");
        Ok(all.iter().sum::<f64>() / all.len() as f64)
    };
    let serialization = mean(|window| window.serialisation_efficiency)?;
    let transfer = mean(|window| window.transfer_efficiency)?;
    ensure!(
        serialization < 0.75 && serialization < transfer && transfer > 0.5,
        "{serialization}, {transfer}: {windows:#?}"
    );
    Ok(())
}

/// Number of barriers in each half of the program.
const HALF: u64 = 400;

fn check_many(subject: &Subject, library: &Library) -> Result<()> {
    let program = Program { name: "waits_many", ranks: RANKS, needs: Needs::Nothing };
    let binary = subject.binary(&program, library)?;
    let mut job = Job::start_words(library, RANKS, &[word(&binary), HALF.to_string().into()], &|_| ())?;
    job.all_ready()?;
    let running: report::Report = serde_json::from_value(json(&["report", "--json", &job.target()])?)?;
    job.signal("go")?;
    job.finish()?;
    let output = fs::read_to_string(job.path().join("stdout"))?;
    let words: Vec<&str> = output.split_whitespace().collect();
    let [count, seconds, line] = words[..] else { anyhow::bail!("cannot parse {output}") };
    let (count, known, line): (u64, f64, _) =
        (count.parse()?, seconds.parse()?, format!("waits_many.c:{line}"));
    let report = report::read(&job.path().join("out"))?;
    same_while_it_runs(&running, &report)?;
    let waits = report.waits.context("no waits in the report")?;
    // The program counts its barriers; one more collective gathers its times.
    ensure!(waits.collectives == count + 1, "{} collectives, not {count}: {waits:#?}", waits.collectives);
    ensure!(waits.looks > 2 && waits.collectives_seen > 64, "not observed during the run: {waits:#?}");
    let here = waits.list.iter().filter(|wait| is_at(wait, &line));
    let seen: f64 = here.map(|wait| wait.seconds).sum();
    let share = waits.collectives_seen as f64 / waits.collectives as f64;
    ensure!(seen <= 1.05 * known + SLACK, "{seen} s of {known} s: {waits:#?}");
    // The total: the observed value if everything was observed, otherwise the estimate with its stated error.
    let (all, error) = waits.estimated.as_ref().map_or((seen, 0.0), |all| (all.seconds, all.error_s));
    let allowed = 0.05 * known + error + 0.2 * (1.0 - share) * known + SLACK;
    ensure!((all - known).abs() <= allowed, "about {all} s, not {known} s (+-{allowed}): {waits:#?}");
    let late = waits.list.iter().filter(|wait| is_at(wait, &line) && wait.culprit == "1");
    let late: f64 = late.map(|wait| wait.seconds).sum();
    ensure!(late > 0.0, "no waits for the late rank: {waits:#?}");
    let windows = report.windows.context("no windows in the report")?;
    ensure!(windows.list.len() > 2 && windows.ranks == ["0", "1", "2"], "{windows:#?}");
    iterated(&windows, count)?;
    // Another process may take the processor from a rank in one window, but hardly in most of them. At the
    // end all ranks are idle.
    let late = |window: &&report::Window| {
        window.iterations_over.is_some_and(|over| (0.55..0.98).contains(&(over / count as f64)))
    };
    let behind = windows.list.iter().filter(late).filter_map(|window| window.slowest);
    let mut times = [0; RANKS];
    behind.for_each(|who| times[who] += 1);
    ensure!(
        times[1] > times[0] && times[1] > times[2],
        "the windows of the second half name {times:?}: {windows:#?}"
    );
    Ok(())
}

/// Each barrier is an iteration; the last sample may have missed the end.
fn iterated(windows: &report::Windows, count: u64) -> Result<()> {
    let found = windows.iterations.as_ref().with_context(|| format!("no iterations: {windows:#?}"))?;
    ensure!(found.collectives == 1 && found.functions == ["MPI_Barrier"], "{found:?}");
    ensure!((count * 9 / 10..=count + 1).contains(&found.count), "{} iterations of {count}", found.count);
    // Other ranks may begin before the first one, or end after it.
    let counted = windows.list.iter().map(|window| window.iterations_over).skip_while(Option::is_none);
    let over: Vec<f64> = counted.clone().map_while(|over| over).collect();
    let whole = over.len() == counted.flatten().count() && over.len() > windows.list.len() / 2;
    let rises = whole && over.windows(2).all(|pair| pair[0] <= pair[1]);
    ensure!(rises && over.iter().all(|over| *over <= found.count as f64), "{over:?} of {}", found.count);
    ensure!(over[0] < 0.1 * count as f64, "{over:?}");
    Ok(())
}

/// Compares the report of the job while it was done and idle with the one at its end.
fn same_while_it_runs(running: &report::Report, ended: &report::Report) -> Result<()> {
    ensure!(running.not_followed.is_none(), "{:?}", running.not_followed);
    let waits = |report: &report::Report| {
        let waits = report.waits.as_ref().context("no waits in the report")?;
        let seconds: f64 = waits.list.iter().map(|wait| wait.seconds).sum();
        Ok::<_, anyhow::Error>((waits.collectives, waits.collectives_seen, seconds))
    };
    let ((count, seen, now), (all, all_seen, then)) = (waits(running)?, waits(ended)?);
    let alike = (count, seen) == (all, all_seen) && (now - then).abs() <= 0.01 * then;
    ensure!(
        alike,
        "{seen} of {count} and {now} s during the run, {all_seen} of {all} and {then} s at the end"
    );
    let windows = running.windows.as_ref().context("no windows while it runs")?;
    ensure!(windows.list.len() > 2 && windows.ranks == ["0", "1", "2"], "{windows:#?}");
    Ok(())
}

/// Rounds of the program, with four messages each.
const ROUNDS: u64 = 400;
/// Number of messages that a rank remembers.
const REMEMBERED: &str = "256";

fn check_messages(subject: &Subject, library: &Library) -> Result<()> {
    let program = Program { name: "waits_messages", ranks: RANKS, needs: Needs::Nothing };
    let binary = subject.binary(&program, library)?;
    let what = [word(&binary), ROUNDS.to_string().into()];
    let ran = subject.launch(library, RANKS, Form::AroundLauncher, &what, &|command| {
        command.env("MPISCOPE_RECORD_MESSAGES", "1").env("MPISCOPE_LEDGER", REMEMBERED);
    })?;
    ensure!(ran.outcome.success(), "{}", ran.outcome.describe());
    let mut lines = ran.outcome.stdout.lines();
    let count = lines.next().and_then(|line| line.strip_prefix("messages ")?.parse::<u64>().ok());
    let waits = report::read(&ran.out())?.waits.context("no waits in the report")?;
    ensure!(count == Some(waits.messages_received), "the program counted {count:?}: {waits:#?}");
    ensure!(waits.looks > 2 && waits.messages_seen > 256, "not observed during the run: {waits:#?}");
    let share = waits.messages_seen as f64 / waits.messages_received as f64;
    let all_seen = waits.messages_seen == waits.messages_received;
    let (mut whole, mut parts) = (0.0, 0);
    for line in lines {
        let part = known_in("waits_messages.c", line)?;
        let here = waits.list.iter().filter(|wait| {
            // If the receiver is not running, the other sender may be a round ahead; then the order is wrong
            // too.
            let kind = wait.kind.strip_suffix("-wrong-order").unwrap_or(&wait.kind);
            is_at(wait, &part.line) && (kind, &wait.culprit) == (part.kind.as_str(), &part.culprit)
        });
        let seen: f64 = here.map(|wait| wait.seconds).sum();
        let near = 0.05 * part.seconds + SLACK;
        let right = seen <= part.seconds + near && (!all_seen || seen >= part.seconds - near);
        let Known { kind, line, culprit, seconds } = &part;
        ensure!(right, "{kind} for {culprit} at {line}: {seconds} s, not {seen} s: {waits:#?}");
        whole += part.seconds;
        parts += 1;
    }
    ensure!(parts == 5, "the program printed: {}", ran.outcome.stdout);
    let of_messages =
        |wait: &&report::Wait| wait.kind.starts_with("late-sender") || wait.kind == "late-receiver";
    let (seen, others): (Vec<_>, Vec<_>) = waits.list.iter().partition(of_messages);
    let [seen, others] = [seen, others].map(|waits| waits.iter().map(|wait| wait.seconds).sum::<f64>());
    let estimated = waits.estimated.as_ref().map(|all| (all.seconds - others, all.error_s));
    let (all, error) = estimated.unwrap_or((seen, 0.0));
    let allowed = 0.05 * whole + error + 0.2 * (1.0 - share) * whole + 4.0 * SLACK;
    ensure!((all - whole).abs() <= allowed, "about {all} s, not {whole} s (+-{allowed}): {waits:#?}");
    Ok(())
}

/// Factor by which the program computes longer if its messages are not recorded: with an unoptimized command,
/// each sampling of all ranks is followed by a second without one.
const TIMES: &str = "2500";
/// A wait of this many seconds was sampled more than once.
const LONG: f64 = 2.4;

fn check_sampled(subject: &Subject, library: &Library) -> Result<()> {
    let program = Program { name: "waits_messages", ranks: RANKS, needs: Needs::Nothing };
    let binary = subject.binary(&program, library)?;
    let what = [word(&binary), "1".into(), TIMES.into()];
    let ran = subject.launch(library, RANKS, Form::AroundLauncher, &what, &|_| ())?;
    ensure!(ran.outcome.success(), "{}", ran.outcome.describe());
    let waits = report::read(&ran.out())?.waits.context("no waits in the report")?;
    let sampled = waits.sampled.as_ref().context("messages were not sampled")?;
    let lines = ran.outcome.stdout.lines().skip(1);
    let known: Vec<Known> = lines.map(|line| known_in("waits_messages.c", line)).collect::<Result<_>>()?;
    for part in known.iter().filter(|part| part.seconds >= LONG) {
        let here = sampled.list.iter().filter(|wait| {
            is_at(wait, &part.line) && (&wait.kind, &wait.culprit) == (&part.kind, &part.culprit)
        });
        let seconds: f64 = here.map(|wait| wait.seconds).sum();
        let near = (seconds - part.seconds).abs() <= sampled.error_s + 0.2 * part.seconds && seconds > 0.0;
        ensure!(near, "{} at {}: {} s, not {seconds} s: {waits:#?}", part.kind, part.line, part.seconds);
    }
    ensure!(known.iter().filter(|part| part.seconds >= LONG).count() == 2, "{}", ran.outcome.stdout);
    let nowhere = |wait: &&report::Wait| {
        let right = |part: &&Known| is_at(wait, &part.line) && wait.culprit == part.culprit;
        wait.seconds > sampled.error_s && !known.iter().any(|part| right(&part))
    };
    let wrong: Vec<_> = sampled.list.iter().filter(nowhere).collect();
    ensure!(wrong.is_empty(), "waits at places without waiting: {wrong:#?}");
    let [all, whole]: [f64; 2] = [sampled.seconds, known.iter().map(|part| part.seconds).sum()];
    ensure!((all - whole).abs() <= sampled.error_s + 0.2 * whole, "{all} s, not {whole} s: {waits:#?}");
    let report: Value = serde_json::from_slice(&fs::read(ran.out().join("report.json"))?)?;
    let pairs = report["waits"]["sampled"]["of_messages"].as_array().context("no pairs")?;
    let of_pairs: f64 = pairs
        .iter()
        .flat_map(|pair| [&pair["sender_s"], &pair["receiver_s"]])
        .filter_map(Value::as_f64)
        .sum();
    ensure!((of_pairs - all).abs() <= 1e-6 * all, "{all} s of waits for messages, {of_pairs} s by pair");
    sums::add_up(&report)
}

/// A wait of this many seconds was sampled more than once, even by an unoptimized command.
const LOOKED_AT: &str = "2.5";

fn check_epochs(subject: &Subject, library: &Library) -> Result<()> {
    for recorded in [false, true] {
        let program = Program { name: "waits_epochs", ranks: RANKS, needs: Needs::Nothing };
        let binary = subject.binary(&program, library)?;
        // With records, only they are checked, so waits may be short.
        let what = [word(&binary), if recorded { LATE } else { LOOKED_AT }.into()];
        let ran = subject.launch(library, RANKS, Form::AroundLauncher, &what, &|command| {
            if recorded {
                command.env("MPISCOPE_RECORD_MESSAGES", "1");
            }
        })?;
        ensure!(ran.outcome.success(), "{}", ran.outcome.describe());
        let waits = report::read(&ran.out())?.waits.context("no waits in the report")?;
        let sampled = waits.sampled.as_ref().context("nothing was sampled")?;
        let known = ran.outcome.stdout.lines().map(|line| known_in("waits_epochs.c", line));
        let known: Vec<Known> = known.collect::<Result<_>>()?;
        ensure!(known.len() == 5, "the program printed: {}", ran.outcome.stdout);
        for part in &known {
            // A probe is part of the message's record, a fence is a collective of its window, and the barrier
            // is one of two groups.
            let of_all = ["wait-at-fence", "wait-at-barrier"].contains(&part.kind.as_str());
            let exact = of_all || recorded && part.kind == "late-sender";
            if recorded && !exact {
                continue;
            }
            let list = if exact { &waits.list } else { &sampled.list };
            let here = list.iter().filter(|wait| {
                is_at(wait, &part.line) && (&wait.kind, &wait.culprit) == (&part.kind, &part.culprit)
            });
            let seconds: f64 = here.map(|wait| wait.seconds).sum();
            let near =
                (seconds - part.seconds).abs() <= sampled.error_s + 0.2 * part.seconds && seconds > 0.0;
            ensure!(near, "{} at {}: {} s, not {seconds} s: {waits:#?}", part.kind, part.line, part.seconds);
        }
        // Waits known from records must not be found a second time.
        let twice = |wait: &&report::Wait| waits.list.iter().any(|other| other.line == wait.line);
        let twice: Vec<_> = sampled.list.iter().filter(twice).collect();
        ensure!(twice.is_empty(), "counted twice: {twice:#?}");
    }
    Ok(())
}

fn check_chain(subject: &Subject, library: &Library) -> Result<()> {
    const RANKS: usize = 4;
    let program = Program { name: "waits_chain", ranks: RANKS, needs: Needs::Nothing };
    let binary = subject.binary(&program, library)?;
    let ran = subject.launch(library, RANKS, Form::AroundLauncher, &[word(&binary)], &|command| {
        command.env("MPISCOPE_RECORD_MESSAGES", "1");
    })?;
    ensure!(ran.outcome.success(), "{}", ran.outcome.describe());
    let (first, rest) = ran.outcome.stdout.split_once('\n').context("the program printed nothing")?;
    let words: Vec<&str> = first.split(' ').collect();
    let [.., handed_on, after, held] = words[..] else { anyhow::bail!("cannot parse {first}") };
    let Known { line, seconds, .. } = known_in("waits_chain.c", &words[..4].join(" "))?;
    let waits = report::read(&ran.out())?.waits.context("no waits in the report")?;
    // The program's own numbers are off by the time for which it was kept from running: zero on an idle
    // machine.
    let held: f64 = held.parse()?;
    let allowed = |known: f64| 0.05 * known + 2.0 * SLACK + held;
    let near = |found: f64, known: f64| (found - known).abs() <= allowed(known);
    let here = || waits.list.iter().filter(|wait| is_at(wait, &line));
    let ends = |doing: &str| {
        doing.starts_with("computing after MPI_Barrier at ") && doing.ends_with(&format!(":{after}"))
    };
    let through_others: f64 = here()
        .flat_map(|wait| &wait.began)
        .filter(|began| began.culprit == "0" && ends(&began.doing))
        .map(|began| began.seconds)
        .sum();
    let itself = here().filter(|wait| wait.culprit == "0" && wait.began.is_empty() && ends(&wait.meanwhile));
    let all = through_others + itself.map(|wait| wait.seconds).sum::<f64>();
    ensure!(near(all, seconds), "{seconds} s originate from rank 0, not {all} s: {waits:#?}");
    let handed_on: f64 = handed_on.parse()?;
    ensure!(near(through_others, handed_on), "{handed_on} s propagated, not {through_others} s: {waits:#?}");
    let first = waits.causes.first().context("no causes")?;
    let right =
        first.culprit == "0" && ends(&first.doing) && first.seconds > 0.95 * seconds - allowed(seconds);
    ensure!(
        right && first.handed_on_s > 0.95 * handed_on - allowed(handed_on),
        "not the first cause: {waits:#?}"
    );
    let [all, whole]: [f64; 2] = [
        waits.list.iter().map(|wait| wait.seconds).sum(),
        waits.causes.iter().map(|cause| cause.seconds).sum(),
    ];
    ensure!((all - whole).abs() < 0.01 * all, "of {all} s of waits, {whole} s have a cause: {waits:#?}");
    for line in rest.lines() {
        let Known { kind, line, culprit, seconds } = known_in("waits_chain.c", line)?;
        let here = waits.list.iter().filter(|wait| is_at(wait, &line));
        let right = here.filter(|wait| (&wait.kind, &wait.culprit) == (&kind, &culprit));
        let found: f64 = right.map(|wait| wait.seconds).sum();
        ensure!(near(found, seconds), "{kind} at {line}: {seconds} s, not {found} s: {waits:#?}");
    }
    Ok(())
}

fn is_at(wait: &report::Wait, line: &str) -> bool {
    wait.line.as_ref().is_some_and(|place| place.ends_with(line))
}

fn known_in(file: &str, line: &str) -> Result<Known> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [kind, line, culprit, seconds] = words[..] else { anyhow::bail!("not understood: {line}") };
    let (kind, line, culprit) = (kind.to_owned(), format!("{file}:{line}"), culprit.to_owned());
    Ok(Known { kind, line, culprit, seconds: seconds.parse()? })
}
