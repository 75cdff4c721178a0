//! A process as an evidence file has kept it.

use super::unpacked::{Early, Unpacked};
use super::{About, LONGEST_IMAGE, Symbols, image_name};
use crate::Error;
use crate::jobs::acquire::WhoIs;
use crate::sources::image_source::Bytes;
use mpiscope_image::{Error as ImageError, Image, Source};
use std::io::{BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use zip::ZipArchive;

/// Where in an image who the process is may end: it is among what is written first, before or behind the table of functions.
const BEGINNINGS: [u64; 3] = [16 << 10, 64 << 10, 256 << 10];
pub(super) type Archive = ZipArchive<BufReader<Box<dyn Seekable>>>;

/// What an archive is read from: a file, or what was received and is still in memory.
pub trait Seekable: Read + Seek + Send {}

impl<T: Read + Seek + Send> Seekable for T {}

/// A process in an evidence file.
pub struct Kept {
    pub(super) archive: Arc<Mutex<Archive>>,
    pub(super) path: Arc<Path>,
    pub(super) number: usize,
    /// What only its host knew.
    pub about: About,
    /// Words for addresses, those of all processes.
    pub symbols: Arc<Symbols>,
    /// Once somebody has asked.
    pub(super) who: OnceLock<Option<WhoIs>>,
    /// Unpacked before anybody wanted it.
    pub(super) early: Early,
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
        let bytes = self.early.take().map_or_else(|| self.unpack(), Ok)?;
        Image::open(Box::new(bytes) as Bytes).map_err(|why| Error::Image { what: what(), why })
    }

    fn unpack(&self) -> Result<Unpacked, Error> {
        let mut archive = self.archive.lock().unwrap_or_else(PoisonError::into_inner);
        unpacked(&mut archive, &self.path, &image_name(self.number))
    }

    /// Unpacks the image for whoever opens it first, as long as there is room, and reads whose it is: while others are waited for
    /// that costs no time. What is damaged is an error of the one who opens it.
    pub fn unpack_early(&self) {
        if !self.about.silent
            && Early::has_room()
            && let Ok(bytes) = self.unpack()
            && let Ok(image) = Image::open(&bytes)
        {
            self.who.get_or_init(|| WhoIs::of(&image));
            self.early.keep(bytes);
        }
        // By its beginning, if there was no room.
        let _ = self.who();
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

/// An image. What its head says of its length is not believed.
fn unpacked(archive: &mut Archive, path: &Path, name: &str) -> Result<Unpacked, Error> {
    let fail = |why: String| damaged(path, &format!("{name}: {why}"));
    let entry = archive.by_name(name).map_err(|why| fail(why.to_string()))?;
    let bytes = Unpacked::of(entry, LONGEST_IMAGE).map_err(|why| fail(why.to_string()))?;
    bytes.ok_or_else(|| fail(too_long(LONGEST_IMAGE)))
}

pub(super) fn damaged(path: &Path, why: &str) -> Error {
    Error::File { path: PathBuf::from(path), why: format!("not an evidence file that can be read: {why}") }
}

pub(super) fn too_long(longest: u64) -> String {
    format!("longer than {longest} bytes")
}
