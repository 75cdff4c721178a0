//! Identifies the system call of a thread that was stopped while sleeping in it and has resumed: the kernel
//! reports all of these as `restart_syscall`. The number requested by the program is in its code, right
//! before the instruction that enters the kernel.

use std::fs::File;
use std::os::unix::fs::FileExt;
use syscalls::Sysno;

/// Number of code bytes examined.
const CODE: usize = 32;

/// Returns the system call that returns to `pc`; `None` if the code cannot be read or loads the number in
/// another way.
pub fn call(task: &str, pc: u64) -> Option<Sysno> {
    let mut code = [0; CODE];
    let memory = File::open(format!("{task}/mem")).ok()?;
    memory.read_exact_at(&mut code, pc.checked_sub(CODE as u64)?).ok()?;
    named(&code)
}

/// Returns the last number loaded in the code that is that of a restartable call.
fn named(code: &[u8]) -> Option<Sysno> {
    let before = code.strip_suffix(ENTERS)?;
    let ends = (LOADS..=before.len()).rev().step_by(STEP);
    ends.filter_map(|end| loaded(before.get(end - LOADS..end)?)).find(|call| goes_on(*call))
}

fn goes_on(call: Sysno) -> bool {
    #[cfg(target_arch = "x86_64")]
    const OLD: Option<Sysno> = Some(Sysno::poll);
    #[cfg(not(target_arch = "x86_64"))]
    const OLD: Option<Sysno> = None;
    [Sysno::nanosleep, Sysno::clock_nanosleep, Sysno::futex].contains(&call) || OLD == Some(call)
}

/// `syscall`.
#[cfg(target_arch = "x86_64")]
const ENTERS: &[u8] = &[0x0f, 0x05];
/// `svc #0`.
#[cfg(not(target_arch = "x86_64"))]
const ENTERS: &[u8] = &[0x01, 0x00, 0x00, 0xd4];

/// Size in bytes of an instruction that loads a number, and the alignment of instructions.
#[cfg(target_arch = "x86_64")]
const LOADS: usize = 5;
#[cfg(target_arch = "x86_64")]
const STEP: usize = 1;
#[cfg(not(target_arch = "x86_64"))]
const LOADS: usize = 4;
#[cfg(not(target_arch = "x86_64"))]
const STEP: usize = 4;

/// Decodes `mov eax, N`.
#[cfg(target_arch = "x86_64")]
fn loaded(instruction: &[u8]) -> Option<Sysno> {
    let (0xb8, number) = instruction.split_first().map(|(first, rest)| (*first, rest))? else { return None };
    Sysno::new(u32::from_le_bytes(number.try_into().ok()?) as usize)
}

/// Decodes `mov x8, N`.
#[cfg(not(target_arch = "x86_64"))]
fn loaded(instruction: &[u8]) -> Option<Sysno> {
    let word = u32::from_le_bytes(instruction.try_into().ok()?);
    // Either width.
    let loads = word & 0x7fe0_001f == 0x5280_0008;
    Sysno::new(usize::from((word >> 5) as u16)).filter(|_| loads)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::questions::stacks::asleep::Asleep;
    use rustix::process::{Pid, Signal, kill_process};
    use std::process::Command;
    use std::time::{Duration, Instant};

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_system_call_number_is_set_before_the_kernel_is_entered() {
        let sleep = [0xb8, 0xe6, 0, 0, 0, 0x0f, 0x05];
        let with_a_move_between = [0xb8, 0xe6, 0, 0, 0, 0x4d, 0x89, 0xc2, 0x0f, 0x05];
        let no_number = [0x89, 0xd8, 0x0f, 0x05];
        let of_a_call_that_starts_anew = [0xb8, 0, 0, 0, 0, 0x0f, 0x05];
        assert_eq!(named(&sleep), Some(Sysno::clock_nanosleep));
        assert_eq!(named(&with_a_move_between), Some(Sysno::clock_nanosleep));
        assert_eq!(named(&no_number), None);
        assert_eq!(named(&of_a_call_that_starts_anew), None);
        assert_eq!(named(&sleep[..5]), None);
    }

    #[test]
    fn a_thread_stopped_while_sleeping_still_sleeps_in_the_same_call() {
        let mut sleeper = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = Pid::from_child(&sleeper);
        let task = format!("/proc/{0}/task/{0}", sleeper.id());
        let reaches = |done: &dyn Fn() -> bool| {
            let until = Instant::now() + Duration::from_secs(20);
            while !done() {
                assert!(Instant::now() < until, "{:?}", Asleep::of(&task));
                std::thread::sleep(Duration::from_millis(2));
            }
        };
        let sleeps = || Asleep::of(&task).is_some_and(|asleep| asleep.pauses());
        reaches(&sleeps);
        kill_process(pid, Signal::STOP).unwrap();
        kill_process(pid, Signal::CONT).unwrap();
        let line = || std::fs::read_to_string(format!("{task}/syscall")).unwrap();
        reaches(&|| line().starts_with(RESTARTED));
        assert!(sleeps(), "{:?}", Asleep::of(&task));
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
    }

    #[cfg(target_arch = "x86_64")]
    const RESTARTED: &str = "219 ";
    #[cfg(not(target_arch = "x86_64"))]
    const RESTARTED: &str = "128 ";
}
