//! Represents lines of source files by addresses in modules of the image that no process has mapped.

use crate::base::image;
use crate::record::modules;
use mpiscope_image::layout::{SOURCE_SIZE, source_start};
use mpiscope_python_frames::Place;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// A known line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// In the user's code.
    Users(u64),
    /// In a library: the caller's frame decides.
    Library(u64),
}

/// Number of instructions that are remembered; for others the line is read at each call.
const SLOTS: usize = 1 << 14;
/// Number of slots probed for an instruction.
const PROBES: usize = 8;
/// Maximum number of source files.
const FILES: usize = 4096;
/// Marks a slot whose line is in a library. Addresses of lines begin at 2^63, so this bit is free.
const OF_A_LIBRARY: u64 = 1 << 62;

/// Key and line of each instruction.
static INSTRUCTIONS: OnceLock<Box<[[AtomicU64; 2]]>> = OnceLock::new();
/// The files in the order of their first use. Not guarded by the objects' lock, which a thread may take only
/// once it has its record.
static SEEN: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

/// Returns the line of an instruction, if known.
#[inline]
pub fn find(key: u64) -> Option<Known> {
    let slots = slots_of(INSTRUCTIONS.get()?, key);
    let found = slots.iter().find(|[of, _]| of.load(Ordering::Acquire) == key)?;
    let line = found[1].load(Ordering::Relaxed);
    Some(if line & OF_A_LIBRARY == 0 { Known::Users(line) } else { Known::Library(line & !OF_A_LIBRARY) })
}

fn slots_of(slots: &[[AtomicU64; 2]], key: u64) -> &[[AtomicU64; 2]] {
    let first = (key >> 32) as usize % (SLOTS - PROBES);
    slots.get(first..first + PROBES).unwrap_or_default()
}

/// Enters an instruction at `place`.
#[cold]
pub fn learn(key: u64, place: &Place) -> Option<Known> {
    let mut files = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    let line = address_of(&mut files, place)?;
    let (known, word) = match place.is_of_a_library() {
        true => (Known::Library(line), line | OF_A_LIBRARY),
        false => (Known::Users(line), line),
    };
    let empty = || (0..SLOTS).map(|_| [const { AtomicU64::new(0) }; 2]).collect();
    let mut slots = slots_of(INSTRUCTIONS.get_or_init(empty), key).iter();
    if let Some([of, to]) = slots.find(|[of, _]| [0, key].contains(&of.load(Ordering::Relaxed))) {
        to.store(word, Ordering::Relaxed);
        of.store(key, Ordering::Release);
    }
    Some(known)
}

/// Returns the address of a line; a new file is entered as a module.
fn address_of(files: &mut Vec<Vec<u8>>, place: &Place) -> Option<u64> {
    let index = match files.iter().position(|file| *file == place.file) {
        Some(index) => index,
        None if files.len() < FILES => {
            let start = source_start(files.len() as u64);
            modules::add(image::writer()?, 0, start..start + SOURCE_SIZE, &place.file);
            files.push(place.file.clone());
            files.len() - 1
        }
        None => return None,
    };
    let line = u64::from(place.line);
    (line < SOURCE_SIZE).then_some(source_start(index as u64) + line)
}
