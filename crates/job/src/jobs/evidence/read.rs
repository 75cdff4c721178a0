//! Opening an evidence file. Nothing in it is believed: sizes are bounded, and what is damaged is named.

use super::kept::{Archive, Kept, Seekable, damaged, too_long};
use super::unpacked::Early;
use super::{About, FOLLOWED, MANIFEST, Manifest, SCHEMA, SYMBOLS, Symbols, about_name};
use crate::Error;
use crate::jobs::job::Job;
use crate::jobs::job_image::JobImage;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use zip::ZipArchive;

/// A description longer than this, unpacked, is not believed.
const LONGEST_TEXT: u64 = 1 << 30;
/// How many bytes one byte of an archive can stand for.
const MOST_PACKED: u64 = 1032;
/// Processes that are believed.
const MOST_PROCESSES: usize = 1 << 22;

/// An evidence file.
pub struct Evidence {
    /// What was saved.
    pub manifest: Manifest,
    /// The job, as if it ran.
    pub job: Job,
    archive: Arc<Mutex<Archive>>,
    path: Arc<Path>,
}

impl Evidence {
    /// The same once more; the file is open once.
    #[must_use]
    pub fn part(&self) -> Self {
        let (archive, path) = (Arc::clone(&self.archive), Arc::clone(&self.path));
        Self { manifest: self.manifest.clone(), job: self.job.part(), archive, path }
    }

    /// What was seen of the job while it ran ([`Followed`](crate::performance::monitor::Followed)): only in what one host sends to
    /// another.
    ///
    /// # Errors
    /// When it cannot be read as that.
    pub fn followed<T: DeserializeOwned>(&self) -> Result<Option<T>, Error> {
        let mut archive = self.archive.lock().unwrap_or_else(PoisonError::into_inner);
        archive.index_for_name(FOLLOWED).map(|_| text(&mut archive, &self.path, FOLLOWED)).transpose()
    }
}

/// Whether a file begins as evidence files do.
pub fn is_evidence(path: &Path) -> bool {
    let mut head = [0; 4];
    // A pipe would make us wait.
    path.is_file()
        && File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok()
        && head == *b"PK\x03\x04"
}

/// Opens an evidence file.
///
/// # Errors
/// When it is none, is damaged, or is of a version that is not known here.
pub fn open(path: &Path) -> Result<Evidence, Error> {
    let file = File::open(path).map_err(|why| Error::File { path: path.to_owned(), why: why.to_string() })?;
    read(path, Box::new(file))
}

/// Opens one that is not a file by itself; `path` is what errors call it.
///
/// # Errors
/// As those of [`open`].
pub fn read(path: &Path, from: Box<dyn Seekable>) -> Result<Evidence, Error> {
    let fail = |why: String| damaged(path, &why);
    let mut archive = ZipArchive::new(BufReader::new(from)).map_err(|why| fail(why.to_string()))?;
    let manifest: Manifest = text(&mut archive, path, MANIFEST)?;
    if manifest.schema != SCHEMA {
        return Err(fail(format!("its form is {:?}, this version reads {SCHEMA}", manifest.schema)));
    }
    if manifest.processes > MOST_PROCESSES {
        return Err(fail(format!("it says that it holds {} processes", manifest.processes)));
    }
    let symbols: Arc<Symbols> = Arc::new(text(&mut archive, path, SYMBOLS)?);
    let abouts: Vec<About> = (0..manifest.processes)
        .map(|number| text(&mut archive, path, &about_name(number)))
        .collect::<Result<_, _>>()?;
    let (archive, shared): (_, Arc<Path>) = (Arc::new(Mutex::new(archive)), path.into());
    let kept = |(number, about)| Kept {
        archive: Arc::clone(&archive),
        path: Arc::clone(&shared),
        number,
        about,
        symbols: Arc::clone(&symbols),
        who: OnceLock::new(),
        early: Early::default(),
    };
    let images = abouts.into_iter().enumerate().map(kept).map(JobImage::kept).collect();
    let job = Job {
        name: manifest.job.clone(),
        owner: manifest.owner,
        images,
        silent: manifest.silent.clone(),
        not_seen: manifest.not_seen.clone(),
        spawned: manifest.spawned.clone(),
        connected: manifest.connected.clone(),
        symbols: Some(Arc::clone(&symbols)),
        ..Job::default()
    };
    Ok(Evidence { manifest, job, archive, path: shared })
}

fn text<T: DeserializeOwned>(archive: &mut Archive, path: &Path, name: &str) -> Result<T, Error> {
    let fail = |why: String| damaged(path, &format!("{name}: {why}"));
    let entry = archive.by_name(name).map_err(|why| fail(why.to_string()))?;
    // That it is as long as it says, and not longer than so few bytes can be unpacked to, saves copies.
    let likely = entry.size().min(entry.compressed_size().saturating_mul(MOST_PACKED)).min(LONGEST_TEXT);
    let mut bytes = Vec::with_capacity(usize::try_from(likely).unwrap_or_default() + 1);
    entry.take(LONGEST_TEXT + 1).read_to_end(&mut bytes).map_err(|why| fail(why.to_string()))?;
    if bytes.len() as u64 > LONGEST_TEXT {
        return Err(fail(too_long(LONGEST_TEXT)));
    }
    serde_json::from_slice(&bytes).map_err(|why| fail(why.to_string()))
}
