//! The rules of events, one test per rule.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use super::*;
use crate::codes::{Bind, CbSafety, Datatype, Error, SourceOrder};
use crate::registry::Registry;
use crate::word::{InstanceWord, RegistrationWord};

type Log<T> = Arc<Mutex<Vec<T>>>;

/// A registry with source 0, which has a ticking clock, event 0 "sent" of (INT tag, COUNT bytes) bound to
/// objects 1 to 9, and event 1 "tick" without elements, which is unbound.
fn fixture() -> &'static Registry {
    let registry = Box::leak(Box::new(Registry::new()));
    let ticks = AtomicU64::new(0);
    let clock = move || ticks.fetch_add(1, Ordering::Relaxed) + 1;
    registry.add_source(SourceSpec::new("one", 1000, clock).order(SourceOrder::ORDERED)).unwrap();
    let sent = EventSpec::new("sent")
        .element("tag", Datatype::INT)
        .element("bytes", Datatype::COUNT)
        .hints(Hints::new().with("depth", "4"))
        .callback_hints(Hints::new().with("batch", "no"))
        .bind(Bind::MPI_COMM, |o| if (1..=9).contains(&o) { Ok(()) } else { Err(Error::INVALID_HANDLE) });
    registry.add_event(sent).unwrap();
    registry.add_event(EventSpec::new("tick")).unwrap();
    registry
}

fn payload(tag: i32, bytes: i64) -> [u8; 16] {
    let mut out = [0; 16];
    out[..4].copy_from_slice(&tag.to_ne_bytes());
    out[8..].copy_from_slice(&bytes.to_ne_bytes());
    out
}

fn register(
    registry: &Registry,
    event: usize,
    object: u64,
    safety: CbSafety,
    callback: impl Fn(Delivery) + Send + Sync + 'static,
) -> RegistrationWord {
    let handle = registry.event_handle_alloc(event, object, &Hints::new()).unwrap();
    let callback = Some(Box::new(callback) as EventCallback);
    registry.event_register_callback(handle, safety, &Hints::new(), 7, callback).unwrap();
    handle
}

fn counter() -> (Arc<AtomicUsize>, impl Fn(Delivery) + Send + Sync + Clone + 'static) {
    let count = Arc::new(AtomicUsize::new(0));
    let seen = count.clone();
    (count, move |_| _ = seen.fetch_add(1, Ordering::Relaxed))
}

fn get(count: &AtomicUsize) -> usize {
    count.load(Ordering::Relaxed)
}

#[test]
fn sources_and_types_report_what_was_registered() {
    let registry = fixture();
    let source = registry.source(0).unwrap();
    assert_eq!((source.name(), source.ticks_per_second()), ("one", 1000));
    assert_eq!((source.order(), source.max_ticks()), (SourceOrder::ORDERED, i64::MAX as u64));
    assert!(source.timestamp().unwrap() < source.timestamp().unwrap());
    assert_eq!(registry.source(-1).err(), Some(Error::INVALID_INDEX));
    assert_eq!(registry.source(1).err(), Some(Error::INVALID_INDEX));
    let mute = SourceSpec::new("mute", 1, || 0).no_timestamp_on_demand();
    let mute = registry.add_source(mute).unwrap();
    assert_eq!(registry.source(mute).unwrap().timestamp(), Err(Error::NOT_SUPPORTED));

    let info = registry.event(0).unwrap().info();
    let displacements: Vec<_> = info.elements.iter().map(|element| element.displacement).collect();
    assert_eq!((displacements, info.extent), (vec![0, 8], 16));
    let names = registry.enumeration(info.enumeration.unwrap()).unwrap();
    assert_eq!(names.get(1), Some((1, "bytes")));
    assert_eq!(registry.event_index("sent"), Ok(0));
    assert_eq!(registry.event_index("none"), Err(Error::INVALID_NAME));
    assert_eq!(registry.event(2).err(), Some(Error::INVALID_INDEX));
    assert_eq!(registry.add_event(EventSpec::new("sent")), Err(Error::INVALID_NAME));
}

