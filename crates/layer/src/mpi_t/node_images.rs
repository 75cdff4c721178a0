//! Images of the other processes of the world on this node, mapped for reading.
//!
//! They are memory files, found among the open files of the processes that this one may inspect. Their
//! contents belong to another process: every offset is checked against the size of the file, which cannot
//! shrink.
//!
//! An image shows its process's rank and world only once that process has left `MPI_Init`, which may be after
//! this one has left it and a tool has bound its variables. So images are mapped when a variable is bound,
//! and identified when it is read. Reading accesses only memory, so that a signal handler may do it.
#![allow(unsafe_code)]

use crate::base::{clock, image};
use crate::record::process;
use mpiscope_image::layout::{MAGIC, Process, SectionKind, VERSION};
use mpiscope_image::mapped::Mapped;
pub use mpiscope_image::mapped::Sent;
use mpiscope_image::traffic::Peer;
use std::ffi::{CString, OsString, c_void};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering, fence};
use std::sync::{Mutex, PoisonError};

/// Size of the address range reserved for an image that may grow.
const RESERVED: usize = 1 << 30;

/// Another process's image.
pub struct Neighbour {
    base: usize,
    file: i32,
    /// The memory file's inode: several processes may hold the same file.
    inode: u64,
    /// Rank in this process's world, or one of the two constants below.
    rank: AtomicU32,
    next: AtomicPtr<Neighbour>,
}

/// The process has not published its rank yet.
const UNKNOWN: u32 = u32::MAX;
/// The process belongs to another world.
const FOREIGN: u32 = u32::MAX - 1;

/// Images that were found, newest first. They are never removed.
static LIST: AtomicPtr<Neighbour> = AtomicPtr::new(std::ptr::null_mut());
/// Number of images that are [`UNKNOWN`].
static UNKNOWNS: AtomicUsize = AtomicUsize::new(0);

fn list() -> impl Iterator<Item = &'static Neighbour> {
    // SAFETY: null, or leaked by `search`.
    let first = unsafe { LIST.load(Ordering::Acquire).as_ref() };
    // SAFETY: as above.
    std::iter::successors(first, |image| unsafe { image.next.load(Ordering::Acquire).as_ref() })
}

/// Number of times that an image was added or identified.
static NEWS: AtomicUsize = AtomicUsize::new(1);

/// Returns the image of a rank of the world, if it was found and has been identified. Async-signal-safe.
/// `missed` must be zero initially; it avoids searching again for a missing rank as long as nothing has
/// changed.
pub fn of_rank(rank: u32, missed: &AtomicUsize) -> Option<&'static Neighbour> {
    let news = NEWS.load(Ordering::Acquire);
    if UNKNOWNS.load(Ordering::Acquire) == 0 && missed.load(Ordering::Relaxed) == news {
        return None;
    }
    if UNKNOWNS.load(Ordering::Acquire) != 0 {
        list().filter(|image| image.rank.load(Ordering::Relaxed) == UNKNOWN).for_each(Neighbour::ask);
    }
    let found = list().find(|image| image.rank.load(Ordering::Relaxed) == rank);
    if found.is_none() {
        missed.store(news, Ordering::Relaxed);
    }
    found
}

/// Searches the open files of all processes that may be inspected, at most a few times per second.
pub fn search() {
    static LAST: Mutex<Option<u64>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let now = clock::monotonic_ns();
    if last.is_some_and(|last| now.saturating_sub(last) < 200_000_000) {
        return;
    }
    let Ok(processes) = std::fs::read_dir("/proc") else { return };
    for process in processes.flatten() {
        if !process.file_name().as_bytes().first().is_some_and(u8::is_ascii_digit) {
            continue;
        }
        let Ok(files) = std::fs::read_dir(process.path().join("fd")) else { continue };
        for file in files.flatten() {
            if is_image(std::fs::read_link(file.path()).map(PathBuf::into_os_string).unwrap_or_default()) {
                add(&file.path());
            }
        }
    }
    *last = Some(clock::monotonic_ns());
}

fn is_image(target: OsString) -> bool {
    target.into_vec().starts_with(b"/memfd:mpiscope:")
}

/// Keeps an image unless it is this process's, already known, or of another world. Must be called by one
/// thread at a time.
fn add(path: &Path) {
    let Some(image) = map(path) else { return };
    let own = image.process().is_some_and(|process| process.pid.get() == image::own_pid());
    let rank = image.identify();
    if own || rank == FOREIGN || list().any(|known| known.inode == image.inode) {
        image.unmap();
        return;
    }
    UNKNOWNS.fetch_add(usize::from(rank == UNKNOWN), Ordering::AcqRel);
    let (rank, next) = (AtomicU32::new(rank), AtomicPtr::new(LIST.load(Ordering::Acquire)));
    LIST.store(Box::leak(Box::new(Neighbour { rank, next, ..image })), Ordering::Release);
    NEWS.fetch_add(1, Ordering::AcqRel);
}

