//! The clock's rate, for code that cannot leave the conversion of ticks to a reader.

use super::{clock, image};
use std::sync::OnceLock;

/// How long the clock must have run for its rate to be known to within a few parts per million.
const LONG_ENOUGH_NS: u64 = 2_000_000;

/// Ticks per second, measured once. Waits up to two milliseconds if the process has just started.
pub fn per_second() -> u64 {
    static SPEED: OnceLock<u64> = OnceLock::new();
    *SPEED.get_or_init(|| {
        let header = image::writer().map(|writer| &writer.header().clock);
        let here = clock::point();
        // The image may have been overwritten: with a start in the future, the loop would never end.
        let first = header.map(|clock| (clock.start_ticks.get(), clock.start_ns.get()));
        let (ticks, ns) = first.filter(|(_, ns)| *ns <= here.1).unwrap_or(here);
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

/// Converts nanoseconds to ticks.
pub fn of_ns(ns: u64) -> u64 {
    (u128::from(ns) * u128::from(per_second()) / 1_000_000_000) as u64
}
