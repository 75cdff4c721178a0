//! The bounds of a thread's stack.

use crate::interpose::tls::Tls;
use crate::record::local;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr::null_mut;

/// Returns the end of the thread's stack if the stack pointer `stack` is on it; `None` while the thread runs
/// on another stack, as coroutines do.
#[inline]
pub fn end(tls: &Tls, stack: u64) -> Option<u64> {
    let bounds = match local::of(tls) {
        Some(local) if local.stack.get().1 != 0 => local.stack.get(),
        local => {
            let bounds = ask();
            local.iter().for_each(|local| local.stack.set((bounds.start, bounds.end)));
            (bounds.start, bounds.end)
        }
    };
    (bounds.0..bounds.1).contains(&stack).then_some(bounds.1)
}

/// Queries the C library; returns an empty range if it does not know. The end is never zero.
#[cold]
fn ask() -> Range<u64> {
    let mut attributes = MaybeUninit::uninit();
    let (mut start, mut size) = (null_mut(), 0);
    // SAFETY: the thread is this one; the attributes are initialized by the first call, read by the second,
    // and destroyed by the third. errno belongs to the program.
    let known = unsafe {
        let errno = *libc::__errno_location();
        let known = libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) == 0;
        if known {
            libc::pthread_attr_getstack(attributes.as_ptr(), &mut start, &mut size);
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
        }
        *libc::__errno_location() = errno;
        known
    };
    let start = start.addr() as u64;
    match start.checked_add(size as u64) {
        Some(end) if known && end != 0 => start..end,
        _ => 1..1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_of_this_thread_is_on_its_stack_and_one_of_the_heap_is_not() {
        let check = || {
            let bounds = ask();
            let here = (&raw const bounds).addr() as u64;
            assert!(bounds.contains(&here), "{bounds:x?} has {here:x}");
            assert!(!bounds.contains(&(Box::into_raw(Box::new(1)).addr() as u64)));
        };
        check();
        std::thread::spawn(check).join().unwrap();
    }
}
