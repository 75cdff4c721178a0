//! The report of a running or saved job.

use super::facts::Facts;
use super::{JobReport, Observed};
use crate::Error;
use crate::base::clock_offset::HostClock;
use crate::jobs::evidence::Symbols;
use crate::jobs::job::Job;
use crate::jobs::job_image::JobImage;
use crate::jobs::live_process::{Living, Reader};
use crate::jobs::parallel_images::each_image;
use crate::jobs::placement::Placement;
use crate::model::locate::Locate;
use crate::model::objects::FileContext;
use crate::model::process::{Ending, Process};
use crate::model::rank::Rank;
use crate::observation;
use crate::performance::monitor::Followed;
use crate::performance::monitor::windows::Windows;
use crate::performance::waits::Waits;
use crate::questions::leaks;
use crate::questions::process_file::{OneJob, ProcessFile};
use mpiscope_target::Symbolizer;
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashMap;
use std::path::PathBuf;

/// What a run's `report.json` knows about its processes and images do not: how and when each ended.
#[derive(Debug, Default)]
pub struct Ends {
    report: Value,
    /// Index of each process among its ranks, by host, process id there and world.
    places: HashMap<(String, u64, String), usize>,
}

impl Ends {
    /// Parses a `report.json`.
    ///
    /// # Errors
    /// If it is not one.
    pub fn read(text: &str) -> Result<Self, String> {
        let report: Value = serde_json::from_str(text).map_err(|why| why.to_string())?;
        match report["schema"].as_str() {
            Some(super::SCHEMA) => {
                let ranks = report["ranks"].as_array().into_iter().flatten().enumerate();
                let text = |value: &Value| value.as_str().map(str::to_owned);
                let key =
                    |rank: &Value| Some((text(&rank["host"])?, rank["pid"].as_u64()?, text(&rank["world"])?));
                let places = ranks.filter_map(|(at, rank)| Some((key(rank)?, at))).collect();
                Ok(Self { report, places })
            }
            other => Err(format!("its format is {other:?}, but this version reads {:?}", super::SCHEMA)),
        }
    }

    /// Returns the command that was started.
    #[must_use]
    pub fn command(&self) -> Option<&str> {
        self.report["command"].as_str()
    }

    fn rank(&self, process: &Process) -> Option<&Value> {
        let key = (process.host.clone(), process.pid.into(), process.world.clone());
        self.report["ranks"].get(*self.places.get(&key)?)
    }

    /// Restores what was observed while the job ran and is no longer in the images.
    fn remember(&self, report: &mut JobReport) {
        let waits = Waits::deserialize(&self.report["waits"]).ok().filter(|waits| waits.looks > 1);
        if let Some(mut waits) = waits {
            report.sections.wait(&mut waits);
            report.waits = waits;
        }
        report.windows = Windows::deserialize(&self.report["windows"]).ok();
        report.windows.iter().for_each(|windows| report.sections.reach(windows));
        if report.times {
            report.rate();
        }
    }

    fn apply(&self, observed: &mut Observed) {
        let Some(rank) = self.rank(&observed.process) else { return };
        let number = |value: &Value| value.as_i64().and_then(|number| i32::try_from(number).ok());
        let ending = &rank["ending"];
        observed.ending =
            number(&ending["exit"]).map(Ending::Exit).or(number(&ending["signal"]).map(Ending::Signal));
        observed.core = rank["core"].as_str().map(Into::into);
        let wall_ns = rank["wall_s"].as_f64().map(|seconds| (seconds * 1e9) as u64);
        // A rank's time ends with `MPI_Finalize`, a process may go on.
        if rank["alive"] == Value::Bool(false) && !observed.process.finalized() {
            observed.ended_ns = wall_ns.map(|ns| observed.process.begin_ns.saturating_add(ns));
        }
    }
}

/// A report, and what could not be read for it.
pub struct Looked {
    /// The report.
    pub report: JobReport,
    /// What could not be read.
    pub errors: Vec<String>,
}

