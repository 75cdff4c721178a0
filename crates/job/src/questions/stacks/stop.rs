//! Registers and stacks of another process's threads, each taken during a stop of a few microseconds.
//!
//! A thread is seized and interrupted, its registers and the upper part of its stack are copied, and it
//! resumes; everything else works on the copy. All this happens in a dedicated thread: when that ends, for
//! whatever reason, the kernel releases every thread it has seized. A process that was already stopped stays
//! stopped, and a signal that arrives in the meantime is delivered.
#![allow(unsafe_code)]

use mpiscope_target::{Live, Target};
use std::ffi::c_void;
use std::io;
use std::mem::size_of_val;
use std::time::{Duration, Instant};

/// A thread that does not stop within this time is waiting for a device, and is released.
const LONGEST: Duration = Duration::from_millis(250);
/// Interval at which a thread is checked for having stopped.
const PAUSE: Duration = Duration::from_micros(50);
/// Maximum number of stack bytes copied.
const DEEPEST: u64 = 1 << 20;
/// Size of the pieces in which the stack is read, since its end is unknown.
const PIECE: u64 = 16 << 10;
/// Enough for the general registers of any machine.
const REGISTERS: usize = 64;
/// `NT_PRSTATUS`.
const GENERAL: *mut c_void = std::ptr::without_provenance_mut(1);

/// A thread as of when it was stopped.
#[derive(Debug, Default)]
pub struct Stopped {
    /// The general registers in the order of the machine's `user_regs_struct`.
    pub registers: Vec<u64>,
    /// Program counter.
    pub pc: u64,
    /// Start address of the stack copy.
    pub stack_at: u64,
    /// The stack copy.
    pub stack: Vec<u8>,
}

/// Stops these threads one after the other.
pub fn threads(process: &Live, tids: &[u32]) -> Vec<io::Result<Stopped>> {
    let work = || tids.iter().map(|tid| one(process, *tid)).collect::<Vec<_>>();
    std::thread::scope(|scope| scope.spawn(work).join()).unwrap_or_default()
}

fn request(what: libc::c_uint, tid: u32, address: *mut c_void, data: *mut c_void) -> io::Result<()> {
    // SAFETY: the requests made here read no memory, except `PTRACE_GETREGSET`, whose vector is owned by the
    // caller.
    match unsafe { libc::ptrace(what, tid.cast_signed(), address, data) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

fn one(process: &Live, tid: u32) -> io::Result<Stopped> {
    let none = std::ptr::null_mut();
    request(libc::PTRACE_SEIZE, tid, none, none)?;
    request(libc::PTRACE_INTERRUPT, tid, none, none)?;
    let signal = wait(tid)?;
    let seen = look(process, tid);
    // If it has gone in the meantime, there is nothing to release.
    let _gone = request(libc::PTRACE_DETACH, tid, none, std::ptr::without_provenance_mut(signal as usize));
    seen
}

/// Waits until the thread has stopped. Returns the signal it stopped for, or zero for our own interruption.
fn wait(tid: u32) -> io::Result<libc::c_int> {
    let end = Instant::now() + LONGEST;
    loop {
        let mut status = 0;
        // SAFETY: the status is a local variable.
        let found =
            unsafe { libc::waitpid(tid.cast_signed(), &raw mut status, libc::__WALL | libc::WNOHANG) };
        match found {
            -1 => return Err(io::Error::last_os_error()),
            0 if Instant::now() >= end => return Err(io::Error::from(io::ErrorKind::TimedOut)),
            0 => std::thread::sleep(PAUSE),
            _ if libc::WIFSTOPPED(status) => {
                let ours = status >> 16 == libc::PTRACE_EVENT_STOP;
                return Ok(if ours { 0 } else { libc::WSTOPSIG(status) });
            }
            _ => return Err(io::Error::from_raw_os_error(libc::ESRCH)),
        }
    }
}

/// Copies what is needed from a stopped thread.
fn look(process: &Live, tid: u32) -> io::Result<Stopped> {
    let mut values = [0u64; REGISTERS];
    let mut vector = libc::iovec { iov_base: values.as_mut_ptr().cast(), iov_len: size_of_val(&values) };
    request(libc::PTRACE_GETREGSET, tid, GENERAL, (&raw mut vector).cast())?;
    let registers: Vec<u64> = values.iter().copied().take(vector.iov_len / 8).collect();
    let (pc, sp) = if cfg!(target_arch = "aarch64") { (32, 31) } else { (16, 19) };
    let register = |at: usize| registers.get(at).copied().unwrap_or(0);
    let (pc, sp) = (register(pc), register(sp));
    let mut stack = Vec::new();
    let piece = |at: u64| process.read_bytes(sp.checked_add(at)?, PIECE - at % PIECE, PIECE).ok();
    // Everything above the stack pointer is in use, and the first unreadable piece is past the end of the
    // stack.
    let pieces = (0..DEEPEST).step_by(PIECE as usize).map_while(piece);
    pieces.for_each(|piece| stack.extend(piece));
    if stack.is_empty() {
        let last = (1..=PIECE / 256).rev().find_map(|n| process.read_bytes(sp, n * 256, PIECE).ok());
        stack = last.unwrap_or_default();
    }
    Ok(Stopped { registers, pc, stack_at: sp, stack })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpiscope_target::procfs;
    use std::process::{Child, Command};

    fn sleeper() -> Child {
        Command::new("sleep").arg("60").spawn().unwrap()
    }

    fn until(pid: u32, states: &str) {
        let end = Instant::now() + Duration::from_secs(20);
        while !states.contains(procfs::stat(pid).unwrap().state) {
            assert!(Instant::now() < end, "it is {}", procfs::stat(pid).unwrap().state);
            std::thread::yield_now();
        }
    }

    fn signal(pid: u32, signal: libc::c_int) {
        // SAFETY: a child of this process that has not been waited for.
        assert_eq!(unsafe { libc::kill(pid.cast_signed(), signal) }, 0);
    }

    #[test]
    fn a_thread_shows_registers_and_stack_and_continues() {
        let mut child = sleeper();
        let pid = child.id();
        until(pid, "S");
        let live = Live::open(pid).unwrap();
        let began = Instant::now();
        let seen = threads(&live, &[pid]).remove(0).unwrap();
        assert!(began.elapsed() < LONGEST, "{:?}", began.elapsed());
        assert!(seen.pc != 0 && seen.stack_at != 0 && !seen.stack.is_empty());
        until(pid, "RS");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_process_stopped_by_a_signal_stays_stopped() {
        let mut child = sleeper();
        let pid = child.id();
        signal(pid, libc::SIGSTOP);
        until(pid, "T");
        let live = Live::open(pid).unwrap();
        assert!(threads(&live, &[pid]).remove(0).is_ok());
        until(pid, "T");
        signal(pid, libc::SIGCONT);
        until(pid, "RS");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_missing_thread_is_an_error() {
        let live = Live::open(std::process::id()).unwrap();
        assert!(threads(&live, &[u32::MAX >> 2]).remove(0).is_err());
    }
}
