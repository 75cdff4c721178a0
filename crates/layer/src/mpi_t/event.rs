//! Entry points: event types, registrations, callbacks and instances (MPI 5.0, section "Events").
//!
//! Handles of MPI info objects are `int`s in MPICH's ABI. Both forms are passed in one register, and the
//! upper half of a narrow one is discarded ([`info_of`]).
#![allow(unsafe_code)]

use super::codes::codes;
use super::{REGISTRY, c, events, handles, info, library};
use crate::interpose::resolver;
use mpi_abi::AbiKind;
use mpit::event::{self, Delivery, DroppedHandler, Drops, EventCallback, FreeCallback, Freed};
use mpit::{Bind, Error, InstanceWord, RegistrationWord};
use std::ffi::{c_char, c_int, c_void};

/// `MPI_T_event_registration`.
type Registration = u64;
/// `MPI_T_event_instance`.
type Instance = u64;
/// `MPI_T_event_cb_function`.
type Callback = Option<unsafe extern "C" fn(Instance, Registration, c_int, *mut c_void)>;
/// `MPI_T_event_free_cb_function`.
type FreeFunction = Option<unsafe extern "C" fn(Registration, c_int, *mut c_void)>;
/// `MPI_T_event_dropped_cb_function`.
type DroppedFunction = Option<unsafe extern "C" fn(i64, Registration, c_int, c_int, *mut c_void)>;

/// The handle of an info object, given the register it was passed in.
fn info_of(register: u64) -> u64 {
    if resolver::abi() == Some(AbiKind::MPICH) { register & 0xffff_ffff } else { register }
}

fn callback(function: Callback) -> Option<EventCallback> {
    let function = function?;
    Some(Box::new(move |delivery: Delivery| {
        let data = delivery.user_data as *mut c_void;
        // SAFETY: the tool passed this function to be called with this type.
        unsafe {
            function(delivery.instance.0, delivery.registration.0, codes().safety(delivery.safety), data);
        }
    }))
}

fn free_callback(function: FreeFunction) -> Option<FreeCallback> {
    let function = function?;
    Some(Box::new(move |freed: Freed| {
        // SAFETY: the tool passed this function to be called with this type.
        unsafe {
            function(freed.registration.0, codes().safety(freed.safety), freed.user_data as *mut c_void)
        };
    }))
}

fn dropped_handler(function: DroppedFunction) -> Option<DroppedHandler> {
    let function = function?;
    Some(Box::new(move |drops: Drops| {
        let count = i64::try_from(drops.count).unwrap_or(i64::MAX);
        let (source, safety) = (c::int(drops.source), codes().safety(drops.safety));
        // SAFETY: the tool passed this function to be called with this type.
        unsafe { function(count, drops.registration.0, source, safety, drops.user_data as *mut c_void) };
    }))
}

