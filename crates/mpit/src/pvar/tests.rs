//! The rules of performance variables, sessions and handles, one test per rule.

#![allow(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread;

use super::*;
use crate::codes::{Error, Result};
use crate::registry::Registry;
use crate::word::{PvarWord, SessionWord};

const ALL: PvarWord = PvarWord::ALL_HANDLES;

fn counter(name: &str) -> PvarSpec {
    PvarSpec::new(name, PvarClass::COUNTER, Datatype::UNSIGNED_LONG_LONG)
}

fn registry_with(spec: PvarSpec, instrument: impl Instrument) -> (Registry, SessionWord, PvarWord) {
    let registry = Registry::new();
    let index = registry.add_pvar(spec, instrument).unwrap();
    let session = registry.pvar_session_create().unwrap();
    let (handle, _) = registry.pvar_handle_alloc(session, index, 0).unwrap();
    (registry, session, handle)
}

#[test]
fn info_flags_are_consistent_and_read_only_is_never_atomic() {
    let registry = Registry::new();
    let level = PvarSpec::new("level", PvarClass::LEVEL, Datatype::UNSIGNED).atomic(true);
    let index = registry.add_pvar(level, AtomicU64::new(0)).unwrap();
    let info = registry.pvar(index).unwrap().info();
    assert!(info.readonly && !info.atomic && !info.continuous);
    assert_eq!((info.bind, info.enumeration), (Bind::NO_OBJECT, None));
}

#[test]
fn a_name_is_found_by_class_and_indices_are_checked() {
    let registry = Registry::new();
    let gauge = Arc::new(Gauge::new());
    let spec = |class| PvarSpec::new("queue", class, Datatype::UNSIGNED);
    assert_eq!(registry.add_pvar(spec(PvarClass::LEVEL), gauge.clone()), Ok(0));
    assert_eq!(registry.add_pvar(spec(PvarClass::HIGHWATERMARK), gauge.clone()), Ok(1));
    assert_eq!(registry.add_pvar(spec(PvarClass::LEVEL), gauge), Err(Error::INVALID_NAME));
    assert_eq!(registry.pvar_index("queue", PvarClass::HIGHWATERMARK), Ok(1));
    assert_eq!(registry.pvar_index("queue", PvarClass::TIMER), Err(Error::INVALID_NAME));
    assert_eq!(registry.pvar_index("none", PvarClass::LEVEL), Err(Error::INVALID_NAME));
    assert_eq!(registry.pvar(-1).err(), Some(Error::INVALID_INDEX));
    assert_eq!(registry.pvar(2).err(), Some(Error::INVALID_INDEX));
    assert_eq!(registry.pvar_count(), 2);
}

#[test]
fn a_registration_that_cannot_work_is_rejected() {
    let registry = Registry::new();
    let spec = |class, datatype| PvarSpec::new("x", class, datatype);
    let refused = |spec| assert_eq!(registry.add_pvar(spec, AtomicU64::new(0)), Err(Error::INVALID));
    refused(spec(PvarClass::COUNTER, Datatype::DOUBLE));
    refused(spec(PvarClass::LEVEL, Datatype::INT));
    refused(spec(PvarClass::HIGHWATERMARK, Datatype::UNSIGNED));
    refused(spec(PvarClass::TIMER, Datatype::DOUBLE).unit(Unit::Bits));
    refused(spec(PvarClass::GENERIC, Datatype(99)));
    let level = spec(PvarClass::LEVEL, Datatype::INT).any_datatype();
    assert_eq!(registry.add_pvar(level, AtomicU64::new(0)), Ok(0));
}

#[test]
fn a_value_that_a_counter_cannot_hold_is_rejected_and_changes_nothing() {
    let (registry, session, handle) = registry_with(counter("c"), AtomicU64::new(0));
    registry.pvar_set(session, handle, (1u64 << 63) - 1).unwrap();
    for more in [1 << 63, u64::MAX] {
        assert_eq!(registry.pvar_set(session, handle, more), Err(Error::PVAR_NO_WRITE));
    }
    assert_eq!(registry.pvar_value::<u64>(session, handle), Ok((1 << 63) - 1));
}

