//! Bytes of messages sent and received with requests: the report and a trace agree with the
//! program's own numbers.

use std::fs;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use libtest_mimic::Trial;
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::program::{Needs, Program};
use mpiscope_testkit::trials::checked;

use crate::collective_bytes::{ready, traced};
use crate::inspected::job::Job;
use crate::subject::Subject;
use crate::sums;

const PROGRAM: Program = Program { name: "request_bytes", ranks: 3, needs: Needs::Nothing };

/// A function, and the bytes that it sent and received.
type Known = (String, u64, u64);

pub fn trials(subject: &Arc<Subject>, library: &Arc<Library>) -> Vec<Trial> {
    let (subject, own) = (Arc::clone(subject), Arc::clone(library));
    let name = format!("{}::bytes_of_requests_are_equal_in_the_report_and_in_a_trace", library.name);
    vec![checked(name, move || check(&subject, &own))]
}

fn check(subject: &Subject, library: &Library) -> Result<()> {
    let mut job = ready(subject, library, &PROGRAM)?;
    let known: Vec<Vec<Known>> = (0..PROGRAM.ranks).map(|rank| known(&job, rank)).collect::<Result<_>>()?;
    job.signal("go")?;
    job.finish()?;
    let report = job.report()?;
    sums::add_up(&report)?;
    let ranks = report["ranks"].as_array().context("no ranks")?;
    let out = job.path().join("out").display().to_string();
    for ((rank, traced), known) in ranks.iter().zip(traced(&out, PROGRAM.ranks)?).zip(&known) {
        for (name, sent, received) in known {
            let found = &rank["calls"][name];
            let wrong = found["sent"] != *sent || found["received"] != *received;
            ensure!(!wrong, "{name}: {found}, the program counted {sent} and {received}");
            let (moved, of_calls) = (sent + received, traced.get(name).copied().unwrap_or(0));
            ensure!(of_calls == moved, "{name}: {of_calls} in the trace, not {moved}");
        }
    }
    let sites = report["sites"].as_array().context("no sites")?;
    let empty = sites.iter().find(|site| site["calls"] == 0);
    ensure!(empty.is_none(), "bytes for a place that made no calls: {empty:?}");
    Ok(())
}

fn known(job: &Job, rank: usize) -> Result<Vec<Known>> {
    let text = fs::read_to_string(job.path().join(format!("bytes.{rank}")))?;
    let one = |line: &str| {
        let [name, sent, received] = line.split(' ').collect::<Vec<_>>()[..] else { bail!("{line}") };
        Ok((name.to_owned(), sent.parse()?, received.parse()?))
    };
    text.lines().map(one).collect()
}
