//! Counts calls per call site: see `mpiscope_image::sites`.
//!
//! A call is counted when its frame is closed, for its call site and the object it was made on. A thread
//! finds the record through its own [`index`]: nothing is shared, locked or asked of the library. The object
//! is identified by its handle, which may come to mean another object. So whenever an object is freed
//! ([`handle_changes`]), the threads look up their sites again, by keys that do not change.
//!
//! Bytes moved by a request count for the call site that started it, once they are known.
#![allow(unsafe_code)]

pub mod index;
mod starts;

use crate::base::{image, settings};
use crate::interpose::frame::{self, LookUp};
use crate::interpose::tls::Tls;
use crate::record::fortran_call_site::{self, bindings};
use crate::record::local::{self, Local};
use crate::record::modules;
use crate::record::objects::lock::Guarded;
use crate::record::objects::tables;
use crate::record::objects::{handle_changes, table::Object};
use crate::record::trace;
use mpi_abi::{FunctionId, ObjectKind};
use mpiscope_image::call_path;
use mpiscope_image::layout::{Loss, MAX_FUNCTIONS, SectionKind, Thread};
use mpiscope_image::sites::{SEVERAL, Site, duration_class};
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

pub use index::Index;
use index::{Near, Place};
pub use starts::{close_start, close_start_shared, is_short_start};

/// Maximum number of records of a process, unless set by `MPISCOPE_SITES`.
const DEFAULT: usize = 10_000;
/// Number of records in the first section.
const FIRST: usize = 64;
/// Number of records that may still be made.
static LEFT: AtomicUsize = AtomicUsize::new(0);
/// For each function, the kind of object that distinguishes its sites, plus one; zero for none.
static OBJECTS: [AtomicU8; MAX_FUNCTIONS] = [const { AtomicU8::new(0) }; MAX_FUNCTIONS];
/// Indices of threads that have ended, each with the number of the thread record it belongs to.
static RETURNED: Guarded<Vec<(u64, &'static Index)>> = Guarded::new(Vec::new());

/// Learns which functions have an object that distinguishes sites, and the maximum number of records. Called
/// when the library was found.
pub fn start() {
    let kinds = [ObjectKind::COMM, ObjectKind::WIN, ObjectKind::FILE];
    for (id, kind) in FunctionId::all().zip(&OBJECTS) {
        let object = id.function().and_then(|function| function.fields.object);
        if let Some(object) = object.filter(|object| kinds.contains(object)) {
            kind.store(object.0.wrapping_add(1), Ordering::Relaxed);
        }
    }
    LEFT.store(settings::number(c"MPISCOPE_SITES").unwrap_or(DEFAULT), Ordering::Relaxed);
}

/// Returns the index for a thread that has just got this record: that of the record's previous thread, or a
/// new one.
pub fn of_thread(record: u64) -> &'static Index {
    let returned = RETURNED.with(|returned| {
        let place = returned.iter().position(|(of, _)| *of == record)?;
        Some(returned.swap_remove(place).1)
    });
    returned.unwrap_or_else(|| Box::leak(Index::new()))
}

/// A thread has ended: the next thread with its record continues with its sites.
pub fn give_back(record: u64, index: &'static Index) {
    RETURNED.with(|returned| returned.push((record, index)));
}

/// A call of the program has ended and all its hooks have run: counts it for its site and closes the frame.
/// Unusual cases are left to tail calls, so that this function has no registers to save.
#[inline(never)]
pub extern "C" fn close(
    tls: &'static Tls,
    thread: &'static Thread,
    function: FunctionId,
    since: u64,
    until: u64,
    bytes: u64,
) {
    let place = place_of(thread.call.object.get(), function, tls.return_address.get());
    let Some(local) = local::of(tls) else { return close_rarely(tls, thread, function, since, until, bytes) };
    let Some((site, _)) = near(local, &place) else {
        return close_rarely(tls, thread, function, since, until, bytes);
    };
    count(local, site, since, until, bytes);
    if trace::is_on() {
        return close_traced(thread, function, since, until, bytes, site);
    }
    frame::close(tls, thread, function, since, until, bytes);
}

