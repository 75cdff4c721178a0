//! Jobs that hang, each in its own way, and jobs that only seem to: the output of `mpiscope why`.
//!
//! The programs state the expected verdict in the comment before each scenario (see `hang.c`). A verdict is
//! possible as soon as the ranks have reached the place where they hang, which is not visible from outside:
//! the trial asks until the verdict is as expected or the time is over. A correct program must never, at any
//! moment, get a verdict that means a problem.

mod cores;
mod mutated;

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use libtest_mimic::Trial;
use mpiscope_testkit::mpi::{self, Abi, Family, Library};
use mpiscope_testkit::program::{Needs, Program};
use mpiscope_testkit::room::Share;
use mpiscope_testkit::run::Outcome;
use mpiscope_testkit::trials::{checked, sharing};
use mpiscope_testkit::{paths, run};
use serde_json::Value;

use crate::comments::{Source, Words};
use crate::inspected::job::{Job, json};
use crate::queue_plugin;
use crate::subject::{Subject, word};

/// Time limit for the ranks to reach the place where they hang, on a loaded machine.
const LIMIT: Duration = Duration::from_secs(45);
/// Number of verdicts obtained for a correct program.
const LOOKS: usize = 4;
/// The kinds of verdict allowed for correct programs.
const HARMLESS: [&str; 3] = ["running", "slow", "finished"];

static SOURCES: [Source; 16] = [
    Source::c("hang.c"),
    Source::c("hang_more.c"),
    Source::c("hang_requests.c"),
    Source::c(POLLING),
    Source::c("hang_left_out.c"),
    Source::c("hang_applications.c"),
    Source::c("hang_sides.c"),
    Source::c("hang_groups.c"),
    Source::c("hang_several.c"),
    Source::c("hang_wrong_ranks.c"),
    Source::c("hang_rounds.c"),
    Source::c("hang_mistakes.c"),
    Source { file: "hang_mpi4.c", needs: Needs::Mpi4Parts },
    Source { file: "hang_mpif.f90", needs: Needs::Fortran },
    Source { file: "hang_f08.f90", needs: Needs::F08 },
    Source { file: PYTHON, needs: Needs::Nothing },
];
/// The program whose ranks poll in loops. A library may yield the processor at each poll, so preloading patience
/// would change the loop.
const POLLING: &str = "hang_polling.c";

/// Runs with mpi4py.
const PYTHON: &str = "mpi4py_hang.py";

/// The contents of a comment in the program.
#[derive(Debug, Clone)]
struct Scenario {
    source: &'static Source,
    name: String,
    ranks: usize,
    kind: String,
    culprit: Option<String>,
    says: Option<String>,
    /// The expected text about another problem.
    also: Option<String>,
    without: Vec<String>,
    /// The source line that must be in the evidence.
    line: Option<usize>,
}

/// Libraries with the standard ABI are tested a second time, in addition to their own ABI, with one in this
/// many scenarios: they differ in how arguments and constants are read, which every scenario exercises.
const SAMPLED: usize = 3;

type Check = fn(&Subject, &Library) -> Result<()>;

/// Trials of single programs.
const CHECKS: [(&str, Check); 4] = [
    ("queues_show_both_ends_of_a_mismatched_message", queues),
    ("why_names_a_rank_without_the_layer_and_concludes_nothing_about_it", without_layer),
    ("why_names_functions_of_an_optimized_program_without_debug_information", |_, library| {
        without_lines(library)
    }),
    ("stacks_of_ranks_inside_and_outside_of_mpi_are_one_tree", stacks),
];

/// Trials in which `mpiscope run` watches the job.
const WATCHED: [(&str, Check); 3] = [
    ("run_reports_a_hanging_job_and_starts_a_command", says_so),
    ("run_does_not_report_a_job_that_computes", keeps_quiet),
    ("run_does_not_report_loops_that_send_at_timed_intervals", keeps_quiet_of_loops),
];

