//! The clock of timers and events: ticks of the image's clock, and their duration.

pub use crate::base::speed::per_second;
use std::sync::OnceLock;

/// Units of timers per second, as a power of two, so that a tool reads back exactly what it wrote if that was
/// a sum of halves, quarters and so on.
const UNITS_LOG: u32 = 30;
/// Length of a unit in seconds.
pub const UNIT: f64 = 1.0 / (1u64 << UNITS_LOG) as f64;

/// Converts ticks to units of timers.
#[inline]
pub fn units(ticks: u64) -> u64 {
    const SHIFT: u32 = 32;
    static FACTOR: OnceLock<u64> = OnceLock::new();
    let factor = FACTOR.get_or_init(|| (1u64 << (UNITS_LOG + SHIFT)) / per_second());
    ((u128::from(ticks) * u128::from(*factor)) >> SHIFT) as u64
}