#[test]
fn a_counter_is_stopped_after_allocation_and_counts_from_its_start() {
    let total = Arc::new(AtomicU64::new(65));
    let (registry, session, handle) = registry_with(counter("c"), total.clone());
    let read = || registry.pvar_value::<u64>(session, handle).unwrap();
    total.fetch_add(1, Ordering::Relaxed);
    assert_eq!(read(), 0);
    registry.pvar_start(session, handle).unwrap();
    total.fetch_add(5, Ordering::Relaxed);
    assert_eq!(read(), 5);
    registry.pvar_stop(session, handle).unwrap();
    total.fetch_add(7, Ordering::Relaxed);
    assert_eq!(read(), 5);
    registry.pvar_start(session, handle).unwrap();
    total.fetch_add(1, Ordering::Relaxed);
    assert_eq!(read(), 6);
    registry.pvar_reset(session, handle).unwrap();
    assert_eq!(read(), 0);
    registry.pvar_set(session, handle, 40u64).unwrap();
    total.fetch_add(2, Ordering::Relaxed);
    assert_eq!(registry.pvar_take::<u64>(session, handle), Ok(42));
    assert_eq!(read(), 0);
}

#[test]
fn a_continuous_counter_counts_from_allocation_and_cannot_be_started_or_stopped() {
    let total = Arc::new(AtomicU64::new(9));
    let (registry, session, handle) = registry_with(counter("c").continuous(true), total.clone());
    total.fetch_add(3, Ordering::Relaxed);
    assert_eq!(registry.pvar_value::<u64>(session, handle), Ok(3));
    assert_eq!(registry.pvar_start(session, handle), Err(Error::PVAR_NO_STARTSTOP));
    assert_eq!(registry.pvar_stop(session, handle), Err(Error::PVAR_NO_STARTSTOP));
    assert_eq!(registry.pvar_start(session, ALL), Ok(()));
    assert_eq!(registry.pvar_stop(session, ALL), Ok(()));
}

#[test]
fn operations_in_one_session_do_not_affect_another() {
    let total = Arc::new(AtomicU64::new(0));
    let (registry, one, mine) = registry_with(counter("c"), total.clone());
    let two = registry.pvar_session_create().unwrap();
    let (theirs, _) = registry.pvar_handle_alloc(two, 0, 0).unwrap();
    registry.pvar_start(one, mine).unwrap();
    total.fetch_add(10, Ordering::Relaxed);
    registry.pvar_start(two, theirs).unwrap();
    total.fetch_add(1, Ordering::Relaxed);
    registry.pvar_reset(two, ALL).unwrap();
    registry.pvar_set(two, theirs, 1000u64).unwrap();
    registry.pvar_stop(two, ALL).unwrap();
    assert_eq!(registry.pvar_value::<u64>(one, mine), Ok(11));
    assert_eq!(registry.pvar_value::<u64>(two, theirs), Ok(1000));
}

#[test]
fn all_handles_is_valid_only_for_start_stop_and_reset() {
    let (registry, session, _) = registry_with(counter("c"), AtomicU64::new(0));
    let mut buffer = [0; 8];
    assert_eq!(registry.pvar_read(session, ALL, &mut buffer), Err(Error::INVALID_HANDLE));
    assert_eq!(registry.pvar_write(session, ALL, &buffer), Err(Error::INVALID_HANDLE));
    assert_eq!(registry.pvar_readreset(session, ALL, &mut buffer), Err(Error::INVALID_HANDLE));
    assert_eq!(registry.pvar_handle_free(session, ALL), Err(Error::INVALID_HANDLE));
    assert_eq!(registry.pvar_start(SessionWord::NULL, ALL), Err(Error::INVALID_SESSION));
    let empty = registry.pvar_session_create().unwrap();
    for operation in [Registry::pvar_start, Registry::pvar_stop, Registry::pvar_reset] {
        assert_eq!(operation(&registry, empty, ALL), Ok(()));
        assert_eq!(operation(&registry, session, ALL), Ok(()));
    }
}

