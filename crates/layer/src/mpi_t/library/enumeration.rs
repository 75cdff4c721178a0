//! Copies of the library's enumerations.
#![allow(unsafe_code)]

use super::native::{self, Word};
use crate::mpi_t::REGISTRY;
use mpit::Enumeration;
use std::collections::HashMap;
use std::ffi::c_int;

/// Indices of the copies, by the library's handle; `None` for an enumeration that could not be copied.
#[derive(Default)]
pub struct Known(HashMap<Word, Option<usize>>);

impl Known {
    /// Returns the copy of an enumeration, made on first use.
    pub fn get(&mut self, handle: Word) -> Option<usize> {
        if handle == 0 {
            return None;
        }
        *self.0.entry(handle).or_insert_with(|| copy(handle))
    }
}

fn copy(handle: Word) -> Option<usize> {
    let count = std::cell::Cell::new(0);
    let [name] = native::with_strings(|[name]| {
        let mut number = 0;
        let (text, length) = name.pointers();
        // SAFETY: a handle from the library, and memory for its results.
        let got = unsafe { native::enum_get_info(handle, &mut number, text, length) };
        count.set(number);
        got
    })
    .ok()?;
    let mut copy = Enumeration::new(if name.is_empty() { "unnamed".to_owned() } else { name });
    for item in 0..count.get() {
        let Some((value, name)) = item_of(handle, item) else { continue };
        let name = if name.is_empty() { value.to_string() } else { name };
        copy = copy.item(value, name);
    }
    REGISTRY.add_enumeration(copy).ok()
}

fn item_of(handle: Word, item: c_int) -> Option<(c_int, String)> {
    let value = std::cell::Cell::new(0);
    let [name] = native::with_strings(|[name]| {
        let mut number = 0;
        let (text, length) = name.pointers();
        // SAFETY: a handle from the library, an index below its number, and memory for its results.
        let got = unsafe { native::enum_get_item(handle, item, &mut number, text, length) };
        value.set(number);
        got
    })
    .ok()?;
    Some((value.get(), name))
}