c::entry_points! {
    /// Number of event types.
    MPI_T_event_get_num PMPI_T_event_get_num(num_events: *mut c_int) {
        library::refresh();
        // SAFETY: the caller's OUT argument.
        unsafe { c::put(num_events, c::int(REGISTRY.event_count())) };
        Ok(())
    }

    /// Describes an event type.
    MPI_T_event_get_info PMPI_T_event_get_info(
        event_index: c_int,
        name: *mut c_char,
        name_len: *mut c_int,
        verbosity: *mut c_int,
        array_of_datatypes: *mut c_void,
        array_of_displacements: *mut isize,
        num_elements: *mut c_int,
        enumtype: *mut u64,
        info: *mut c_void,
        desc: *mut c_char,
        desc_len: *mut c_int,
        bind: *mut c_int,
    ) {
        let about = REGISTRY.event(event_index)?.info();
        // SAFETY: the caller's OUT and INOUT arguments.
        unsafe {
            c::put_string(&about.name, name, name_len);
            c::put(verbosity, codes().verbosity(about.verbosity));
            if !num_elements.is_null() {
                let room = usize::try_from(num_elements.read_unaligned()).unwrap_or(0);
                for (at, element) in about.elements.iter().take(room).enumerate() {
                    if !array_of_datatypes.is_null() {
                        handles::put_nth(array_of_datatypes, at, handles::datatype(element.datatype));
                    }
                    if !array_of_displacements.is_null() {
                        array_of_displacements.add(at).write_unaligned(element.displacement as isize);
                    }
                }
                c::put(num_elements, c::int(about.elements.len()));
            }
            c::put_enumeration(enumtype, about.enumeration);
            info::put(info, &about.hints);
            c::put_string(&about.desc, desc, desc_len);
            c::put(bind, codes().bind(about.bind));
        }
        Ok(())
    }

    /// Index of the event type with this name.
    MPI_T_event_get_index PMPI_T_event_get_index(name: *const c_char, event_index: *mut c_int) {
        if event_index.is_null() {
            return Err(Error::INVALID);
        }
        // SAFETY: the caller's arguments.
        unsafe {
            let name = c::name(name)?;
            c::put(event_index, c::int(library::find(|| REGISTRY.event_index(&name))?));
        }
        Ok(())
    }

    /// Allocates a registration for an event type, bound to an object.
    MPI_T_event_handle_alloc PMPI_T_event_handle_alloc(
        event_index: c_int,
        obj_handle: *const c_void,
        info: u64,
        event_registration: *mut Registration,
    ) {
        let bind = REGISTRY.event(event_index)?.info().bind;
        if event_registration.is_null() {
            return Err(Error::INVALID);
        }
        // SAFETY: the caller's arguments.
        let object = unsafe { handles::object(obj_handle, bind) };
        let object = if bind == Bind::NO_OBJECT { 0 } else { events::token(event_index, bind, object)? };
        let word = REGISTRY.event_handle_alloc(event_index, object, &info::hints(info_of(info)))?;
        // SAFETY: the caller's OUT argument.
        unsafe { c::put(event_registration, word.0) };
        Ok(())
    }

    /// Updates the hints of a registration.
    MPI_T_event_handle_set_info PMPI_T_event_handle_set_info(event_registration: Registration, info: u64) {
        REGISTRY.event_handle_set_info(RegistrationWord(event_registration), &info::hints(info_of(info)))
    }

    /// The hints of a registration.
    MPI_T_event_handle_get_info PMPI_T_event_handle_get_info(
        event_registration: Registration,
        info_used: *mut c_void,
    ) {
        if info_used.is_null() {
            return Err(Error::INVALID);
        }
        let hints = REGISTRY.event_handle_get_info(RegistrationWord(event_registration))?;
        // SAFETY: the caller's OUT argument.
        unsafe { info::put(info_used, &hints) };
        Ok(())
    }

    /// Frees a registration.
    MPI_T_event_handle_free PMPI_T_event_handle_free(
        event_registration: Registration,
        user_data: *mut c_void,
        free_cb_function: FreeFunction,
    ) {
        let word = RegistrationWord(event_registration);
        REGISTRY.event_handle_free(word, user_data as usize, free_callback(free_cb_function))
    }

    /// Sets, replaces or removes the callback for a safety level.
    MPI_T_event_register_callback PMPI_T_event_register_callback(
        event_registration: Registration,
        cb_safety: c_int,
        info: u64,
        user_data: *mut c_void,
        event_cb_function: Callback,
    ) {
        REGISTRY.event_register_callback(
            RegistrationWord(event_registration),
            codes().safety_of(cb_safety),
            &info::hints(info_of(info)),
            user_data as usize,
            callback(event_cb_function),
        )
    }

    /// Updates the hints of a callback.
    MPI_T_event_callback_set_info PMPI_T_event_callback_set_info(
        event_registration: Registration,
        cb_safety: c_int,
        info: u64,
    ) {
        let (word, safety) = (RegistrationWord(event_registration), codes().safety_of(cb_safety));
        REGISTRY.event_callback_set_info(word, safety, &info::hints(info_of(info)))
    }

    /// The hints of a callback.
    MPI_T_event_callback_get_info PMPI_T_event_callback_get_info(
        event_registration: Registration,
        cb_safety: c_int,
        info_used: *mut c_void,
    ) {
        let (word, safety) = (RegistrationWord(event_registration), codes().safety_of(cb_safety));
        if info_used.is_null() {
            return Err(Error::INVALID);
        }
        let hints = REGISTRY.event_callback_get_info(word, safety)?;
        // SAFETY: the caller's OUT argument.
        unsafe { info::put(info_used, &hints) };
        Ok(())
    }

    /// Sets, replaces or removes the handler for lost events.
    MPI_T_event_set_dropped_handler PMPI_T_event_set_dropped_handler(
        event_registration: Registration,
        dropped_cb_function: DroppedFunction,
    ) {
        let word = RegistrationWord(event_registration);
        REGISTRY.event_set_dropped_handler(word, dropped_handler(dropped_cb_function))
    }

    /// Reads one element of an event. Async-signal-safe, like all functions below.
    MPI_T_event_read PMPI_T_event_read(event_instance: Instance, element_index: c_int, buffer: *mut c_void) {
        let instance = InstanceWord(event_instance);
        if buffer.is_null() {
            return event::event_index(instance).and(Err(Error::INVALID));
        }
        // SAFETY: the caller's buffer holds the element.
        unsafe {
            match events::queue::frames() {
                Some(frames) => frames.read_raw(instance, element_index, buffer.cast()),
                None => event::read_raw(instance, element_index, buffer.cast()),
            }
        }
    }

    /// Copies all elements of an event.
    MPI_T_event_copy PMPI_T_event_copy(event_instance: Instance, buffer: *mut c_void) {
        let instance = InstanceWord(event_instance);
        if buffer.is_null() {
            return event::event_index(instance).and(Err(Error::INVALID));
        }
        // SAFETY: the caller's buffer holds the event's extent.
        unsafe {
            match events::queue::frames() {
                Some(frames) => frames.copy_raw(instance, buffer.cast()),
                None => event::copy_raw(instance, buffer.cast()),
            }
        }
    }

    /// When an event was observed.
    MPI_T_event_get_timestamp PMPI_T_event_get_timestamp(event_instance: Instance, event_timestamp: *mut i64) {
        let instance = InstanceWord(event_instance);
        let at = match events::queue::frames() {
            Some(frames) => frames.timestamp(instance)?,
            None => event::timestamp(instance)?,
        };
        if event_timestamp.is_null() {
            return Err(Error::INVALID);
        }
        // SAFETY: the caller's OUT argument.
        unsafe { c::put(event_timestamp, at.cast_signed()) };
        Ok(())
    }

    /// Index of the source that raised an event.
    MPI_T_event_get_source PMPI_T_event_get_source(event_instance: Instance, source_index: *mut c_int) {
        let source = event::source_index(InstanceWord(event_instance))?;
        if source_index.is_null() {
            return Err(Error::INVALID);
        }
        // SAFETY: the caller's OUT argument.
        unsafe { c::put(source_index, c::int(source)) };
        Ok(())
    }
}