#[test]
fn an_instance_gives_elements_payload_timestamp_and_source_and_nothing_after_its_callback() {
    let registry = fixture();
    let kept = Arc::new(AtomicU64::new(0));
    let keep = kept.clone();
    register(registry, 0, 3, CbSafety::MPI_RESTRICTED, move |delivery| {
        let mut tag = [0; 4];
        read(delivery.instance, 0, &mut tag).unwrap();
        assert_eq!(i32::from_ne_bytes(tag), 5);
        let mut bytes = [0; 8];
        read(delivery.instance, 1, &mut bytes).unwrap();
        assert_eq!(i64::from_ne_bytes(bytes), 600);
        assert_eq!(read(delivery.instance, 1, &mut tag), Err(Error::INVALID));
        assert_eq!(read(delivery.instance, 2, &mut bytes), Err(Error::INVALID_INDEX));
        assert_eq!(read(delivery.instance, -1, &mut bytes), Err(Error::INVALID_INDEX));
        let mut whole = [0xee; 20];
        copy(delivery.instance, &mut whole).unwrap();
        assert_eq!((&whole[..16], &whole[16..]), (&payload(5, 600)[..], &[0xee; 4][..]));
        assert_eq!(copy(delivery.instance, &mut whole[..15]), Err(Error::INVALID));
        assert_eq!(timestamp(delivery.instance), Ok(77));
        assert_eq!(source_index(delivery.instance), Ok(0));
        assert_eq!((delivery.safety, delivery.user_data), (CbSafety::NONE, 7));
        let other = thread::spawn(move || timestamp(delivery.instance)).join().unwrap();
        assert_eq!(other, Err(Error::INVALID_HANDLE));
        keep.store(delivery.instance.0, Ordering::Relaxed);
    });
    // A second registration; during its callback the first one's instance must be stale.
    let stale = kept.clone();
    register(registry, 0, 3, CbSafety::NONE, move |delivery| {
        let first = InstanceWord(stale.swap(delivery.instance.0, Ordering::Relaxed));
        assert_eq!(timestamp(first), Err(Error::INVALID_HANDLE));
    });
    registry.raiser(0, 0).unwrap().raise_at(77, 3, CbSafety::NONE, || payload(5, 600));
    let word = InstanceWord(kept.load(Ordering::Relaxed));
    assert!(word.is_ours());
    for word in [word, InstanceWord::NULL, InstanceWord(1), InstanceWord(u64::MAX)] {
        assert_eq!(timestamp(word), Err(Error::INVALID_HANDLE));
        assert_eq!(copy(word, &mut [0; 99]), Err(Error::INVALID_HANDLE));
    }
}

#[test]
fn only_registrations_for_the_object_receive_the_event() {
    let registry = fixture();
    let (three, on_three) = counter();
    let (four, on_four) = counter();
    register(registry, 0, 3, CbSafety::NONE, on_three);
    register(registry, 0, 4, CbSafety::NONE, on_four);
    let raiser = registry.raiser(0, 0).unwrap();
    for object in 1..=9 {
        raiser.raise(object, CbSafety::NONE, || payload(0, 0));
    }
    raiser.raise(4, CbSafety::NONE, || payload(0, 0));
    assert_eq!((get(&three), get(&four)), (1, 2));
    assert_eq!(registry.event_handle_alloc(0, 10, &Hints::new()), Err(Error::INVALID_HANDLE));
    assert!(registry.event_handle_alloc(1, 10, &Hints::new()).is_ok());
}

#[test]
fn no_payload_is_built_without_a_registration() {
    let registry = fixture();
    let raiser = registry.raiser(1, 0).unwrap();
    raiser.raise(0, CbSafety::NONE, || -> [u8; 0] { panic!("built without a registration") });
    let handle = registry.event_handle_alloc(1, 0, &Hints::new()).unwrap();
    raiser.raise(0, CbSafety::NONE, || -> [u8; 0] { panic!("built without a callback") });
    registry.event_handle_free(handle, 0, None).unwrap();
    assert_eq!(registry.event_usage(), 0);
}

