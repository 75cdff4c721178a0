//! Windows and files that ranks share: each is one object, on exactly the ranks that its name says.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::program::{Needs, Program};
use serde_json::Value;

use super::job::{Job, json, text};
use crate::subject::Subject;

const PROGRAM: Program = Program { name: "merged", ranks: 4, needs: Needs::Nothing };

/// The ranks of an object, by the first word of its name, and the numbers of windows and files.
const OWNERS: [(&str, &[u64], usize, usize); 10] = [
    ("half0", &[0, 1], 3, 1),
    ("half1", &[2, 3], 1, 3),
    ("parity0", &[0, 2], 1, 0),
    ("parity1", &[1, 3], 2, 0),
    ("world", &[0, 1, 2, 3], 4, 2),
    ("node", &[0, 1, 2, 3], 1, 0),
    ("rank0", &[0], 0, 1),
    ("rank1", &[1], 0, 2),
    ("rank2", &[2], 0, 3),
    ("rank3", &[3], 0, 4),
];

pub fn check(subject: &Subject, library: &Library) -> Result<()> {
    let mut job = Job::start_of(&PROGRAM, subject, library, &[], &[])?;
    job.all_ready()?;
    let target = job.target();
    kind(&target, "win", "name", |(_, _, windows, _)| windows)?;
    kind(&target, "file", "path", |(_, _, _, files)| files)?;
    job.signal("go")?;
    job.finish()
}

type Owner = (&'static str, &'static [u64], usize, usize);

/// All objects of a kind, by the field that names them.
fn kind(target: &str, kind: &str, naming: &str, count: impl Fn(Owner) -> usize) -> Result<()> {
    let answer = json(&["inspect", target, "--kind", kind, "--json"])?;
    let known = known(&answer, naming)?;
    let list = text(&["inspect", target, "--kind", kind])?;
    let mut taken = BTreeSet::new();
    for owner in OWNERS {
        for number in 0..count(owner) {
            let word = if kind == "win" { "window" } else { "file" };
            let name = format!("{} {word} {number}", owner.0);
            let (identities, ranks) = known.get(&name).with_context(|| format!("no {name} in {known:?}"))?;
            ensure!(ranks.iter().eq(owner.1), "{name} on {ranks:?}");
            let [identity] = identities.iter().collect::<Vec<_>>()[..] else {
                anyhow::bail!("{name} has the identities {identities:?}")
            };
            ensure!(taken.insert(identity.clone()), "{name} has the identity of another {kind}");
            ensure!(list.matches(&name).count() == 1, "not exactly one line about {name} in\n{list}");
            found(target, identity, owner.1)?;
        }
    }
    ensure!(taken.len() == known.len(), "more objects than were created: {known:?}");
    let several = taken.len() - OWNERS.iter().filter(|o| o.1.len() == 1).map(|o| count(*o)).sum::<usize>();
    let shared = answer["shared"].as_array().context("nothing is shared")?;
    let output = shared.iter().filter(|one| taken.contains(one["identity"].as_str().unwrap_or_default()));
    ensure!(output.count() == several, "{shared:#?}");
    Ok(())
}

/// Identities and ranks by name.
type Known = BTreeMap<String, (BTreeSet<String>, BTreeSet<u64>)>;

fn known(answer: &Value, naming: &str) -> Result<Known> {
    let mut known = Known::new();
    for process in answer["ranks"].as_array().context("no ranks")? {
        let rank = process["rank"].as_u64().context("no rank")?;
        for object in process["objects"].as_array().context("no objects")? {
            if object["predefined"] == true {
                continue;
            }
            let name = object[naming].as_str().with_context(|| format!("no name: {object}"))?;
            let name = name.rsplit('/').next().unwrap_or(name);
            let identity = object["identity"].as_str().filter(|i| *i != "0x0");
            let identity = identity.with_context(|| format!("no identity: {object}"))?;
            let (identities, ranks) = known.entry(name.to_owned()).or_default();
            identities.insert(identity.to_owned());
            ensure!(ranks.insert(rank), "two of {name} on rank {rank}");
        }
    }
    Ok(known)
}

/// The displayed part of an identity selects the object on all its ranks.
fn found(target: &str, identity: &str, ranks: &[u64]) -> Result<()> {
    let digits = format!("{:0>16}", identity.trim_start_matches("0x"));
    let shown = format!("id:{}", digits.get(..8).unwrap_or(&digits));
    let answer = json(&["inspect", target, "--handle", &shown, "--json"])?;
    let processes = answer["ranks"].as_array().context("no ranks")?;
    let has = |process: &&Value| process["objects"][0]["identity"] == identity;
    let found: Vec<u64> = processes.iter().filter(has).filter_map(|p| p["rank"].as_u64()).collect();
    ensure!(found == ranks, "{shown} on {found:?}, not {ranks:?}");
    Ok(())
}
