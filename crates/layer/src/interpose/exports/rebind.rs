//! Places that were bound to names of ours before these were hidden.
#![allow(unsafe_code)]

use super::elf::{Name, Object, Relocation};
use super::own::Own;
use super::pages::Pages;
use crate::interpose::arch;

/// Binds them again, as if we were not there: in all objects that were relocated before us.
pub fn all(own: &Own) {
    let (start, len) = own.extent();
    for object in super::behind(own) {
        for relocation in object.relocations() {
            if !arch::binds_an_address(relocation.kind()) || relocation.symbol() == 0 {
                continue;
            }
            let place = object.bias.wrapping_add(relocation.place) as *mut usize;
            // SAFETY: a place that the dynamic linker has filled.
            let bound = unsafe { place.read_unaligned() }.wrapping_sub(relocation.addend);
            if bound.wrapping_sub(start) < len {
                again(own, &object, relocation, place, bound);
            }
        }
    }
}

fn again(own: &Own, object: &Object, relocation: &Relocation, place: *mut usize, bound: usize) {
    // SAFETY: a symbol that a relocation of the object names.
    let symbol = unsafe { &*object.symbol(relocation.symbol()) };
    let name = Name::new(object.text(symbol));
    let is_asked_twice = arch::ASKS_TWICE && own.is_watched(&name);
    if !own.is_hidden(&name, bound) && !is_asked_twice {
        return;
    }
    let other = super::behind(own).find_map(|object| object.define(&name));
    // Without a definition a strong reference would have ended the program; ours answers with an error.
    if other.is_none() && !symbol.is_weak() {
        return;
    }
    write(object, place, other.unwrap_or(0).wrapping_add(relocation.addend));
}

/// Writes a place that may be read-only by now.
fn write(object: &Object, place: *mut usize, value: usize) {
    let pages = Pages::around(place as usize, place as usize + size_of::<usize>());
    let sealed = object.is_sealed(place as usize);
    if sealed && !pages.allow(libc::PROT_READ | libc::PROT_WRITE) {
        return;
    }
    // SAFETY: the place is the dynamic linker's to fill, and can be written now; other threads do not exist yet.
    unsafe { place.write_unaligned(value) };
    if sealed {
        pages.allow(libc::PROT_READ);
    }
}