#[test]
fn the_callback_of_the_lowest_valid_level_is_selected() {
    let registry = fixture();
    let log: Log<(u32, CbSafety)> = Log::default();
    let handle = registry.event_handle_alloc(1, 0, &Hints::new()).unwrap();
    let set = |level: CbSafety, on: bool| {
        let log = log.clone();
        let callback = move |d: Delivery| log.lock().unwrap().push((level.0, d.safety));
        let callback = on.then(|| Box::new(callback) as EventCallback);
        registry.event_register_callback(handle, level, &Hints::new(), 0, callback).unwrap();
    };
    let raised = |context: CbSafety| {
        registry.raiser(1, 0).unwrap().raise(0, context, || []);
        log.lock().unwrap().pop()
    };
    set(CbSafety::THREAD_SAFE, true);
    set(CbSafety::MPI_RESTRICTED, true);
    let (none, restricted, safe, signal) = (
        CbSafety::NONE,
        CbSafety::MPI_RESTRICTED,
        CbSafety::THREAD_SAFE,
        CbSafety::ASYNC_SIGNAL_SAFE,
    );
    assert_eq!(raised(none), Some((1, none)));
    assert_eq!(raised(restricted), Some((1, restricted)));
    assert_eq!(raised(safe), Some((2, safe)));
    assert_eq!(raised(signal), None);
    set(restricted, false);
    assert_eq!(raised(none), Some((2, none)));
    set(safe, false);
    assert_eq!(raised(none), None);
    let unknown = registry.event_register_callback(handle, CbSafety(4), &Hints::new(), 0, None);
    assert_eq!(unknown, Err(Error::INVALID));
}

#[test]
fn hints_are_kept_by_registration_and_by_level_and_returned_as_copies() {
    let registry = fixture();
    let given = Hints::new().with("depth", "8").with("colour", "red");
    let handle = registry.event_handle_alloc(0, 1, &given).unwrap();
    assert_eq!(registry.event_handle_get_info(handle), Ok(Hints::new().with("depth", "8")));
    registry.event_handle_set_info(handle, &Hints::new().with("x", "1")).unwrap();
    registry.event_handle_set_info(handle, &Hints::new().with("depth", "9")).unwrap();
    assert_eq!(registry.event_handle_get_info(handle), Ok(Hints::new().with("depth", "9")));
    let level = CbSafety::THREAD_SAFE;
    assert_eq!(registry.event_callback_get_info(handle, level), Err(Error::INVALID));
    let batch = |value| Hints::new().with("batch", value);
    let set = |hints: &Hints| {
        registry.event_register_callback(handle, level, hints, 0, Some(Box::new(|_| ()))).unwrap();
    };
    set(&batch("yes"));
    assert_eq!(registry.event_callback_get_info(handle, level), Ok(batch("yes")));
    registry.event_callback_set_info(handle, level, &batch("maybe")).unwrap();
    assert_eq!(registry.event_callback_get_info(handle, level), Ok(batch("maybe")));
    set(&Hints::new());
    assert_eq!(registry.event_callback_get_info(handle, level), Ok(batch("no")));
}

#[test]
fn a_freed_or_foreign_registration_is_rejected_everywhere() {
    let registry = fixture();
    let freed = registry.event_handle_alloc(1, 0, &Hints::new()).unwrap();
    registry.event_handle_free(freed, 0, None).unwrap();
    let again = registry.event_handle_alloc(1, 0, &Hints::new()).unwrap();
    assert_ne!(freed, again);
    for word in [freed, RegistrationWord::NULL, RegistrationWord(u64::MAX), RegistrationWord(8)] {
        let invalid = Err(Error::INVALID_HANDLE);
        let hints = Hints::new();
        assert_eq!(registry.event_handle_free(word, 0, None), invalid);
        assert_eq!(registry.event_handle_set_info(word, &hints), invalid);
        assert_eq!(registry.event_register_callback(word, CbSafety::NONE, &hints, 0, None), invalid);
        assert_eq!(registry.event_set_dropped_handler(word, None), invalid);
        assert_eq!(registry.event_handle_get_info(word), Err(Error::INVALID_HANDLE));
    }
}

