//! Objects as the dynamic linker has loaded them: their symbols, looked up without its help.
#![allow(unsafe_code)]

use super::versions::{Versions, Wanted};
use std::ffi::{CStr, c_char, c_void};
use std::ptr;

/// `struct link_map`: the public part.
#[repr(C)]
pub struct LinkMap {
    bias: usize,
    path: *const c_char,
    dynamic: *const Dynamic,
    next: *const LinkMap,
    previous: *const LinkMap,
}

/// `struct r_debug`: its first fields.
#[repr(C)]
struct Debug {
    version: i32,
    first: *const LinkMap,
}

/// `Elf64_Dyn`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Dynamic {
    tag: i64,
    value: usize,
}

/// `Elf64_Sym`.
#[repr(C)]
pub struct Symbol {
    pub name: u32,
    pub info: u8,
    pub other: u8,
    pub section: u16,
    pub value: usize,
    pub size: u64,
}

/// `Elf64_Rela`.
#[repr(C)]
pub struct Relocation {
    pub place: usize,
    info: u64,
    pub addend: usize,
}

impl Relocation {
    /// The relocation's type.
    pub fn kind(&self) -> u32 {
        self.info as u32
    }

    /// Index of the symbol.
    pub fn symbol(&self) -> usize {
        (self.info >> 32) as usize
    }
}

const _: () = assert!(size_of::<Symbol>() == 24 && size_of::<Relocation>() == 24);

unsafe extern "C" {
    #[link_name = "_r_debug"]
    static LOADED: Debug;
    #[link_name = "_DYNAMIC"]
    static OWN: [Dynamic; 0];
}

const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_HASH: i64 = 4;
const DT_RELA: i64 = 7;
const DT_RELASZ: i64 = 8;
const DT_PLTRELSZ: i64 = 2;
const DT_JMPREL: i64 = 23;
const DT_GNU_HASH: i64 = 0x6fff_fef5;
const DT_SONAME: i64 = 14;

const STB_LOCAL: u8 = 0;
const STB_WEAK: u8 = 2;
pub const STT_FUNC: u8 = 2;
pub const STT_GNU_IFUNC: u8 = 10;
const STV_MASK: u8 = 3;
const STV_DEFAULT: u8 = 0;
const STV_PROTECTED: u8 = 3;

impl Symbol {
    /// The symbol's type.
    pub fn kind(&self) -> u8 {
        self.info & 0xf
    }

    /// Whether the symbol is weak, so that a missing definition is not an error.
    pub fn is_weak(&self) -> bool {
        self.info >> 4 == STB_WEAK
    }

    /// Whether this is a function that other objects can find.
    fn is_offered(&self) -> bool {
        let visibility = self.other & STV_MASK;
        self.section != 0
            && self.value != 0
            && self.kind() == STT_FUNC
            && self.info >> 4 != STB_LOCAL
            && (visibility == STV_DEFAULT || visibility == STV_PROTECTED)
    }
}

/// A name, with its two hashes.
pub struct Name {
    /// Precedes the text unless it is zero.
    first: u8,
    text: *const u8,
    gnu: u32,
    old: u32,
}

impl Name {
    /// `text` must end with a zero.
    pub fn new(text: *const u8) -> Self {
        let mut name = Self { first: 0, text, gnu: 5381, old: 0 };
        name.hash(text);
        name
    }

    /// The profiling name of the same function: `P` and this name.
    pub fn profiled(&self) -> Self {
        let mut name = Self { first: b'P', text: self.text, gnu: 5381, old: 0 };
        name.add(b'P');
        name.hash(self.text);
        name
    }

    fn hash(&mut self, text: *const u8) {
        let mut at = text;
        loop {
            // SAFETY: not past the zero that ends the text.
            let byte = unsafe { *at };
            if byte == 0 {
                return;
            }
            self.add(byte);
            at = at.wrapping_add(1);
        }
    }

    fn add(&mut self, byte: u8) {
        self.gnu = self.gnu.wrapping_mul(33).wrapping_add(u32::from(byte));
        let old = (self.old << 4).wrapping_add(u32::from(byte));
        let high = old & 0xf000_0000;
        self.old = (old ^ (high >> 24)) & !high;
    }

