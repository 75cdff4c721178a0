//! Converts ticks of an image to nanoseconds.
//!
//! An image records two points in time, each in ticks and in nanoseconds of `CLOCK_MONOTONIC`. On the host
//! (and in the boot) that wrote the image, the current time is a better second point: it is later, which
//! makes the rate more exact, and it gives the open call of a living process an age.
#![allow(unsafe_code)]

use mpiscope_image::layout::{Clock, ClockKind};
use serde::{Deserialize, Serialize};

/// A moment on all clocks of this host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// The time stamp counter.
    pub counter: u64,
    /// `CLOCK_MONOTONIC`, in nanoseconds.
    pub monotonic_ns: u64,
    /// Nanoseconds since the Unix epoch.
    pub unix_ns: u64,
}

/// How many times both clocks are read for one moment.
const TRIES: usize = 4;

impl Moment {
    /// Returns the current time. Of a few attempts to read both clocks, the one with the shortest interval
    /// wins: an interruption between the reads would shift all times of a rank compared with another reader.
    pub fn now() -> Self {
        let mut best = (u64::MAX, 0, 0);
        for _ in 0..TRIES {
            let before = counter();
            let ns = nanoseconds(libc::CLOCK_MONOTONIC);
            let width = counter().wrapping_sub(before);
            if width < best.0 {
                best = (width, before.wrapping_add(width / 2), ns);
            }
        }
        let (_, counter, monotonic_ns) = best;
        Self { counter, monotonic_ns, unix_ns: nanoseconds(libc::CLOCK_REALTIME) }
    }
}