fn free_logging(registry: &Registry, handle: RegistrationWord, log: &Log<String>) {
    let log = log.clone();
    let callback = move |freed: Freed| {
        log.lock().unwrap().push(format!("freed {} {:?}", freed.user_data, freed.safety));
        assert_eq!(freed.registration, handle);
    };
    registry.event_handle_free(handle, 99, Some(Box::new(callback))).unwrap();
}

#[test]
fn a_handle_freed_in_its_own_callback_gets_its_free_callback_after_that_returns() {
    let registry = fixture();
    let log: Log<String> = Log::default();
    let inner = log.clone();
    register(registry, 1, 0, CbSafety::NONE, move |delivery| {
        free_logging(registry, delivery.registration, &inner);
        let twice = registry.event_handle_free(delivery.registration, 0, None);
        assert_eq!(twice, Err(Error::INVALID_HANDLE));
        inner.lock().unwrap().push("callback ends".into());
        registry.raiser(1, 0).unwrap().raise(0, CbSafety::NONE, || []);
    });
    registry.raiser(1, 0).unwrap().raise(0, CbSafety::NONE, || []);
    registry.raiser(1, 0).unwrap().raise(0, CbSafety::NONE, || []);
    assert_eq!(*log.lock().unwrap(), ["callback ends", "freed 99 CbSafety::NONE"]);
}

#[test]
fn a_free_callback_waits_for_a_callback_in_another_thread() {
    let registry = fixture();
    let log: Log<String> = Log::default();
    let (entered, freed) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let (e, f, inner) = (entered.clone(), freed.clone(), log.clone());
    let handle = register(registry, 1, 0, CbSafety::THREAD_SAFE, move |_| {
        e.wait();
        f.wait();
        inner.lock().unwrap().push("callback ends".into());
    });
    thread::scope(|scope| {
        scope.spawn(|| registry.raiser(1, 0).unwrap().raise(0, CbSafety::THREAD_SAFE, || []));
        entered.wait();
        free_logging(registry, handle, &log);
        assert!(log.lock().unwrap().is_empty());
        freed.wait();
    });
    assert_eq!(*log.lock().unwrap(), ["callback ends", "freed 99 CbSafety::THREAD_SAFE"]);
}

#[test]
fn data_owned_by_callbacks_is_dropped_when_they_are_replaced_or_freed() {
    let registry = fixture();
    let (old, new, handler) = (Arc::new(()), Arc::new(()), Arc::new(()));
    let kept = old.clone();
    let handle = register(registry, 1, 0, CbSafety::NONE, move |_| _ = &kept);
    let kept = new.clone();
    let callback = Some(Box::new(move |_| _ = &kept) as EventCallback);
    registry.event_register_callback(handle, CbSafety::NONE, &Hints::new(), 0, callback).unwrap();
    assert_eq!(Arc::strong_count(&old), 1);
    let kept = handler.clone();
    registry.event_set_dropped_handler(handle, Some(Box::new(move |_| _ = &kept))).unwrap();
    registry.event_handle_free(handle, 0, None).unwrap();
    assert_eq!((Arc::strong_count(&new), Arc::strong_count(&handler)), (1, 1));
}

#[test]
fn a_callback_may_replace_itself() {
    let registry = fixture();
    let (count, second) = counter();
    let handle = register(registry, 1, 0, CbSafety::NONE, move |delivery| {
        let second = Some(Box::new(second.clone()) as EventCallback);
        let hints = Hints::new();
        registry
            .event_register_callback(delivery.registration, CbSafety::NONE, &hints, 0, second)
            .unwrap();
    });
    for _ in 0..3 {
        registry.raiser(1, 0).unwrap().raise(0, CbSafety::NONE, || []);
    }
    assert_eq!(get(&count), 2);
    registry.event_handle_free(handle, 0, None).unwrap();
}