#[test]
fn all_handles_ignores_read_only_variables() {
    let level = PvarSpec::new("l", PvarClass::LEVEL, Datatype::UNSIGNED_LONG);
    let (registry, session, handle) = registry_with(level, AtomicU64::new(3));
    assert_eq!(registry.pvar_reset(session, ALL), Ok(()));
    assert_eq!(registry.pvar_reset(session, handle), Err(Error::PVAR_NO_WRITE));
    assert_eq!(registry.pvar_set(session, handle, 1u64), Err(Error::PVAR_NO_WRITE));
    assert_eq!(registry.pvar_take::<u64>(session, handle), Err(Error::PVAR_NO_ATOMIC));
}

#[test]
fn freed_foreign_and_other_sessions_handles_are_errors_and_not_dereferenced() {
    let (registry, session, handle) = registry_with(counter("c"), AtomicU64::new(0));
    let other = registry.pvar_session_create().unwrap();
    let mut buffer = [0; 8];
    assert_eq!(registry.pvar_read(other, handle, &mut buffer), Err(Error::INVALID_HANDLE));
    assert_eq!(registry.pvar_start(other, handle), Err(Error::INVALID_HANDLE));
    assert_eq!(registry.pvar_handle_free(other, handle), Err(Error::INVALID_HANDLE));
    let local = 0u64;
    for word in [0, 1, u64::MAX, std::ptr::from_ref(&local) as u64, handle.0 + 1, session.0] {
        assert_eq!(registry.pvar_read(session, PvarWord(word), &mut buffer), Err(Error::INVALID_HANDLE));
        let session = SessionWord(if word == session.0 { handle.0 } else { word });
        assert_eq!(registry.pvar_read(session, handle, &mut buffer), Err(Error::INVALID_SESSION));
        assert_eq!(registry.pvar_session_free(session), Err(Error::INVALID_SESSION));
    }
    registry.pvar_handle_free(session, handle).unwrap();
    assert_eq!(registry.pvar_read(session, handle, &mut buffer), Err(Error::INVALID_HANDLE));
    assert_eq!(registry.pvar_handle_free(session, handle), Err(Error::INVALID_HANDLE));
    let (reused, _) = registry.pvar_handle_alloc(session, 0, 0).unwrap();
    assert_ne!(reused, handle);
    assert_eq!(registry.pvar_read(session, handle, &mut buffer), Err(Error::INVALID_HANDLE));
}

#[test]
fn freeing_a_session_frees_its_handles() {
    let (registry, session, handle) = registry_with(counter("c"), AtomicU64::new(0));
    registry.pvar_session_free(session).unwrap();
    assert_eq!(registry.pvar_usage(), (0, 0));
    assert_eq!(registry.pvar_session_free(session), Err(Error::INVALID_SESSION));
    assert_eq!(registry.pvar_start(session, handle), Err(Error::INVALID_SESSION));
    assert_eq!(registry.pvar_handle_alloc(session, 0, 0), Err(Error::INVALID_SESSION));
}

#[test]
fn the_cost_of_freeing_a_session_depends_only_on_its_own_handles() {
    let registry = Registry::new();
    let index = registry.add_pvar(counter("calls"), AtomicU64::new(0)).unwrap();
    let other = registry.pvar_session_create().unwrap();
    (0..1000).for_each(|_| _ = registry.pvar_handle_alloc(other, index, 0).unwrap());
    let session = registry.pvar_session_create().unwrap();
    for _ in 0..1000 {
        let (handle, _) = registry.pvar_handle_alloc(session, index, 0).unwrap();
        registry.pvar_handle_free(session, handle).unwrap();
    }
    registry.pvar_handle_alloc(session, index, 0).unwrap();
    let before = crate::table::looked();
    registry.pvar_session_free(session).unwrap();
    let looked = crate::table::looked() - before;
    assert!(looked <= 64, "{looked} slots were visited");
    assert_eq!(registry.pvar_usage(), (1, 1000));
}

