//! An unpacked image without its all-zero pieces, which make up most of an image. A job of thousands of ranks
//! then fits in memory, and a file that claims gigabytes of zeros takes none.

use mpiscope_image::Source;
use std::io::{self, Read};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Granularity of what is kept or left out.
const PIECE: usize = 4096;
/// A piece that is left out.
const ZEROS: [u8; PIECE] = [0; PIECE];
/// Number of bytes unpacked at once: several pieces, few enough for the processor's fastest caches.
const AT_ONCE: usize = 8 * PIECE;

/// Unpacked data.
#[derive(Debug, Default)]
pub(super) struct Unpacked {
    /// All have [`PIECE`] bytes except the last; `None` stands for zeros.
    pieces: Vec<Option<Box<[u8]>>>,
    len: u64,
}

impl Unpacked {
    /// Reads to the end; returns `None` if there are more than `longest` bytes.
    pub(super) fn of(mut from: impl Read, longest: u64) -> io::Result<Option<Self>> {
        let mut all = Self::default();
        let mut buffer = [0; AT_ONCE];
        loop {
            let read = fill(&mut from, &mut buffer)?;
            all.len += read as u64;
            if all.len > longest {
                return Ok(None);
            }
            for piece in buffer.get(..read).unwrap_or_default().chunks(PIECE) {
                // One comparison instead of a loop over bytes.
                let is_nothing = ZEROS.starts_with(piece);
                all.pieces.push((!is_nothing).then(|| piece.into()));
            }
            if read < AT_ONCE {
                return Ok(Some(all));
            }
        }
    }

    /// Returns the memory that it occupies, in bytes.
    fn room(&self) -> usize {
        let piece = size_of::<Option<Box<[u8]>>>();
        self.pieces.iter().map(|kept| piece + kept.as_deref().map_or(0, <[u8]>::len)).sum()
    }

    fn read_within(&self, start: usize, buf: &mut [u8]) -> Option<()> {
        let (mut at, mut rest) = (start, buf);
        while !rest.is_empty() {
            let (index, offset) = (at / PIECE, at % PIECE);
            let (now, later) = rest.split_at_mut(rest.len().min(PIECE - offset));
            match self.pieces.get(index)? {
                Some(piece) => now.copy_from_slice(piece.get(offset..offset + now.len())?),
                None => now.fill(0),
            }
            at += now.len();
            rest = later;
        }
        Some(())
    }
}

/// Reads until the buffer is full or the input ends; returns the number of bytes read.
fn fill(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match from.read(rest) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Err(why) => return Err(why),
        }
    }
    Ok(filled)
}

impl Source for Unpacked {
    fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), String> {
        let inside = offset.checked_add(buf.len() as u64).is_some_and(|end| end <= self.len);
        let start = usize::try_from(offset).ok().filter(|_| inside);
        start
            .and_then(|start| self.read_within(start, buf))
            .ok_or_else(|| format!("{} bytes at {offset} are beyond the end ({})", buf.len(), self.len))
    }

    fn len(&self) -> u64 {
        self.len
    }
}

/// Limit for the total size of images unpacked ahead of time.
const MOST_EARLY: usize = 256 << 20;
static EARLY: AtomicUsize = AtomicUsize::new(0);

/// An image unpacked for its first reader.
#[derive(Debug, Default)]
pub(super) struct Early(Mutex<Option<Unpacked>>);

impl Early {
    /// Whether another image may be unpacked ahead of time. Concurrent callers may exceed the limit slightly.
    pub(super) fn has_room() -> bool {
        EARLY.load(Ordering::Relaxed) < MOST_EARLY
    }

    pub(super) fn keep(&self, image: Unpacked) {
        EARLY.fetch_add(image.room(), Ordering::Relaxed);
        drop(self.put(Some(image)));
    }

    pub(super) fn take(&self) -> Option<Unpacked> {
        self.put(None)
    }

    fn put(&self, image: Option<Unpacked>) -> Option<Unpacked> {
        let before = std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), image);
        EARLY.fetch_sub(before.as_ref().map_or(0, Unpacked::room), Ordering::Relaxed);
        before
    }
}

impl Drop for Early {
    fn drop(&mut self) {
        self.take();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unpacked_bytes_are_read_back_and_zeros_take_no_space() {
        let mut bytes = vec![0; 5 * PIECE + 7];
        (bytes[PIECE - 1], bytes[PIECE], bytes[5 * PIECE + 6]) = (1, 2, 3);
        let unpacked = Unpacked::of(bytes.as_slice(), 1 << 20).unwrap().unwrap();
        assert_eq!(unpacked.pieces.iter().filter(|piece| piece.is_some()).count(), 3);
        for (start, len) in [(0, bytes.len()), (PIECE - 2, 4), (3 * PIECE, 2 * PIECE), (bytes.len(), 0)] {
            let mut read = vec![9; len];
            unpacked.read(start as u64, &mut read).unwrap();
            assert_eq!(read, bytes[start..start + len]);
        }
        for (start, len) in [(bytes.len() as u64, 1), (5 * PIECE as u64, 8), (u64::MAX, 1)] {
            assert!(unpacked.read(start, &mut vec![0; len]).is_err());
        }
    }

    #[test]
    fn data_longer_than_its_claimed_size_is_rejected() {
        let zeros = io::repeat(0).take(3 * PIECE as u64);
        assert!(Unpacked::of(zeros, 3 * PIECE as u64 - 1).unwrap().is_none());
        let zeros = io::repeat(0).take(3 * PIECE as u64);
        assert_eq!(Unpacked::of(zeros, 3 * PIECE as u64).unwrap().unwrap().len(), 3 * PIECE as u64);
    }

    #[test]
    fn an_early_unpacked_image_is_handed_out_once() {
        let image = Unpacked::of([7; PIECE].as_slice(), 1 << 20).unwrap().unwrap();
        assert!((PIECE..2 * PIECE).contains(&image.room()));
        let early = Early::default();
        early.keep(image);
        assert_eq!(early.take().map(|image| image.len()), Some(PIECE as u64));
        assert!(early.take().is_none());
    }
}
