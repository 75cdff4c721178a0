//! Binds this library's own calls to the C library's functions rather than to functions of the program with
//! the same names.
//!
//! A program may define its own function named `connect` or `rename`. If the program exports it (because it
//! is linked with `-rdynamic`, or a library it is linked with refers to that name), the dynamic linker binds
//! all references of the process to it, including ours, and we would call the program. So our references are
//! bound again: to the definition in the library that we were linked with, in the version that the reference
//! requires.
//!
//! Left unchanged are references to an object in front of us other than the program (it was preloaded to
//! replace the C library's functions), functions that sanitizers replace, memory allocation (all of a process
//! must use one allocator), data (of which the program may have a copy), and indirect functions (`memcpy`,
//! `strlen`: if a program defines its own, its compiler calls them, too).

use super::elf::{self, Name, Object, Relocation};
use super::own::Own;
use super::rebind;
use crate::interpose::arch;

/// Memory allocation: one function of this list may free what another one returned.
const ALLOCATION: [&[u8]; 9] = [
    b"malloc\0",
    b"free\0",
    b"calloc\0",
    b"realloc\0",
    b"posix_memalign\0",
    b"aligned_alloc\0",
    b"memalign\0",
    b"valloc\0",
    b"reallocarray\0",
];

/// A function that the run-time library of every sanitizer has.
const SANITIZER: &[u8] = b"__sanitizer_print_stack_trace\0";

/// When references are bound.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// While we are being relocated: all our memory is writable, and must stay so.
    Relocation,
    /// Later. Handles linkers that place some relocations after the one that called us the first time.
    FirstCall,
}

/// The soname of the C library.
const C_LIBRARY: &[u8] = b"libc.so.6\0";

/// A library with its length.
#[derive(Clone, Copy)]
struct Home {
    object: Object,
    len: usize,
}

impl Home {
    fn called(file: *const u8) -> Option<Self> {
        let found = elf::objects().find(|object| object.is_called(file));
        found.map(|object| Self { object, len: object.extent() })
    }

    fn has(&self, address: usize) -> bool {
        address.wrapping_sub(self.object.bias) < self.len
    }
}

/// Binds our references again. Idempotent.
pub fn bind(own: &Own, moment: Moment) {
    let sanitizer = Name::new(SANITIZER.as_ptr());
    if elf::objects().chain(elf::program()).any(|object| object.define(&sanitizer).is_some()) {
        return;
    }
    let Some(c_library) = Home::called(C_LIBRARY.as_ptr()) else { return };
    for relocation in own.object().relocations() {
        if arch::binds_an_address(relocation.kind()) && relocation.symbol() != 0 {
            again(own, relocation, moment, &c_library);
        }
    }
}

fn again(own: &Own, relocation: &Relocation, moment: Moment, c_library: &Home) {
    let object = own.object();
    let (place, bound) = rebind::bound(object, relocation);
    if bound == 0 || c_library.has(bound) || own.has(bound) || is_of_a_preloaded(own, bound) {
        return;
    }
    let name = object.name(relocation.symbol());
    if ALLOCATION.iter().any(|one| name.is(one.as_ptr())) {
        return;
    }
    let definition = match object.wanted(relocation.symbol()) {
        // A function may have moved from the library we were linked with to the C library.
        Some(wanted) => match Home::called(wanted.file) {
            Some(home) if home.has(bound) => return,
            home => {
                let named = home.and_then(|home| home.object.define_version(&name, &wanted));
                named.or_else(|| c_library.object.define_version(&name, &wanted))
            }
        },
        // Newer than the C library that we were linked with.
        None => c_library.object.define(&name),
    };
    let Some(definition) = definition else { return };
    let value = definition.wrapping_add(relocation.addend);
    match moment {
        Moment::Relocation => rebind::write(place, value),
        Moment::FirstCall => rebind::write_sealed(object, place, value),
    }
}

/// Whether an address is in an object between the program and us.
fn is_of_a_preloaded(own: &Own, address: usize) -> bool {
    elf::objects().take_while(|object| object.map != own.map()).any(|object| object.has(address))
}
