//! Services of the debugger to plug-ins that need no process: counted memory, and a buffer for their messages.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Larger allocations fail, as in a debugger that has run out of memory.
pub const LARGEST_BLOCK: usize = 1 << 30;

#[derive(Default)]
struct State {
    blocks: HashMap<usize, usize>,
    requests: u64,
    wrong_frees: u64,
    refuse_at: Option<u64>,
    words: Vec<String>,
}

static STATE: Mutex<Option<State>> = Mutex::new(None);

/// State of the memory allocated by plug-ins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Ledger {
    /// Number of blocks allocated but not freed.
    pub blocks: usize,
    /// Their total size in bytes.
    pub bytes: usize,
    /// Number of allocations requested.
    pub requests: u64,
    /// Number of attempts to free an address that was not allocated or had already been freed.
    pub wrong_frees: u64,
}

fn with<T>(act: impl FnOnce(&mut State) -> T) -> T {
    let mut guard: MutexGuard<'_, Option<State>> = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    act(guard.get_or_insert_with(State::default))
}

/// Returns the current state of the memory.
pub fn ledger() -> Ledger {
    with(|state| Ledger {
        blocks: state.blocks.len(),
        bytes: state.blocks.values().sum(),
        requests: state.requests,
        wrong_frees: state.wrong_frees,
    })
}

/// Makes all allocations fail from the `n`th one from now on (starting at zero), or none if `None`: to test how
/// a plug-in handles that.
pub fn refuse_from(n: Option<u64>) {
    with(|state| state.refuse_at = n.map(|n| state.requests.saturating_add(n)));
}

/// Takes the messages printed by plug-ins through `mqs_dprints` since the last call.
pub fn words() -> Vec<String> {
    with(|state| std::mem::take(&mut state.words))
}

/// `mqs_malloc_fp`.
///
/// # Safety
/// No requirements: any size may be requested. Unsafe only because of the callback's type.
pub unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
    with(|state| {
        let number = state.requests;
        state.requests += 1;
        if size > LARGEST_BLOCK || state.refuse_at.is_some_and(|from| number >= from) {
            return std::ptr::null_mut();
        }
        // SAFETY: the C library's allocator; any size.
        let block = unsafe { libc_malloc(size.max(1)) };
        if !block.is_null() {
            state.blocks.insert(block as usize, size);
        }
        block
    })
}

/// `mqs_free_fp`.
///
/// # Safety
/// No requirements: an address that was not allocated is counted and ignored. Unsafe only because of the
/// callback's type.
pub unsafe extern "C" fn free(block: *mut c_void) {
    with(|state| match state.blocks.remove(&(block as usize)) {
        // SAFETY: allocated by `malloc` above and just removed from the map.
        Some(_) => unsafe { libc_free(block) },
        None if block.is_null() => {}
        None => state.wrong_frees += 1,
    });
}

/// `mqs_dprints_fp`.
///
/// # Safety
/// `text` is null or a C string.
pub unsafe extern "C" fn dprints(text: *const c_char) {
    if text.is_null() {
        return;
    }
    // SAFETY: the contract of this callback.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    with(|state| state.words.push(text));
}

/// `mqs_errorstring_fp`.
///
/// # Safety
/// No requirements. Unsafe only because of the callback's type.
pub unsafe extern "C" fn errorstring(_: c_int) -> *mut c_char {
    c"error of the debugger".as_ptr().cast_mut()
}

/// Frees a block of an answer.
///
/// # Safety
/// `block` is null or was returned by the plug-in, and is not used again.
pub(crate) unsafe fn give_back<T>(block: *mut T) {
    // SAFETY: the contract of this function.
    unsafe { free(block.cast()) };
}

unsafe extern "C" {
    #[link_name = "malloc"]
    fn libc_malloc(size: usize) -> *mut c_void;
    #[link_name = "free"]
    fn libc_free(block: *mut c_void);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_counted_and_unknown_ones_are_not_freed() {
        let before = ledger();
        // SAFETY: see `malloc`.
        let block = unsafe { malloc(100) };
        assert_eq!((ledger().blocks, ledger().bytes), (before.blocks + 1, before.bytes + 100));
        // SAFETY: see `free`.
        unsafe {
            free(block);
            free(std::ptr::dangling_mut::<u64>().cast());
        }
        assert_eq!(ledger().blocks, before.blocks);
        assert_eq!(ledger().wrong_frees, before.wrong_frees + 1);
    }
}