/// A running callback must find its data until it returns, whatever it does to its registration: a freed list
/// would no longer hold these numbers (and is a use after free for the sanitizer).
#[test]
fn data_of_a_callback_that_replaces_or_frees_itself_lives_until_it_returns() {
    let registry = fixture();
    let numbers: Vec<u64> = (0..1000).collect();
    let seen = Arc::new(AtomicU64::new(0));
    let sum = |numbers: &[u64]| numbers.iter().sum::<u64>();
    let (own, total) = (numbers.clone(), seen.clone());
    let replaced = register(registry, 1, 0, CbSafety::MPI_RESTRICTED, move |delivery| {
        let handle = delivery.registration;
        let safety = CbSafety::MPI_RESTRICTED;
        registry.event_register_callback(handle, safety, &Hints::new(), 0, Some(Box::new(|_| ()))).unwrap();
        total.fetch_add(sum(&own), Ordering::Relaxed);
    });
    let (own, total) = (numbers.clone(), seen.clone());
    let handler = move |drops: Drops| {
        registry.event_set_dropped_handler(drops.registration, None).unwrap();
        total.fetch_add(sum(&own), Ordering::Relaxed);
    };
    registry.event_set_dropped_handler(replaced, Some(Box::new(handler))).unwrap();
    let (own, total) = (numbers.clone(), seen.clone());
    register(registry, 1, 0, CbSafety::MPI_RESTRICTED, move |delivery| {
        registry.event_handle_free(delivery.registration, 0, None).unwrap();
        total.fetch_add(sum(&own), Ordering::Relaxed);
    });
    let tick = registry.raiser(1, 0).unwrap();
    tick.raise(0, CbSafety::THREAD_SAFE, || []);
    tick.raise(0, CbSafety::NONE, || []);
    assert_eq!(seen.load(Ordering::Relaxed), 3 * sum(&numbers));
}

fn on_drops(registry: &Registry, handle: RegistrationWord, log: &Log<String>, name: &'static str) {
    let log = log.clone();
    let handler = move |drops: Drops| {
        assert_eq!(drops.user_data, 7);
        log.lock().unwrap().push(format!("{name} lost {} of {}", drops.count, drops.source));
    };
    registry.event_set_dropped_handler(handle, Some(Box::new(handler))).unwrap();
}

#[test]
fn losses_are_reported_before_the_next_event_of_the_source_to_any_registration() {
    let registry = fixture();
    let other_source = registry.add_source(SourceSpec::new("two", 1, || 0)).unwrap();
    let log: Log<String> = Log::default();
    let (a, b) = (log.clone(), log.clone());
    let push = |log: &Log<String>, what: &str| log.lock().unwrap().push(what.into());
    let lossy = register(registry, 0, 1, CbSafety::MPI_RESTRICTED, move |_| push(&a, "sent"));
    register(registry, 1, 0, CbSafety::THREAD_SAFE, move |_| push(&b, "tick"));
    on_drops(registry, lossy, &log, "sent");
    let (sent, tick) = (registry.raiser(0, 0).unwrap(), registry.raiser(1, 0).unwrap());
    let elsewhere = registry.raiser(1, other_source).unwrap();
    sent.raise(1, CbSafety::NONE, || payload(0, 0));
    sent.raise(1, CbSafety::THREAD_SAFE, || payload(0, 0));
    sent.raise(1, CbSafety::THREAD_SAFE, || payload(0, 0));
    elsewhere.raise(0, CbSafety::NONE, || []);
    // The lossy registration has no callback for this level: it is informed later.
    tick.raise(0, CbSafety::THREAD_SAFE, || []);
    tick.raise(0, CbSafety::MPI_RESTRICTED, || []);
    sent.raise(1, CbSafety::NONE, || payload(0, 0));
    let expected = ["sent", "tick", "tick", "sent lost 2 of 0", "tick", "sent"];
    assert_eq!(*log.lock().unwrap(), expected);
}

