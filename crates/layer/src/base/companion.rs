//! Starts a collector on a host that has none: `MPI_Comm_spawn` may start the first process of a job on a new
//! host, where no `mpiscope run` launches it.
//!
//! The program must not notice: no `SIGCHLD`, and no child that its `wait` could find. So an intermediate
//! process that does not count as a child in that sense (no signal when it ends, only `__WCLONE` finds it)
//! starts the command and ends at once; the command is then reparented to init or the nearest subreaper:
//!
//! ```text
//! this thread ──clone──► between ──clone──► execve "mpiscope run … --collect"
//!      └─ waits until between has ended, which is when the command runs
//! ```
//!
//! Both processes share our memory during that time, while this thread is blocked; they make only
//! system calls.
#![allow(unsafe_code)]

use crate::base::settings::variable;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

/// The command's arguments, separated by [`BETWEEN`].
const COMMAND: &CStr = c"MPISCOPE_COMPANION";
const BETWEEN: u8 = 0x1f;
/// Variables the command needs: the address to report to, and the key.
const NEEDED: [&CStr; 2] = [c"MPISCOPE_UPLINK", c"MPISCOPE_SECRET"];
/// Removed from the command's environment: this library.
const WITHOUT: &[u8] = b"LD_PRELOAD=";
/// Size of each stack in bytes.
const STACK: usize = 64 << 10;

unsafe extern "C" {
    static environ: *const *const c_char;
}

/// Data for both processes, prepared before either exists.
struct Plan {
    words: *const *const c_char,
    environment: *const *const c_char,
    stack: *mut c_void,
    failed: AtomicBool,
}

/// Starts the collector command that `mpiscope run` has provided. Returns false if there is none or it cannot
/// be started.
pub fn start() -> bool {
    let Some(command) = variable(COMMAND).filter(|_| NEEDED.iter().all(|name| variable(name).is_some()))
    else {
        return false;
    };
    let words = command.to_bytes().split(|byte| *byte == BETWEEN).map(CString::new);
    words.collect::<Result<Vec<CString>, _>>().is_ok_and(|words| run(&words))
}

fn run(words: &[CString]) -> bool {
    let list = |words: &mut dyn Iterator<Item = *const c_char>| -> Vec<*const c_char> {
        words.chain(std::iter::once(std::ptr::null())).collect()
    };
    let words = list(&mut words.iter().map(|word| word.as_ptr()));
    let environment = list(&mut environment().filter(|one| {
        // SAFETY: a string of the environment.
        !unsafe { CStr::from_ptr(*one) }.to_bytes().starts_with(WITHOUT)
    }));
    let (mut first, mut second) = (vec![0u128; STACK / 16], vec![0u128; STACK / 16]);
    let plan = Plan {
        words: words.as_ptr(),
        environment: environment.as_ptr(),
        stack: second.as_mut_ptr_range().end.cast(),
        failed: AtomicBool::new(false),
    };
    let flags = libc::CLONE_VM | libc::CLONE_VFORK;
    let mut status = 0;
    // SAFETY: the signal sets are filled before use. All signals are blocked, since no handler of the program
    // may run in processes that share its memory. The stacks and the plan live until both processes have left
    // this memory, because `CLONE_VFORK` stops this thread until then. The process is waited for by its
    // number. `errno` is restored.
    let started = unsafe {
        let errno = *libc::__errno_location();
        let (mut all, mut before): (libc::sigset_t, libc::sigset_t) =
            (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let plan = (&raw const plan).cast_mut().cast::<c_void>();
        let process = libc::clone(between, first.as_mut_ptr_range().end.cast(), flags, plan);
        if process > 0 {
            while libc::waitpid(process, &mut status, libc::__WCLONE) < 0
                && *libc::__errno_location() == libc::EINTR
            {}
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        *libc::__errno_location() = errno;
        process > 0
    };
    started && !plan.failed.load(Ordering::Acquire)
}

/// Iterates over the strings of this process's environment.
fn environment() -> impl Iterator<Item = *const c_char> {
    (0..).map_while(|at| {
        // SAFETY: the C library's list, which ends with a null pointer; it may be null itself.
        unsafe {
            let one = if environ.is_null() { std::ptr::null() } else { *environ.add(at) };
            (!one.is_null()).then_some(one)
        }
    })
}

/// The intermediate process, which ends at once.
extern "C" fn between(plan: *mut c_void) -> c_int {
    // SAFETY: the plan of `run`, which waits for this process.
    let (stack, failed) = unsafe { ((*plan.cast::<Plan>()).stack, &(*plan.cast::<Plan>()).failed) };
    // SAFETY: no other process uses this stack; this one is stopped until the other has replaced its memory
    // or has ended.
    let process = unsafe { libc::clone(become_it, stack, libc::CLONE_VM | libc::CLONE_VFORK, plan) };
    if process < 0 {
        failed.store(true, Ordering::Release);
    }
    0
}

/// The process that becomes the command.
extern "C" fn become_it(plan: *mut c_void) -> c_int {
    // SAFETY: the plan of `run`, which waits; both lists end with a null pointer, and the first has at least
    // one entry.
    unsafe {
        let plan = &*plan.cast::<Plan>();
        libc::execve(*plan.words, plan.words, plan.environment);
        plan.failed.store(true, Ordering::Release);
    }
    127
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;
    use std::time::{Duration, Instant};

    fn words(words: &[&[u8]]) -> Vec<CString> {
        words.iter().map(|word| CString::new(*word).unwrap()).collect()
    }

    fn appears(file: &Path) -> bool {
        let until = Instant::now() + Duration::from_secs(20);
        while !file.exists() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        file.exists()
    }

    #[test]
    fn the_command_runs_without_becoming_a_visible_child_of_the_program() {
        let dir = std::env::temp_dir().join(format!("mpiscope-companion-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let file = dir.join("came");
        let script = b"sleep 0.2; : > \"$1\"";
        assert!(run(&words(&[b"/bin/sh", b"-c", script, b"sh", file.as_os_str().as_bytes()])));
        let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", std::process::id()));
        assert!(appears(&file));
        std::fs::remove_dir_all(&dir).unwrap();
        // Other tests of this process may have children too.
        assert!(!children.is_ok_and(|list| list.split_whitespace().any(|pid| runs(pid, script))));
    }

    fn runs(pid: &str, script: &[u8]) -> bool {
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        command.windows(script.len()).any(|part| part == script)
    }

    #[test]
    fn a_missing_command_is_detected() {
        assert!(!run(&words(&[b"/nobody/has/this"])));
    }
}
