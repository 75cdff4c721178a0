//! Time: ticks of the time stamp counter on the hot path; nanoseconds of the system clock to convert them.
#![allow(unsafe_code)]

use mpiscope_image::layout::{Clock, ClockKind};
use std::sync::atomic::{AtomicBool, Ordering};

/// Set if the processor's counter does not run at a constant rate; ticks are then nanoseconds.
static MONOTONIC: AtomicBool = AtomicBool::new(false);

/// Reads the processor's time stamp counter.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn counter() -> u64 {
    // SAFETY: the instruction exists on every x86-64 processor.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// Reads the processor's virtual counter.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn counter() -> u64 {
    let ticks: u64;
    // SAFETY: readable from user space on Linux.
    unsafe { std::arch::asm!("mrs {0}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
    ticks
}

/// Returns the current time in ticks.
#[inline(always)]
pub fn now() -> u64 {
    if MONOTONIC.load(Ordering::Relaxed) { monotonic_ns() } else { counter() }
}

/// Whether [`now`] reads the processor's counter.
#[inline(always)]
pub fn is_counter() -> bool {
    !MONOTONIC.load(Ordering::Relaxed)
}

/// Returns the current time in ticks if that takes no call: `None` unless [`now`] reads the processor's
/// counter.
#[inline(always)]
pub fn counted() -> Option<u64> {
    is_counter().then(counter)
}

/// Returns `CLOCK_MONOTONIC` in nanoseconds.
#[cold]
#[inline(never)]
pub fn monotonic_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists on Linux, and `time` is ours.
    unsafe { libc::clock_gettime(clock, &mut time) };
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

/// Whether the kernel accepts the counter as a clock source, so that it runs at the same rate on all
/// processors.
fn counter_is_steady() -> bool {
    if cfg!(target_arch = "aarch64") {
        return true;
    }
    let path = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
    match std::fs::read_to_string(path) {
        Ok(sources) => sources.contains("tsc"),
        Err(_) => std::fs::read_to_string("/proc/cpuinfo").is_ok_and(|text| text.contains("nonstop_tsc")),
    }
}

/// Chooses the clock and writes the first of the two points of `clock`.
pub fn start(clock: &Clock) {
    let steady = counter_is_steady();
    MONOTONIC.store(!steady, Ordering::Relaxed);
    clock.kind.set(if steady { ClockKind::COUNTER.0 } else { ClockKind::MONOTONIC.0 });
    let (ticks, ns) = point();
    clock.start_ticks.set(ticks);
    clock.start_ns.set(ns);
    clock.start_unix_ns.set(read(libc::CLOCK_REALTIME));
    latest(clock);
}

/// Moves the second point to the present.
pub fn latest(clock: &Clock) {
    let (ticks, ns) = point();
    clock.seq.write(|| {
        clock.latest_ticks.set(ticks);
        clock.latest_ns.set(ns);
    });
}

/// Reads one moment in ticks and in nanoseconds: the closest pair of a few tries.
pub fn point() -> (u64, u64) {
    let mut best = (u64::MAX, 0, 0);
    for _ in 0..4 {
        let before = now();
        let ns = monotonic_ns();
        let after = now();
        let width = after.wrapping_sub(before);
        if width < best.0 {
            best = (width, before.wrapping_add(width / 2), ns);
        }
    }
    (best.1, best.2)
}