/// Builds the report of all processes of a job. The command is the one typed by the user if known, otherwise
/// that of the first process.
#[must_use]
pub fn of_job(job: &Job, ends: &Ends) -> Looked {
    let mut looked = of_followed(job, ends, None);
    ends.remember(&mut looked.report);
    looked
}

/// The same for a running job, with the results of monitoring it so far, or the reason why there are none.
#[must_use]
pub fn of_running(job: &Job, followed: Result<&Followed, String>) -> Looked {
    let mut looked = of_followed(job, &Ends::default(), followed.as_ref().ok().copied());
    looked.report.not_followed = match followed {
        Err(why) => Some(format!("only what the ranks still hold in memory: {why}")),
        Ok(_) if looked.report.hosts.len() > 1 => Some(OTHERS.to_owned()),
        Ok(_) => None,
    };
    looked
}

/// Note for a running job on several hosts.
const OTHERS: &str = "of ranks on other hosts, only what they still hold in memory: they are followed there, and the \
                      report at the end includes that";

fn of_followed(job: &Job, ends: &Ends, followed: Option<&Followed>) -> Looked {
    let symbols = job.symbols();
    let (reader, mut observed, mut errors) = (Reader::default(), Vec::new(), Vec::new());
    let one = |found: &JobImage, reader: &Reader, symbols: &dyn Locate| {
        let living = reader.read(found)?;
        let seen = living.map_or_else(|| silent(found), |living| observe(found, living, symbols));
        Ok::<_, Error>(with_end(found, seen))
    };
    let kept = |found: &JobImage, own: &Symbols| one(found, &Reader::default(), own);
    let all = each_image(job, kept, |found| one(found, &reader, &*symbols));
    for (found, seen) in job.images.iter().zip(all) {
        match seen {
            Ok(one) => observed.push(one),
            // The process has ended since the list was made.
            Err(_) if !found.held() => {}
            Err(why) => errors.push(why.to_string()),
        }
    }
    super::settle(&mut observed);
    observed.iter_mut().for_each(|one| ends.apply(one));
    let first = observed.iter().map(|one| one.process.command.clone()).find(|command| !command.is_empty());
    let command = ends.command().map(str::to_owned).or(first).unwrap_or_default();
    let report = JobReport::followed(command, observed, followed.map(|seen| (seen, &*symbols)));
    Looked { report, errors }
}

/// Returns a process of an evidence file from another host, with its times converted to our clock if the
/// offset is known.
///
/// # Errors
/// If its image is damaged.
pub fn of_kept(found: &JobImage, reader: &Reader, clock: Option<&HostClock>) -> Result<Observed, Error> {
    let symbols: &dyn Locate = match found.symbols() {
        Some(symbols) => symbols.as_ref(),
        None => &Symbols::default(),
    };
    let seen = match reader.read(found)? {
        Some(living) => observe(found, living, symbols),
        None => silent(found),
    };
    let mut seen = with_end(found, seen);
    if let Some(clock) = clock {
        seen.later_ns = seen.ended_ns.map_or(0, |ns| clock.later_ns(ns));
        if let Some(observation) = &mut seen.observation {
            observation.by_clock(clock.error_ns(), |ns| clock.ours(ns));
        }
    }
    Ok(seen)
}

/// What the saving process observed of a process's end takes precedence over its image.
fn with_end(found: &JobImage, seen: Observed) -> Observed {
    let Some(end) = found.end.clone() else { return seen };
    let (launcher_rank, ending, core) = (end.launcher_rank, end.ending, end.core);
    Observed { launcher_rank, pid: end.pid, ended_ns: end.ended_ns, ending, core, ..seen }
}

