//! Writes evidence files.
//!
//! All images are copied, one right after the other, before any is read, so that everything in the file shows the same
//! moment. The addresses that need names are found by asking everything that the views ask, through a [`Recorder`].

mod copied;
mod disk;

use self::copied::Copied;
use self::disk::Disk;
use crate::Error;
use crate::base::clock::Moment;
use crate::base::draft::Draft;
use crate::base::json;
use crate::base::refusal::Refusal;
use crate::hosts::other_hosts::Elsewhere;
use crate::jobs::acquire::Entry;
use crate::jobs::connected;
use crate::jobs::evidence::{
    FOLLOWED, MANIFEST, Manifest, Recorder, SCHEMA, SYMBOLS, about_name, image_name,
};
use crate::jobs::job::Job;
use crate::jobs::job_image::JobImage;
use crate::jobs::spawned;
use crate::model::locate::Locate;
use crate::model::objects::{FileContext, Kind, Reader};
use crate::model::process::Process;
use crate::model::rank::{Rank, SymbolContext};
use crate::model::rank_status::RankStatus;
use crate::observation::Observation;
use crate::performance::monitor::Followed;
use crate::performance::sites;
use crate::questions::live::{self, Places};
use crate::questions::stacks;
use crate::sources::host_identity::HostIdentity;
use serde::Serialize;
use std::collections::HashSet;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// The result of saving.
#[derive(Debug, Default)]
pub struct Saved {
    /// Number of processes in the file.
    pub processes: usize,
    /// Length of the file in bytes.
    pub bytes: u64,
    /// Messages about what could not be read.
    pub not_seen: Vec<String>,
}

/// Writes a job to a file, which appears only when it is complete. Samples once, waits for `pause` (unless
/// the job is presented [as it was](Job::as_it_was)), and saves the state after that; with `stacks` also the
/// stacks of its threads, each of which is stopped briefly.
///
/// # Errors
/// When no process of the job can be read, or the file cannot be written.
pub fn save(
    job: &Job,
    pause: Duration,
    stacks: bool,
    symbols: &dyn Locate,
    elsewhere: Elsewhere,
    path: &Path,
) -> Result<Saved, Error> {
    let draft = Draft::private(path).map_err(|why| failed(path, &why))?;
    let saved = write(job, pause, stacks, symbols, elsewhere, (draft.file(), path))?;
    draft.publish().map_err(|why| failed(path, &why))?;
    Ok(saved)
}

/// Like [`save`], to an empty file that may have no name; `path` is what errors call it.
///
/// # Errors
/// The same as those of [`save`].
pub fn write(
    job: &Job,
    pause: Duration,
    stacks: bool,
    symbols: &dyn Locate,
    elsewhere: Elsewhere,
    (file, path): (&File, &Path),
) -> Result<Saved, Error> {
    let began = Instant::now();
    let recorder = Recorder::new(symbols);
    let before = earlier(live::look(job, &recorder).observations, elsewhere.before);
    if job.stood.is_none() {
        thread::sleep(pause.saturating_sub(began.elapsed()));
    }
    let seconds = job.stood.unwrap_or_else(|| began.elapsed()).as_secs_f64();
    let fail = |why: std::io::Error| failed(path, &why);
    let mut archive = Archive::new(file).map_err(fail)?;
    let mut saved = Saved { not_seen: elsewhere.not_seen, ..Saved::default() };
    let places = Places::default();
    copy_processes(job, stacks, &places, &recorder, &mut saved, |number, copied| {
        archive.add(number, copied, &recorder).map_err(fail)
    })?;
    if saved.processes == 0 {
        return Err(match saved.not_seen.is_empty() {
            true => Refusal::NoneHere.into(),
            false => Error::NotFound(saved.not_seen.join("; ")),
        });
    }
    let manifest = manifest(job, &places, before, seconds, &saved);
    archive.text(SYMBOLS, &recorder.into_symbols()).map_err(fail)?;
    archive.text(MANIFEST, &manifest).map_err(fail)?;
    archive.finish().map_err(fail)?;
    saved.bytes = file.metadata().map_err(fail)?.len();
    Ok(saved)
}

fn failed(path: &Path, why: &std::io::Error) -> Error {
    Error::File { path: path.to_owned(), why: why.to_string() }
}

/// Copies the processes of the job and passes each copy to `keep` with its number.
fn copy_processes(
    job: &Job,
    stacks: bool,
    places: &Places,
    recorder: &Recorder<'_>,
    saved: &mut Saved,
    mut keep: impl FnMut(usize, &Copied) -> Result<(), Error>,
) -> Result<(), Error> {
    // Processes that are being terminated must not be stopped.
    let taken = |found: &JobImage, process: &Process| match stacks && job.stood.is_none() {
        true => stacks::of_process(found, process, places, recorder),
        false => Vec::new(),
    };
    let mut images = job.images.iter();
    loop {
        let copies = copied::some(&mut images);
        if copies.is_empty() {
            return Ok(());
        }
        // What only the system shows of them comes next, so that it fits the copies; packing takes longest.
        let asked = |(found, copy): (_, Result<_, _>)| {
            (found, copy.and_then(|copy| Copied::of(found, copy, places, &taken)))
        };
        let copied: Vec<(&JobImage, Result<Copied, Error>)> = copies.into_iter().map(asked).collect();
        for (found, copied) in copied {
            match copied {
                Ok(copied) => {
                    keep(saved.processes, &copied)?;
                    saved.processes += 1;
                }
                // It has ended since the list was made.
                Err(_) if !found.held() => {}
                Err(why) => saved.not_seen.push(why.to_string()),
            }
        }
    }
}

