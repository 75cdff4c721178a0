//! Our own symbol table, which is edited in memory.
#![allow(unsafe_code)]

use super::elf::{self, LinkMap, Name, Object, STT_FUNC, STT_GNU_IFUNC, Symbol};
use super::pages::Pages;
use std::sync::atomic::{AtomicU8, Ordering};

/// Visibility of a symbol that other objects cannot find.
const STV_HIDDEN: u8 = 2;
/// The symbol whose look-up shows that something is being loaded.
const WATCHED: &[u8] = b"__gmon_start__\0";

/// Placeholder for `__gmon_start__` until [`Symbols::watch`]: objects that are relocated before us at the
/// start call it when they are initialized.
#[unsafe(no_mangle)]
extern "C" fn __gmon_start__() {}

/// This library among the loaded objects.
pub struct Own(Object);

/// The symbols, while they are writable.
pub struct Symbols<'a>(&'a Own);

impl Own {
    /// Finds this library; `None` if it is part of an executable.
    pub fn find() -> Option<Self> {
        elf::own().map(Self)
    }

    /// This library as a loaded object.
    pub fn object(&self) -> &Object {
        &self.0
    }

    /// Whether an address is in this library.
    pub fn has(&self, address: usize) -> bool {
        self.0.has(address)
    }

    /// The entry in the dynamic linker's list.
    pub fn map(&self) -> *const LinkMap {
        self.0.map
    }

    /// The entry after ours.
    pub fn next(&self) -> *const LinkMap {
        self.0.next()
    }

    /// Whether `address` is that of a hidden function called `name`.
    pub fn is_hidden(&self, name: &Name, address: usize) -> bool {
        self.functions().any(|symbol| {
            // SAFETY: one of our symbols.
            let symbol = unsafe { &*symbol };
            self.0.bias.wrapping_add(symbol.value) == address
                && symbol.other == STV_HIDDEN
                && name.is(self.0.text(symbol))
        })
    }

    /// Whether this is the symbol whose look-up shows that something is being loaded.
    pub fn is_watched(&self, name: &Name) -> bool {
        name.starts_with(WATCHED)
    }

    /// Lets `edit` change the symbols. They stay unchanged if memory cannot be made writable.
    pub fn change(&self, edit: impl FnOnce(&Symbols)) {
        let start = self.0.symbol(0) as usize;
        let end = self.0.defined().map(|symbol| symbol.wrapping_add(1) as usize).max().unwrap_or(start);
        let pages = Pages::around(start, end);
        if pages.allow(libc::PROT_READ | libc::PROT_WRITE) {
            edit(&Symbols(self));
            pages.allow(libc::PROT_READ);
        }
    }

    /// The first address and the length of this library.
    pub fn extent(&self) -> (usize, usize) {
        (self.0.bias, self.0.extent())
    }

    /// All functions that replace one of the process's.
    fn functions(&self) -> impl Iterator<Item = *mut Symbol> {
        self.0.defined().filter(|symbol| {
            // SAFETY: one of our symbols.
            let symbol = unsafe { &**symbol };
            let name = Name::new(self.0.text(symbol));
            symbol.kind() == STT_FUNC && !name.starts_with(b"mpiscope_") && !name.starts_with(WATCHED)
        })
    }
}

impl Symbols<'_> {
    /// Makes the functions for which `is_there` returns true visible, and hides all others.
    pub fn show(&self, is_there: impl Fn(&Name) -> bool) {
        for symbol in self.0.functions() {
            // SAFETY: one of our symbols, in writable memory; other threads read this byte, so it is stored
            // atomically.
            let (name, other) = unsafe {
                let name = Name::new(self.0.0.text(&*symbol));
                (name, AtomicU8::from_ptr(&raw mut (*symbol).other))
            };
            other.store(if is_there(&name) { 0 } else { STV_HIDDEN }, Ordering::Release);
        }
    }

    /// Has `on_load` called whenever an object is relocated from now on, or hides the symbol if that is not
    /// `wanted`. Only before other threads exist.
    pub fn watch(&self, wanted: bool, on_load: unsafe extern "C" fn() -> usize) {
        let watched = Name::new(WATCHED.as_ptr());
        for symbol in self.0.0.defined() {
            // SAFETY: one of our symbols, in writable memory; no other thread reads it yet.
            let symbol = unsafe { &mut *symbol };
            if watched.is(self.0.0.text(symbol)) {
                if wanted {
                    symbol.info = symbol.info & 0xf0 | STT_GNU_IFUNC;
                    symbol.value = (on_load as *const () as usize).wrapping_sub(self.0.0.bias);
                } else {
                    symbol.other = STV_HIDDEN;
                }
            }
        }
    }
}