/// Builds the report of core files and saved images, each of one process.
#[must_use]
pub fn of_files(paths: &[PathBuf], symbols: &dyn Locate) -> Looked {
    let (mut observed, mut errors, words) = (Vec::new(), Vec::new(), Symbolizer::new());
    let mut one_job = OneJob::default();
    for path in paths {
        match ProcessFile::open(path) {
            Ok(file) => {
                errors.extend(one_job.other(path, &file.process));
                observed.push(kept(&file, symbols, &words));
            }
            Err(why) => errors.push(why.to_string()),
        }
    }
    let command = observed.first().map(|one| one.process.command.clone()).unwrap_or_default();
    Looked { report: JobReport::new(command, observed), errors }
}

fn kept(file: &ProcessFile, symbols: &dyn Locate, words: &Symbolizer) -> Observed {
    let mut process = Process::read(&file.image, None).unwrap_or_else(|_| Process::untouched());
    // It may have written nothing for a long time before it died.
    if let Some(died_ns) = file.dead.as_ref().and_then(|dead| dead.died_ns(&process)) {
        process.clock = process.clock.clone().at(died_ns.max(process.clock.end_ns()));
    }
    let (facts, observation) =
        (file.look(symbols, |rank| Facts::read(rank, None)), file.observation(symbols, words));
    let leaks = match process.finalized() {
        true => leaks::sites(&file.image, &process, symbols).unwrap_or_default(),
        false => Vec::new(),
    };
    let (pid, ended_ns) = (process.pid, Some(process.clock.end_ns()));
    let observation = Some(observation);
    Observed { leaks, observation, facts, ended_ns, ..unseen(process, pid) }
}

fn observe(found: &JobImage, living: Living, symbols: &dyn Locate) -> Observed {
    let Living { image, process, outer_pid, alive } = living;
    let leaks = match process.finalized() {
        true => leaks::sites(&image, &process, symbols).unwrap_or_default(),
        false => Vec::new(),
    };
    let observation = Some(observation::of_image(&image, &process, symbols));
    let kept = found.about().and_then(|about| about.placement.as_deref().cloned());
    let placement = kept.or_else(|| outer_pid.and_then(Placement::of));
    let context = FileContext::new(&process, symbols);
    let facts = Facts::read(&Rank::new(&image, &process, &context), placement);
    // Its end was not observed; what is not over extends to the time of the observation.
    let ended_ns = (!alive).then(|| process.clock.end_ns());
    let pid = outer_pid.or(found.about().map(|about| about.pid)).unwrap_or(process.pid);
    Observed { leaks, observation, facts, ended_ns, ..unseen(process, pid) }
}

fn silent(found: &JobImage) -> Observed {
    unseen(Process::untouched(), found.untouched().pid)
}

/// Returns a process without anything observed of it.
pub(super) fn unseen(process: Process, pid: u32) -> Observed {
    Observed {
        process,
        launcher_rank: None,
        pid,
        ended_ns: None,
        later_ns: 0,
        end_unseen: false,
        ending: None,
        core: None,
        leaks: Vec::new(),
        observation: None,
        facts: Facts::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::performance::report::Memory;

    #[test]
    fn the_peak_of_a_rank_includes_the_windows_of_a_report_that_is_read_again() {
        let window = Windows {
            ranks: vec!["0".into()],
            list: vec![crate::performance::monitor::windows::Window {
                resident: vec![Some(70)],
                ..Default::default()
            }],
            ..Windows::default()
        };
        let report = serde_json::json!({ "schema": super::super::SCHEMA, "windows": window });
        let ends = Ends::read(&report.to_string()).unwrap();
        let mut report = JobReport::default();
        report.sections.memory = vec![Memory {
            world: 0,
            rank: Some(0),
            host: "h".into(),
            image: 0,
            placement: Some(Placement { peak: 60, ..Placement::default() }),
        }];
        ends.remember(&mut report);
        let peaks = report.sections.memory.iter().filter_map(|memory| Some(memory.placement.as_ref()?.peak));
        assert_eq!(peaks.collect::<Vec<_>>(), [70]);
    }
}