/// One trial for each scenario, and those of single programs.
pub fn trials(subject: &Arc<Subject>, library: &Arc<Library>) -> Vec<Trial> {
    let mut trials = match scenarios() {
        Ok(scenarios) => of_scenarios(scenarios, subject, library),
        Err(error) => return vec![checked("scenarios_of_jobs_that_hang_can_be_read", move || Err(error))],
    };
    let named = |name: &str| format!("{}::{name}", library.name);
    let trial = |(name, check): (&str, Check)| {
        let (subject, library) = (Arc::clone(subject), Arc::clone(library));
        checked(named(name), move || check(&subject, &library))
    };
    trials.extend(CHECKS.map(trial));
    trials.push(mutated::trial(subject, library));
    trials.extend(WATCHED.map(|(name, check)| {
        if library.family == Family::Intel {
            let reason = "if its launcher is ended, leftover processes keep the output open";
            return crate::skipped(named(name), reason);
        }
        trial((name, check))
    }));
    trials
}

fn of_scenarios(scenarios: Vec<Scenario>, subject: &Arc<Subject>, library: &Arc<Library>) -> Vec<Trial> {
    let by_core_files = cores::dumped(&scenarios, library);
    let trial = |(at, scenario): (usize, Scenario)| {
        let name = format!("{}::why_{}", library.name, scenario.name);
        if let Some(reason) = scenario.left_out(at, library) {
            return crate::skipped(name, reason);
        }
        let dumped = by_core_files.contains(&scenario.name);
        let (subject, library) = (Arc::clone(subject), Arc::clone(library));
        let share = if scenario.source.file == POLLING { Share::HALF } else { Share::QUARTER };
        sharing(share, name, move || one(&subject, &library, &scenario, dumped))
    };
    scenarios.into_iter().enumerate().map(trial).collect()
}

impl Scenario {
    /// Returns why a library does not run the scenario, which has this place in the list.
    fn left_out(&self, at: usize, library: &Library) -> Option<&'static str> {
        if self.without.contains(&library.name) {
            return Some(
                "this library does not support the scenario here, does not hang in it, or lets the odd rank leave",
            );
        }
        let sampled = at.is_multiple_of(SAMPLED) || env::var_os("MPISCOPE_EVERY_SIZE").is_some();
        let left_out = library.abi == Abi::Standard && !sampled;
        missing(self.source, library).or_else(|| {
            left_out
                .then_some("with the standard ABI only every third is run; all with MPISCOPE_EVERY_SIZE=1")
        })
    }
}