#[cfg(target_arch = "x86_64")]
fn counter() -> u64 {
    // SAFETY: every x86-64 processor has the instruction; it reads a register and touches no memory.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(target_arch = "aarch64")]
fn counter() -> u64 {
    let ticks: u64;
    // SAFETY: the virtual counter may be read from user space on Linux; no memory is touched.
    unsafe { std::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
    ticks
}

fn nanoseconds(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writes; both clocks exist on every Linux.
    unsafe { libc::clock_gettime(clock, &mut time) };
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

/// How far two estimates of the boot time may differ: the wall clock may have been set in between.
const SAME_BOOT_NS: u64 = 60 * 1_000_000_000;

/// Converts ticks of one image to time.
#[derive(Debug, Clone)]
pub struct TickClock {
    start_ticks: u64,
    start_ns: u64,
    start_unix_ns: u64,
    ns_per_tick: f64,
    end_ns: u64,
}

impl TickClock {
    /// Creates the clock of an image. `now` is the current time if the image may have been written on this
    /// host; it is used only if it is consistent with the boot time recorded in the image.
    pub fn new(clock: &Clock, now: Option<Moment>) -> Self {
        let (start_ticks, start_ns) = (clock.start_ticks.get(), clock.start_ns.get());
        let start_unix_ns = clock.start_unix_ns.get();
        let here = now.filter(|now| {
            let boot_then = start_unix_ns.wrapping_sub(start_ns);
            let boot_now = now.unix_ns.wrapping_sub(now.monotonic_ns);
            now.monotonic_ns >= start_ns && boot_then.abs_diff(boot_now) < SAME_BOOT_NS
        });
        let counts = clock.kind.get() == ClockKind::COUNTER.0;
        let (end_ticks, end_ns) = match here {
            Some(now) if counts => (now.counter, now.monotonic_ns),
            Some(now) => (now.monotonic_ns, now.monotonic_ns),
            None => (clock.latest_ticks.get(), clock.latest_ns.get()),
        };
        let ticks = end_ticks.saturating_sub(start_ticks);
        let ns = end_ns.saturating_sub(start_ns);
        let ns_per_tick = match (counts, ticks) {
            (true, 1..) => ns as f64 / ticks as f64,
            (true, 0) => 0.0,
            (false, _) => 1.0,
        };
        Self { start_ticks, start_ns, start_unix_ns, ns_per_tick, end_ns }
    }

    /// Creates one clock for all images of this host from two moments some time apart. Times converted with
    /// it can be compared without the errors of per-image clocks, and conversions are reproducible. `counts`
    /// is whether ticks are those of the processor's counter.
    pub fn of_host(first: Moment, second: Moment, counts: bool) -> Self {
        let ticks = second.counter.saturating_sub(first.counter);
        let ns = second.monotonic_ns.saturating_sub(first.monotonic_ns);
        let (start_ticks, start_ns) = if counts { (first.counter, first.monotonic_ns) } else { (0, 0) };
        let ns_per_tick = if counts && ticks > 0 { ns as f64 / ticks as f64 } else { 1.0 };
        Self { start_ticks, start_ns, start_unix_ns: first.unix_ns, ns_per_tick, end_ns: second.monotonic_ns }
    }

    /// Returns the same clock with a later end, `now_ns` of `CLOCK_MONOTONIC`.
    #[must_use]
    pub fn at(self, now_ns: u64) -> Self {
        Self { end_ns: now_ns, ..self }
    }

    /// Converts a number of ticks to seconds.
    pub fn seconds(&self, ticks: u64) -> f64 {
        ticks as f64 * self.ns_per_tick / 1e9
    }

    /// Converts a point in time from ticks to nanoseconds of `CLOCK_MONOTONIC`.
    pub fn ns_at(&self, ticks: u64) -> u64 {
        let after = ticks as f64 - self.start_ticks as f64;
        let ns = self.start_ns as f64 + after * self.ns_per_tick;
        ns.max(0.0) as u64
    }

    /// Converts a point in time from nanoseconds of `CLOCK_MONOTONIC` to ticks; the inverse of
    /// [`ns_at`](Self::ns_at).
    pub fn ticks_at(&self, ns: u64) -> u64 {
        if self.ns_per_tick <= 0.0 {
            return self.start_ticks;
        }
        let after = (ns as f64 - self.start_ns as f64) / self.ns_per_tick;
        (self.start_ticks as f64 + after).max(0.0) as u64
    }

    /// Converts a number of nanoseconds to ticks.
    pub fn ticks(&self, ns: u64) -> u64 {
        if self.ns_per_tick <= 0.0 { 0 } else { (ns as f64 / self.ns_per_tick) as u64 }
    }

    /// When the image was created, in nanoseconds of `CLOCK_MONOTONIC`.
    pub fn start_ns(&self) -> u64 {
        self.start_ns
    }

    /// When the image was created, in nanoseconds since the Unix epoch.
    pub fn start_unix_ns(&self) -> u64 {
        self.start_unix_ns
    }

    /// The latest known moment: the current time on the same host, otherwise the last time that the process
    /// wrote.
    pub fn end_ns(&self) -> u64 {
        self.end_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(kind: ClockKind, points: [u64; 4], unix: u64) -> Clock {
        let clock = Clock::default();
        clock.kind.set(kind.0);
        clock.start_ticks.set(points[0]);
        clock.start_ns.set(points[1]);
        clock.latest_ticks.set(points[2]);
        clock.latest_ns.set(points[3]);
        clock.start_unix_ns.set(unix);
        clock
    }

    #[test]
    fn two_points_determine_the_clock_rate_of_a_foreign_image() {
        let clock = clock(ClockKind::COUNTER, [1000, 500, 3000, 1500], 7);
        let clock = TickClock::new(&clock, Some(Moment { counter: 0, monotonic_ns: 0, unix_ns: 0 }));
        assert_eq!(clock.ns_at(2000), 1000);
        assert_eq!(clock.seconds(2_000_000_000), 1.0);
        assert_eq!((clock.ticks_at(1000), clock.ticks(500)), (2000, 1000));
        assert_eq!(clock.end_ns(), 1500);
    }

    #[test]
    fn the_current_time_is_used_on_the_same_host() {
        let clock = clock(ClockKind::COUNTER, [1000, 500, 1000, 500], 1_000_500);
        let now = Moment { counter: 9000, monotonic_ns: 2500, unix_ns: 1_002_500 };
        let clock = TickClock::new(&clock, Some(now));
        assert_eq!(clock.ns_at(5000), 1500);
        assert_eq!(clock.end_ns(), 2500);
    }

    #[test]
    fn a_clock_without_a_second_point_gives_zero() {
        let clock = clock(ClockKind::COUNTER, [1000, 500, 1000, 500], 0);
        assert_eq!(TickClock::new(&clock, None).seconds(12345), 0.0);
    }

    #[test]
    fn the_clocks_of_this_host_move_forward() {
        let (a, b) = (Moment::now(), Moment::now());
        assert!(b.monotonic_ns >= a.monotonic_ns && b.counter >= a.counter && a.unix_ns > 0);
    }
}
