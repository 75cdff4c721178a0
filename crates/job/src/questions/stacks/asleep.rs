//! Where a thread sleeps, found without stopping it: for a sleeping thread the kernel reports the system
//! call, stack pointer and program counter. The other registers are unknown, so unwinding ends at the first
//! frame that needs one; the innermost frames of the C library need none. Threads in core files have all
//! registers.

use super::frames::innermost;
use super::restarted;
use super::vdso::vdso;
use crate::model::process::Process;
use crate::observation::{AWAITS_LOCK, AWAITS_THREAD};
use crate::sources::core::{Frame, walk_from};
use mpi_abi::binding;
use mpiscope_target::procfs::StatusLines;
use mpiscope_target::{Files, Live, Module, Symbolizer, Target, Thread};
use std::fs;
use std::sync::Arc;

/// A thread sleeping in a system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asleep {
    /// The system call.
    pub call: syscalls::Sysno,
    arguments: [u64; 6],
    sp: u64,
    pc: u64,
}

impl Asleep {
    /// Returns the state of a thread; `None` if it is not sleeping in a system call or may not be read.
    #[must_use]
    pub fn of(task: &str) -> Option<Self> {
        let asleep = Self::parse(&fs::read_to_string(format!("{task}/syscall")).ok()?)?;
        // A call that was interrupted, by a debugger or to read the stack, continues under another number.
        if asleep.call != syscalls::Sysno::restart_syscall {
            return Some(asleep);
        }
        Some(Self { call: restarted::call(task, asleep.pc).unwrap_or(asleep.call), ..asleep })
    }

