//! The library's own events, which MPICH has if it was built with them.
//!
//! They pass through our engine. When a tool registers for an event type of the library, one registration is
//! allocated in the library for the same object; events that it delivers are raised again as events of ours,
//! with the library's time, source and safety level. So a tool sees one kind of handle, levels and drops are
//! handled uniformly, and nothing is allocated in the library that no tool asked for.
#![allow(unsafe_code)]

use super::enumeration;
use super::native::{self, Object, Word};
use crate::mpi_t::codes::codes;
use crate::mpi_t::handles::{self, Widening};
use crate::mpi_t::{REGISTRY, bound};
use mpi_abi::AbiKind;
use mpit::event::{EventSpec, MAX_EXTENT, SourceSpec};
use mpit::{Bind, CbSafety, Datatype, Error, Result};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Maximum number of the library's sources that can be represented.
const SOURCES: usize = 64;
/// Maximum number of elements of the library's event types that can be represented.
const ELEMENTS: usize = 32;

/// Our sources, plus one, by the library's index.
static OURS: [AtomicUsize; SOURCES] = [const { AtomicUsize::new(0) }; SOURCES];

/// Appends the source with this library index.
pub fn append_source(index: c_int) -> Option<usize> {
    let place = OURS.get(usize::try_from(index).ok()?)?;
    let ours = REGISTRY.add_source(describe_source(index).ok()?).ok()?;
    place.store(ours + 1, Ordering::Release);
    Some(ours)
}

fn describe_source(index: c_int) -> Result<SourceSpec> {
    let numbers = Cell::new((0, 0i64, 0i64));
    let [name, desc] = native::with_strings(|[name, desc]| {
        let (mut order, mut ticks, mut most) = (0, 0, 0);
        let ((name, name_len), (desc, desc_len)) = (name.pointers(), desc.pointers());
        // SAFETY: an index below the library's number, memory for its results, and no info object requested.
        unsafe {
            let info = std::ptr::null_mut();
            native::source_get_info(
                index, name, name_len, desc, desc_len, &mut order, &mut ticks, &mut most, info,
            )?;
        }
        numbers.set((order, ticks, most));
        Ok(())
    })?;
    let (order, ticks, most) = numbers.get();
    let name = if name.is_empty() { format!("source {index} of the MPI library") } else { name };
    let clock = move || timestamp_of(index).unwrap_or(0);
    let spec = SourceSpec::new(name, u64::try_from(ticks).unwrap_or(0), clock).desc(desc);
    let spec = spec.order(codes().order_of(order)).max_ticks(u64::try_from(most).unwrap_or(i64::MAX as u64));
    Ok(if timestamp_of(index).is_ok() { spec } else { spec.no_timestamp_on_demand() })
}

fn timestamp_of(index: c_int) -> Result<u64> {
    let mut ticks = 0;
    // SAFETY: a source of the library, and memory for the result.
    unsafe { native::source_get_timestamp(index, &mut ticks)? };
    Ok(ticks.cast_unsigned())
}

/// An event type of the library.
struct Type {
    index: c_int,
    bind: Bind,
    elements: Vec<(Datatype, Widening)>,
    /// Our index, once it is registered.
    ours: OnceLock<usize>,
    /// Registrations in the library, by object.
    open: Mutex<BTreeMap<u64, Open>>,
}

/// A registration in the library, shared by several of ours.
struct Open {
    registration: Word,
    users: usize,
    /// Libraries keep the address of the object's handle.
    _object: Box<Object>,
}

/// User data of the library's callbacks. Never freed, since the library may be calling while its registration
/// is freed.
struct Listener {
    of: Arc<Type>,
    object: u64,
}