#[test]
fn a_level_is_current_while_started_and_keeps_its_value_when_stopped() {
    let gauge = Arc::new(Gauge::new());
    gauge.set(4);
    let level = PvarSpec::new("l", PvarClass::LEVEL, Datatype::UNSIGNED);
    let (registry, session, handle) = registry_with(level, gauge.clone());
    let read = || registry.pvar_value::<u32>(session, handle).unwrap();
    gauge.add(2);
    assert_eq!(read(), 4);
    registry.pvar_start(session, handle).unwrap();
    assert_eq!(read(), 6);
    gauge.sub(5);
    assert_eq!(read(), 1);
    registry.pvar_stop(session, handle).unwrap();
    gauge.set(100);
    assert_eq!(read(), 1);
}

#[test]
fn watermarks_see_every_peak_and_start_at_the_current_level_for_each_handle() {
    let gauge = Arc::new(Gauge::new());
    gauge.set(5);
    let registry = Registry::new();
    for class in [PvarClass::HIGHWATERMARK, PvarClass::LOWWATERMARK] {
        registry.add_pvar(PvarSpec::new("q", class, Datatype::UNSIGNED_LONG), gauge.clone()).unwrap();
    }
    let session = registry.pvar_session_create().unwrap();
    let [(high, _), (low, _)] = [0, 1].map(|i| registry.pvar_handle_alloc(session, i, 0).unwrap());
    let read = || [high, low].map(|handle| registry.pvar_value::<u64>(session, handle).unwrap());
    gauge.set(1000);
    gauge.set(6);
    registry.pvar_start(session, ALL).unwrap();
    assert_eq!(read(), [6, 6]);
    gauge.set(50);
    gauge.set(2);
    gauge.set(7);
    assert_eq!(read(), [50, 2]);
    registry.pvar_reset(session, high).unwrap();
    assert_eq!(read(), [7, 2]);
    gauge.set(8);
    registry.pvar_stop(session, ALL).unwrap();
    gauge.set(99);
    gauge.set(0);
    assert_eq!(read(), [8, 2]);
    gauge.set(9);
    registry.pvar_start(session, ALL).unwrap();
    assert_eq!(read(), [9, 2]);
    assert_eq!(registry.pvar_take::<u64>(session, low), Ok(2));
    assert_eq!(read(), [9, 9]);
    registry.pvar_set(session, high, 60u64).unwrap();
    assert_eq!(read(), [60, 9]);
    registry.pvar_session_free(session).unwrap();
    assert!(!gauge.watch().unwrap().is_watched());
}

struct PerObject {
    interest: AtomicU32,
    wanted: AtomicBool,
}

/// A variable that can be bound to objects 1 to 4, with as many elements; element `i` of object `o`
/// is `10 o + i`.
impl Instrument for PerObject {
    fn bind(&self, object: u64) -> Result<Binding<'_>> {
        match object {
            1..=4 => Ok(Binding::sampled(object as usize)),
            _ => Err(Error::INVALID_HANDLE),
        }
    }

    fn sample(&self, object: u64, element: usize) -> Result<u64> {
        Ok(10 * object + element as u64)
    }

    fn interest(&self, wanted: bool) {
        self.interest.fetch_add(1, Ordering::Relaxed);
        self.wanted.store(wanted, Ordering::Relaxed);
    }
}

