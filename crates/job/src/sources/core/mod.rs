//! Core files: the image inside (the kernel dumps a shared mapping of an unlinked file with its content),
//! what killed the process, and its stack.

mod end;
mod signal;
mod stack;

pub use end::End;
pub use signal::Signal;
pub use stack::{Frame, Stack, walk, walk_from};

use crate::Error;
use crate::sources::image_source::Bytes;
use mpiscope_image::layout::MAGIC;
use mpiscope_image::{Error as ImageError, Image, Source};
use mpiscope_target::{Core, Target};
use std::path::Path;
use std::sync::Arc;

/// The variable in which a process publishes the address of its image.
const SYMBOL: &str = "mpiscope_image";
/// Granularity of possible image addresses.
const PAGE: u64 = 4096;
/// Maximum number of pages searched when no mapping begins with an image.
const MOST_PAGES: u64 = 1 << 22;

/// Memory of a program starting at one address.
struct Memory {
    core: Arc<Core>,
    address: u64,
    len: u64,
}

impl Source for Memory {
    fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), String> {
        let end = offset.checked_add(buf.len() as u64);
        if end.is_none_or(|end| end > self.len) {
            return Err(format!("{} bytes at {offset} are beyond the end ({})", buf.len(), self.len));
        }
        self.core.read(self.address.wrapping_add(offset), buf).map_err(|e| e.to_string())
    }

    fn len(&self) -> u64 {
        self.len
    }
}

/// Finds and opens the image in a core file.
pub fn open(path: &Path) -> Result<Image<Bytes>, Error> {
    let core = Core::open(path).map_err(|e| Error::NotFound(e.to_string()))?;
    image(&Arc::new(core))
}

/// Finds and opens the image in a core file that is open.
pub fn image(core: &Arc<Core>) -> Result<Image<Bytes>, Error> {
    let path = core.path();
    if is_forked_child(core) {
        return Err(Error::NotFound(format!(
            "{}: the process was forked from an MPI process and is not one itself",
            path.display()
        )));
    }
    let mut damaged = None;
    for address in starts(core).chain(pages(core)) {
        let mut magic = [0; 8];
        if core.read(address, &mut magic).is_err() || magic != MAGIC {
            continue;
        }
        let bytes: Bytes = Box::new(Memory { len: room(core, address), core: core.clone(), address });
        match Image::open(bytes) {
            Ok(image) => return Ok(image),
            // The magic bytes also occur in the reader's own code: go on, but remember the error.
            Err(why) => damaged = damaged.or(Some(why)),
        }
    }
    match damaged {
        Some(why @ ImageError::Version(_)) => Err(Error::Image { what: path.display().to_string(), why }),
        _ => Err(Error::NoImageInCore { path: path.to_owned() }),
    }
}

/// Whether the process inherited the mapping of the image by a fork: the layer then hides it.
fn is_forked_child(core: &Core) -> bool {
    let Ok(Some(symbol)) = core.symbol(SYMBOL) else { return false };
    core.read_pointer(symbol).is_ok_and(|address| address == 0) && starts_with_image(core)
}

fn starts_with_image(core: &Core) -> bool {
    let mut magic = [0; 8];
    starts(core).any(|address| core.read(address, &mut magic).is_ok() && magic == MAGIC)
}

/// Returns that the file is truncated, if so: readers leave out what they cannot read.
pub fn truncated(core: &Core) -> Option<String> {
    let missing = core.missing()?;
    let path = core.path().display();
    Some(format!("{path} is truncated, {missing} bytes are missing; what was in them is not shown"))
}

/// Addresses of mappings: an image usually has its own mapping…
fn starts(core: &Core) -> impl Iterator<Item = u64> {
    core.segments().iter().filter(|s| core.present(s) > 0).map(|s| s.address)
}

/// …unless the kernel merged it with a neighbor.
fn pages(core: &Core) -> impl Iterator<Item = u64> {
    let writable = core.segments().iter().filter(|s| s.writable);
    writable
        .flat_map(|s| (1..core.present(s) / PAGE).map(|page| s.address.saturating_add(page * PAGE)))
        .take(MOST_PAGES as usize)
}

/// Number of bytes from `address` to the end of adjacent mappings.
fn room(core: &Core, address: u64) -> u64 {
    let mut end = address;
    for segment in core.segments() {
        if segment.address <= end && end < segment.address.saturating_add(segment.size) {
            end = segment.address.saturating_add(segment.stored);
        }
    }
    end.saturating_sub(address)
}
