//! Whether a polling thread stood still between two polls because another thread had its processor: such a
//! loop computed nothing.
//!
//! The thread's CPU clock is read when much time has passed between two polls, and once earlier in each run.
//! Between that earlier reading and the latest poll the thread ran at most for the whole time; any more CPU
//! time was spent computing since that poll. A thread that slept or waited voluntarily does not count as
//! preempted.
#![allow(unsafe_code)]

use super::ran::Ran;
use crate::base::clock;
use crate::interpose::tls::Tls;
use crate::record::local;
use mpiscope_image::derive::Polling;

/// The clock is read after this many polls of a run: most runs are shorter, and reading it costs as much as a
/// poll.
pub const FIRST: u32 = 64;

/// Reads the thread's clock, for [`between`].
#[cold]
#[inline(never)]
pub fn look() {
    if let Some(local) = local::of(Tls::get()) {
        local.ran.set(now().unwrap_or_default());
    }
}

/// Whether the thread stood still since the latest poll of this run.
#[cold]
#[inline(never)]
pub fn between(run: &Polling, spacing: u64) -> bool {
    let before = local::of(Tls::get()).map_or_else(Ran::default, |local| local.ran.get());
    let known = run.polls >= FIRST && before.at != 0;
    known && now().is_some_and(|now| before.stood_until(now, run.latest, spacing))
}

fn now() -> Option<Ran> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a C structure for which all zero is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both places are ours.
    let read = unsafe {
        libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) == 0
            && libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) == 0
    };
    let for_ns = time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned();
    read.then(|| Ran { at: clock::now(), for_ns, waits: usage.ru_nvcsw })
}