#[test]
fn the_bound_object_determines_the_count_and_a_wrong_one_is_rejected() {
    let registry = Registry::new();
    let spec = PvarSpec::new("s", PvarClass::SIZE, Datatype::UNSIGNED).bind(Bind::MPI_COMM);
    let instrument = PerObject { interest: AtomicU32::new(0), wanted: AtomicBool::new(false) };
    let index = registry.add_pvar(spec.continuous(true), instrument).unwrap();
    let session = registry.pvar_session_create().unwrap();
    assert_eq!(registry.pvar_handle_alloc(session, index, 0), Err(Error::INVALID_HANDLE));
    let (handle, count) = registry.pvar_handle_alloc(session, index, 3).unwrap();
    assert_eq!(count, 3);
    let mut out = [0xee; 16];
    registry.pvar_read(session, handle, &mut out).unwrap();
    let elements: Vec<_> = out.chunks(4).map(|b| u32::from_ne_bytes(b.try_into().unwrap())).collect();
    assert_eq!(elements, [30, 31, 32, 0xeeee_eeee]);
    assert_eq!(registry.pvar_read(session, handle, &mut out[..11]), Err(Error::INVALID));
}

#[test]
fn the_object_is_ignored_if_the_variable_is_bound_to_nothing() {
    struct Unbound;
    impl Instrument for Unbound {
        fn bind(&self, object: u64) -> Result<Binding<'_>> {
            assert_eq!(object, 0);
            Ok(Binding::sampled(1))
        }
        fn sample(&self, _object: u64, _element: usize) -> Result<u64> {
            Err(Error::library(17))
        }
    }
    let registry = Registry::new();
    let index = registry.add_pvar(counter("c"), Unbound).unwrap();
    let session = registry.pvar_session_create().unwrap();
    let (handle, _) = registry.pvar_handle_alloc(session, index, 77).unwrap();
    assert_eq!(registry.pvar_start(session, handle), Err(Error::library(17)));
    assert_eq!(registry.pvar_start(session, ALL), Err(Error::PVAR_NO_STARTSTOP));
}

#[test]
fn the_provider_is_notified_of_the_first_start_and_the_last_stop() {
    let instrument =
        Arc::new(PerObject { interest: AtomicU32::new(0), wanted: AtomicBool::new(false) });
    let registry = Registry::new();
    let spec = PvarSpec::new("s", PvarClass::LEVEL, Datatype::UNSIGNED).bind(Bind::MPI_COMM);
    let index = registry.add_pvar(spec, instrument.clone()).unwrap();
    let session = registry.pvar_session_create().unwrap();
    let [(one, _), (two, _)] = [1, 2].map(|o| registry.pvar_handle_alloc(session, index, o).unwrap());
    let heard =
        || (instrument.interest.load(Ordering::Relaxed), instrument.wanted.load(Ordering::Relaxed));
    assert_eq!(heard(), (0, false));
    registry.pvar_start(session, one).unwrap();
    registry.pvar_start(session, one).unwrap();
    registry.pvar_start(session, two).unwrap();
    assert_eq!(heard(), (1, true));
    registry.pvar_stop(session, one).unwrap();
    registry.pvar_stop(session, one).unwrap();
    assert_eq!(heard(), (1, true));
    registry.pvar_handle_free(session, two).unwrap();
    assert_eq!(heard(), (2, false));
}

#[test]
fn arrays_are_measured_element_by_element() {
    struct Cells([AtomicU64; 3]);
    impl Instrument for Cells {
        fn bind(&self, _object: u64) -> Result<Binding<'_>> {
            Ok(Binding::cells(&self.0))
        }
    }
    let cells = Arc::new(Cells([const { AtomicU64::new(7) }; 3]));
    let (registry, session, handle) = registry_with(counter("c"), cells.clone());
    registry.pvar_start(session, handle).unwrap();
    cells.0[1].fetch_add(2, Ordering::Relaxed);
    cells.0[2].fetch_add(3, Ordering::Relaxed);
    let mut out = [0; 24];
    registry.pvar_readreset(session, handle, &mut out).unwrap();
    let values = |out: &[u8; 24]| [0, 8, 16].map(|at| out[at]);
    assert_eq!(values(&out), [0, 2, 3]);
    cells.0[0].fetch_add(1, Ordering::Relaxed);
    registry.pvar_read(session, handle, &mut out).unwrap();
    assert_eq!(values(&out), [1, 0, 0]);
}

