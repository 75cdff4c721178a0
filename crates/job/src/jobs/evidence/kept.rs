//! A process saved in an evidence file.

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

/// Prefix lengths of an image that may contain the process's identity: it is written early, either before or
/// after the function table.
const BEGINNINGS: [u64; 3] = [16 << 10, 64 << 10, 256 << 10];
pub(super) type Archive = ZipArchive<BufReader<Box<dyn Seekable>>>;

/// A source for an archive: a file, or received data in memory.
pub trait Seekable: Read + Seek + Send {}

impl<T: Read + Seek + Send> Seekable for T {}

/// A process in an evidence file.
pub struct Kept {
    pub(super) archive: Arc<Mutex<Archive>>,
    pub(super) path: Arc<Path>,
    pub(super) number: usize,
    /// What only its host knew.
    pub about: About,
    /// Names for addresses, shared by all processes.
    pub symbols: Arc<Symbols>,
    /// Filled on the first request.
    pub(super) who: OnceLock<Option<WhoIs>>,
    /// The image unpacked ahead of time.
    pub(super) early: Early,
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "process {} of {}", self.number, self.path.display())
    }
}

impl Kept {
    /// Opens the image.
    ///
    /// # Errors
    /// When it is damaged, or absent because the process had not touched it.
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

    /// Unpacks the image ahead of time for its first reader, if memory permits, and reads its identity: that
    /// costs nothing while other hosts are awaited. Damage is reported by [`open`](Self::open).
    pub fn unpack_early(&self) {
        if !self.about.silent
            && Early::has_room()
            && let Ok(bytes) = self.unpack()
            && let Ok(image) = Image::open(&bytes)
        {
            self.who.get_or_init(|| WhoIs::of(&image));
            self.early.keep(bytes);
        }
        // From a prefix if memory did not permit more.
        let _ = self.who();
    }

    /// Returns the process's identity, which is near the beginning, so that the image need not be unpacked
    /// completely.
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

/// A prefix of an image; the rest cannot be read.
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

/// Unpacks an image. The length in its header is not trusted.
fn unpacked(archive: &mut Archive, path: &Path, name: &str) -> Result<Unpacked, Error> {
    let fail = |why: String| damaged(path, &format!("{name}: {why}"));
    let entry = archive.by_name(name).map_err(|why| fail(why.to_string()))?;
    let bytes = Unpacked::of(entry, LONGEST_IMAGE).map_err(|why| fail(why.to_string()))?;
    bytes.ok_or_else(|| fail(too_long(LONGEST_IMAGE)))
}

pub(super) fn damaged(path: &Path, why: &str) -> Error {
    Error::File { path: PathBuf::from(path), why: format!("not a readable evidence file: {why}") }
}

pub(super) fn too_long(longest: u64) -> String {
    format!("longer than {longest} bytes")
}