/// Counts a look-up call for its site, with the object `handle`. Returns false if that is left to
/// [`count_look_up_rarely`].
#[inline(always)]
pub fn count_look_up(call: &LookUp, function: FunctionId, handle: u64) -> bool {
    let tls = call.tls();
    let place = place_of(handle, function, tls.return_address.get());
    if let Some(thread) = call.usual_thread()
        && let Some(local) = local::of(tls)
        && let Some((site, _)) = near(local, &place)
    {
        site.count.add_mine(1);
        frame::count_look_up(thread, function);
        return true;
    }
    false
}

/// [`count_look_up`] for a call whose site is not near, in a program with Fortran bindings, in a user
/// callback, or for a thread's first call.
#[inline(never)]
pub extern "C" fn count_look_up_rarely(tls: &'static Tls, function: FunctionId, handle: u64) {
    let thread = frame::look_up_unusual(tls);
    if let Some(site) = anywhere(tls, place_of(handle, function, tls.return_address.get())) {
        site.count.add_mine(1);
    }
    frame::count_look_up(thread, function);
}

/// Returns the record of a site if it is near, and if no Fortran binding can have made the call.
#[inline(always)]
fn near(local: &'static Local, place: &Place) -> Option<(&'static Site, &'static Near)> {
    let index = local.sites.get().filter(|_| !bindings::exist())?;
    if local.handles.get() == handle_changes::count() { index.near(place) } else { None }
}

