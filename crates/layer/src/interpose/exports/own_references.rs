//! What this library itself calls: the C library's functions, not those of the program that are called alike.
//!
//! A program may have a function named `connect` or `rename` that is its own. Where the program exports it (it is linked with
//! `-rdynamic`, or a library that it is linked with has a reference of that name) the dynamic linker binds all references of the
//! process to it, ours among these, and we would call the program. So the places that we call through are bound again: to
//! the definition in the library that we were linked with, in the version that our reference states.
//!
//! Left as they are: what binds to an object in front of us other than the program (it was preloaded, to be called instead of
//! the C library), what sanitizers replace, the functions that hand out memory (all of a process must come from one), data (which
//! the program may have a copy of), and indirect functions (`memcpy`, `strlen`: a program that has its own is called by its
//! compiler, too).

use super::elf::{self, Name, Object, Relocation};
use super::own::Own;
use super::rebind;
use crate::interpose::arch;

/// Memory: one function of this list may free what another one returned.
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

/// A function that the run-time library of each sanitizer has.
const SANITIZER: &[u8] = b"__sanitizer_print_stack_trace\0";

/// When it is done.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// While we are relocated: all our memory can be written, and must stay so.
    Relocation,
    /// Later. Where a linker has put the places of a table behind what called us the first time, these are bound since.
    FirstCall,
}

/// The C library, whatever else is called so.
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

/// Binds our references again. Once more does no harm.
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
        // What was in a library of its own when we were linked may be in the C library by now.
        Some(wanted) => match Home::called(wanted.file) {
            Some(home) if home.has(bound) => return,
            home => {
                let named = home.and_then(|home| home.object.define_version(&name, &wanted));
                named.or_else(|| c_library.object.define_version(&name, &wanted))
            }
        },
        // So new that the C library that we were linked with lacked it.
        None => c_library.object.define(&name),
    };
    let Some(definition) = definition else { return };
    let value = definition.wrapping_add(relocation.addend);
    match moment {
        Moment::Relocation => rebind::write(place, value),
        Moment::FirstCall => rebind::write_sealed(object, place, value),
    }
}

/// Whether an address lies in an object between the program and us.
fn is_of_a_preloaded(own: &Own, address: usize) -> bool {
    elf::objects().take_while(|object| object.map != own.map()).any(|object| object.has(address))
}
