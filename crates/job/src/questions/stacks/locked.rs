//! Locks that a thread outside MPI waits for while a thread inside MPI holds them: the C library's mutex
//! names its owner, so it is known whose call must return before the waiting thread can do anything.

use super::asleep::Asleep;
use crate::model::process::Process;
use mpiscope_target::Target;

/// Offsets in the C library's `pthread_mutex_t`, equal on all machines it supports: the word that threads
/// wait on is its first one.
const OWNER: u64 = 8;

/// Returns whether the thread waits for a lock whose owner is inside MPI. The first argument finds the memory of
/// the process; `None` if it may not be read.
#[must_use]
pub fn by_mpi<T: Target>(memory: impl FnOnce() -> Option<T>, process: &Process, asleep: &Asleep) -> bool {
    owner(memory, asleep).is_some_and(|owner| {
        process.threads.iter().any(|thread| thread.call.is_some() && u64::from(thread.tid) == owner)
    })
}

/// Returns the thread id that a contended mutex has recorded.
fn owner<T: Target>(memory: impl FnOnce() -> Option<T>, asleep: &Asleep) -> Option<u64> {
    let lock = asleep.contended_lock()?;
    memory()?.read_number(lock.checked_add(OWNER)?, 4).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpiscope_target::Live;

    const FUTEX: i32 = syscalls::Sysno::futex as i32;

    /// The owner of a lock in this process on which a thread sleeps with these arguments.
    fn owner_of(operation: u64, value: u64, time_limit: u64) -> Option<u64> {
        let lock = [2_u32, 1, 4711, 1];
        let address = lock.as_ptr().addr();
        let line =
            format!("{FUTEX} {address:#x} {operation:#x} {value:#x} {time_limit:#x} 0x0 0x0 0x7f10 0x7f20\n");
        owner(|| Live::open(std::process::id()).ok(), &Asleep::parse(&line)?)
    }

    #[test]
    fn a_contended_mutex_names_its_owner() {
        assert_eq!(owner_of(0x80, 2, 0), Some(4711));
    }

    #[test]
    fn what_is_not_a_contended_mutex_has_no_owner() {
        assert_eq!(owner_of(0x189, 0, 0), None, "a condition variable or semaphore");
        assert_eq!(owner_of(0x80, 1, 0), None, "a barrier or counter");
        assert_eq!(owner_of(0x80, 2, 0x7ffc00), None, "it comes back by itself");
    }

    #[test]
    fn a_lock_in_memory_that_may_not_be_read_has_no_known_owner() {
        let line = format!("{FUTEX} 0x10 0x80 0x2 0x0 0x0 0x0 0x7f10 0x7f20\n");
        let asleep = Asleep::parse(&line).expect("a line of the kernel");
        assert_eq!(owner(|| Live::open(std::process::id()).ok(), &asleep), None);
        assert_eq!(owner(|| None::<Live>, &asleep), None);
    }
}
