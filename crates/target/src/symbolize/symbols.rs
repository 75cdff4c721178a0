//! Finds the nearest symbol below an address.

use std::collections::HashMap;
use std::sync::Arc;

use object::{Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, SectionIndex, SymbolIndex, SymbolKind};

use crate::Result;
use crate::elf::{self, Mapped, Table};

/// Functions by address. Names stay in the files and are read on demand.
pub struct Symbols {
    files: Vec<Arc<Mapped>>,
    /// In address order.
    places: Vec<Place>,
}

struct Place {
    address: u64,
    size: u64,
    /// Upper bound of the end of the code.
    end: u64,
    file: usize,
    table: Table,
    index: SymbolIndex,
}

impl Symbols {
    /// Collects all functions of the files, which are the module and its separate debug file.
    pub fn collect<'a>(files: impl Iterator<Item = &'a Arc<Mapped>>) -> Result<Self> {
        let files: Vec<_> = files.cloned().collect();
        let mut places = Vec::new();
        for (number, file) in files.iter().enumerate() {
            let object = file.object()?;
            places.extend(functions(&object, object.symbols(), number, Table::Full));
            places.extend(functions(&object, object.dynamic_symbols(), number, Table::Dynamic));
        }
        // Of several at one address the first found stays first: the full table also has local names.
        places.sort_by_key(|place| place.address);
        places.dedup_by(|next, kept| next.address == kept.address && (next.size == 0 || kept.size != 0));
        Ok(Self { files, places })
    }

    /// Returns the name of the function that contains the address, and the distance from its start. A
    /// function without a size, as in hand-written assembly, extends to the next one or to the end of its
    /// section.
    pub fn nearest(&self, address: u64) -> Option<(String, u64)> {
        let behind = self.places.partition_point(|place| place.address <= address);
        let place = self.places.get(behind.checked_sub(1)?)?;
        let object = self.files.get(place.file).filter(|_| address < place.end)?.object().ok()?;
        let symbol = match place.table {
            Table::Full => object.symbol_by_index(place.index).ok()?,
            Table::Dynamic => object.dynamic_symbol_table()?.symbol_by_index(place.index).ok()?,
        };
        let name = symbol.name_bytes().ok()?;
        let name = Some(String::from_utf8_lossy(name).into_owned()).filter(|name| !name.is_empty())?;
        Some((name, address - place.address))
    }
}

fn functions<'data>(
    object: &object::File<'_>,
    symbols: impl Iterator<Item = impl ObjectSymbol<'data>>,
    file: usize,
    table: Table,
) -> impl Iterator<Item = Place> {
    let code = |kind| matches!(kind, SymbolKind::Text | SymbolKind::Unknown);
    let section_ends: HashMap<_, _> =
        object.sections().map(|s| (s.index(), s.address().saturating_add(s.size()))).collect();
    let end = move |section: Option<SectionIndex>| section_ends.get(&section?).copied();
    symbols.filter(move |symbol| elf::is_place(symbol) && code(symbol.kind())).map(move |symbol| Place {
        address: symbol.address(),
        size: symbol.size(),
        end: match symbol.size() {
            0 => end(symbol.section_index()).unwrap_or(u64::MAX),
            size => symbol.address().saturating_add(size),
        },
        file,
        table,
        index: symbol.index(),
    })
}