#[test]
fn losses_are_counted_only_while_there_is_a_handler() {
    let registry = fixture();
    let log: Log<String> = Log::default();
    let handle = register(registry, 1, 0, CbSafety::NONE, |_| ());
    let raise = |context| registry.raiser(1, 0).unwrap().raise(0, context, || []);
    raise(CbSafety::THREAD_SAFE);
    on_drops(registry, handle, &log, "a");
    raise(CbSafety::NONE);
    assert!(log.lock().unwrap().is_empty());
    raise(CbSafety::THREAD_SAFE);
    registry.event_set_dropped_handler(handle, None).unwrap();
    on_drops(registry, handle, &log, "b");
    raise(CbSafety::NONE);
    assert!(log.lock().unwrap().is_empty());
    raise(CbSafety::THREAD_SAFE);
    on_drops(registry, handle, &log, "c");
    raise(CbSafety::NONE);
    assert_eq!(*log.lock().unwrap(), ["c lost 1 of 0"]);
}

#[test]
fn a_registration_does_not_inherit_the_losses_of_its_slots_predecessor() {
    let registry = fixture();
    let log: Log<String> = Log::default();
    let raise = |context| registry.raiser(1, 0).unwrap().raise(0, context, || []);
    for name in ["a", "b"] {
        let handle = register(registry, 1, 0, CbSafety::NONE, |_| ());
        on_drops(registry, handle, &log, name);
        raise(CbSafety::THREAD_SAFE);
        registry.event_handle_free(handle, 0, None).unwrap();
    }
    let last = register(registry, 1, 0, CbSafety::NONE, |_| ());
    on_drops(registry, last, &log, "c");
    raise(CbSafety::NONE);
    assert_eq!(registry.registrations.slots.len(), 1, "the slot was not reused");
    assert!(log.lock().unwrap().is_empty());
}

#[test]
fn the_cost_of_registering_and_freeing_does_not_depend_on_other_registrations() {
    const MANY: usize = 1000;
    let registry = fixture();
    for round in 0..3 {
        let before = crate::table::looked();
        let handles: Vec<_> = (0..MANY).map(|_| register(registry, 1, 0, CbSafety::NONE, |_| ())).collect();
        handles.iter().for_each(|&handle| registry.event_handle_free(handle, 0, None).unwrap());
        let looked = crate::table::looked() - before;
        assert!(looked <= MANY * 16, "{looked} slots were visited in round {round}");
        assert_eq!(registry.registrations.slots.len(), MANY, "no slot was reused");
    }
}

#[test]
fn an_object_is_wanted_until_the_last_registration_for_it_has_no_callback() {
    let registry = fixture();
    let wanted = |object| registry.event(0).unwrap().is_wanted(object);
    let one = register(registry, 0, 7, CbSafety::NONE, |_| ());
    let two = register(registry, 0, 7, CbSafety::THREAD_SAFE, |_| ());
    assert!(wanted(7) && registry.event(0).unwrap().is_in_turn());
    registry.event_register_callback(one, CbSafety::NONE, &Hints::new(), 0, None).unwrap();
    assert!(wanted(7) && !registry.event(0).unwrap().is_in_turn());
    registry.event_handle_free(two, 0, None).unwrap();
    assert!(!wanted(7));
    registry.event_handle_free(one, 0, None).unwrap();
    assert!(!wanted(7));
}

#[test]
fn a_count_of_losses_saturates() {
    let registry = fixture();
    let log: Log<String> = Log::default();
    let handle = register(registry, 1, 0, CbSafety::NONE, |_| ());
    on_drops(registry, handle, &log, "a");
    let slot = registry.registrations.slots.get(0).unwrap();
    let raise = |context| registry.raiser(1, 0).unwrap().raise(0, context, || []);
    raise(CbSafety::THREAD_SAFE);
    slot.lost.get(0).unwrap().store(i64::MAX as u64 - 1, Ordering::Relaxed);
    raise(CbSafety::THREAD_SAFE);
    raise(CbSafety::THREAD_SAFE);
    raise(CbSafety::NONE);
    assert_eq!(*log.lock().unwrap(), [format!("a lost {} of 0", i64::MAX)]);
}