    /// Whether the name equals `text`. Compares by hand, since `memcmp` may belong to an object that is not
    /// relocated yet.
    pub fn is(&self, text: *const u8) -> bool {
        let (mut one, mut other) = (self.text, text);
        if self.first != 0 {
            // SAFETY: the text has at least one byte, the zero that ends it.
            if unsafe { *other } != self.first {
                return false;
            }
            other = other.wrapping_add(1);
        }
        loop {
            // SAFETY: neither is read past its terminating zero: all bytes before were equal and not zero.
            let (a, b) = unsafe { (*one, *other) };
            if a != b {
                return false;
            }
            if a == 0 {
                return true;
            }
            one = one.wrapping_add(1);
            other = other.wrapping_add(1);
        }
    }

    /// Whether the name begins with `start`.
    pub fn starts_with(&self, start: &[u8]) -> bool {
        let mut at = self.text;
        for byte in start {
            // SAFETY: all bytes before equaled bytes that are not zero.
            if unsafe { *at } != *byte {
                return false;
            }
            at = at.wrapping_add(1);
        }
        true
    }
}

/// A loaded object.
#[derive(Clone, Copy)]
pub struct Object {
    pub map: *const LinkMap,
    pub bias: usize,
    symbols: *mut Symbol,
    strings: *const u8,
    gnu_hash: *const u32,
    old_hash: *const u32,
    relocations: [(usize, usize); 2],
    soname: usize,
    versions: Versions,
}

impl Object {
    /// Reads an object's dynamic section; `None` if the object has no symbols.
    fn new(map: *const LinkMap) -> Option<Self> {
        // SAFETY: an entry of the dynamic linker's list.
        let LinkMap { bias, dynamic, .. } = *unsafe { map.as_ref() }?;
        let mut object = Self {
            map,
            bias,
            symbols: ptr::null_mut(),
            strings: ptr::null(),
            gnu_hash: ptr::null(),
            old_hash: ptr::null(),
            relocations: [(0, 0); 2],
            soname: 0,
            versions: Versions::default(),
        };
        // The C library replaces offsets by addresses, unless the section is read-only.
        let address = |value: usize| if value < bias { value.wrapping_add(bias) } else { value };
        let mut at = dynamic;
        // SAFETY: the section ends with a tag of zero.
        let entry = |at: *const Dynamic| unsafe { at.as_ref() }.copied().filter(|entry| entry.tag != 0);
        while let Some(Dynamic { tag, value }) = entry(at) {
            match tag {
                DT_SYMTAB => object.symbols = address(value) as *mut Symbol,
                DT_STRTAB => object.strings = address(value) as *const u8,
                DT_GNU_HASH => object.gnu_hash = address(value) as *const u32,
                DT_HASH => object.old_hash = address(value) as *const u32,
                DT_RELA => object.relocations[0].0 = address(value),
                DT_RELASZ => object.relocations[0].1 = value,
                DT_JMPREL => object.relocations[1].0 = address(value),
                DT_PLTRELSZ => object.relocations[1].1 = value,
                DT_SONAME => object.soname = value,
                _ => object.versions.read(tag, || address(value)),
            }
            at = at.wrapping_add(1);
        }
        (!object.symbols.is_null() && !object.strings.is_null()).then_some(object)
    }

    /// Whether this is the executable.
    pub fn is_program(&self) -> bool {
        // SAFETY: the dynamic linker's variable.
        unsafe { LOADED.first == self.map }
    }

    /// The entry after this one.
    pub fn next(&self) -> *const LinkMap {
        // SAFETY: an entry of the dynamic linker's list.
        unsafe { (*self.map).next }
    }

    /// Path of the object's file; empty if it has none.
    pub fn path(&self) -> &CStr {
        // SAFETY: an entry of the dynamic linker's list: null, or a C string that lives as long as the entry.
        unsafe {
            let path = (*self.map).path;
            if path.is_null() { c"" } else { CStr::from_ptr(path) }
        }
    }

    /// Whether `name` is the object's soname.
    pub fn is_called(&self, name: *const u8) -> bool {
        self.soname != 0 && Name::new(name).is(self.strings.wrapping_add(self.soname))
    }

    /// Returns the version of a symbol that one of this object's references requires.
    pub fn wanted(&self, symbol: usize) -> Option<Wanted> {
        self.versions.wanted(symbol, self.strings)
    }

    /// Address of a function that this object exports, in the version that a reference requires.
    pub fn define_version(&self, name: &Name, wanted: &Wanted) -> Option<usize> {
        let index = self.versions.index(wanted)?;
        let symbols = self.symbols_of(name.gnu).map(|(index, _)| index);
        let mut right = symbols.filter(|symbol| self.versions.is(*symbol as usize, index));
        let symbol = right.find_map(|index| self.is(index, name))?;
        // SAFETY: a symbol of this object.
        Some(self.bias.wrapping_add(unsafe { (*symbol).value }))
    }