/// Appends the event type with this library index and returns our index.
pub fn append(index: c_int, enumerations: &mut enumeration::Known) -> Option<usize> {
    let (mut spec, of, names) = describe(index).ok()?;
    let names = names.and_then(|names| enumerations.get(names));
    let names = names.and_then(|names| REGISTRY.enumeration(names).ok());
    for (at, (datatype, _)) in of.elements.iter().enumerate() {
        let name = names.and_then(|names| names.get(at)).map(|(_, name)| name.to_owned());
        spec = spec.element(name.unwrap_or_else(|| format!("element {at}")), *datatype);
    }
    let of = Arc::new(of);
    let (bind, listener) = (of.bind, Arc::clone(&of));
    if bind != Bind::NO_OBJECT {
        spec = spec.bind(bind, move |object| bound::check(bind, object).map(|_| ()));
    }
    let ours =
        REGISTRY.add_event(spec.on_interest(move |object, came| interest(&listener, object, came))).ok()?;
    of.ours.set(ours).ok()?;
    Some(ours)
}

/// Whether the elements of this event type can be read: for one of them MPICH (4.0 and 5.0) passes a null
/// payload, and reading it crashes.
fn has_readable_elements(name: &str) -> bool {
    crate::interpose::resolver::abi() != Some(AbiKind::MPICH) || name != "unexp_message_dequeued"
}

fn describe(index: c_int) -> Result<(EventSpec, Type, Option<Word>)> {
    // Some libraries do not set the enumeration: it then stays unset.
    let answers = Cell::new(([0u64; ELEMENTS], 0usize, [0; 3]));
    let [name, desc] = native::with_strings(|[name, desc]| {
        let (mut types, mut places) = ([0u64; ELEMENTS], [0isize; ELEMENTS]);
        let (mut enumeration, mut count) = (0usize, ELEMENTS as c_int);
        let [mut verbosity, mut bind] = [0; 2];
        let ((name, name_len), (desc, desc_len)) = (name.pointers(), desc.pointers());
        // SAFETY: an index below the library's number, memory for its results, and no info object requested.
        unsafe {
            let (types, places) = (types.as_mut_ptr().cast(), places.as_mut_ptr());
            let (names, info) = (&mut enumeration, std::ptr::null_mut());
            native::event_get_info(
                index,
                name,
                name_len,
                &mut verbosity,
                types,
                places,
                &mut count,
                names,
                info,
                desc,
                desc_len,
                &mut bind,
            )?;
        }
        answers.set((types, enumeration, [verbosity, bind, count]));
        Ok(())
    })?;
    let (types, enumeration, [verbosity, bind, count]) = answers.get();
    let bind = codes().bind_of(bind);
    let mut elements = elements_of(&types, usize::try_from(count).unwrap_or(0))?;
    let mut desc = desc;
    if !has_readable_elements(&name) {
        elements.clear();
        desc.push_str(". Without its elements: reading them crashes in this MPI library");
    }
    let spec = EventSpec::new(name).desc(desc).verbosity(codes().verbosity_of(verbosity));
    let of = Type { index, bind, elements, ours: OnceLock::new(), open: Mutex::new(BTreeMap::new()) };
    Ok((spec, of, (enumeration != 0).then_some(enumeration)))
}

/// The datatypes of elements, if all of them can be represented.
fn elements_of(handles: &[u64; ELEMENTS], count: usize) -> Result<Vec<(Datatype, Widening)>> {
    if count > ELEMENTS || count * 8 > MAX_EXTENT {
        return Err(Error::NOT_SUPPORTED);
    }
    // SAFETY: as many handles as there are elements, packed like the library's handles.
    let each = (0..count).map(|at| unsafe { handles::nth(handles.as_ptr().cast(), at) });
    each.map(|handle| handles::datatype_of(handle).ok_or(Error::NOT_SUPPORTED)).collect()
}

/// Adds or removes a tool's registration for an object.
fn interest(of: &Arc<Type>, object: u64, came: bool) {
    let mut open = of.open.lock().unwrap_or_else(PoisonError::into_inner);
    if came {
        if let Some(known) = open.get_mut(&object) {
            known.users += 1;
        } else if let Ok(new) = listen(of, object) {
            open.insert(object, new);
        }
    } else if let Some(known) = open.get_mut(&object) {
        known.users -= 1;
        if known.users == 0
            && let Some(known) = open.remove(&object)
        {
            // SAFETY: a live registration of the library, freed once, without a callback.
            let _ = unsafe { native::event_handle_free(known.registration, std::ptr::null_mut(), None) };
        }
    }
}

