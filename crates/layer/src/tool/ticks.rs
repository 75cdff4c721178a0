//! The clock of timers and events: ticks of the image's clock, and how long one is.

use crate::{clock, image};
use std::sync::OnceLock;

/// How long the clock must have run for its speed to be known to some millionths.
const LONG_ENOUGH_NS: u64 = 2_000_000;

/// Ticks in a second, measured once. Waits up to two milliseconds if the process has just begun.
pub fn per_second() -> u64 {
    static SPEED: OnceLock<u64> = OnceLock::new();
    *SPEED.get_or_init(|| {
        let header = image::writer().map(|writer| &writer.header().clock);
        let first = header.map(|clock| (clock.start_ticks.get(), clock.start_ns.get()));
        let (ticks, ns) = first.unwrap_or_else(|| (clock::now(), clock::monotonic_ns()));
        loop {
            let (now, now_ns) = clock::point();
            let passed = now_ns.saturating_sub(ns);
            if passed >= LONG_ENOUGH_NS {
                let ticks = u128::from(now.wrapping_sub(ticks)) * 1_000_000_000;
                return u64::try_from(ticks / u128::from(passed)).unwrap_or(u64::MAX).max(1);
            }
            std::hint::spin_loop();
        }
    })
}

/// Units of timers in a second, as a power of two: so a tool reads exactly what it wrote, if that was a sum of
/// halves, quarters and so on.
const UNITS_LOG: u32 = 30;
/// How a unit becomes seconds.
pub const UNIT: f64 = 1.0 / (1u64 << UNITS_LOG) as f64;

/// Ticks in units of timers.
#[inline]
pub fn units(ticks: u64) -> u64 {
    const SHIFT: u32 = 32;
    static FACTOR: OnceLock<u64> = OnceLock::new();
    let factor = FACTOR.get_or_init(|| (1u64 << (UNITS_LOG + SHIFT)) / per_second());
    ((u128::from(ticks) * u128::from(*factor)) >> SHIFT) as u64
}
