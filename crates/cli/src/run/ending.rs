//! The end of a job on one host: its data goes to the reporting process, or the report is made here.

use super::collector::Collector;
use super::ended::told_to_end;
use super::hosts::shared::Shared;
use super::hosts::uplink::{self, Uplink};
use super::hosts::{FromHost, join, patience};
use super::watch::Watch;
use super::{Options, banner, evidence};
use crate::render::complain;
use mpiscope_job::{JobReport, RankSet};
use std::fs::File;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// How long the next host may take to deliver its part when hosts share a folder but have no connection.
const NEXT_PART_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the ranks of a job that was told to end wait for its report.
const REPORT_TIMEOUT: Duration = Duration::from_secs(5);

/// Sends the data of this host's ranks, or reports it. `watch` judges the job once the parts of all hosts are
/// known.
pub fn end(
    collector: &mut Collector,
    job: &str,
    options: &Options,
    up: Option<Uplink>,
    watch: Watch,
    screen: Option<File>,
) {
    match up {
        Some(up) => {
            watch.look_back_on(&collector.ends(), &[]);
            match send(collector, job, options, up) {
                Ok(Sent::Sent) => {}
                Ok(Sent::NobodyTakesIt) => alone(collector, job, options, None, screen),
                Err(why) => {
                    let said =
                        format!("the report of this host cannot be sent ({why}), so it is printed here");
                    complain("run", &said);
                    report(collector, job, options, Vec::new(), screen);
                }
            }
        }
        None => alone(collector, job, options, Some(watch), screen),
    }
}

/// What became of the data of this host's ranks.
enum Sent {
    /// It was sent or saved.
    Sent,
    /// The process that gathers has ended without a report: hosts are on their own, as without it.
    NobodyTakesIt,
}

fn send(collector: &Collector, job: &str, options: &Options, up: Uplink) -> Result<Sent, String> {
    let mut sent = Sent::Sent;
    kept(collector, job, |file| {
        let Err(why) = up.deliver(file) else { return Ok(()) };
        let is_gone = uplink::is_gone(&why);
        if is_gone && !is_reported(options, collector.began) {
            sent = Sent::NobodyTakesIt;
            return Ok(());
        }
        let Some(dir) = &options.out else { return Err(why.to_string()) };
        let shared = Shared::find(Some(dir), job).and_then(|shared| shared.put(file).map(|()| shared));
        let shared = shared.map_err(|other| format!("{why}; {}: {other}", dir.display()))?;
        if is_gone {
            let file = shared.file().display();
            complain("run", &format!("{why}; its report lacks ranks of this host, which are in {file}"));
        }
        Ok(())
    })?;
    Ok(sent)
}

/// Whether a report has been written since the ranks of this host were started.
fn is_reported(options: &Options, began: SystemTime) -> bool {
    let written = |dir: &PathBuf| dir.join(banner::REPORT).metadata().and_then(|about| about.modified());
    options.out.as_ref().and_then(|dir| written(dir).ok()).is_some_and(|written| written >= began)
}

/// Ends the job when no process gathers data. Hosts of one world find each other through a shared folder, if
/// there is one.
fn alone(
    collector: &mut Collector,
    job: &str,
    options: &Options,
    watch: Option<Watch>,
    screen: Option<File>,
) {
    let ends = collector.ends();
    let own = collector.report(options.command(), &[]);
    let world = own.worlds.first().map(|world| (world.name.clone(), world.size, world.ranks.clone()));
    // Ranks of this host that never started count as well: they are on no other host.
    let (_, _, expected) = collector.wrappers();
    let here = |ranks: &RankSet| ranks.0.len().max(expected.unwrap_or(0));
    let several = world.filter(|(_, size, ranks)| here(ranks) < *size as usize);
    let shared = several.and_then(|(name, size, ranks)| {
        Some((Shared::find(options.out.as_deref(), &name).ok()?, size, ranks))
    });
    let Some((shared, size, ranks)) = shared else {
        watch.into_iter().for_each(|watch| watch.look_back_on(&ends, &[]));
        return deliver(collector, job, options, own, Vec::new(), screen);
    };
    if ranks.0.contains(&0) {
        let all = |parts: &[FromHost]| here(&ranks) + sent(parts) >= size as usize;
        let mut others = shared.take(NEXT_PART_TIMEOUT.min(patience()), all);
        watch.into_iter().for_each(|watch| watch.look_back_on(&ends, &others));
        let note = join::through(&others, shared.folder());
        collector.gathers = true;
        let mut report = collector.report(options.command(), &others);
        report.notes.extend(note.map(|note| (note, Default::default())));
        others.retain(|other| other.evidence.is_ok());
        deliver(collector, job, options, report, others, screen);
        return shared.done();
    }
    drop(watch);
    let put = kept(collector, job, |file| shared.put(file).map_err(|why| why.to_string()));
    // A launcher that ends a job takes away its output, and with it the report, as soon as one rank is gone.
    if put.is_ok() && told_to_end(&ends) && shared.taken(REPORT_TIMEOUT.min(patience())) {
        return shared.reported(REPORT_TIMEOUT);
    }
    // The ranks of this host may end now; whether another host took the part becomes known later.
    collector.release_all();
    if put.is_err() || !shared.taken(patience()) {
        deliver(collector, job, options, own, Vec::new(), screen);
    }
}

/// Returns the number of ranks in the parts of the job.
fn sent(parts: &[FromHost]) -> usize {
    parts.iter().filter_map(|part| part.evidence.as_ref().ok()).map(|part| part.manifest.processes).sum()
}

/// Saves the local data to a temporary file without a name and passes it to `used`.
fn kept(
    collector: &Collector,
    job: &str,
    used: impl FnOnce(&File) -> Result<(), String>,
) -> Result<(), String> {
    match evidence::at_the_end(job, &collector.ends(), &collector.seen()) {
        Some(file) => used(&file),
        None => Err("nothing can be saved".to_owned()),
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