/// Describes the job as a whole.
fn manifest(job: &Job, places: &Places, before: Vec<Observation>, seconds: f64, saved: &Saved) -> Manifest {
    let callers: Vec<_> = job.images.iter().filter_map(JobImage::who).map(|who| who.entry).collect();
    let is_it = |entry: &Entry, host: &str, rank, pid| {
        entry.rank == Some(rank) || (entry.place.pid == pid && entry.place.host == host)
    };
    let has_called = |host: &str, rank, pid| callers.iter().any(|entry| is_it(entry, host, rank, pid));
    Manifest {
        silent: live::silent_ranks(job, places, has_called),
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        job: job.name.clone(),
        owner: job.owner,
        saved_unix_s: Moment::now().unix_ns / 1_000_000_000,
        seconds,
        host: Some(HostIdentity::here()),
        processes: saved.processes,
        before,
        spawned: spawned::of_job(job).into_iter().chain(job.spawned.iter().cloned()).collect(),
        connected: connected::of_job(job).into_iter().chain(job.connected.iter().cloned()).collect(),
        not_seen: saved.not_seen.clone(),
    }
}

/// Adds to a file what was observed of the processes while they ran; `path` is what errors call it.
///
/// # Errors
/// When the file is not an evidence file, or cannot be written.
pub fn add((file, path): (&File, &Path), followed: &Followed) -> Result<(), Error> {
    let fail = |why: std::io::Error| failed(path, &why);
    let mut zip = ZipWriter::new_append(Disk::new(file)).map_err(|why| fail(why.into()))?;
    zip.start_file(FOLLOWED, options()).map_err(|why| fail(why.into()))?;
    json::write(&mut zip, followed).map_err(|why| fail(why.into()))?;
    zip.finish().map_err(|why| fail(why.into()))?.finish().map_err(fail)
}

fn options() -> SimpleFileOptions {
    SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .large_file(true)
        .unix_permissions(0o600)
}

/// Merges the earlier samples. Processes of other hosts were sampled there, so those samples take precedence.
pub(crate) fn earlier(mut here: Vec<Observation>, there: Vec<Observation>) -> Vec<Observation> {
    let who = |seen: &Observation| (seen.world.clone(), seen.rank, seen.pid);
    let known: HashSet<_> = there.iter().map(who).collect();
    here.retain(|seen| !known.contains(&who(seen)));
    here.extend(there);
    live::settle(&mut here);
    here
}

/// Asks everything that the views ask, so that the recorder sees the questions.
fn ask(copied: &Copied, recorder: &Recorder<'_>) -> Result<(), mpiscope_image::Error> {
    let Some((image, process)) = &copied.seen else { return Ok(()) };
    let context = SymbolContext::new(process, recorder);
    let rank = Rank::new(image, process, &context);
    let _status = RankStatus::new(&rank, copied.about.alive);
    let _observation = live::observe_kept(&rank, &copied.about, copied.about.alive);
    // A damaged table is damaged in the file as well.
    let _sites = sites::of_rank(&rank);
    let files = FileContext::new(process, recorder);
    let objects = Reader::new(image, &files)?;
    for kind in Kind::ALL {
        // A damaged table is damaged in the file as well.
        let _all = objects.visit(*kind, &mut |_| true, &mut |_| ());
    }
    Ok(())
}

struct Archive<'a> {
    zip: ZipWriter<Disk<'a>>,
}

impl<'a> Archive<'a> {
    fn new(file: &'a File) -> std::io::Result<Self> {
        Ok(Self { zip: ZipWriter::new(Disk::new(file)) })
    }

    fn add(&mut self, number: usize, copied: &Copied, recorder: &Recorder<'_>) -> std::io::Result<()> {
        // What cannot be read now cannot be read from the file either.
        let _damaged = ask(copied, recorder);
        if let Some((image, _)) = &copied.seen {
            self.begin(&image_name(number))?;
            self.zip.write_all(&image.source().0)?;
        }
        self.text(&about_name(number), &copied.about)
    }

    fn text(&mut self, name: &str, value: &impl Serialize) -> std::io::Result<()> {
        self.begin(name)?;
        json::write(&mut self.zip, value).map_err(std::io::Error::from)
    }

    fn begin(&mut self, name: &str) -> std::io::Result<()> {
        self.zip.start_file(name, options()).map_err(std::io::Error::from)
    }

    fn finish(self) -> std::io::Result<()> {
        self.zip.finish().map_err(std::io::Error::from)?.finish()
    }
}
