//! Sampling of calls that start a message and do not block. They are short, and reading the clock is a good
//! part of their cost. In that case the end of only one call in sixteen is timed, and the time of the others
//! is [estimated](estimate) from that.
//!
//! The first calls of a site are all timed, and so are all calls of a site where they turn out to be long:
//! then a reading costs little in comparison, and blocking is measured exactly. All sums of times get an
//! estimate at the same moment: those of the site, the function and the thread. All calls read the clock when
//! they begin, so that a thread that does not return from one is seen in it.

use super::index::Near;
use super::{close_rarely, count, near, place_of, traced};
use crate::base::{clock, settings};
use crate::interpose::frame;
use crate::interpose::tls::Tls;
use crate::record::local;
use crate::record::trace;
use mpi_abi::{FunctionId, f};
use mpiscope_image::layout::{Recording, Thread};
use mpiscope_image::sites::{Site, duration_class, estimate};

/// Number of initial calls of a site that are all timed.
const FIRST: u64 = 64;
/// About one call in this many is timed; a power of two.
const EVERY: u32 = 16;
/// Logarithm of the mean number of ticks below which calls are sampled: a little less than a microsecond.
const SHORT_MEAN: u32 = if cfg!(target_arch = "x86_64") { 11 } else { 6 };

/// Whether calls of the function start a message and do nothing else.
#[inline(always)]
pub const fn is_short_start(function: FunctionId) -> bool {
    let f = function.0;
    f == f::MPI_Isend.0
        || f == f::MPI_Isend_c.0
        || f == f::MPI_Issend.0
        || f == f::MPI_Issend_c.0
        || f == f::MPI_Irecv.0
        || f == f::MPI_Irecv_c.0
        || f == f::MPI_Start.0
}

/// [`close`](super::close) for such a call; `until` is zero unless its end has been timed already. Inlined: there
/// are few of these functions, and what is known of each when it is compiled is a good part of the work.
#[inline(always)]
pub fn close_start(
    tls: &'static Tls,
    thread: &'static Thread,
    function: FunctionId,
    since: u64,
    until: u64,
    bytes: u64,
) {
    let place = place_of(thread.call.object.get(), function, tls.return_address.get());
    let Some(local) = local::of(tls) else {
        return close_unknown(tls, thread, function, since, until, bytes);
    };
    let Some((site, beside)) = near(local, &place) else {
        return close_unknown(tls, thread, function, since, until, bytes);
    };
    let left = beside.untimed.get();
    if left == 0 || since == 0 || until != 0 || trace::is_on() {
        return close_timed(thread, function, since, until, bytes, beside);
    }
    beside.untimed.set(left - 1);
    site.count.add_mine(1);
    if bytes != 0 {
        site.bytes.add_mine(bytes);
    }
    frame::close_untimed(tls, thread, function, bytes);
}

/// [`close_start`] out of line, for hooks that several functions share.
#[inline(never)]
pub extern "C" fn close_start_shared(
    tls: &'static Tls,
    thread: &'static Thread,
    function: FunctionId,
    since: u64,
    until: u64,
    bytes: u64,
) {
    close_start(tls, thread, function, since, until, bytes);
}

/// [`close_start`] for a call whose site is not near.
#[inline(never)]
extern "C" fn close_unknown(
    tls: &'static Tls,
    thread: &'static Thread,
    function: FunctionId,
    since: u64,
    until: u64,
    bytes: u64,
) {
    close_rarely(tls, thread, function, since, end(since, until), bytes);
}

/// Returns the end of a call that began at `since`; zero without times.
#[inline(always)]
fn end(since: u64, until: u64) -> u64 {
    if since == 0 || until != 0 { until } else { clock::now() }
}

/// [`close_start`] for a call that is timed.
#[inline(never)]
extern "C" fn close_timed(
    thread: &'static Thread,
    function: FunctionId,
    since: u64,
    until: u64,
    bytes: u64,
    beside: &'static Near,
) {
    let (tls, until) = (Tls::get(), end(since, until));
    let Some(site) = beside.site() else { return close_rarely(tls, thread, function, since, until, bytes) };
    settle(thread, function, site, since, until);
    if let Some(local) = local::of(tls) {
        count(local, site, since, until, bytes);
    }
    beside.untimed.set(until_next(site, until));
    if trace::is_on() {
        traced(tls, thread, function, (since, until), bytes, (site.from.get(), site.object.get()));
    }
    frame::close(tls, thread, function, since, until, bytes);
}

