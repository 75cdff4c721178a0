//! Random programs with one mistake each (`mutated.c`): `why` must report a problem of a kind that follows
//! from the mistake, and must name the rank that made it. Without a mistake it must never report a problem.
//!
//! `MPISCOPE_MUTATIONS=20 MPISCOPE_MATRIX=1 cargo test -p mpiscope-matrix -- why_names_the_rank_that_made_the_mistake` tries 20 programs
//! with each mistake on every library.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use libtest_mimic::Trial;
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::program::{Needs, Program};
use mpiscope_testkit::trials::checked;
use serde_json::Value;

use super::{HARMLESS, LIMIT, ask};
use crate::inspected::job::Job;
use crate::subject::Subject;

/// The environment variable with the number of programs to try.
const VARIABLE: &str = "MPISCOPE_MUTATIONS";
/// No further program is started after this time; the last line says how many were tried.
const LONGEST: Duration = Duration::from_secs(1200);
/// Mistakes of a sender, a receiver or a member of a communicator, and their possible verdicts: other ranks
/// may see an effect first.
const MISTAKES: [(&str, &[&str]); 13] = [
    ("none", &[]),
    // A sender that waits for receipt may have been meant to be received first.
    ("tag", &["message-never-sent", "message-never-received", "deadlock"]),
    ("destination", &["message-never-sent", "message-never-received", "deadlock"]),
    ("source", &["message-never-sent", "message-never-received", "deadlock"]),
    ("no_send", &["message-never-sent", "collective-not-entered", "deadlock"]),
    ("no_receive", &["message-never-sent", "message-never-received", "deadlock"]),
    ("one_send", &["message-never-sent", "message-never-received", "deadlock"]),
    ("one_receive", &["message-never-sent", "message-never-received", "deadlock"]),
    ("no_collective", &["collective-mismatch", "collective-not-entered", "rma", "deadlock"]),
    ("function", &["collective-mismatch", "deadlock"]),
    ("communicator", &["collective-mismatch", "collective-not-entered", "deadlock"]),
    ("root", &["collective-mismatch", "deadlock"]),
    ("no_unlock", &["rma", "deadlock"]),
];

/// One trial for each library, if the variable is set.
pub fn trial(subject: &Arc<Subject>, library: &Arc<Library>) -> Trial {
    let name = format!("{}::why_names_the_rank_that_made_the_mistake_in_random_programs", library.name);
    let Some(count) = std::env::var(VARIABLE).ok().and_then(|count| count.parse::<usize>().ok()) else {
        return crate::skipped(name, "MPISCOPE_MUTATIONS sets the number of programs to try");
    };
    let with = (Arc::clone(subject), Arc::clone(library));
    checked(name, move || all(&with.0, &with.1, count))
}

fn all(subject: &Subject, library: &Library, count: usize) -> Result<()> {
    let (mut wrong, mut hung, mut tried) = (Vec::new(), 0, 0);
    let begun = Instant::now();
    let all = (1..=count).flat_map(|seed| MISTAKES.map(|(mistake, kinds)| (seed, mistake, kinds)));
    for (seed, mistake, kinds) in all.take_while(|_| begun.elapsed() < LONGEST) {
        let started = Instant::now();
        let said = one(subject, library, seed, mistake, kinds);
        let how = match &said {
            Ok(Some(sentence)) => sentence.as_str(),
            Ok(None) => "ended",
            Err(_) => "WRONG",
        };
        let took = started.elapsed().as_secs_f64();
        eprintln!("{}: mutated {seed} {mistake} ({took:.1} s): {how}", library.name);
        tried += 1;
        match said {
            Ok(said) => hung += usize::from(said.is_some()),
            Err(error) => wrong.push(format!("mutated {seed} {mistake}: {error:#}")),
        }
    }
    eprintln!(
        "{}: {tried} of {} programs tried, {hung} hung, {} wrong verdicts",
        library.name,
        count * MISTAKES.len(),
        wrong.len()
    );
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    ensure!(count == 0 || hung > 0, "none of them hung");
    Ok(())
}

/// Returns the verdict if the program hung; fails if it is wrong.
fn one(
    subject: &Subject,
    library: &Library,
    seed: usize,
    mistake: &str,
    kinds: &[&str],
) -> Result<Option<String>> {
    let program = Program { name: "mutated", ranks: 2 + seed % 4, needs: Needs::Nothing };
    let mut job = Job::start_of(&program, subject, library, &[&seed.to_string(), mistake], &[])?;
    let end = Instant::now() + LIMIT;
    let mut last = Value::Null;
    loop {
        // It has ended: nothing went wrong in it, or the library tolerated it.
        let Ok((said, _)) = ask(&mut job) else { return Ok(None) };
        let wrong = made_by(&job);
        ensure!(Instant::now() < end, "neither an end nor a problem: {last:#}");
        let Some(said) = said else { continue };
        let kind = said["kind"].as_str().unwrap_or_default();
        let problem = !HARMLESS.contains(&kind);
        match wrong {
            None => ensure!(!problem, "a problem in a correct program: {said:#}"),
            Some(wrong) if problem => {
                ensure!(kinds.contains(&kind), "{kind} is not one of {kinds:?}: {said:#}");
                let culprits = said["culprits"].as_array().into_iter().flatten();
                let mut named = culprits.filter_map(|culprit| culprit["ranks"].as_str());
                ensure!(named.any(|ranks| ranks == wrong), "rank {wrong} is not named: {said:#}");
                return Ok(Some(format!("rank {wrong}: {}", said["verdict"].as_str().unwrap_or_default())));
            }
            Some(_) => {}
        }
        last = if last.is_null() || problem { said } else { last };
    }
}

/// The rank with the mistake, as printed by the program; `None` for a program without one, and before it is
/// printed.
fn made_by(job: &Job) -> Option<String> {
    let said = job.stderr();
    let line = said.lines().find_map(|line| line.strip_prefix("the mistake is made by rank "))?;
    line.split(' ').next().map(str::to_owned)
}
