//! The limit on the size of files (`ulimit -f`). Exceeding it must fail the write, so that the error is
//! reported, unfinished files are removed, and `run` passes on the program's exit status. By default, a signal
//! would end this process instead.
#![allow(unsafe_code)]

/// Makes writes beyond the limit fail. Programs started from here get the signal as before: unlike a signal
/// that is ignored, one with a handler has its default action again after exec.
pub fn fails_writes() {
    extern "C" fn nothing(_: libc::c_int) {}
    let mut before = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: queries a signal into local memory, which may be all zeros.
    let before = unsafe {
        match libc::sigaction(libc::SIGXFSZ, std::ptr::null(), before.as_mut_ptr()) {
            0 => before.assume_init(),
            _ => return,
        }
    };
    // If it is ignored, writes fail already, and programs started from here inherit that.
    if before.sa_sigaction == libc::SIG_DFL {
        let handler: extern "C" fn(libc::c_int) = nothing;
        // SAFETY: the handler does nothing, so it may interrupt anything.
        unsafe { libc::signal(libc::SIGXFSZ, handler as *const () as libc::sighandler_t) };
    }
}
