//! Where a thread sleeps, without stopping it: the kernel shows the system call of a sleeping thread, with its stack pointer and program
//! counter. The other registers are not known, so that the frames end where one of them is needed; the innermost frames of the C library
//! need none.

use super::{Show, vdso};
use crate::core::walk_from;
use crate::process::Process;
use mpiscope_target::{Files, Live, Symbolizer, Target};
use std::fs;
use std::sync::Arc;

/// A thread that sleeps in a system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asleep {
    /// The system call, by its number.
    pub call: syscalls::Sysno,
    arguments: [u64; 6],
    sp: u64,
    pc: u64,
}

impl Asleep {
    /// That of a thread; none if it does not sleep in one, or we may not know.
    #[must_use]
    pub fn of(task: &str) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("{task}/syscall")).ok()?)
    }

    /// From the line of the kernel: the number, six arguments, stack pointer and program counter.
    fn parse(line: &str) -> Option<Self> {
        let (number, rest) = line.trim().split_once(' ')?;
        let hex = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
        let values: Vec<u64> = rest.split(' ').map_while(hex).collect();
        let (arguments, [sp, pc]) = values.split_first_chunk::<6>()? else { return None };
        let call = syscalls::Sysno::new(number.parse().ok()?)?;
        Some(Self { call, arguments: *arguments, sp: *sp, pc: *pc })
    }

    /// It waits, for as long as it takes, until another thread wakes it.
    #[must_use]
    pub fn waits_for_a_thread(&self) -> bool {
        const WITHOUT_FLAGS: u64 = 0x7f;
        const WAIT: u64 = 0;
        const WAIT_BITSET: u64 = 9;
        let [_, operation, _, time_limit, ..] = self.arguments;
        let waits = [WAIT, WAIT_BITSET].contains(&(operation & WITHOUT_FLAGS));
        self.call == syscalls::Sysno::futex && waits && time_limit == 0
    }

    /// It waits for events from outside, as threads of libraries do that serve connections.
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

    /// It pauses for a time.
    #[must_use]
    pub fn pauses(&self) -> bool {
        [syscalls::Sysno::clock_nanosleep, syscalls::Sysno::nanosleep].contains(&self.call)
    }

    /// The innermost frame of the user's code: `function at file:line`.
    #[must_use]
    pub fn frame(
        &self,
        pid: u32,
        process: &Process,
        files: &Arc<Files>,
        words: &Symbolizer,
    ) -> Option<String> {
        let live = Live::open_among(pid, Arc::clone(files)).ok()?;
        let modules = live.modules().ok()?;
        let walked = walk_from(&live, vdso(pid), &modules, self.pc, &self.registers());
        Show { modules: &modules, words, process }.innermost(&walked.frames, live.executable().as_deref())
    }

    /// In the order of the machine's `user_regs_struct`.
    fn registers(&self) -> Vec<u64> {
        #[cfg(target_arch = "x86_64")]
        const SHAPE: (usize, usize, usize) = (27, 19, 16);
        #[cfg(not(target_arch = "x86_64"))]
        const SHAPE: (usize, usize, usize) = (34, 31, 32);
        let (count, sp, pc) = SHAPE;
        let value = |at| {
            if at == sp {
                self.sp
            } else if at == pc {
                self.pc
            } else {
                0
            }
        };
        (0..count).map(value).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FUTEX: i32 = syscalls::Sysno::futex as i32;

    fn futex(operation: u64, time_limit: u64) -> bool {
        let line =
            format!("{FUTEX} 0x7f10 {operation:#x} 0x2 {time_limit:#x} 0x0 0xffffffff 0x7ffc10 0x7f20\n");
        Asleep::parse(&line).is_some_and(|asleep| asleep.waits_for_a_thread())
    }

    #[test]
    fn a_wait_for_another_thread_has_no_time_limit() {
        assert!(futex(0x80, 0) && futex(0x109, 0), "a lock, and the end of a thread");
        assert!(!futex(0x80, 0x7ffc00), "it comes back by itself");
        assert!(!futex(0x81, 0), "it wakes others");
    }

    #[test]
    fn what_is_no_sleep_in_a_system_call_is_none() {
        for line in ["running\n", "-1 0x7ffc10 0x7f20\n", "", "202 0x1 0x2\n", "99999 0 0 0 0 0 0 0 0"] {
            assert_eq!(Asleep::parse(line), None, "{line}");
        }
    }
}