    /// Parses the kernel's line: call number, six arguments, stack pointer and program counter.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let (number, rest) = line.trim().split_once(' ')?;
        let hex = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
        let values: Vec<u64> = rest.split(' ').map_while(hex).collect();
        let (arguments, [sp, pc]) = values.split_first_chunk::<6>()? else { return None };
        let call = syscalls::Sysno::new(number.parse().ok()?)?;
        Some(Self { call, arguments: *arguments, sp: *sp, pc: *pc })
    }

    /// Returns the state of a thread in a core file that was in a system call when a signal interrupted it.
    #[must_use]
    pub fn at_death(thread: &Thread) -> Option<Self> {
        let register = |at: usize| thread.registers.get(at).copied().filter(|_| is_of_this_machine(thread));
        let result = register(RESULT)?.cast_signed();
        // The kernel's `ERESTARTSYS`, `ERESTARTNOINTR`, `ERESTARTNOHAND` and `ERESTART_RESTARTBLOCK`, and
        // `EINTR` for calls that are not restarted.
        let broken_off = result == i64::from(-libc::EINTR) || matches!(result, -516 | -514..=-512);
        let call = syscalls::Sysno::new(usize::try_from(register(CALL)?).ok()?).filter(|_| broken_off)?;
        let arguments = ARGUMENTS.map(|at| register(at).unwrap_or(0));
        Some(Self { call, arguments, sp: thread.sp?, pc: thread.pc? })
    }

    /// Returns whether a thread of a core file was outside any system call.
    #[must_use]
    pub fn computed(thread: &Thread) -> bool {
        cfg!(target_arch = "x86_64")
            && is_of_this_machine(thread)
            && thread.registers.get(CALL).is_some_and(|call| call.cast_signed() < 0)
    }

    /// Describes what the thread does, as text for users. The arguments tell whether it waits for a lock that
    /// a thread inside MPI holds, and whether only a thread inside MPI could wake it.
    #[must_use]
    pub fn said(
        &self,
        is_locked_by_mpi: impl FnOnce(&Self) -> bool,
        only_mpi_could_wake: impl FnOnce(&Self) -> bool,
    ) -> String {
        if is_locked_by_mpi(self) {
            AWAITS_LOCK.to_owned()
        } else if only_mpi_could_wake(self) {
            AWAITS_THREAD.to_owned()
        } else {
            format!("sleeping in the system call {}", self.call)
        }
    }

    /// Returns the address of the C library's mutex that it waits for without a timeout, if it does.
    pub(super) fn contended_lock(&self) -> Option<u64> {
        const WAIT_IN_PROCESS: u64 = 0x80;
        const CONTENDED: u64 = 2;
        let [lock, operation, value, time_limit, ..] = self.arguments;
        let waits = operation == WAIT_IN_PROCESS && value == CONTENDED && time_limit == 0;
        (self.call == syscalls::Sysno::futex && waits).then_some(lock)
    }

    /// Returns whether it waits, without a timeout, until another thread of its process wakes it. A wait on a
    /// futex that may be shared with other processes can be woken by them, with one exception: waiting for
    /// the end of a thread uses a shared futex that holds the thread's id.
    #[must_use]
    pub fn waits_for_a_thread(&self, threads: &[u32]) -> bool {
        const WITHOUT_FLAGS: u64 = 0x7f;
        const PRIVATE: u64 = 0x80;
        const WAIT: u64 = 0;
        const WAIT_BITSET: u64 = 9;
        let [_, operation, value, time_limit, ..] = self.arguments;
        let waits = [WAIT, WAIT_BITSET].contains(&(operation & WITHOUT_FLAGS));
        let within = operation & PRIVATE != 0 || threads.iter().any(|tid| u64::from(*tid) == value);
        self.call == syscalls::Sysno::futex && waits && within && time_limit == 0
    }

    /// Whether a signal handler may wake it: true for a semaphore, false for a lock or the end of a thread.
    fn may_be_woken_by_signals(&self) -> bool {
        const WAIT_BITSET_PRIVATE: u64 = 0x89;
        self.arguments.get(1).is_some_and(|operation| operation & 0xff == WAIT_BITSET_PRIVATE)
    }

    /// Returns whether it waits for external events, as threads of MPI libraries do that serve connections.
    /// Threads of the program may do so too; see [`serves_mpi`].
    #[must_use]
    pub fn serves(&self) -> bool {
        use syscalls::Sysno;
        #[cfg(target_arch = "x86_64")]
        const OLD: [Sysno; 3] = [Sysno::poll, Sysno::select, Sysno::epoll_wait];
        #[cfg(not(target_arch = "x86_64"))]
        const OLD: [Sysno; 0] = [];
        let new = [Sysno::ppoll, Sysno::pselect6, Sysno::epoll_pwait, Sysno::epoll_pwait2];
        OLD.contains(&self.call) || new.contains(&self.call)
    }

    /// Returns whether it sleeps for a set time.
    #[must_use]
    pub fn pauses(&self) -> bool {
        [syscalls::Sysno::clock_nanosleep, syscalls::Sysno::nanosleep].contains(&self.call)
    }

    /// Returns the innermost frame of user code: `function at file:line`.
    #[must_use]
    pub fn frame(
        &self,
        pid: u32,
        process: &Process,
        files: &Arc<Files>,
        words: &Symbolizer,
    ) -> Option<String> {
        let (live, modules, frames) = self.frames(pid, files)?;
        innermost(&frames, &modules, words, process, live.executable().as_deref())
    }

    /// Returns whether it serves MPI's connections without having been asked to by the program.
    #[must_use]
    pub fn serves_mpi(&self, pid: u32, files: &Arc<Files>) -> bool {
        let of_mpi = |(_, modules, frames): (Live, Vec<Module>, Vec<Frame>)| serves_mpi(&frames, &modules);
        self.serves() && self.frames(pid, files).is_none_or(of_mpi)
    }

    fn frames(&self, pid: u32, files: &Arc<Files>) -> Option<(Live, Vec<Module>, Vec<Frame>)> {
        let live = Live::open_among(pid, Arc::clone(files)).ok()?;
        let modules = live.modules().ok()?;
        let walked = walk_from(&live, vdso(pid), &modules, self.pc, &self.registers());
        Some((live, modules, walked.frames))
    }

    /// Its registers in the order of the machine's `user_regs_struct`.
    fn registers(&self) -> Vec<u64> {
        let value = |at| {
            if at == SP {
                self.sp
            } else if at == PC {
                self.pc
            } else {
                0
            }
        };
        (0..COUNT).map(value).collect()
    }
}

fn is_of_this_machine(thread: &Thread) -> bool {
    thread.registers.len() == COUNT
}

/// The threads of a process and where they sleep.
pub struct Asleeps {
    /// By thread id.
    pub threads: Vec<(u32, Option<Asleep>)>,
    /// Whether a signal may arrive whose handler wakes one of them.
    pub signals: bool,
}