/// Runs a scenario under the watcher, with a directory for `--out`.
fn watched(
    subject: &Subject,
    library: &Library,
    (name, scenario, ranks): (&'static str, &str, usize),
    options: &[&str],
    limit: Duration,
) -> Result<(Outcome, tempfile::TempDir)> {
    let program = Program { name, ranks, needs: Needs::Nothing };
    let binary = subject.binary(&program, library)?;
    let dir = tempfile::tempdir()?;
    let mut command = Command::new(paths::mpiscope().context("no mpiscope command")?);
    command.arg("run").args(options).arg("--out").arg(dir.path());
    library.set_environment(&mut command);
    command.arg(&library.mpirun).args(library.launch_arguments(ranks)).arg(binary).arg(scenario);
    Ok((run::bounded(&mut command, limit)?, dir))
}

fn says_so(subject: &Subject, library: &Library) -> Result<()> {
    // The command ends the job: its parent is `mpiscope run`, which passes the signal on.
    let options =
        ["--hang-after", "0.5", "--on-hang", "echo called of $MPISCOPE_VERDICT_KIND >&2; kill -TERM $PPID"];
    let (outcome, dir) = watched(subject, library, ("hang", "two_receives", 2), &options, LIMIT)?;
    ensure!(!outcome.timed_out, "the command was not called\n{}", outcome.describe());
    let said = outcome.stderr.matches("deadlock: 0 -> 1 -> 0").count();
    ensure!(said == 1, "said {said} times\n{}", outcome.describe());
    ensure!(outcome.stderr.contains("called of deadlock"), "{}", outcome.describe());
    let kept: Value = serde_json::from_slice(&fs::read(dir.path().join("why.json"))?)?;
    ensure!(kept["kind"] == "deadlock" && kept["schema"] == "mpiscope.why/1", "{kept:#}");
    let mut again = Command::new(paths::mpiscope().context("no mpiscope command")?);
    let again = run::bounded(again.arg("why").arg(dir.path().join("hang.mpiscope")), LIMIT)?;
    ensure!(again.stdout.contains("deadlock: 0 -> 1 -> 0"), "{}", again.describe());
    ensure!(dir.path().join("evidence.mpiscope").exists(), "nothing was saved at the end");
    let mut folder = Command::new(paths::mpiscope().context("no mpiscope command")?);
    let folder = run::bounded(folder.arg("why").arg(dir.path()), LIMIT)?;
    ensure!(folder.stdout.contains("deadlock: 0 -> 1 -> 0"), "{}", folder.describe());
    Ok(())
}

/// Rank 0 has sent tag 41, rank 1 waits for tag 42.
fn queues(subject: &Subject, library: &Library) -> Result<()> {
    let program = Program { name: "hang", ranks: 2, needs: Needs::Nothing };
    let mut job = Job::start_of(&program, subject, library, &["other_tag"], &[])?;
    let (mpiscope, target) = (paths::mpiscope().context("no mpiscope command")?, job.target());
    job.until("both ends are listed", || {
        let outcome = run::bounded(Command::new(&mpiscope).args(["queues", &target, "--json"]), LIMIT)?;
        let Ok(said) = serde_json::from_str::<Value>(&outcome.stdout) else { return Ok(false) };
        let entries = said["communicators"][0]["entries"].as_array().cloned().unwrap_or_default();
        let is = |state: &str, tag: i64| {
            let wanted =
                |e: &Value| e["state"] == state && e["tag"] == tag && e["from"] == "0" && e["to"] == "1";
            entries.iter().any(wanted)
        };
        Ok(is("unexpected", 41) && is("posted", 42) && entries.len() == 2)
    })?;
    let ps = run::bounded(Command::new(&mpiscope).args(["ps", &target, "--json"]), LIMIT)?;
    let ps: Value = serde_json::from_str(&ps.stdout)?;
    let receiver = ps["ranks"].as_array().into_iter().flatten().find(|rank| rank["rank"] == 1);
    let pid = receiver.and_then(|rank| rank["pid"].as_u64()).context("rank 1 is not in ps")?;
    let pid = u32::try_from(pid)?;
    queue_plugin::shows_what_others_sent(pid)?;
    let file = job.path().join("queues.mpiscope");
    let saved = run::bounded(Command::new(&mpiscope).args(["save", &target]).arg(&file), LIMIT)?;
    ensure!(saved.success(), "{}", saved.describe());
    queue_plugin::shows_the_same_of_evidence(pid, &file)
}

/// Without line information, the function and the offset in it are shown.
fn without_lines(library: &Library) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let binary = dir.path().join("hang");
    library.cc_with(&[&paths::programs().join("hang.c")], &binary, &["-O2", "-g0"])?;
    let mut job = Job::start_words(library, 2, &[word(&binary), "two_receives".into()], &|_| {})?;
    let end = Instant::now() + LIMIT;
    loop {
        let said = ask(&mut job)?.0.unwrap_or_default();
        let named = said["evidence"].to_string().contains("two_receives+0x");
        if said["kind"] == "deadlock" && named {
            return Ok(());
        }
        ensure!(Instant::now() < end, "{said:#}\n{}", job.stderr());
    }
}

/// Both ranks wait for each other, but rank 1 runs without the layer: it is only known that rank 0 waits for it.
fn without_layer(subject: &Subject, library: &Library) -> Result<()> {
    let program = Program { name: "hang", ranks: 1, needs: Needs::Nothing };
    let binary = word(&subject.binary(&program, library)?);
    let one: [OsString; 2] = [binary, "two_receives".into()];
    let other = [":", "-n", "1", "env", "-u", "LD_PRELOAD"].map(OsString::from);
    let words = [&one[..], &other[..], &one[..]].concat();
    let mut job = Job::start_words(library, 1, &words, &|_| {})?;
    let end = Instant::now() + LIMIT;
    loop {
        let (said, status) = ask(&mut job)?;
        let said = said.unwrap_or_default();
        ensure!(status != 1, "a problem was reported without data of rank 1: {said:#}");
        let blamed =
            said["culprits"].as_array().is_some_and(|culprits| culprits.iter().any(|c| c["ranks"] == "1"));
        if said["kind"] == "slow" && said["unseen"] == "1" && blamed {
            return Ok(());
        }
        ensure!(Instant::now() < end, "{said:#}\n{}", job.stderr());
    }
}

