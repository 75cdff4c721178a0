//! Opens evidence files. Their content is not trusted: sizes are bounded, and errors name what is damaged.

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

/// Maximum length of an unpacked description.
const LONGEST_TEXT: u64 = 1 << 30;
/// Maximum compression ratio of an archive.
const MOST_PACKED: u64 = 1032;
/// Maximum number of processes.
const MOST_PROCESSES: usize = 1 << 22;

/// An open evidence file.
pub struct Evidence {
    /// Describes what was saved.
    pub manifest: Manifest,
    /// The job, as if it were running.
    pub job: Job,
    archive: Arc<Mutex<Archive>>,
    path: Arc<Path>,
}

impl Evidence {
    /// Returns a copy that shares the open file.
    #[must_use]
    pub fn part(&self) -> Self {
        let (archive, path) = (Arc::clone(&self.archive), Arc::clone(&self.path));
        Self { manifest: self.manifest.clone(), job: self.job.part(), archive, path }
    }

    /// Reads what was observed of the job while it ran ([`Followed`](crate::performance::monitor::Followed)):
    /// only in what one host sends to another.
    ///
    /// # Errors
    /// When it cannot be parsed.
    pub fn followed<T: DeserializeOwned>(&self) -> Result<Option<T>, Error> {
        let mut archive = self.archive.lock().unwrap_or_else(PoisonError::into_inner);
        archive.index_for_name(FOLLOWED).map(|_| text(&mut archive, &self.path, FOLLOWED)).transpose()
    }
}

/// Whether a file begins like an evidence file.
pub fn is_evidence(path: &Path) -> bool {
    let mut head = [0; 4];
    // Opening a pipe would block.
    path.is_file()
        && File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok()
        && head == *b"PK\x03\x04"
}

/// Opens an evidence file.
///
/// # Errors
/// When it is not an evidence file, is damaged, or has an unsupported version.
pub fn open(path: &Path) -> Result<Evidence, Error> {
    let file = File::open(path).map_err(|why| Error::File { path: path.to_owned(), why: why.to_string() })?;
    read(path, Box::new(file))
}

/// Reads an evidence file from any source; `path` names it in errors.
///
/// # Errors
/// The same as those of [`open`].
pub fn read(path: &Path, from: Box<dyn Seekable>) -> Result<Evidence, Error> {
    let fail = |why: String| damaged(path, &why);
    let mut archive = ZipArchive::new(BufReader::new(from)).map_err(|why| fail(why.to_string()))?;
    let manifest: Manifest = text(&mut archive, path, MANIFEST)?;
    if manifest.schema != SCHEMA {
        return Err(fail(format!("its format is {:?}, but this version reads {SCHEMA}", manifest.schema)));
    }
    if manifest.processes > MOST_PROCESSES {
        return Err(fail(format!("it claims to contain {} processes", manifest.processes)));
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
    // Allocates the claimed size if the compressed size makes it plausible, to avoid copies.
    let likely = entry.size().min(entry.compressed_size().saturating_mul(MOST_PACKED)).min(LONGEST_TEXT);
    let mut bytes = Vec::with_capacity(usize::try_from(likely).unwrap_or_default() + 1);
    entry.take(LONGEST_TEXT + 1).read_to_end(&mut bytes).map_err(|why| fail(why.to_string()))?;
    if bytes.len() as u64 > LONGEST_TEXT {
        return Err(fail(too_long(LONGEST_TEXT)));
    }
    serde_json::from_slice(&bytes).map_err(|why| fail(why.to_string()))
}