/// Adds the estimated time of the untimed calls before a timed call that is about to be counted. Nothing is
/// known about calls that were made while times were not recorded.
pub fn settle(thread: &Thread, function: FunctionId, site: &Site, since: u64, until: u64) {
    let count = site.count.get();
    let calls = count.wrapping_sub(site.covered.get());
    site.covered.set(count.wrapping_add(1));
    // The image may have been overwritten.
    if calls == 0 || calls > u64::from(2 * EVERY) || since == 0 {
        return;
    }
    let ticks = estimate(calls, until.wrapping_sub(since), site.ticks.get());
    site.ticks.add_mine(ticks);
    site.estimated.add_mine(calls);
    if let Some(class) = site.durations.get(duration_class(ticks / calls)) {
        class.add_mine(calls);
    }
    frame::add_estimate(thread, function, calls, ticks);
}

/// Returns the number of calls that are not timed before the next one is. It varies, so that periodic
/// behavior of the program is not missed.
fn until_next(site: &Site, now: u64) -> u32 {
    let (count, ticks) = (site.count.get(), site.ticks.get());
    let long = ticks >> SHORT_MEAN >= count;
    if count < FIRST || long || !clock::is_counter() || settings::records(Recording::STARTS) {
        return 0;
    }
    let chance = now.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - EVERY.ilog2());
    EVERY / 2 + chance as u32
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use mpiscope_image::sites::DURATIONS;

    fn zeroed<T>() -> &'static T {
        // SAFETY: threads and sites consist of words, so all zero is a valid value.
        #[allow(unsafe_code)]
        Box::leak(unsafe { Box::<T>::new_zeroed().assume_init() })
    }

    /// Does what `settle` and `count` do for a call of this length, after some untimed ones.
    fn timed(thread: &Thread, site: &Site, untimed: u64, ticks: u64) {
        site.count.add_mine(untimed);
        settle(thread, f::MPI_Isend, site, 1000, 1000 + ticks);
        site.count.add_mine(1);
        site.ticks.add_mine(ticks);
    }

    #[test]
    fn the_call_site_the_function_and_the_thread_get_the_same_estimate() {
        let (thread, site): (&Thread, &Site) = (zeroed(), zeroed());
        (0..100).for_each(|_| timed(thread, site, 0, 200));
        assert_eq!((site.ticks.get(), site.estimated.get(), thread.mpi_ticks.get()), (20_000, 0, 0));
        timed(thread, site, 15, 200);
        assert_eq!((site.count.get(), site.ticks.get(), site.estimated.get()), (116, 116 * 200, 15));
        let function = usize::from(f::MPI_Isend.0);
        assert_eq!((thread.counters[function].ticks.get(), thread.estimated[function].get()), (3_000, 15));
        assert_eq!(thread.mpi_ticks.get(), 3_000);
        let lengths: u64 = (0..DURATIONS).map(|class| site.durations[class].get()).sum();
        assert_eq!((lengths, site.covered.get()), (15, 116));
    }

    #[test]
    fn calls_of_an_overwritten_image_and_calls_without_times_are_not_estimated() {
        let (thread, site): (&Thread, &Site) = (zeroed(), zeroed());
        site.count.set(5);
        site.covered.set(u64::MAX / 2);
        timed(thread, site, 0, 200);
        site.covered.set(0);
        site.count.set(1 << 40);
        timed(thread, site, 0, 200);
        site.count.add_mine(3);
        settle(thread, f::MPI_Isend, site, 0, 0);
        assert_eq!((site.estimated.get(), thread.mpi_ticks.get()), (0, 0));
    }

    #[test]
    fn about_one_in_sixteen_short_calls_and_every_long_call_is_timed() {
        let site: &Site = zeroed();
        site.count.set(FIRST - 1);
        assert_eq!(until_next(site, 7), 0, "the first ones");
        site.count.set(1000);
        let each: Vec<u32> = (0..4096).map(|now| until_next(site, now * 977)).collect();
        let (least, most) = (*each.iter().min().unwrap(), *each.iter().max().unwrap());
        assert_eq!((least, most), (EVERY / 2, EVERY / 2 + EVERY - 1));
        let mean = f64::from(each.iter().sum::<u32>()) / 4096.0;
        assert!((14.0..17.0).contains(&mean), "{mean}");
        site.ticks.set(1000 << SHORT_MEAN);
        assert_eq!(until_next(site, 7), 0, "long ones");
    }
}