impl Asleeps {
    /// Returns whether a thread in this state waits for another thread and only one inside MPI could wake it:
    /// all other threads outside MPI wait as well, or belong to the library and serve connections, as
    /// reported by `serves_mpi`.
    #[must_use]
    pub fn only_mpi_could_wake(
        &self,
        process: &Process,
        asleep: &Asleep,
        serves_mpi: impl Fn(u32, &Asleep) -> bool,
    ) -> bool {
        let numbers: Vec<u32> = self.threads.iter().map(|(tid, _)| *tid).collect();
        let is_inside =
            |tid: u32| process.threads.iter().any(|thread| thread.call.is_some() && thread.tid == tid);
        let waits =
            |tid: u32, asleep: &Asleep| asleep.waits_for_a_thread(&numbers) || serves_mpi(tid, asleep);
        let (inside, outside): (Vec<_>, Vec<_>) = self.threads.iter().partition(|(tid, _)| is_inside(*tid));
        asleep.waits_for_a_thread(&numbers)
            && !(self.signals && asleep.may_be_woken_by_signals())
            && !inside.is_empty()
            && outside.iter().all(|(tid, asleep)| asleep.as_ref().is_some_and(|asleep| waits(*tid, asleep)))
    }
}

/// Returns whether all frames of a thread that serves connections belong to libraries that do so for MPI. If
/// the stack could not be unwound completely, the innermost frames decide.
#[must_use]
pub fn serves_mpi(frames: &[Frame], modules: &[Module]) -> bool {
    let module = |frame: &Frame| {
        let at = frame.pc.saturating_sub(u64::from(frame.returns));
        modules.iter().find(|module| module.contains(at))
    };
    frames.iter().filter_map(module).all(|module| binding::serves_mpi(&module.path.to_string_lossy()))
}

/// Returns whether, according to the kernel's status, a process handles signals that are not caused by its
/// own faults and that no MPI library or interpreter normally handles.
pub fn awaits_signals(status: &StatusLines) -> bool {
    // Faults, `SIGHUP` (UCX), `SIGINT` (Python), `SIGUSR1` (MPICH), and the C library's `SIGCANCEL` and
    // `SIGSETXID`.
    const OF_LIBRARIES: [i32; 14] = [
        libc::SIGHUP,
        libc::SIGINT,
        libc::SIGQUIT,
        libc::SIGILL,
        libc::SIGTRAP,
        libc::SIGABRT,
        libc::SIGBUS,
        libc::SIGFPE,
        libc::SIGUSR1,
        libc::SIGSEGV,
        libc::SIGPIPE,
        libc::SIGSYS,
        32,
        33,
    ];
    let known = OF_LIBRARIES.iter().fold(0, |mask, signal| mask | 1_u64 << (signal - 1));
    status.handled_signals().is_none_or(|mask| mask & !known != 0)
}

/// Number of registers in `user_regs_struct` and the indexes of some: stack pointer, program counter, system
/// call number, return value, and arguments.
#[cfg(target_arch = "x86_64")]
const COUNT: usize = 27;
#[cfg(target_arch = "x86_64")]
const SP: usize = 19;
#[cfg(target_arch = "x86_64")]
const PC: usize = 16;
#[cfg(target_arch = "x86_64")]
const CALL: usize = 15;
#[cfg(target_arch = "x86_64")]
const RESULT: usize = 10;
#[cfg(target_arch = "x86_64")]
const ARGUMENTS: [usize; 6] = [14, 13, 12, 7, 9, 8];
#[cfg(not(target_arch = "x86_64"))]
const COUNT: usize = 34;
#[cfg(not(target_arch = "x86_64"))]
const SP: usize = 31;
#[cfg(not(target_arch = "x86_64"))]
const PC: usize = 32;
#[cfg(not(target_arch = "x86_64"))]
const CALL: usize = 8;
#[cfg(not(target_arch = "x86_64"))]
const RESULT: usize = 0;
#[cfg(not(target_arch = "x86_64"))]
const ARGUMENTS: [usize; 6] = [0, 1, 2, 3, 4, 5];

#[cfg(test)]
mod tests {
    use super::*;

    const FUTEX: i32 = syscalls::Sysno::futex as i32;

    fn waits(line: &str) -> bool {
        Asleep::parse(line).is_some_and(|asleep| asleep.waits_for_a_thread(&[41, 42]))
    }

    fn futex(operation: u64, time_limit: u64) -> bool {
        waits(&format!("{FUTEX} 0x7f10 {operation:#x} 0x2a {time_limit:#x} 0x0 0xffffffff 0x7ffc10 0x7f20\n"))
    }

