//! Images of the other processes of the world on this node, mapped for reading.
//!
//! They are memory files, found among the open files of the processes that may be looked at. Their bytes are another
//! process's: every place is checked against the size of the file, which cannot shrink.
//!
//! Which rank of which world a process is stands in its image when it has left `MPI_Init`, and that may be after this one
//! has left it and a tool has bound its variables. So images are mapped when a variable is bound, and told apart when
//! it is read, which looks at memory only: a signal handler may do it.
#![allow(unsafe_code)]

use crate::base::{clock, image};
use crate::record::process;
use mpiscope_image::layout::{
    DIRECTORY_LEN, HEADER_SIZE, Header, MAGIC, Process, Section, SectionKind, VERSION,
};
use mpiscope_image::objects::{Comm, Life};
use mpiscope_image::traffic::{Entry, Peer, Recent, Traffic};
use std::ffi::{CString, OsString, c_void};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering, fence};
use std::sync::{Mutex, PoisonError};

/// Addresses reserved for an image that may grow.
const RESERVED: usize = 1 << 30;

/// Another process's image.
pub struct Neighbour {
    base: usize,
    file: i32,
    /// Of the memory file: several processes may hold the same one.
    inode: u64,
    /// Rank in this process's world, or one of the two below.
    rank: AtomicU32,
    next: AtomicPtr<Neighbour>,
}

/// It has not said yet.
const UNKNOWN: u32 = u32::MAX;
/// Of another world.
const FOREIGN: u32 = u32::MAX - 1;

/// How far back a sender's rings are looked through.
const FAR: u64 = 4096;

/// A message as its receiver knows it.
pub struct Sent {
    /// Of the communicator.
    pub identity: u64,
    /// The receiver's rank.
    pub to: u32,
    /// Those that were sent before are known: the first so many of all messages between the two…
    pub before: u64,
    /// …and those up to this one in the sender's ledger, counted from 1.
    pub after: u64,
    #[allow(missing_docs)]
    pub tag: u32,
    #[allow(missing_docs)]
    pub bytes: u64,
}

/// Those that were found, newest first. They are never taken out.
static LIST: AtomicPtr<Neighbour> = AtomicPtr::new(std::ptr::null_mut());
/// How many of them are [`UNKNOWN`].
static UNKNOWNS: AtomicUsize = AtomicUsize::new(0);

fn list() -> impl Iterator<Item = &'static Neighbour> {
    // SAFETY: null, or leaked by `search`.
    let first = unsafe { LIST.load(Ordering::Acquire).as_ref() };
    // SAFETY: as above.
    std::iter::successors(first, |image| unsafe { image.next.load(Ordering::Acquire).as_ref() })
}

/// How often one was added or has said who it is.
static NEWS: AtomicUsize = AtomicUsize::new(1);

/// The image of this rank of the world, if it was found and has said who it is. Async-signal-safe. `missed` is zero at
/// first, and spares the search for a rank that is not there as long as there is no news.
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

/// Looks through the open files of all processes that may be looked at, not more than a few times a second.
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

/// Keeps an image unless it is this process's, known, or of another world. Called by one thread at a time.
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
    // A rank of the same job belongs to the same user; whatever else has such a name, a pipe or a device, is left alone.
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
    // SAFETY: a fresh mapping for reading; only what the file has is ever looked at.
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