    /// A symbol's text.
    pub fn text(&self, symbol: &Symbol) -> *const u8 {
        self.strings.wrapping_add(symbol.name as usize)
    }

    /// The name of the symbol with an index taken from one of the object's relocations.
    pub fn name(&self, index: usize) -> Name {
        // SAFETY: a symbol that a relocation of the object names.
        Name::new(self.text(unsafe { &*self.symbol(index) }))
    }

    /// A symbol by its index.
    pub fn symbol(&self, index: usize) -> *mut Symbol {
        self.symbols.wrapping_add(index)
    }

    /// All relocations, with or without a symbol.
    pub fn relocations(&self) -> impl Iterator<Item = &Relocation> {
        self.relocations.into_iter().flat_map(|(start, len)| {
            let first = start as *const Relocation;
            // SAFETY: the object states their location and size in bytes.
            (0..len / size_of::<Relocation>()).filter_map(move |n| unsafe { first.wrapping_add(n).as_ref() })
        })
    }

    /// Address of a function that this object exports.
    pub fn define(&self, name: &Name) -> Option<usize> {
        let symbol = if self.gnu_hash.is_null() { self.by_old_hash(name) } else { self.by_gnu_hash(name) };
        // SAFETY: null, or a symbol of this object.
        unsafe { symbol.as_ref() }.map(|symbol| self.bias.wrapping_add(symbol.value))
    }

    fn is(&self, index: u32, name: &Name) -> Option<*const Symbol> {
        let symbol = self.symbol(index as usize).cast_const();
        // SAFETY: the index comes from the object's own hash table.
        unsafe { symbol.as_ref() }
            .filter(|found| name.is(self.text(found)) && found.is_offered())
            .map(ptr::from_ref)
    }

    fn by_gnu_hash(&self, name: &Name) -> *const Symbol {
        self.symbols_of(name.gnu).find_map(|(index, _)| self.is(index, name)).unwrap_or(ptr::null())
    }

    /// Symbols whose names have this hash, from `DT_GNU_HASH`.
    fn symbols_of(&self, wanted: u32) -> impl Iterator<Item = (u32, u32)> {
        let table = GnuHash::new(self.gnu_hash).filter(|table| table.may_have(wanted));
        let chain = table.into_iter().flat_map(move |table| table.chain(wanted % table.buckets));
        chain.filter(move |(_, hash)| hash | 1 == wanted | 1)
    }

    fn by_old_hash(&self, name: &Name) -> *const Symbol {
        if self.old_hash.is_null() {
            return ptr::null();
        }
        // SAFETY: the table begins with the numbers of buckets and of symbols; all indices come from the
        // table itself.
        unsafe {
            let buckets = *self.old_hash;
            if buckets == 0 {
                return ptr::null();
            }
            let heads = self.old_hash.add(2);
            let chains = heads.add(buckets as usize);
            let mut index = *heads.add((name.old % buckets) as usize);
            while index != 0 {
                if let Some(symbol) = self.is(index, name) {
                    return symbol;
                }
                index = *chains.add(index as usize);
            }
        }
        ptr::null()
    }

    /// All symbols that the object defines, in the order of its hash table.
    pub fn defined(&self) -> impl Iterator<Item = *mut Symbol> {
        let table = GnuHash::new(self.gnu_hash);
        let object = *self;
        table
            .into_iter()
            .flat_map(|table| (0..table.buckets).flat_map(move |bucket| table.chain(bucket)))
            .map(move |(index, _)| object.symbol(index as usize))
    }

    /// Whether an address is in the part that becomes read-only after relocation.
    pub fn is_sealed(&self, address: usize) -> bool {
        self.headers().any(|header| {
            let start = self.bias.wrapping_add(header.p_vaddr as usize);
            header.p_type == libc::PT_GNU_RELRO && address.wrapping_sub(start) < header.p_memsz as usize
        })
    }

    /// Whether an address is in the object.
    pub fn has(&self, address: usize) -> bool {
        address.wrapping_sub(self.bias) < self.extent()
    }

    /// Number of bytes from the object's bias to its end.
    pub fn extent(&self) -> usize {
        let ends =
            self.headers().filter(|h| h.p_type == libc::PT_LOAD).map(|h| h.p_vaddr.wrapping_add(h.p_memsz));
        ends.max().unwrap_or(0) as usize
    }

