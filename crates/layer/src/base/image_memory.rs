//! Creates and maps the image of this process.
//!
//! The memory file comes from `mpiscope run` (inherited, `MPISCOPE_IMAGE_FD`) or is created here. A large
//! range of addresses is reserved up front, and the file is mapped into it piece by piece, so that offsets
//! and pointers never move and a core file holds no more than what is used.
#![allow(unsafe_code)]

use crate::base::collector::{self, Refused};
use crate::base::complaint::complain;
use crate::base::image::{self, own_pid};
use crate::base::{job, limits, settings};
use mpiscope_image::layout::{HEADER_SIZE, Header};
use mpiscope_image::{Grow, NewImage, Writer};
use std::ffi::{CString, c_void};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};

/// Sizes of the reserved address range to try, largest first.
const RESERVE: [usize; 5] = [64 << 30, 4 << 30, 256 << 20, 32 << 20, 8 << 20];

/// The mapping behind the image.
struct Mapping {
    file: AtomicI32,
    /// The memory file's inode number, because the descriptor may refer to another file by now.
    inode: AtomicU64,
    base: AtomicUsize,
    mapped: AtomicUsize,
    /// Whether [`Grow::grow`] ever failed.
    refused: AtomicBool,
}

static MAPPING: Mapping = Mapping {
    file: AtomicI32::new(-1),
    inode: AtomicU64::new(0),
    base: AtomicUsize::new(0),
    mapped: AtomicUsize::new(0),
    refused: AtomicBool::new(false),
};

impl Grow for Mapping {
    fn grow(&self, len: usize) -> bool {
        let grown = len <= self.mapped.load(Ordering::Relaxed) || self.map_more(len);
        if !grown {
            // The image is locked, so the message has to wait.
            self.refused.store(true, Ordering::Relaxed);
        }
        grown
    }
}

impl Mapping {
    /// Extends the file to `len` bytes and maps the new part.
    fn map_more(&self, len: usize) -> bool {
        let mapped = self.mapped.load(Ordering::Relaxed);
        let file = self.file.load(Ordering::Relaxed);
        // A program that closes all descriptors may have opened one of its files under this number.
        if inode(file) != Some(self.inode.load(Ordering::Relaxed)) {
            return false;
        }
        // SAFETY: our file; the new range follows the mapped part, inside the range reserved for it.
        unsafe {
            if limits::without_signals(|| libc::ftruncate(file, len as libc::off_t)) != 0 {
                return false;
            }
            let at = self.base.load(Ordering::Relaxed) + mapped;
            let piece = libc::mmap(
                at as *mut c_void,
                len - mapped,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_FIXED,
                file,
                mapped as libc::off_t,
            );
            if piece == libc::MAP_FAILED {
                return false;
            }
        }
        self.mapped.store(len, Ordering::Relaxed);
        true
    }
}

/// Reports once that the image could not grow.
pub fn tell_if_full() {
    if MAPPING.refused.swap(false, Ordering::Relaxed) {
        complain(
            "the image could not grow (did the program close all file descriptors, or is memory limited?); \
             later records are missing",
        );
    }
}

/// Returns the inode number of an open file.
fn inode(file: i32) -> Option<u64> {
    // SAFETY: all zero is a valid `stat`; the call checks the descriptor itself.
    unsafe {
        let mut about: libc::stat = std::mem::zeroed();
        (libc::fstat(file, &mut about) == 0).then_some(about.st_ino)
    }
}

/// Creates the image. Returns false on failure; the process then runs as if this library were not loaded.
pub fn start() -> bool {
    let Some(file) = inherited().or_else(create) else {
        complain("cannot create a memory file for the image; nothing will be recorded");
        return false;
    };
    let Some(reserved) = reserve() else {
        complain(
            "cannot reserve address space for the image (is `ulimit -v` below 128 MiB?); nothing will be recorded",
        );
        return false;
    };
    let file = out_of_the_way(file);
    MAPPING.file.store(file, Ordering::Relaxed);
    MAPPING.inode.store(inode(file).unwrap_or(0), Ordering::Relaxed);
    if !MAPPING.grow(1 << 16) {
        complain("cannot map the image; nothing will be recorded");
        return false;
    }
    let base = MAPPING.base.load(Ordering::Relaxed) as *mut u8;
    let new = NewImage { base, reserved, accessible: 1 << 16, grow: &MAPPING };
    // SAFETY: the range was just mapped, is never unmapped, and only this writer uses it.
    let Some(writer) = (unsafe { Writer::new(new) }) else { return false };
    let made = image::put_in_place(writer, base as usize);
    send_to_collector(file);
    made
}