#[test]
fn a_timer_in_seconds_starts_at_zero_whatever_the_clock_shows() {
    let nanoseconds = Arc::new(AtomicU64::new(1_795_247_999_000_000_000));
    let timer = PvarSpec::new("t", PvarClass::TIMER, Datatype::DOUBLE).unit(Unit::Scaled(1e-9));
    let (registry, session, handle) = registry_with(timer, nanoseconds.clone());
    assert_eq!(registry.pvar_value::<f64>(session, handle), Ok(0.0));
    registry.pvar_start(session, handle).unwrap();
    nanoseconds.fetch_add(2_500_000_000, Ordering::Relaxed);
    assert_eq!(registry.pvar_value::<f64>(session, handle), Ok(2.5));
    assert_eq!(registry.pvar_set(session, handle, -1.0f64), Err(Error::INVALID));
}

#[test]
fn the_last_finalize_invalidates_sessions_but_not_indices() {
    let registry = Registry::new();
    let index = registry.add_pvar(counter("c"), AtomicU64::new(0)).unwrap();
    for cycle in 0..10_000 {
        assert!(registry.init());
        assert_eq!(registry.pvar_index("c", PvarClass::COUNTER), Ok(index));
        let session = registry.pvar_session_create().unwrap();
        let (handle, _) = registry.pvar_handle_alloc(session, index, 0).unwrap();
        assert!(!registry.init());
        assert_eq!(registry.finalize(), Ok(false));
        assert_eq!(registry.pvar_value::<u64>(session, handle), Ok(0), "cycle {cycle}");
        assert_eq!(registry.finalize(), Ok(true));
        assert_eq!(registry.pvar_value::<u64>(session, handle), Err(Error::INVALID_SESSION));
    }
    assert_eq!(registry.pvar_usage(), (0, 0));
    assert_eq!(registry.finalize(), Err(Error::NOT_INITIALIZED));
}