/// The callback of each registration raises both types again.
#[test]
fn events_caused_by_a_callback_reach_other_registrations_once_but_not_its_own() {
    let registry = fixture();
    registry.add_event(EventSpec::new("tock")).unwrap();
    let raise = |event| registry.raiser(event, 0).unwrap().raise(0, CbSafety::NONE, || []);
    let counts: Vec<_> = [1, 1, 2]
        .into_iter()
        .map(|event| {
            let count = Arc::new(AtomicUsize::new(0));
            let seen = count.clone();
            register(registry, event, 0, CbSafety::NONE, move |_| {
                seen.fetch_add(1, Ordering::Relaxed);
                raise(1);
                raise(2);
            });
            count
        })
        .collect();
    for round in 1..=100 {
        raise(1);
        // The event itself, and those raised by the other callback for it; the third one receives those of
        // both callbacks.
        let heard: Vec<_> = counts.iter().map(|count| get(count)).collect();
        assert_eq!(heard, [2 * round, 2 * round, 2 * round]);
    }
}

#[test]
fn events_caused_by_a_dropped_handler_do_not_reach_its_registration() {
    let registry = fixture();
    let (count, callback) = counter();
    let handle = register(registry, 1, 0, CbSafety::NONE, callback);
    let raise = || registry.raiser(1, 0).unwrap().raise(0, CbSafety::NONE, || []);
    let handler = move |_: Drops| (0..10).for_each(|_| raise());
    registry.event_set_dropped_handler(handle, Some(Box::new(handler))).unwrap();
    registry.raiser(1, 0).unwrap().lose(0);
    raise();
    assert_eq!(get(&count), 1);
}

#[test]
fn events_are_serialized_only_while_a_callback_of_their_type_requires_it() {
    let registry = fixture();
    let in_turn = || registry.event(1).unwrap().is_in_turn();
    register(registry, 1, 0, CbSafety::THREAD_SAFE, |_| ());
    assert!(!in_turn());
    let one = register(registry, 1, 0, CbSafety::MPI_RESTRICTED, |_| ());
    assert!(in_turn());
    registry.event_handle_free(one, 0, None).unwrap();
    assert!(!in_turn());
}

#[test]
fn a_callback_that_must_be_signal_safe_may_query_but_not_allocate() {
    let registry = fixture();
    let (count, callback) = counter();
    register(registry, 1, 0, CbSafety::ASYNC_SIGNAL_SAFE, move |delivery| {
        assert!(timestamp(delivery.instance).is_ok());
        assert!(registry.source(0).unwrap().timestamp().is_ok());
        let alloc = registry.event_handle_alloc(1, 0, &Hints::new());
        let expected = delivery.safety == CbSafety::ASYNC_SIGNAL_SAFE;
        assert_eq!(alloc == Err(Error::NOT_ACCESSIBLE), expected);
        callback(delivery);
    });
    registry.raiser(1, 0).unwrap().raise(0, CbSafety::ASYNC_SIGNAL_SAFE, || []);
    registry.raiser(1, 0).unwrap().raise(0, CbSafety::NONE, || []);
    assert_eq!(get(&count), 2);
}

#[test]
fn the_last_finalize_frees_registrations() {
    let registry = fixture();
    registry.init();
    let (count, callback) = counter();
    let handle = register(registry, 1, 0, CbSafety::NONE, callback);
    registry.finalize().unwrap();
    registry.raiser(1, 0).unwrap().raise(0, CbSafety::NONE, || []);
    assert_eq!((get(&count), registry.event_usage()), (0, 0));
    assert_eq!(registry.event_registration(handle), Err(Error::INVALID_HANDLE));
}

