//! Source lines, functions and exported objects from the files that a process has mapped.

use crate::names::Locate;
use crate::process::ModuleFacts;
use mpiscope_target::Symbolizer;
use object::{Object, ObjectSymbol, SymbolKind};
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

/// The function that begins at an address of a process, for people: its name and line, else module and offset.
#[must_use]
pub fn function_at(modules: &[ModuleFacts], address: u64) -> String {
    let Some(module) = modules.iter().find(|m| (m.start..m.end).contains(&address)) else {
        return format!("{address:#x}");
    };
    let name = module.path.rsplit('/').next().unwrap_or_default();
    let offset = address.wrapping_sub(module.bias);
    let found = Symbolizer::new().locate(Path::new(&module.path), offset);
    match found.function {
        Some(_) => format!("{found:#}"),
        None => format!("{name}+{offset:#x}"),
    }
}

/// Exported objects of a file by their address in it.
type Exports = Rc<HashMap<u64, String>>;

/// Names from files; each file is read once.
#[derive(Default)]
pub struct FileSymbols {
    symbolizer: Symbolizer,
    exports: RefCell<HashMap<String, Exports>>,
}

impl FileSymbols {
    fn exports(&self, path: &str) -> Exports {
        if let Some(known) = self.exports.borrow().get(path) {
            return known.clone();
        }
        let exports = Rc::new(read_exports(Path::new(path)).unwrap_or_default());
        self.exports.borrow_mut().insert(path.to_owned(), exports.clone());
        exports
    }
}

/// The program's copies of library objects are in its own table under the same names.
fn read_exports(path: &Path) -> Option<HashMap<u64, String>> {
    let bytes = std::fs::read(path).ok()?;
    let file = object::File::parse(bytes.as_slice()).ok()?;
    let objects = file.dynamic_symbols().filter(|s| s.kind() == SymbolKind::Data && s.address() != 0);
    let named = objects.filter_map(|s| {
        let name = s.name().ok()?;
        mpi_abi::predefined::by_symbol(name).map(|_| (s.address(), name.to_owned()))
    });
    Some(named.collect())
}

impl Locate for FileSymbols {
    fn call(&self, module: &ModuleFacts, return_address: u64) -> Option<String> {
        let offset = return_address.wrapping_sub(module.bias);
        let location = self.symbolizer.locate_return(Path::new(&module.path), offset);
        (location.line.is_some() || location.symbol.is_some()).then(|| location.to_string())
    }

    fn symbol(&self, module: &ModuleFacts, address: u64) -> Option<String> {
        // Data may lie beyond the part that the layer knows to be mapped: the table decides.
        let address = address.checked_sub(module.bias)?;
        self.exports(&module.path).get(&address).cloned()
    }
}