fn listen(of: &Arc<Type>, object: u64) -> Result<Open> {
    let (mut registration, mut kept) = (0, Box::new(Object::new(object)));
    let no_info = handles::predefined("MPI_INFO_NULL");
    let listener = Box::leak(Box::new(Listener { of: Arc::clone(of), object }));
    let data = std::ptr::from_mut(listener).cast::<c_void>();
    // SAFETY: an event type of the library, an object of its kind, memory for results; functions of the right
    // types that are never unloaded, and a listener that is never freed.
    unsafe {
        native::event_handle_alloc(of.index, kept.pointer(), no_info, &mut registration)?;
        for level in
            [CbSafety::ASYNC_SIGNAL_SAFE, CbSafety::THREAD_SAFE, CbSafety::MPI_RESTRICTED, CbSafety::NONE]
        {
            let level = codes().safety(level);
            native::event_register_callback(registration, level, no_info, data, Some(on_event))?;
        }
        // If the library lacks this function, its losses stay unknown.
        let _ = native::event_set_dropped_handler(registration, Some(on_dropped));
    }
    Ok(Open { registration, users: 1, _object: kept })
}

/// Our index of a source, given the library's index.
fn source(index: c_int) -> Option<usize> {
    OURS.get(usize::try_from(index).ok()?)?.load(Ordering::Acquire).checked_sub(1)
}

fn level(safety: c_int) -> CbSafety {
    let level = codes().safety_of(safety);
    if level <= CbSafety::ASYNC_SIGNAL_SAFE { level } else { CbSafety::ASYNC_SIGNAL_SAFE }
}

/// Called when the library delivers an event. Any context is possible, so nothing is locked or allocated.
unsafe extern "C" fn on_event(instance: Word, _: Word, safety: c_int, data: *mut c_void) {
    // SAFETY: the listener that was registered with this function, which is never freed.
    let Some(listener) = (unsafe { data.cast::<Listener>().as_ref() }) else { return };
    let (mut index, mut at) = (-1, 0);
    // SAFETY: the instance of this call, and memory for the results.
    let known = unsafe { native::event_get_source(instance, &mut index) }.is_ok()
        && unsafe { native::event_get_timestamp(instance, &mut at) }.is_ok();
    let of = &listener.of;
    let (Some(source), Some(ours)) = (source(index), of.ours.get()) else { return };
    let Ok(raiser) = REGISTRY.raiser(*ours, source) else { return };
    match read(of, instance) {
        Ok(payload) if known => {
            raiser.raise_at(at.cast_unsigned(), listener.object, level(safety), || payload);
        }
        _ => raiser.lose(listener.object),
    }
}

/// Reads the elements into our engine's layout.
fn read(of: &Type, instance: Word) -> Result<[u8; MAX_EXTENT]> {
    let (mut payload, mut end) = ([0; MAX_EXTENT], 0usize);
    for (at, (datatype, widening)) in of.elements.iter().enumerate() {
        let mut value = [0u8; 16];
        // SAFETY: the instance of the current call, an element of its type, and room for the largest basic
        // datatype.
        unsafe { native::event_read(instance, at as c_int, value.as_mut_ptr().cast())? };
        if *widening == Widening::Byte {
            let [byte, ..] = value;
            value = [0; 16];
            value[..4].copy_from_slice(&i32::from(byte).to_ne_bytes());
        }
        let size = datatype.size().max(1);
        let begin = end.next_multiple_of(size);
        end = begin + size;
        let (to, from) = (payload.get_mut(begin..end), value.get(..size));
        to.zip(from).ok_or(Error::INVALID).map(|(to, from)| to.copy_from_slice(from))?;
    }
    Ok(payload)
}

/// Called when the library has lost events.
unsafe extern "C" fn on_dropped(count: i64, _: Word, index: c_int, _: c_int, data: *mut c_void) {
    // SAFETY: the listener that was registered with this function, which is never freed.
    let Some(listener) = (unsafe { data.cast::<Listener>().as_ref() }) else { return };
    if let (Some(source), Some(ours)) = (source(index), listener.of.ours.get())
        && let Ok(raiser) = REGISTRY.raiser(*ours, source)
    {
        raiser.lose_many(listener.object, u64::try_from(count).unwrap_or(0));
    }
}