#[test]
fn the_provider_is_notified_of_registrations() {
    let registry = Registry::new();
    let log: Log<(u64, bool)> = Log::default();
    let inner = log.clone();
    let spec = EventSpec::new("x")
        .bind(Bind::MPI_WIN, |_| Ok(()))
        .on_interest(move |object, wanted| inner.lock().unwrap().push((object, wanted)));
    let event = registry.add_event(spec).unwrap();
    let handle = registry.event_handle_alloc(event, 5, &Hints::new()).unwrap();
    registry.event_handle_free(handle, 0, None).unwrap();
    assert_eq!(*log.lock().unwrap(), [(5, true), (5, false)]);
}

#[test]
fn a_payload_too_short_for_its_type_is_a_loss_and_not_read_beyond_its_end() {
    let registry = fixture();
    let log: Log<String> = Log::default();
    let handle = register(registry, 0, 1, CbSafety::NONE, |_| ());
    on_drops(registry, handle, &log, "short");
    let raiser = registry.raiser(0, 0).unwrap();
    raiser.raise(1, CbSafety::NONE, || [0u8; 15]);
    raiser.raise(1, CbSafety::NONE, || payload(0, 0));
    assert_eq!(*log.lock().unwrap(), ["short lost 1 of 0"]);
}

/// Four threads raise at full speed, in contexts for which a callback is sometimes missing, while a fifth
/// frees and allocates registrations and replaces callbacks.
#[test]
fn delivered_and_lost_add_up_while_handles_are_created_and_freed() {
    const RAISES: u64 = 20_000;
    let registry = fixture();
    let (delivered, lost) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (d, l) = (delivered.clone(), lost.clone());
    let steady = register(registry, 1, 0, CbSafety::MPI_RESTRICTED, move |_| {
        d.fetch_add(1, Ordering::Relaxed);
    });
    let handler = move |drops: Drops| _ = l.fetch_add(drops.count, Ordering::Relaxed);
    registry.event_set_dropped_handler(steady, Some(Box::new(handler))).unwrap();
    let raising = AtomicUsize::new(4);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let raiser = registry.raiser(1, 0).unwrap();
                for i in 0..RAISES {
                    let context = if i % 3 == 0 { CbSafety::THREAD_SAFE } else { CbSafety::NONE };
                    raiser.raise(0, context, || []);
                }
                raising.fetch_sub(1, Ordering::Release);
            });
        }
        let mut rounds = 0;
        while raising.load(Ordering::Acquire) > 0 || rounds < 100 {
            rounds += 1;
            // Alive from allocation to free-callback: a callback outside that time is a use after free.
            let (alive, finished) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicUsize::new(0)));
            let seen = alive.clone();
            let handle = register(registry, 1, 0, CbSafety::THREAD_SAFE, move |_| {
                assert!(seen.load(Ordering::Acquire), "callback after the free-callback");
            });
            let seen = alive.clone();
            let replacement = Some(Box::new(move |_| assert!(seen.load(Ordering::Acquire))) as EventCallback);
            let safe = CbSafety::THREAD_SAFE;
            registry.event_register_callback(handle, safe, &Hints::new(), 0, replacement).unwrap();
            let (gone, count) = (alive.clone(), finished.clone());
            let free = move |_| {
                gone.store(false, Ordering::Release);
                count.fetch_add(1, Ordering::Release);
            };
            registry.event_handle_free(handle, 0, Some(Box::new(free))).unwrap();
            // Sources are read and added meanwhile.
            assert!(registry.source(0).and_then(|source| source.timestamp()).is_ok());
            if rounds < 10 {
                registry.add_source(SourceSpec::new(format!("late {rounds}"), 1, || 1)).unwrap();
            }
            while finished.load(Ordering::Acquire) == 0 {
                thread::yield_now();
            }
            assert_eq!(finished.load(Ordering::Acquire), 1);
        }
    });
    registry.raiser(1, 0).unwrap().raise(0, CbSafety::NONE, || []);
    let (delivered, lost) = (delivered.load(Ordering::Relaxed), lost.load(Ordering::Relaxed));
    assert!(lost > 0);
    assert_eq!(delivered + lost, 4 * RAISES + 1);
}
