//! Opening an evidence file. Nothing in it is believed: sizes are bounded, and what is damaged is named.

use super::unpacked::Unpacked;
use super::{
    About, FOLLOWED, LONGEST_IMAGE, MANIFEST, Manifest, SCHEMA, SYMBOLS, Symbols, about_name, image_name,
};
use crate::Error;
use crate::jobs::acquire::WhoIs;
use crate::jobs::job::Job;
use crate::jobs::job_image::JobImage;
use crate::sources::image_source::Bytes;
use mpiscope_image::{Error as ImageError, Image, Source};
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use zip::ZipArchive;

/// A description longer than this, unpacked, is not believed.
const LONGEST_TEXT: u64 = 1 << 30;
/// Where in an image who the process is may end: it is among what is written first, before or behind the table of functions.
const BEGINNINGS: [u64; 3] = [16 << 10, 64 << 10, 256 << 10];
/// How many bytes one byte of an archive can stand for.
const MOST_PACKED: u64 = 1032;
/// Processes that are believed.
const MOST_PROCESSES: usize = 1 << 22;

type Archive = ZipArchive<BufReader<File>>;

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

/// A process in an evidence file.
pub struct Kept {
    archive: Arc<Mutex<Archive>>,
    path: Arc<Path>,
    number: usize,
    /// What only its host knew.
    pub about: About,
    /// Words for addresses, those of all processes.
    pub symbols: Arc<Symbols>,
    /// Once somebody has asked.
    who: OnceLock<Option<WhoIs>>,
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "process {} of {}", self.number, self.path.display())
    }
}

impl Kept {
    /// Its image.
    ///
    /// # Errors
    /// When it is damaged, or there is none because the process had not touched it.
    pub fn open(&self) -> Result<Image<Bytes>, Error> {
        let what = || format!("{}: {}", self.path.display(), image_name(self.number));
        if self.about.silent {
            return Err(Error::Image { what: what(), why: ImageError::NotAnImage });
        }
        let mut archive = self.archive.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = unpacked(&mut archive, &self.path, &image_name(self.number))?;
        Image::open(Box::new(bytes) as Bytes).map_err(|why| Error::Image { what: what(), why })
    }

    /// Whose image it is: that stands in its beginning, so that not all of it need be unpacked.
    #[must_use]
    pub fn who(&self) -> Option<&WhoIs> {
        let whole = || WhoIs::of(&self.open().ok()?);
        self.who.get_or_init(|| self.by_beginning().or_else(whole)).as_ref()
    }

    fn by_beginning(&self) -> Option<WhoIs> {
        let mut archive = self.archive.lock().unwrap_or_else(PoisonError::into_inner);
        let mut entry = archive.by_name(&image_name(self.number)).ok()?;
        let (len, mut bytes) = (entry.size(), Vec::new());
        BEGINNINGS.into_iter().find_map(|more| {
            (&mut entry).take(more - bytes.len() as u64).read_to_end(&mut bytes).ok()?;
            WhoIs::of(&Image::open(Beginning { bytes: &bytes, len }).ok()?)
        })
    }
}

/// The beginning of an image; the rest cannot be read.
struct Beginning<'a> {
    bytes: &'a [u8],
    len: u64,
}

impl Source for Beginning<'_> {
    fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), String> {
        Source::read(self.bytes, offset, buf)
    }

    fn len(&self) -> u64 {
        self.len
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
    let fail = |why: String| damaged(path, &why);
    let file = File::open(path).map_err(|why| Error::File { path: path.to_owned(), why: why.to_string() })?;
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(|why| fail(why.to_string()))?;
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

fn damaged(path: &Path, why: &str) -> Error {
    Error::File { path: PathBuf::from(path), why: format!("not an evidence file that can be read: {why}") }
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

/// An image. What its head says of its length is not believed.
fn unpacked(archive: &mut Archive, path: &Path, name: &str) -> Result<Unpacked, Error> {
    let fail = |why: String| damaged(path, &format!("{name}: {why}"));
    let entry = archive.by_name(name).map_err(|why| fail(why.to_string()))?;
    let bytes = Unpacked::of(entry, LONGEST_IMAGE).map_err(|why| fail(why.to_string()))?;
    bytes.ok_or_else(|| fail(too_long(LONGEST_IMAGE)))
}

fn too_long(longest: u64) -> String {
    format!("longer than {longest} bytes")
}
