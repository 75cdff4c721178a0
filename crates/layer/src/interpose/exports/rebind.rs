//! References that were bound to our symbols before these were hidden.
#![allow(unsafe_code)]

use super::elf::{Object, Relocation};
use super::own::Own;
use super::pages::Pages;
use crate::interpose::arch;

/// Binds such references again, as if we were not loaded, in all objects that were relocated before us.
pub fn all(own: &Own) {
    let (start, len) = own.extent();
    for object in super::behind(own) {
        for relocation in object.relocations() {
            if !arch::binds_an_address(relocation.kind()) || relocation.symbol() == 0 {
                continue;
            }
            let (place, bound) = bound(&object, relocation);
            if bound.wrapping_sub(start) < len {
                again(own, &object, relocation, place, bound);
            }
        }
    }
}

/// The location of a relocation, and the address to which it is bound; 0 before it is.
pub fn bound(object: &Object, relocation: &Relocation) -> (*mut usize, usize) {
    let place = object.bias.wrapping_add(relocation.place) as *mut usize;
    // SAFETY: a location in the object that the dynamic linker fills.
    let value = unsafe { place.read_unaligned() };
    (place, value.wrapping_sub(relocation.addend))
}

fn again(own: &Own, object: &Object, relocation: &Relocation, place: *mut usize, bound: usize) {
    // SAFETY: a symbol that a relocation of the object names.
    let symbol = unsafe { &*object.symbol(relocation.symbol()) };
    let name = object.name(relocation.symbol());
    let is_asked_twice = arch::ASKS_TWICE && own.is_watched(&name);
    if !own.is_hidden(&name, bound) && !is_asked_twice {
        return;
    }
    let other = super::behind(own).find_map(|object| object.define(&name));
    // Without a definition, a strong reference would have ended the program; ours returns an error instead.
    if other.is_none() && !symbol.is_weak() {
        return;
    }
    write_sealed(object, place, other.unwrap_or(0).wrapping_add(relocation.addend));
}

/// Writes a location that may be read-only by now.
pub fn write_sealed(object: &Object, place: *mut usize, value: usize) {
    let pages = Pages::around(place as usize, place as usize + size_of::<usize>());
    let sealed = object.is_sealed(place as usize);
    if sealed && !pages.allow(libc::PROT_READ | libc::PROT_WRITE) {
        return;
    }
    write(place, value);
    if sealed {
        pages.allow(libc::PROT_READ);
    }
}

/// Writes a writable location.
pub fn write(place: *mut usize, value: usize) {
    // SAFETY: the location is the dynamic linker's to fill, and is writable now; a thread that calls through
    // it meanwhile reads either address.
    unsafe { place.write_unaligned(value) };
}