    #[test]
    fn a_wait_for_another_thread_has_no_time_limit() {
        assert!(futex(0x80, 0) && futex(0x109, 0), "a lock, and the end of thread 42");
        assert!(!futex(0x80, 0x7ffc00), "it comes back by itself");
        assert!(!futex(0x81, 0), "it wakes others");
    }

    #[test]
    fn a_shared_futex_may_be_changed_by_any_process() {
        let line =
            |value: u64| format!("{FUTEX} 0x7f10 0x109 {value:#x} 0x0 0x0 0xffffffff 0x7ffc10 0x7f20\n");
        assert!(waits(&line(42)) && !waits(&line(0)), "a semaphore in shared memory");
    }

    #[test]
    fn a_signal_handler_may_post_a_semaphore_but_not_unlock_a_mutex() {
        let operation = |operation: u64| Asleep::parse(&format!("{FUTEX} 0 {operation:#x} 0 0 0 0 1 1\n"));
        let woken = |of: u64| operation(of).is_some_and(|asleep| asleep.may_be_woken_by_signals());
        assert!(woken(0x189), "sem_wait");
        assert!(!woken(0x80) && !woken(0x109), "pthread_mutex_lock, pthread_join");
    }

    #[test]
    fn the_programs_own_signal_handler_may_wake_a_thread() {
        let handles = |mask: &str| awaits_signals(&StatusLines::new(format!("SigCgt:\t{mask}\n").as_bytes()));
        // Masks of MPICH with UCX, Open MPI, Python, and no handlers.
        for mask in ["00000001000006c9", "00000001000004e0", "0000000000000002", "0000000000000000"] {
            assert!(!handles(mask), "{mask}");
        }
        for signal in [libc::SIGALRM, libc::SIGUSR2, libc::SIGTERM, libc::SIGCHLD, libc::SIGRTMIN()] {
            assert!(handles(&format!("{:016x}", 1_u64 << (signal - 1))), "{signal}");
        }
        assert!(awaits_signals(&StatusLines::default()), "not known");
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_thread_in_a_core_file_sleeps_if_a_signal_interrupted_its_system_call() {
        let thread = |call: i64, result: i64| {
            let mut registers = vec![0; COUNT];
            (registers[CALL], registers[RESULT]) = (call.cast_unsigned(), result.cast_unsigned());
            Thread { tid: 1, signal: 0, registers, pc: Some(0x7f20), sp: Some(0x7ffc10) }
        };
        let sleep = i64::from(syscalls::Sysno::clock_nanosleep as i32);
        let asleep = Asleep::at_death(&thread(sleep, -516));
        assert_eq!(
            asleep.map(|asleep| asleep.said(|_| false, |_| false)).as_deref(),
            Some("sleeping in the system call clock_nanosleep")
        );
        // It raised a signal, or has just returned.
        assert_eq!(Asleep::at_death(&thread(sleep, 0)), None);
        assert!(Asleep::computed(&thread(-1, 7)) && !Asleep::computed(&thread(sleep, 0)));
        let foreign = Thread { registers: vec![0; COUNT + 1], ..thread(-1, 7) };
        assert!(!Asleep::computed(&foreign) && Asleep::at_death(&foreign).is_none());
    }

    #[test]
    fn an_event_loop_in_program_code_does_not_serve_mpi() {
        let module = |path: &str, start: u64| {
            let end = start + 0x1000;
            Module { path: path.into(), bias: start, start, end, executable: start..end }
        };
        let modules = [
            module("/lib/libc.so.6", 0x1000),
            module("/lib/libucs.so.0", 0x2000),
            module("/home/u/app", 0x3000),
        ];
        let stack = |pcs: &[u64]| -> Vec<Frame> {
            pcs.iter().enumerate().map(|(at, pc)| Frame { pc: *pc, returns: at > 0 }).collect()
        };
        assert!(serves_mpi(&stack(&[0x1100, 0x2100, 0x1200]), &modules));
        assert!(serves_mpi(&stack(&[0x1100]), &modules), "where the stack cannot be followed");
        assert!(!serves_mpi(&stack(&[0x1100, 0x3100, 0x1200]), &modules));
    }

    #[test]
    fn other_text_is_not_a_sleep_in_a_system_call() {
        for line in ["running\n", "-1 0x7ffc10 0x7f20\n", "", "202 0x1 0x2\n", "99999 0 0 0 0 0 0 0 0"] {
            assert_eq!(Asleep::parse(line), None, "{line}");
        }
    }
}