/// Reserves an address range for the life of the process, without memory and excluded from core files.
fn reserve() -> Option<usize> {
    let most = limits::spare_addresses();
    for size in RESERVE.into_iter().filter(|size| *size <= most) {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a fresh mapping without access rights.
        let range = unsafe { libc::mmap(std::ptr::null_mut(), size, libc::PROT_NONE, flags, -1, 0) };
        if range != libc::MAP_FAILED {
            // gdb writes even inaccessible ranges to core files unless they are marked. Later mappings over
            // parts of the range carry their own mark and are dumped.
            // SAFETY: the mapping that was just made.
            unsafe { libc::madvise(range, size, libc::MADV_DONTDUMP) };
            MAPPING.base.store(range as usize, Ordering::Relaxed);
            return Some(size);
        }
    }
    None
}

/// Returns the memory file that `mpiscope run` made, unless another process has claimed it.
fn inherited() -> Option<i32> {
    let file: i32 = settings::variable(c"MPISCOPE_IMAGE_FD")?.to_str().ok()?.parse().ok()?;
    // The number may refer to one of the program's files by now, which must not be touched.
    let link = std::fs::read_link(format!("/proc/self/fd/{file}")).ok()?;
    if !link.as_os_str().as_encoded_bytes().starts_with(b"/memfd:mpiscope:") {
        return None;
    }
    // SAFETY: all zero is a valid `stat`; the call checks the descriptor itself.
    let usable = unsafe {
        let mut about: libc::stat = std::mem::zeroed();
        libc::fstat(file, &mut about) == 0 && about.st_size >= HEADER_SIZE as libc::off_t
    };
    if !usable {
        return None;
    }
    // SAFETY: a shared mapping of the first page, unmapped below.
    let page = unsafe {
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        libc::mmap(std::ptr::null_mut(), HEADER_SIZE, rights, libc::MAP_SHARED, file, 0)
    };
    if page == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: as many words as a header has, just mapped.
    let header = unsafe { &*page.cast::<Header>() };
    let claimed =
        header.pid.atomic().compare_exchange(0, own_pid(), Ordering::AcqRel, Ordering::Relaxed).is_ok();
    // SAFETY: the mapping made above; the descriptor is ours now and must not be inherited by children.
    unsafe {
        libc::munmap(page, HEADER_SIZE);
        if claimed {
            libc::fcntl(file, libc::F_SETFD, libc::FD_CLOEXEC);
            seal(file);
        }
    }
    claimed.then_some(file)
}

/// Seals the image against shrinking, so that readers (including other ranks) can map it without risking a
/// fault, and restricts it to its owner: without that, any user who obtains a descriptor could reopen the
/// memory file.
fn seal(file: i32) {
    // SAFETY: system calls on our own file.
    unsafe {
        libc::fcntl(file, libc::F_ADD_SEALS, libc::F_SEAL_SHRINK);
        libc::fchmod(file, 0o600);
    }
}

fn create() -> Option<i32> {
    let name = CString::new(format!("mpiscope:{}", job::name())).ok()?;
    // SAFETY: `name` is a C string.
    let file = unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
    if file < 0 {
        return None;
    }
    seal(file);
    Some(file)
}

/// Moves the file to a high descriptor number: programs close low ones that they did not open, and some rely
/// on the number that the next file will get.
fn out_of_the_way(file: i32) -> i32 {
    /// Almost every `ulimit -n` allows this; the kernel's table grows with the highest number in use.
    const HIGH: libc::rlim_t = 1023;
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is ours to fill; both descriptors are ours.
    unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        let least = limit.rlim_cur.saturating_sub(1).min(HIGH) as libc::c_int;
        let high = libc::fcntl(file, libc::F_DUPFD_CLOEXEC, least);
        if high < 0 {
            return file;
        }
        libc::close(file);
        high
    }
}

/// Hands the memory file to `mpiscope run`, so that it survives this process being killed.
fn send_to_collector(file: i32) {
    let Some(name) = settings::variable(c"MPISCOPE_COLLECTOR") else { return };
    match collector::hand_over(&name, file, own_pid()) {
        Ok(()) => {}
        Err(Refused::Nobody) => complain(
            "cannot pass the image to 'mpiscope run' (is it running on this host, with the same /dev/shm or /tmp?); \
             this process will be missing from the report",
        ),
        Err(Refused::Stranger) => complain(
            "not passing on the image: another user is listening in place of 'mpiscope run'; this process will be missing from the report",
        ),
    }
}
