//! The end of a job on one host: its data goes to the reporting process, or the report is made here.

use super::collector::Collector;
use super::hosts::shared::Shared;
use super::hosts::uplink::Uplink;
use super::hosts::{FromHost, join, patience};
use super::{Options, banner, evidence};
use crate::render::complain;
use mpiscope_job::{JobReport, RankSet};
use std::fs::File;
use std::path::Path;
use std::time::Duration;

/// How long the next host may take to deliver its part when hosts share a folder but have no connection.
const NEXT_PART_TIMEOUT: Duration = Duration::from_secs(5);

/// Sends the data of this host's ranks, or reports it.
pub fn end(
    collector: &mut Collector,
    job: &str,
    options: &Options,
    up: Option<Uplink>,
    screen: Option<File>,
) {
    match up {
        Some(up) => send(collector, job, options, up, screen),
        None => alone(collector, job, options, screen),
    }
}

fn send(collector: &Collector, job: &str, options: &Options, up: Uplink, screen: Option<File>) {
    let failed = kept(collector, job, |file| {
        let Err(why) = up.deliver(file) else { return Ok(()) };
        let Some(dir) = &options.out else { return Err(why.to_string()) };
        let shared = Shared::find(Some(dir), job).and_then(|shared| shared.put(file));
        shared.map_err(|other| format!("{why}; {}: {other}", dir.display()))
    });
    if let Err(why) = failed {
        complain("run", &format!("the report of this host cannot be sent ({why}), so it is printed here"));
        report(collector, job, options, Vec::new(), screen);
    }
}

/// Ends the job when no process gathers data. Hosts of one world find each other through a shared folder, if
/// there is one.
fn alone(collector: &mut Collector, job: &str, options: &Options, screen: Option<File>) {
    let own = collector.report(options.command(), &[]);
    let world = own.worlds.first().map(|world| (world.name.clone(), world.size, world.ranks.clone()));
    // Ranks of this host that never started count as well: they are on no other host.
    let (_, _, expected) = collector.wrappers();
    let here = |ranks: &RankSet| ranks.0.len().max(expected.unwrap_or(0));
    let Some((name, size, ranks)) = world.filter(|(_, size, ranks)| here(ranks) < *size as usize) else {
        return deliver(collector, job, options, own, Vec::new(), screen);
    };
    let Ok(shared) = Shared::find(options.out.as_deref(), &name) else {
        return deliver(collector, job, options, own, Vec::new(), screen);
    };
    if ranks.0.contains(&0) {
        let all = |parts: &[FromHost]| here(&ranks) + sent(parts) >= size as usize;
        let mut others = shared.take(NEXT_PART_TIMEOUT.min(patience()), all);
        let note = join::through(&others, shared.folder());
        let mut report = collector.report(options.command(), &others);
        report.notes.extend(note.map(|note| (note, Default::default())));
        others.retain(|other| other.evidence.is_ok());
        return deliver(collector, job, options, report, others, screen);
    }
    let taken = kept(collector, job, |file| shared.put(file).map_err(|why| why.to_string()));
    // The ranks of this host may end now; whether another host took the part becomes known later.
    collector.release_all();
    if taken.is_err() || !shared.taken(patience()) {
        deliver(collector, job, options, own, Vec::new(), screen);
    }
}

/// Returns the number of ranks in the parts of the job.
fn sent(parts: &[FromHost]) -> usize {
    parts.iter().filter_map(|part| part.evidence.as_ref().ok()).map(|part| part.manifest.processes).sum()
}

/// Saves the local data to a temporary file and passes it to `used`.
fn kept(
    collector: &Collector,
    job: &str,
    used: impl FnOnce(&Path) -> Result<(), String>,
) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|why| why.to_string())?;
    let file = folder.path().join("evidence");
    let saved = evidence::keep_all(job, &collector.ends(), &[], &file);
    match saved && evidence::add(&collector.seen(), &file) {
        true => used(&file),
        false => Err("nothing can be saved".to_owned()),
    }
}

fn report(collector: &Collector, job: &str, options: &Options, others: Vec<FromHost>, screen: Option<File>) {
    let report = collector.report(options.command(), &others);
    deliver(collector, job, options, report, others, screen);
}

fn deliver(
    collector: &Collector,
    job: &str,
    options: &Options,
    report: JobReport,
    others: Vec<FromHost>,
    screen: Option<File>,
) {
    let scope = banner::Scope { whole: false, ending: None, ends: collector.ends(), others };
    banner::deliver(options, job, report, scope, screen);
}