fn map(path: &Path) -> Option<Neighbour> {
    // Ranks of the same job belong to the same user. Anything else with such a name, like a pipe or a device,
    // is left alone.
    // SAFETY: no arguments, always succeeds.
    let user = unsafe { libc::geteuid() };
    let about_path = std::fs::metadata(path).ok().filter(|about| about.is_file() && about.uid() == user)?;
    let path = CString::new(path.as_os_str().as_bytes()).ok()?;
    // SAFETY: a C string.
    let file = unsafe {
        libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC)
    };
    if file < 0 {
        return None;
    }
    let flags = libc::MAP_SHARED | libc::MAP_NORESERVE;
    // SAFETY: a fresh mapping for reading; only bytes within the file's size are ever read.
    let base = unsafe { libc::mmap(std::ptr::null_mut(), RESERVED, libc::PROT_READ, flags, file, 0) };
    if base == libc::MAP_FAILED {
        // SAFETY: opened above.
        unsafe { libc::close(file) };
        return None;
    }
    let (inode, _size) = about(file);
    if inode != about_path.ino() {
        // SAFETY: opened and mapped above.
        unsafe {
            libc::munmap(base, RESERVED);
            libc::close(file);
        }
        return None;
    }
    let (rank, next) = (AtomicU32::new(UNKNOWN), AtomicPtr::new(std::ptr::null_mut()));
    let image = Neighbour { base: base as usize, file, inode, rank, next };
    if image.is_readable() {
        return Some(image);
    }
    image.unmap();
    None
}

/// Inode and size of an open file; zeros on error.
fn about(file: i32) -> (u64, usize) {
    // SAFETY: all zero is a valid `stat`; the call checks the descriptor itself.
    let about = unsafe {
        let mut about: libc::stat = std::mem::zeroed();
        if libc::fstat(file, &mut about) != 0 {
            return (0, 0);
        }
        about
    };
    (about.st_ino, usize::try_from(about.st_size).unwrap_or(0))
}

impl Neighbour {
    /// Removes the mapping.
    fn unmap(&self) {
        // SAFETY: mapped and opened by `map`, and no reference into it has been handed out.
        unsafe {
            libc::munmap(self.base as *mut c_void, RESERVED);
            libc::close(self.file);
        }
    }

    /// Rank in this process's world, once both processes have left `MPI_Init` and published it.
    fn identify(&self) -> u32 {
        let said = |process: &Process| process.init_leave.get() != 0;
        let (Some(own), Some(other)) = (process::record().filter(|p| said(p)), self.process()) else {
            return UNKNOWN;
        };
        let before = other.seq.get();
        fence(Ordering::Acquire);
        let (said, rank, same) = (said(other), other.rank.get(), other.world == own.world);
        fence(Ordering::Acquire);
        match said && before.is_multiple_of(2) && other.seq.get() == before {
            false => UNKNOWN,
            true if same && rank < FOREIGN => rank,
            true => FOREIGN,
        }
    }

    /// Tries again to identify the process.
    fn ask(&self) {
        let rank = self.identify();
        let taken = |_| self.rank.compare_exchange(UNKNOWN, rank, Ordering::AcqRel, Ordering::Relaxed).ok();
        if (rank != UNKNOWN).then_some(rank).and_then(taken).is_some() {
            NEWS.fetch_add(1, Ordering::AcqRel);
            UNKNOWNS.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// Number of readable bytes.
    fn size(&self) -> usize {
        about(self.file).1.min(RESERVED)
    }

    /// The image's current records.
    fn records(&self) -> Mapped<'static> {
        // SAFETY: mapped by `map`, and never unmapped once it is in the list; `size` is at most the size of
        // the file, which cannot shrink; its owner writes whole words only.
        unsafe { Mapped::new(self.base as *const u8, self.size()) }
    }

    /// Whether this is an image of our own version that cannot shrink.
    fn is_readable(&self) -> bool {
        // SAFETY: a query about an open file.
        let seals = unsafe { libc::fcntl(self.file, libc::F_GET_SEALS) };
        let header = self.records().header();
        seals >= 0
            && seals & libc::F_SEAL_SHRINK != 0
            && header
                .is_some_and(|h| h.magic.get() == u64::from_ne_bytes(MAGIC) && h.version.get() == VERSION)
    }

    fn process(&self) -> Option<&'static Process> {
        self.records().all(SectionKind::PROCESS).next()
    }

    /// See [`Mapped::sent_tags`]. Async-signal-safe.
    pub fn sent_tags(&self, identity: u64, rank: u32) -> impl Iterator<Item = u32> {
        self.records().sent_tags(identity, rank)
    }

    /// See [`Mapped::find_sent`].
    pub fn find_sent(&self, message: &Sent) -> Option<(u64, u64)> {
        self.records().find_sent(message)
    }

    /// See [`Mapped::peer`]. Async-signal-safe.
    pub fn peer(&self, identity: u64, rank: usize) -> Option<&'static Peer> {
        self.records().peer(identity, rank)
    }
}