/// A provider's own handle, which logs the calls it receives.
struct Logged(Arc<std::sync::Mutex<Vec<&'static str>>>, #[allow(dead_code)] Arc<DropLog>);

struct DropLog(Arc<std::sync::Mutex<Vec<&'static str>>>);

impl Drop for DropLog {
    fn drop(&mut self) {
        self.0.lock().unwrap().push("session freed");
    }
}

impl Logged {
    fn log(&self, what: &'static str) {
        self.0.lock().unwrap().push(what);
    }
}

impl Drop for Logged {
    fn drop(&mut self) {
        self.log("free");
    }
}

impl PvarHandle for Logged {
    fn count(&self) -> usize {
        2
    }
    fn start(&self) -> Result<()> {
        self.log("start");
        Ok(())
    }
    fn stop(&self) -> Result<()> {
        self.log("stop");
        Err(Error::library(5))
    }
    fn read(&self, out: &mut [u8]) -> Result<()> {
        out.fill(3);
        Ok(())
    }
    fn write(&self, from: &[u8]) -> Result<()> {
        assert_eq!(from.len(), 8);
        self.log("write");
        Ok(())
    }
}

struct Foreign(Arc<std::sync::Mutex<Vec<&'static str>>>);

impl PvarProvider for Foreign {
    fn open(&self, _object: u64, session: SessionContext<'_>) -> Result<Box<dyn PvarHandle>> {
        let native = session.attach(|| Ok(DropLog(self.0.clone())))?;
        Ok(Box::new(Logged(self.0.clone(), native)))
    }
}

#[test]
fn a_foreign_variable_gets_every_call_and_its_session_goes_last() {
    let log = Arc::new(std::sync::Mutex::new(Vec::new()));
    let registry = Registry::new();
    let spec = PvarSpec::new("lib_x", PvarClass::GENERIC, Datatype::UNSIGNED).readonly(false).atomic(true);
    let index = registry.add_custom_pvar(spec, Foreign(log.clone())).unwrap();
    let session = registry.pvar_session_create().unwrap();
    let (handle, count) = registry.pvar_handle_alloc(session, index, 0).unwrap();
    let (second, _) = registry.pvar_handle_alloc(session, index, 0).unwrap();
    assert_eq!(count, 2);
    registry.pvar_start(session, handle).unwrap();
    registry.pvar_start(session, handle).unwrap();
    let mut out = [0; 9];
    registry.pvar_read(session, handle, &mut out).unwrap();
    assert_eq!(out, [3, 3, 3, 3, 3, 3, 3, 3, 0]);
    registry.pvar_write(session, handle, &out).unwrap();
    assert_eq!(registry.pvar_reset(session, handle), Err(Error::PVAR_NO_WRITE));
    assert_eq!(registry.pvar_reset(session, ALL), Err(Error::PVAR_NO_WRITE));
    assert_eq!(registry.pvar_readreset(session, handle, &mut out), Err(Error::PVAR_NO_ATOMIC));
    assert_eq!(registry.pvar_stop(session, handle), Err(Error::library(5)));
    registry.pvar_handle_free(session, second).unwrap();
    registry.pvar_session_free(session).unwrap();
    let expected = ["start", "write", "stop", "free", "free", "session freed"];
    assert_eq!(*log.lock().unwrap(), expected);
}

#[test]
fn four_threads_in_two_sessions_count_exactly_and_independently() {
    const ADDS: u64 = 200_000;
    let total = Arc::new(AtomicU64::new(0));
    let (registry, quiet, watched) = registry_with(counter("c").continuous(true), total.clone());
    let noisy = registry.pvar_session_create().unwrap();
    let (shared, _) = registry.pvar_handle_alloc(noisy, 0, 0).unwrap();
    let done = AtomicU32::new(0);
    let (registry, total, done) = (&registry, &total, &done);
    let taken: u64 = thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(move || {
                (0..ADDS).for_each(|_| _ = total.fetch_add(1, Ordering::Relaxed));
                done.fetch_add(1, Ordering::Release);
            });
        }
        let takers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(move || {
                    let mut sum = 0;
                    let mut last = 0;
                    while done.load(Ordering::Acquire) < 2 {
                        let taken: u64 = registry.pvar_take(noisy, shared).unwrap();
                        assert!(taken <= 2 * ADDS, "torn or negative: {taken}");
                        sum += taken;
                        let now: u64 = registry.pvar_value(quiet, watched).unwrap();
                        assert!(now >= last && now <= 2 * ADDS);
                        last = now;
                    }
                    sum
                })
            })
            .collect();
        takers.into_iter().map(|taker| taker.join().unwrap()).sum()
    });
    let rest: u64 = registry.pvar_take(noisy, shared).unwrap();
    assert_eq!(taken + rest, 2 * ADDS);
    assert_eq!(registry.pvar_value::<u64>(quiet, watched), Ok(2 * ADDS));
}

#[test]
fn readers_of_a_handle_that_others_free_and_reuse_get_its_value_or_an_error() {
    let total = Arc::new(AtomicU64::new(0));
    let (registry, session, _) = registry_with(counter("c").continuous(true), total);
    let index = registry
        .add_pvar(counter("array").continuous(true), &*Box::leak(Box::new(Six)))
        .unwrap();
    struct Six;
    impl Instrument for Six {
        fn bind(&self, _object: u64) -> Result<Binding<'_>> {
            Ok(Binding::sampled(6))
        }
        fn sample(&self, _object: u64, _element: usize) -> Result<u64> {
            Ok(1)
        }
    }
    let word = AtomicU64::new(0);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let mut out = [0xaa; 48];
                    let handle = PvarWord(word.load(Ordering::Acquire));
                    match registry.pvar_read(session, handle, &mut out[..8]) {
                        Ok(()) => assert_eq!(out[..8], [0; 8]),
                        Err(error) => assert!([Error::INVALID_HANDLE, Error::INVALID].contains(&error)),
                    }
                    assert_eq!(out[8..], [0xaa; 40]);
                }
            });
        }
        for round in 0..20_000 {
            let (handle, _) = registry.pvar_handle_alloc(session, round % 2 * index, 0).unwrap();
            word.store(handle.0, Ordering::Release);
            registry.pvar_handle_free(session, handle).unwrap();
        }
        stop.store(true, Ordering::Relaxed);
    });
}