/// Returns the record of the program's call site for `place`, which may be in a Fortran binding.
#[inline(always)]
fn anywhere(tls: &'static Tls, place: Place) -> Option<&'static Site> {
    let from = fortran_call_site::of(place.from, || tls.stack_pointer.get());
    find(tls, Place { from, ..place })
}

/// [`close`] for a call whose site is not near, or in a program with Fortran bindings.
#[inline(never)]
extern "C" fn close_rarely(
    tls: &'static Tls,
    thread: &'static Thread,
    function: FunctionId,
    since: u64,
    until: u64,
    bytes: u64,
) {
    count_rarely(tls, thread, function, since, until, bytes);
    frame::close(tls, thread, function, since, until, bytes);
}

/// Counts a call for its site, wherever that is.
#[inline(never)]
pub extern "C" fn count_rarely(
    tls: &'static Tls,
    thread: &'static Thread,
    function: FunctionId,
    since: u64,
    until: u64,
    bytes: u64,
) {
    let place = place_of(thread.call.object.get(), function, tls.return_address.get());
    match local::of(tls).zip(anywhere(tls, place)) {
        Some((local, site)) => {
            if is_short_start(function) {
                starts::settle(thread, function, site, since, until);
            }
            count(local, site, since, until, bytes);
            if trace::is_on() {
                traced(tls, thread, function, (since, until), bytes, (site.from.get(), site.object.get()));
            }
        }
        None => {
            frame::take_received(tls);
            if trace::is_on() {
                let from = fortran_call_site::of(place.from, || tls.stack_pointer.get());
                traced(tls, thread, function, (since, until), bytes, (from, SEVERAL));
            }
        }
    }
}

/// The end of [`close`] with a trace.
#[inline(never)]
extern "C" fn close_traced(
    thread: &'static Thread,
    function: FunctionId,
    since: u64,
    until: u64,
    bytes: u64,
    site: &'static Site,
) {
    let tls = Tls::get();
    traced(tls, thread, function, (since, until), bytes, (site.from.get(), site.object.get()));
    frame::close(tls, thread, function, since, until, bytes);
}

/// Writes a call to the trace, with the object itself if its site has several.
fn traced(
    tls: &'static Tls,
    thread: &'static Thread,
    function: FunctionId,
    times: (u64, u64),
    bytes: u64,
    (from, object): (u64, u64),
) {
    let uid = || uid_of(&place_of(thread.call.object.get(), function, from));
    let object = if object == SEVERAL { uid() } else { object };
    trace::write(tls, thread, function, times, bytes, (from, object));
}

#[inline(always)]
fn place_of(handle: u64, function: FunctionId, from: u64) -> Place {
    let handle = if kind_of(function) == 0 { 0 } else { handle };
    Place { from, handle, function }
}

#[inline(always)]
fn count(local: &Local, site: &Site, since: u64, until: u64, bytes: u64) {
    site.count.add_mine(1);
    site.bytes.add_mine(bytes);
    let received = local.interrupted.take_received();
    if received != 0 {
        site.received.add_mine(received);
    }
    if since != 0 {
        took(site, until.wrapping_sub(since));
    }
}

#[inline(always)]
fn took(site: &Site, ticks: u64) {
    site.ticks.add_mine(ticks);
    if ticks < site.least.get() {
        site.least.set(ticks);
    }
    if ticks > site.greatest.get() {
        site.greatest.set(ticks);
    }
    if let Some(class) = site.durations.get(duration_class(ticks)) {
        class.add_mine(1);
    }
}

/// Counts bytes moved for an earlier call: `from` is its call site, `handle` its communicator.
#[inline(never)]
pub fn moved(tls: &'static Tls, function: FunctionId, (from, handle): (u64, u64), bytes: u64, received: u64) {
    let place = place_of(handle, function, from);
    match local::of(tls).and_then(|local| near_or_resolved(local, &place)) {
        Some(site) => add_moved(site, bytes, received),
        None => moved_rarely(tls, function, from, handle, bytes, received),
    }
}

/// [`moved`] for a call site that is not near.
#[cold]
#[inline(never)]
extern "C" fn moved_rarely(
    tls: &'static Tls,
    function: FunctionId,
    from: u64,
    handle: u64,
    bytes: u64,
    received: u64,
) {
    if let Some(site) = find(tls, place_of(handle, function, from)) {
        add_moved(site, bytes, received);
    }
}

#[inline(always)]
fn add_moved(site: &Site, bytes: u64, received: u64) {
    site.bytes.add_mine(bytes);
    site.received.add_mine(received);
}

#[inline(always)]
fn kind_of(function: FunctionId) -> u8 {
    OBJECTS.get(usize::from(function.0)).map_or(0, |kind| kind.load(Ordering::Relaxed))
}

#[inline(always)]
fn find(tls: &'static Tls, place: Place) -> Option<&'static Site> {
    let local = local::of(tls)?;
    near_or_resolved(local, &place).or_else(|| find_again(tls, local, local.sites.get()?, &place))
}

/// Returns the record of a site if it is near. Unlike [`near`], `place` has the program's call site even if a
/// Fortran binding made the call.
#[inline(always)]
fn near_or_resolved(local: &'static Local, place: &Place) -> Option<&'static Site> {
    let index = local.sites.get()?;
    if local.handles.get() == handle_changes::count() { Some(index.near(place)?.0) } else { None }
}

/// [`find`] by the keys that do not change.
#[cold]
#[inline(never)]
fn find_again(
    tls: &'static Tls,
    local: &Local,
    index: &'static Index,
    place: &Place,
) -> Option<&'static Site> {
    let handles = handle_changes::count();
    if local.handles.replace(handles) != handles {
        index.forget();
    }
    let object = index.told_apart(place, uid_of(place));
    let site = index.far(place, object).or_else(|| {
        let site = make(local::index(tls), place, object)?;
        index.know(place, object, site);
        Some(site)
    })?;
    index.bring_near(place, site);
    Some(site)
}

/// Returns the uid that the handle means now; zero if none, for example after the call has freed the object.
fn uid_of(place: &Place) -> u64 {
    let uid = |head: Option<&mpiscope_image::objects::Head>| head.map_or(0, |head| head.uid.get());
    match ObjectKind(kind_of(place.function).wrapping_sub(1)) {
        ObjectKind::COMM => uid(tables::COMMS.find(place.handle).map(Object::head)),
        ObjectKind::WIN => uid(tables::WINDOWS.find(place.handle).map(Object::head)),
        ObjectKind::FILE => uid(tables::FILES.find(place.handle).map(Object::head)),
        _ => 0,
    }
}

/// Makes a new record, if one more is allowed; otherwise the call is counted as one without a site.
fn make(thread: u64, place: &Place, object: u64) -> Option<&'static Site> {
    let writer = image::writer()?;
    let less = |left: usize| left.checked_sub(1);
    let allowed = LEFT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok();
    let made = allowed.then(|| writer.new_record::<Site>(SectionKind::SITES, FIRST)).flatten();
    let Some((_, site)) = made else {
        writer.lose(Loss::SITES, 1);
        return None;
    };
    // The files of a call path were listed with it.
    if call_path::index(place.from).is_none() {
        modules::list_owner(writer, place.from.wrapping_sub(1));
    }
    site.from.set(place.from);
    site.object.set(object);
    site.least.set(u64::MAX);
    site.thread.set(u32::try_from(thread).unwrap_or(u32::MAX));
    site.function.atomic().store(u32::from(place.function.0) + 1, Ordering::Release);
    Some(site)
}
