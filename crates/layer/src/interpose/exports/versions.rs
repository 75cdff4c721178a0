//! Symbol versions: which one a reference requires and which one a definition has (`DT_VERSYM`, `DT_VERNEED`,
//! `DT_VERDEF`).
#![allow(unsafe_code)]

use std::ptr;

const DT_VERSYM: i64 = 0x6fff_fff0;
const DT_VERDEF: i64 = 0x6fff_fffc;
const DT_VERNEED: i64 = 0x6fff_fffe;

/// Set in `DT_VERSYM` for a version that is not the default one.
const HIDDEN: u16 = 0x8000;

/// `Elf64_Verneed`: a library from which symbols are required.
#[repr(C)]
struct Needed {
    version: u16,
    count: u16,
    file: u32,
    first: u32,
    next: u32,
}

/// `Elf64_Vernaux`: one version required from it.
#[repr(C)]
struct NeededVersion {
    hash: u32,
    flags: u16,
    index: u16,
    name: u32,
    next: u32,
}

/// `Elf64_Verdef`.
#[repr(C)]
struct Defined {
    version: u16,
    flags: u16,
    index: u16,
    count: u16,
    hash: u32,
    names: u32,
    next: u32,
}

/// The tables of one object: addresses, or 0 if it lacks the table.
#[derive(Clone, Copy, Default)]
pub struct Versions {
    of_symbols: usize,
    needed: usize,
    defined: usize,
}

/// The version that a reference requires.
pub struct Wanted {
    /// Name of the library that defined it when the object was linked: a C string.
    pub file: *const u8,
    /// Hash of the version's name.
    hash: u32,
}

impl Versions {
    /// Takes in one entry of the dynamic section.
    pub fn read(&mut self, tag: i64, address: impl Fn() -> usize) {
        match tag {
            DT_VERSYM => self.of_symbols = address(),
            DT_VERNEED => self.needed = address(),
            DT_VERDEF => self.defined = address(),
            _ => {}
        }
    }

    /// The version that reference `symbol` requires; `strings` is the object's string table.
    pub fn wanted(&self, symbol: usize, strings: *const u8) -> Option<Wanted> {
        let index = self.index_of(symbol)? & !HIDDEN;
        chain::<Needed>(self.needed, |needed| needed.next).find_map(|(at, needed)| {
            let first = at.wrapping_add(needed.first as usize);
            chain::<NeededVersion>(first, |version| version.next)
                .find(|(_, version)| version.index == index)
                .map(|(_, version)| Wanted {
                    file: strings.wrapping_add(needed.file as usize),
                    hash: version.hash,
                })
        })
    }

    /// The index of a version in this object.
    pub fn index(&self, wanted: &Wanted) -> Option<u16> {
        chain::<Defined>(self.defined, |defined| defined.next)
            .find(|(_, defined)| defined.hash == wanted.hash)
            .map(|(_, defined)| defined.index)
    }

    /// Whether a symbol has the version with this index.
    pub fn is(&self, symbol: usize, index: u16) -> bool {
        self.index_of(symbol).is_some_and(|own| own & !HIDDEN == index & !HIDDEN)
    }

    fn index_of(&self, symbol: usize) -> Option<u16> {
        let table = ptr::with_exposed_provenance::<u16>(self.of_symbols);
        // SAFETY: null, or a table with an entry for each symbol of the object.
        unsafe { table.wrapping_add(symbol).as_ref() }.copied().filter(|_| self.of_symbols != 0)
    }
}

/// Iterates over a linked table: each entry holds the offset from itself to the next one, 0 in the last.
fn chain<T: 'static>(first: usize, next: impl Fn(&T) -> u32) -> impl Iterator<Item = (usize, &'static T)> {
    let mut at = first;
    std::iter::from_fn(move || {
        // SAFETY: null, or an entry of a table in a loaded object, aligned as the format demands.
        let entry = unsafe { ptr::with_exposed_provenance::<T>(at).as_ref() }?;
        let found = (at, entry);
        at = match next(entry) {
            0 => 0,
            step => at.wrapping_add(step as usize),
        };
        Some(found)
    })
}