/// The result of [`Registry::pvar_read_leaf`].
fn leaf(registry: &Registry, session: SessionWord, handle: PvarWord) -> Option<u64> {
    let mut bits = 0u64;
    // SAFETY: room for any scalar.
    unsafe { registry.pvar_read_leaf(session, handle, (&raw mut bits).cast()) }.then_some(bits)
}

#[test]
fn a_total_in_parts_is_read_in_every_way_while_parts_are_added() {
    static PARTS: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];
    static TOTAL: Shards = Shards::new();
    let (registry, session, handle) = registry_with(counter("parts"), &TOTAL);
    registry.pvar_start(session, handle).unwrap();
    assert_eq!(leaf(&registry, session, handle), Some(0));
    for (number, part) in (1..).zip(&PARTS) {
        assert!(TOTAL.add(part));
        part.fetch_add(10, Ordering::Relaxed);
        assert_eq!(leaf(&registry, session, handle), Some(10 * number));
        assert_eq!(registry.pvar_value::<u64>(session, handle), Ok(10 * number));
    }
    assert_eq!(registry.pvar_take::<u64>(session, handle), Ok(30));
    PARTS[1].fetch_add(4, Ordering::Relaxed);
    let mut taken = 0u64;
    // SAFETY: room for the scalar.
    unsafe { registry.pvar_readreset_raw(session, handle, (&raw mut taken).cast()) }.unwrap();
    assert_eq!((taken, leaf(&registry, session, handle)), (4, Some(0)));
    registry.pvar_stop(session, handle).unwrap();
    PARTS[2].fetch_add(1, Ordering::Relaxed);
    assert_eq!(leaf(&registry, session, handle), Some(0));
}

#[test]
fn the_fast_read_yields_nothing_for_invalid_handles_and_for_values_that_are_not_integers_in_memory() {
    let total = Arc::new(AtomicU64::new(5));
    let (registry, session, mut handle) = registry_with(counter("total"), total.clone());
    registry.pvar_start(session, handle).unwrap();
    total.fetch_add(2, Ordering::Relaxed);
    assert_eq!(leaf(&registry, session, handle), Some(2));
    let other = registry.pvar_session_create().unwrap();
    assert_eq!(leaf(&registry, other, handle), None);
    assert_eq!(leaf(&registry, SessionWord::NULL, handle), None);
    for wrong in [PvarWord::NULL, ALL, PvarWord(8), PvarWord(handle.0 + 1)] {
        assert_eq!(leaf(&registry, session, wrong), None);
    }
    let stale = handle;
    registry.pvar_handle_free(session, handle).unwrap();
    assert_eq!(leaf(&registry, session, stale), None);
    (handle, _) = registry.pvar_handle_alloc(session, 0, 0).unwrap();
    assert_eq!((leaf(&registry, session, stale), leaf(&registry, session, handle)), (None, Some(0)));

    let seconds = PvarSpec::new("time", PvarClass::TIMER, Datatype::DOUBLE).unit(Unit::Scaled(0.5));
    let index = registry.add_pvar(seconds, total).unwrap();
    let (handle, _) = registry.pvar_handle_alloc(session, index, 0).unwrap();
    assert_eq!(leaf(&registry, session, handle), None);
    assert_eq!(registry.pvar_value::<f64>(session, handle), Ok(0.0));
}