/// Inode and size of an open file; zeros if they cannot be had.
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
    /// Gives the mapping back.
    fn unmap(&self) {
        // SAFETY: mapped and opened by `map`, and nothing that was found in it has been handed out.
        unsafe {
            libc::munmap(self.base as *mut c_void, RESERVED);
            libc::close(self.file);
        }
    }

    /// Rank in this process's world, if both have left `MPI_Init` and said so.
    fn identify(&self) -> u32 {
        let said = |process: &Process| process.init_leave.get() != 0;
        let (Some(own), Some(other)) = (process::record().filter(|p| said(p)), self.process()) else {
            return UNKNOWN;
        };
        let before = other.seq.get();
        fence(Ordering::Acquire);
        let (said, rank, same) = (said(other), other.rank.get(), other.world.0 == own.world.0);
        fence(Ordering::Acquire);
        match said && before.is_multiple_of(2) && other.seq.get() == before {
            false => UNKNOWN,
            true if same && rank < FOREIGN => rank,
            true => FOREIGN,
        }
    }

    /// Looks again who it is.
    fn ask(&self) {
        let rank = self.identify();
        let taken = |_| self.rank.compare_exchange(UNKNOWN, rank, Ordering::AcqRel, Ordering::Relaxed).ok();
        if (rank != UNKNOWN).then_some(rank).and_then(taken).is_some() {
            NEWS.fetch_add(1, Ordering::AcqRel);
            UNKNOWNS.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// Bytes that may be looked at.
    fn size(&self) -> usize {
        about(self.file).1.min(RESERVED)
    }

    /// Something in the image, made of words and bytes only.
    fn at<T: mpiscope_image::Record>(&self, size: usize, offset: u64) -> Option<&'static T> {
        let offset = usize::try_from(offset).ok()?;
        if offset.checked_add(size_of::<T>())? > size || !offset.is_multiple_of(align_of::<T>()) {
            return None;
        }
        // SAFETY: inside the file and the mapping (checked), aligned; every bit pattern is valid.
        Some(unsafe { &*((self.base + offset) as *const T) })
    }

    /// An image of our own version that cannot shrink?
    fn is_readable(&self) -> bool {
        // SAFETY: asks about an open file.
        let seals = unsafe { libc::fcntl(self.file, libc::F_GET_SEALS) };
        let header = self.at::<Header>(self.size(), 0);
        seals >= 0
            && seals & libc::F_SEAL_SHRINK != 0
            && header.is_some_and(|h| h.magic == MAGIC && h.version.get() == VERSION)
    }

    fn process(&self) -> Option<&'static Process> {
        let size = self.size();
        self.sections(size, SectionKind::PROCESS).find_map(|section| self.at(size, section.offset.get()))
    }

    fn sections(&self, size: usize, kind: SectionKind) -> impl Iterator<Item = &'static Section> {
        let header = self.at::<Header>(size, 0);
        let count = header.map_or(0, |header| (header.sections.get() as usize).min(DIRECTORY_LEN));
        let sections = header.map_or(&[][..], |header| &header.directory);
        sections.iter().take(count).filter(move |section| section.kind.get() == kind.0)
    }

    /// All records of a table, and their indices.
    fn records<T: mpiscope_image::Record + 'static>(
        &self,
        size: usize,
        kind: SectionKind,
    ) -> impl Iterator<Item = &'static T> {
        self.sections(size, kind).flat_map(move |section| {
            let (offset, step) = (section.offset.get(), u64::from(section.record_size.get()));
            let used = section.used.get().min((size / size_of::<T>()) as u64);
            (0..used).map_while(move |place| self.at(size, offset.checked_add(place.checked_mul(step)?)?))
        })
    }

    /// The record at an index of a table that may have several sections.
    fn record<T: mpiscope_image::Record>(
        &self,
        size: usize,
        kind: SectionKind,
        index: u64,
    ) -> Option<&'static T> {
        self.at(size, self.offset_of(size, kind, index)?)
    }

    /// Where that record is.
    fn offset_of(&self, size: usize, kind: SectionKind, index: u64) -> Option<u64> {
        let mut place = index;
        for section in self.sections(size, kind) {
            let capacity = section.capacity.get();
            if place < capacity {
                let step = u64::from(section.record_size.get());
                return section.offset.get().checked_add(place.checked_mul(step)?);
            }
            place -= capacity;
        }
        None
    }

    /// The tags of the messages that this process has sent to `rank` of the communicator with this identity, newest first,
    /// as far as it remembers them. Async-signal-safe.
    pub fn sent_tags(&self, identity: u64, rank: u32) -> impl Iterator<Item = u32> {
        let size = self.size();
        let totals = self.records::<Traffic>(size, SectionKind::TRAFFIC).next();
        let (capacity, written, first) = totals
            .map_or((0, 0, 0), |t| (t.envelopes.get(), t.envelopes_sent.get(), t.envelopes_first.get()));
        let offset = self.offset_of(size, SectionKind::ENVELOPES, first);
        let places = (1..=capacity.min(FAR)).map_while(move |back| written.checked_sub(back));
        places.filter_map(move |place| {
            // The records of a ring lie side by side.
            let behind = place.checked_rem(capacity)?.checked_mul(size_of::<Recent>() as u64)?;
            self.at::<Recent>(size, offset?.checked_add(behind)?)?.tag_of(place, identity, rank)
        })
    }

    /// The first message of this kind in this process's ledger that is not known yet: its number in the ledger, counted
    /// from 1, and when this process began to send it, in ticks. Nothing if the ledger does not go back so far.
    pub fn find_sent(&self, message: &Sent) -> Option<(u64, u64)> {
        let size = self.size();
        let totals = self.records::<Traffic>(size, SectionKind::TRAFFIC).next()?;
        let (capacity, written) = (totals.ledger_capacity.get(), totals.ledger_sent.get());
        let first = totals.ledger_first.get();
        let oldest = written.saturating_sub(capacity.min(FAR)).max(message.after);
        (oldest..written).find_map(|number| {
            let place = number.checked_rem(capacity)?;
            let entry: &Entry = self.record(size, SectionKind::LEDGER, first.checked_add(place)?)?;
            let before = entry.seq.get();
            let same = entry.comm.get() == message.identity
                && entry.peer.get() == message.to
                && u64::from(entry.nth.get()) > message.before
                && entry.tag.get() == message.tag
                && entry.bytes.get() == message.bytes;
            let at = entry.posted.get();
            (same && before.is_multiple_of(2) && entry.seq.get() == before).then_some((number + 1, at))
        })
    }

    /// What this process recorded of `rank` of the communicator with this identity. Async-signal-safe.
    pub fn peer(&self, identity: u64, rank: usize) -> Option<&'static Peer> {
        let size = self.size();
        if size < HEADER_SIZE {
            return None;
        }
        let same =
            |comm: &&Comm| comm.head.identity.get() == identity && comm.head.life.get() == Life::LIVE.0;
        let comm = self.records::<Comm>(size, SectionKind::COMMS).find(same)?;
        let first = comm.peers.get().checked_sub(1)?;
        if rank >= comm.size.get().max(comm.remote_size.get()) as usize {
            return None;
        }
        self.record(size, SectionKind::PEERS, first.checked_add(rank as u64)?)
    }
}