    /// The program headers, assuming that the first page of the file is mapped at the bias, as linkers
    /// arrange it.
    fn headers(&self) -> impl Iterator<Item = &libc::Elf64_Phdr> {
        // SAFETY: an entry of the dynamic linker's list.
        let dynamic = unsafe { (*self.map).dynamic } as usize;
        let head = self.bias as *const libc::Elf64_Ehdr;
        let likely = self.bias != 0 && dynamic > self.bias && dynamic - self.bias < 1 << 31;
        // SAFETY: a bias that is not zero is where the object begins.
        let head = if likely { unsafe { head.as_ref() } } else { None };
        head.into_iter().flat_map(move |head| {
            let first = self.bias.wrapping_add(head.e_phoff as usize) as *const libc::Elf64_Phdr;
            // SAFETY: the header states their location and number.
            (0..usize::from(head.e_phnum)).filter_map(move |n| unsafe { first.wrapping_add(n).as_ref() })
        })
    }
}

/// `DT_GNU_HASH`.
#[derive(Clone, Copy)]
struct GnuHash {
    buckets: u32,
    first: u32,
    words: u32,
    shift: u32,
    bloom: *const u64,
    heads: *const u32,
    chains: *const u32,
}

impl GnuHash {
    fn new(at: *const u32) -> Option<Self> {
        if at.is_null() {
            return None;
        }
        // SAFETY: the table begins with four numbers.
        let (buckets, first, words, shift) = unsafe { (*at, *at.add(1), *at.add(2), *at.add(3)) };
        let bloom = at.wrapping_add(4).cast::<u64>();
        let heads = bloom.wrapping_add(words as usize).cast::<u32>();
        let chains = heads.wrapping_add(buckets as usize);
        (buckets != 0 && words != 0).then_some(Self { buckets, first, words, shift, bloom, heads, chains })
    }

    /// Bloom filter: rejects most missing names by reading one word.
    fn may_have(&self, hash: u32) -> bool {
        // SAFETY: the index is within the filter.
        let word = unsafe { *self.bloom.add((hash / 64 % self.words) as usize) };
        let bits = (1u64 << (hash % 64)) | (1u64 << (hash.wrapping_shr(self.shift) % 64));
        word & bits == bits
    }

    /// Symbols of one bucket: index and hash.
    fn chain(self, bucket: u32) -> impl Iterator<Item = (u32, u32)> {
        // SAFETY: the caller passes only existing buckets.
        let mut index = unsafe { *self.heads.add(bucket as usize) };
        std::iter::from_fn(move || {
            if index < self.first {
                return None;
            }
            // SAFETY: an index of the chain, which ends with an odd hash.
            let hash = unsafe { *self.chains.add((index - self.first) as usize) };
            let found = index;
            index = if hash & 1 == 1 { 0 } else { index + 1 };
            Some((found, hash))
        })
    }
}

/// Objects from `first` to `last`.
pub fn from(first: *const LinkMap, last: *const LinkMap) -> impl Iterator<Item = Object> {
    maps(first, last).filter_map(Object::new)
}

/// All objects except the executable.
pub fn objects() -> impl Iterator<Item = Object> {
    // SAFETY: null, or the head of the dynamic linker's list.
    let second = unsafe { LOADED.first.as_ref() }.map_or(ptr::null(), |first| first.next);
    from(second, ptr::null())
}

/// The executable.
pub fn program() -> Option<Object> {
    // SAFETY: null, or the head of the dynamic linker's list.
    unsafe { LOADED.first.as_ref() }.and_then(|first| Object::new(first))
}

/// The last object of the list.
pub fn last() -> *const LinkMap {
    // SAFETY: the dynamic linker's variable.
    maps(unsafe { LOADED.first }, ptr::null()).last().unwrap_or(ptr::null())
}

/// This library; `None` if it is part of an executable.
pub fn own() -> Option<Object> {
    let dynamic = (&raw const OWN).cast::<c_void>();
    objects().find(|object| {
        // SAFETY: an entry of the dynamic linker's list.
        unsafe { (*object.map).dynamic }.cast() == dynamic
    })
}

fn maps(first: *const LinkMap, last: *const LinkMap) -> impl Iterator<Item = *const LinkMap> {
    let mut at = first;
    std::iter::from_fn(move || {
        // SAFETY: null, or an entry of the dynamic linker's list.
        let entry = unsafe { at.as_ref() }?;
        let found = at;
        at = if found == last { ptr::null() } else { entry.next };
        Some(found)
    })
}
