//! Whether an address can be that of code.
//!
//! Used for words found where a return address is expected. Modules that were found are remembered, so that a
//! query is a few comparisons. A module that has been unloaded since does no harm: its addresses no longer
//! occur.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Maximum number of modules that are remembered: the program and its libraries that call MPI.
const MOST: usize = 16;
/// Beginning and end; the beginning is written last.
static KNOWN: [[AtomicU64; 2]; MOST] = [const { [const { AtomicU64::new(0) }; 2] }; MOST];
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Whether the instruction before this address is in the code of a loaded module.
pub fn holds(address: u64) -> bool {
    let Some(at) = address.checked_sub(1) else { return false };
    let known = KNOWN.iter().any(|[begin, end]| {
        let begin = begin.load(Ordering::Acquire);
        begin != 0 && (begin..end.load(Ordering::Relaxed)).contains(&at)
    });
    known || is_found(at)
}

/// Queries the dynamic linker.
#[cold]
fn is_found(at: u64) -> bool {
    let mut asked = Asked { at, segment: None };
    // SAFETY: `visit` has the right type and gets the query.
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
    // SAFETY: the dynamic linker passes a valid record, and the query that we gave it.
    let (info, asked) = unsafe { (&*info, &mut *asked.cast::<Asked>()) };
    asked.segment = segments(info).find(|(begin, end)| (*begin..*end).contains(&asked.at));
    c_int::from(asked.segment.is_some())
}

/// Returns the address ranges of a module's code.
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