/// Rank 1 computes in a function of the program and rank 0 waits for it. Both continue afterward.
fn stacks(subject: &Subject, library: &Library) -> Result<()> {
    let program = Program { name: "hang", ranks: 2, needs: Needs::Nothing };
    let mut job = Job::start_of(&program, subject, library, &["one_computes"], &[])?;
    let (mpiscope, target) = (paths::mpiscope().context("no mpiscope command")?, job.target());
    let dir = tempfile::tempdir()?;
    let file = dir.path().join("job.mpiscope");
    let run = |words: &[&OsStr]| run::bounded(Command::new(&mpiscope).args(words), LIMIT);
    job.until("both stacks are shown", || {
        let (why, ps): ([&OsStr; 5], [&OsStr; 4]) = (
            ["why".as_ref(), target.as_ref(), "--json".as_ref(), "--stacks".as_ref(), "--for=0.1".as_ref()],
            ["ps".as_ref(), target.as_ref(), "--json".as_ref(), "--stacks".as_ref()],
        );
        Ok(shows_both(&run(&why)?.stdout) && shows_both(&run(&ps)?.stdout))
    })?;
    let save = ["save".as_ref(), target.as_ref(), file.as_ref(), "--stacks".as_ref(), "--for=0.1".as_ref()];
    // As with the live job, a single sample may catch a rank where its stack is not informative: in a call
    // that reads the time.
    job.until("both stacks are in the evidence file", || {
        let saved = run(&save)?;
        ensure!(saved.code() == 0, "{}", saved.describe());
        Ok(shows_both(&run(&["why".as_ref(), file.as_ref(), "--json".as_ref(), "--stacks".as_ref()])?.stdout))
    })?;
    let rank = json(&["ps", &target, "--json"])?["ranks"][0]["pid"].to_string();
    let (live, kept) =
        (json(&["procs", &rank, "--json"])?, json(&["procs", &file.display().to_string(), "--json"])?);
    ensure!(live["processes"] == kept["processes"], "live: {live:#}\nevidence file: {kept:#}");
    let state = run(&["why".as_ref(), target.as_ref(), "--json".as_ref(), "--for=0.1".as_ref()])?;
    let said: Value = serde_json::from_str(&state.stdout)?;
    ensure!(HARMLESS.contains(&said["kind"].as_str().unwrap_or_default()), "afterwards: {said:#}");
    Ok(())
}

/// Whether the merged tree of both ranks has the function that computes and the call that waits.
fn shows_both(text: &str) -> bool {
    let Ok(said) = serde_json::from_str::<Value>(text) else { return false };
    let tree = &said["stacks"]["tree"];
    let main = |node: &&Value| {
        node["ranks"] == "[0-1]" && node["frame"].as_str().is_some_and(|f| f.starts_with("main at hang.c:"))
    };
    let Some(main) = tree.as_array().into_iter().flatten().find(main) else { return false };
    let below = main["calls"].to_string();
    below.contains("compute_for at hang.c:") && below.contains("\"in MPI_")
}

fn keeps_quiet(subject: &Subject, library: &Library) -> Result<()> {
    let limit = Duration::from_secs(6);
    says_nothing(subject, library, ("hang", "one_computes", 2), "0.3", limit)
}

/// Ranks that poll for messages and send at timed intervals, less often than `--hang-after`.
fn keeps_quiet_of_loops(subject: &Subject, library: &Library) -> Result<()> {
    let limit = Duration::from_secs(4);
    says_nothing(subject, library, ("hang_polling", "beats_and_pauses", 3), "0.3", limit)?;
    says_nothing(subject, library, ("hang_polling", "work_by_the_clock", 2), "0.3", limit)
}

