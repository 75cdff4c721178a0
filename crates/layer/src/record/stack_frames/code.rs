//! Whether an address can be one of code.
//!
//! Asked for what lies where a return address is expected. The modules that were found are remembered, so that asking is
//! a few comparisons; one that is gone by now only means that nobody asks about it.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Modules that are remembered: the program and its libraries that call MPI.
const MOST: usize = 16;
/// Beginning and end; the beginning is written last.
static KNOWN: [[AtomicU64; 2]; MOST] = [const { [const { AtomicU64::new(0) }; 2] }; MOST];
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Whether the instruction before this address lies in the code of a module that is loaded.
pub fn holds(address: u64) -> bool {
    let Some(at) = address.checked_sub(1) else { return false };
    let known = KNOWN.iter().any(|[begin, end]| {
        let begin = begin.load(Ordering::Acquire);
        begin != 0 && (begin..end.load(Ordering::Relaxed)).contains(&at)
    });
    known || is_found(at)
}

/// Asks the dynamic linker.
#[cold]
fn is_found(at: u64) -> bool {
    let mut asked = Asked { at, segment: None };
    // SAFETY: `visit` has the right type and gets the question.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut asked).cast()) };
    let Some((begin, end)) = asked.segment else { return false };
    if let Some([first, last]) = KNOWN.get(COUNT.fetch_add(1, Ordering::Relaxed)) {
        last.store(end, Ordering::Relaxed);
        first.store(begin, Ordering::Release);
    }
    true
}

struct Asked {
    at: u64,
    segment: Option<(u64, u64)>,
}

unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _: usize, asked: *mut c_void) -> c_int {
    // SAFETY: the dynamic linker gives a valid record, we gave it the question.
    let (info, asked) = unsafe { (&*info, &mut *asked.cast::<Asked>()) };
    asked.segment = segments(info).find(|(begin, end)| (*begin..*end).contains(&asked.at));
    c_int::from(asked.segment.is_some())
}

/// Where the code of a module lies.
pub fn segments(info: &libc::dl_phdr_info) -> impl Iterator<Item = (u64, u64)> {
    let (headers, count) = (info.dlpi_phdr, usize::from(info.dlpi_phnum));
    // SAFETY: the dynamic linker's own table of this module.
    let headers = if headers.is_null() { &[] } else { unsafe { std::slice::from_raw_parts(headers, count) } };
    let bias = info.dlpi_addr;
    headers.iter().filter(|h| h.p_type == libc::PT_LOAD && h.p_flags & libc::PF_X != 0).map(move |h| {
        let begin = bias.wrapping_add(h.p_vaddr);
        (begin, begin.saturating_add(h.p_memsz))
    })
}