fn says_nothing(
    subject: &Subject,
    library: &Library,
    scenario: (&'static str, &str, usize),
    after: &str,
    limit: Duration,
) -> Result<()> {
    let (outcome, dir) = watched(subject, library, scenario, &["--hang-after", after], limit)?;
    // On timeout, ranks are killed one by one, and the last look may report that.
    drop(dir);
    ensure!(!outcome.stderr.contains("no rank has completed"), "{}", outcome.describe());
    Ok(())
}

/// The reason why `library` cannot run these programs, if any.
fn missing(source: &Source, library: &Library) -> Option<&'static str> {
    if source.file != PYTHON {
        return source.needs.missing_in(library);
    }
    match mpi::mpi4py() {
        Some(_) => crate::python::unusable(library),
        None => Some("mpi4py was not fetched"),
    }
}

fn scenarios() -> Result<Vec<Scenario>> {
    let of = |source: &'static Source| source.read("scenario", |text, here| scenario(source, text, here));
    Ok(SOURCES.iter().map(of).collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

fn scenario(source: &'static Source, text: &str, here: &dyn Fn(&str) -> Option<usize>) -> Result<Scenario> {
    let (text, also) = match text.split_once(" also ") {
        Some((text, also)) => (text, Some(also.to_owned())),
        None => (text, None),
    };
    let (head, says) = match text.split_once(" says ") {
        Some((head, says)) => (head, Some(says.to_owned())),
        None => (text, None),
    };
    let words = Words::of(head)?;
    Ok(Scenario {
        source,
        line: here(&words.name),
        culprit: words.after("culprit"),
        says,
        also,
        without: words.without(),
        name: words.name,
        ranks: words.ranks,
        kind: words.kind,
    })
}

fn one(subject: &Subject, library: &Library, scenario: &Scenario, dumped: bool) -> Result<()> {
    let mut job = started(subject, library, scenario)?;
    if HARMLESS.contains(&scenario.kind.as_str()) {
        harmless(&mut job, scenario)?;
        return if dumped { cores::check(&job, scenario) } else { Ok(()) };
    }
    let end = Instant::now() + LIMIT;
    loop {
        let (said, status) = ask(&mut job)?;
        let wrong = said.as_ref().map_or_else(|| Some("nothing".to_owned()), |said| differs(said, scenario));
        match wrong {
            None => {
                ensure!(status == 1, "exit status {status} for a problem");
                saved(&job, scenario)?;
                return if dumped { cores::check(&job, scenario) } else { Ok(()) };
            }
            Some(wrong) => ensure!(Instant::now() < end, "{wrong}\n{said:#?}\n{}", job.stderr()),
        }
    }
}

fn started(subject: &Subject, library: &Library, scenario: &Scenario) -> Result<Job> {
    let source = scenario.source;
    if source.file == PYTHON {
        let mpi4py = mpi::mpi4py().context("mpi4py was not fetched")?;
        let program = paths::programs().join(source.file);
        let words = [word(&mpi4py.python), word(&program), (&scenario.name).into()];
        return Job::start_words(library, scenario.ranks, &words, &|command| {
            mpi4py.set_environment(library, command);
        });
    }
    let program = Program { name: source.program(), ranks: scenario.ranks, needs: source.needs };
    let words = [word(&subject.binary(&program, library)?), (&scenario.name).into()];
    Job::start_words(library, scenario.ranks, &words, &|command| {
        if source.file == POLLING {
            command.env_remove("LD_PRELOAD");
        }
    })
}

/// Checks that an evidence file of the job has the same verdict. As with live jobs, two samples may catch a
/// polling loop at a bad moment.
fn saved(job: &Job, scenario: &Scenario) -> Result<()> {
    let mpiscope = paths::mpiscope().context("no mpiscope command")?;
    let dir = tempfile::tempdir()?;
    let file = dir.path().join("job.mpiscope");
    let run = |arguments: &[&OsStr]| run::bounded(Command::new(&mpiscope).args(arguments), LIMIT);
    let end = Instant::now() + LIMIT;
    loop {
        let outcome = run(&["save".as_ref(), job.target().as_ref(), file.as_ref(), "--for=0.2".as_ref()])?;
        ensure!(outcome.code() == 0, "{}", outcome.describe());
        let outcome = run(&["why".as_ref(), file.as_ref(), "--json".as_ref()])?;
        let said: Value = serde_json::from_str(&outcome.stdout).with_context(|| outcome.describe())?;
        let Some(wrong) = differs(&said, scenario) else {
            ensure!(outcome.code() == 1, "{}", outcome.describe());
            let core = run(&["core".as_ref(), file.as_ref(), "--json".as_ref()])?;
            let of_core: Value = serde_json::from_str(&core.stdout).with_context(|| core.describe())?;
            ensure!(of_core["why"]["verdict"] == said["verdict"] && core.code() == 1, "{}", core.describe());
            return Ok(());
        };
        ensure!(Instant::now() < end, "evidence file: {wrong}\n{said:#}");
    }
}

/// Checks a correct program: never a problem, and the expected verdict in the end.
fn harmless(job: &mut Job, scenario: &Scenario) -> Result<()> {
    let (mut last, mut right) = (None, 0);
    let end = Instant::now() + LIMIT;
    while right < LOOKS {
        let (said, status) = ask(job)?;
        let Some(said) = said else { continue };
        let kind = said["kind"].as_str().unwrap_or_default().to_owned();
        ensure!(HARMLESS.contains(&kind.as_str()) && status == 0, "status {status}: {said:#?}");
        let wrong = differs(&said, scenario);
        right += usize::from(wrong.is_none());
        last = wrong.or(last);
        ensure!(Instant::now() < end, "{last:?}\n{said:#?}");
    }
    Ok(())
}

/// The current output of `mpiscope why`; `None` while there is nothing to read.
fn ask(job: &mut Job) -> Result<(Option<Value>, i32)> {
    let mpiscope = paths::mpiscope().context("no mpiscope command")?;
    let mut command = Command::new(mpiscope);
    command.args(["why", &job.target(), "--json", "--for", "0.2"]);
    let outcome = run::bounded(&mut command, LIMIT)?;
    match outcome.code() {
        2 => {
            job.is_there("there is a process to inspect")?;
            std::thread::sleep(Duration::from_millis(100));
            Ok((None, 2))
        }
        code @ (0 | 1) => Ok((Some(serde_json::from_str(&outcome.stdout)?), code)),
        _ => bail!("{}", outcome.describe()),
    }
}

/// Describes how a verdict differs from the expected one.
fn differs(said: &Value, scenario: &Scenario) -> Option<String> {
    let text = |key: &str| said[key].as_str().unwrap_or_default();
    if text("kind") != scenario.kind {
        return Some(format!("kind {} instead of {}", text("kind"), scenario.kind));
    }
    if let Some(says) = scenario.says.as_ref().filter(|says| !text("verdict").contains(*says)) {
        return Some(format!("the sentence does not contain '{says}'"));
    }
    let others = || said["also"].as_array().into_iter().flatten().filter_map(|also| also["verdict"].as_str());
    let also = scenario.also.as_ref().filter(|also| !others().any(|other| other.contains(*also)));
    if let Some(also) = also {
        return Some(format!("no other problem contains '{also}'"));
    }
    let culprits: Vec<&str> =
        said["culprits"].as_array().into_iter().flatten().filter_map(|c| c["ranks"].as_str()).collect();
    if let Some(culprit) = scenario.culprit.as_ref().filter(|culprit| !culprits.contains(&culprit.as_str())) {
        return Some(format!("rank {culprit} is not among the culprits {culprits:?}"));
    }
    let line = scenario.line.map(|line| format!("{}:{line}", scenario.source.file));
    let shown = |line: &String| said["evidence"].to_string().contains(line.as_str());
    line.filter(|line| !shown(line)).map(|line| format!("{line} is not among the evidence"))
}
