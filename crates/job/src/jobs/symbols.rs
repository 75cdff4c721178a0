//! Source lines, functions and exported objects, from the files that a process has mapped.

use crate::base::modules::{ModuleFacts, from};
use crate::jobs::evidence::Symbols;
use crate::model::locate::Locate;
use mpiscope_target::{Location, Symbolizer};
use object::{Object, ObjectSymbol};
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

/// Describes the function that begins at an address of a process: its name and line, otherwise module and
/// offset.
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

/// Whether a line is in a header of an installed library, such as Boost.MPI.
fn is_in_header_of_system(location: &Location) -> bool {
    let file = location.file.as_deref().unwrap_or(Path::new(""));
    let source = ["/usr/src", "/usr/local/src"].iter().any(|folder| file.starts_with(folder));
    file.starts_with("/usr") && !source && file.iter().any(|part| part == "include")
}

/// Exported objects of a file by address in it; if several names share an address, in file order.
type Exports = Rc<HashMap<u64, Vec<String>>>;

/// Names from files; each file is read once.
#[derive(Default)]
pub struct FileSymbols {
    symbolizer: Symbolizer,
    exports: RefCell<HashMap<String, Exports>>,
}

impl FileSymbols {
    fn exports_of(&self, path: &str) -> Exports {
        if let Some(known) = self.exports.borrow().get(path) {
            return known.clone();
        }
        let exports = Rc::new(read_exports(Path::new(path)).unwrap_or_default());
        self.exports.borrow_mut().insert(path.to_owned(), exports.clone());
        exports
    }
}

/// Reads the predefined objects that a file defines. A program's copies of library objects are in its own
/// table under the same names.
fn read_exports(path: &Path) -> Option<HashMap<u64, Vec<String>>> {
    // A path recorded in an image may be a pipe by now.
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let bytes = std::fs::read(path).ok()?;
    let file = object::File::parse(bytes.as_slice()).ok()?;
    let mut found: HashMap<u64, Vec<String>> = HashMap::new();
    for symbol in file.dynamic_symbols().filter(|s| s.is_definition() && s.address() != 0) {
        if let Ok(name) = symbol.name()
            && mpi_abi::predefined::by_symbol(name).is_some()
        {
            found.entry(symbol.address()).or_default().push(name.to_owned());
        }
    }
    Some(found)
}

/// Names for the processes of several hosts: first those sent by other hosts, then those from this host's
/// files.
pub(crate) struct SeveralHosts {
    pub kept: Vec<Arc<Symbols>>,
    pub files: FileSymbols,
}

impl Locate for SeveralHosts {
    fn call(&self, module: &ModuleFacts, return_address: u64) -> Option<String> {
        let kept = self.kept.iter().find_map(|kept| kept.call(module, return_address));
        kept.or_else(|| self.files.call(module, return_address))
    }

    fn exports(&self, module: &ModuleFacts, each: &mut dyn FnMut(&str, u64)) {
        match self.kept.iter().find(|kept| kept.has_exports(module)) {
            Some(kept) => kept.exports(module, each),
            None => self.files.exports(module, each),
        }
    }
}

impl Locate for FileSymbols {
    fn call(&self, module: &ModuleFacts, return_address: u64) -> Option<String> {
        let offset = return_address.wrapping_sub(module.bias);
        let functions = self.symbolizer.locate_return_inlined(Path::new(&module.path), offset);
        let inner = functions.first()?;
        let place = (inner.line.is_some() || inner.symbol.is_some()).then(|| inner.to_string())?;
        // A library of headers is compiled into the program, like the line that called it.
        let caller = functions.iter().find(|one| !is_in_header_of_system(one));
        Some(match caller.filter(|_| is_in_header_of_system(inner)) {
            Some(caller) => from(&place, &caller.to_string()),
            None => place,
        })
    }

    fn exports(&self, module: &ModuleFacts, each: &mut dyn FnMut(&str, u64)) {
        for (address, names) in self.exports_of(&module.path).iter() {
            names.iter().for_each(|name| each(name, address.wrapping_add(module.bias)));
        }
    }

    fn symbol(&self, module: &ModuleFacts, address: u64) -> Option<String> {
        // Data may be outside the mapped range that the layer knows: the symbol table decides.
        let address = address.checked_sub(module.bias)?;
        self.exports_of(&module.path).get(&address)?.first().cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_call_inlined_from_a_header_of_the_system_is_shown_with_the_line_that_it_was_inlined_into() {
        let inlined = "static inline __attribute__((always_inline)) void";
        let source = format!(
            "extern void out(void);\n{inlined} own(void) {{ out(); }}\n\
             # 36 \"/usr/include/boost/mpi/all_reduce.hpp\"\n{inlined} wrapper(void) {{ out(); }}\n\
             # 7 \"app.c\"\nvoid out(void) {{ __asm__ volatile(\"\"); }}\n\
             int main(void) {{ own();\n wrapper(); return 0; }}\n"
        );
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("app.c"), source).unwrap();
        let mut compiler = Command::new("cc");
        compiler.args(["-g", "-O1", "-fno-inline", "-o", "app", "app.c"]).current_dir(folder.path());
        assert!(compiler.status().unwrap().success());
        let path = folder.path().join("app").to_string_lossy().into_owned();
        let size = std::fs::metadata(&path).unwrap().len();
        let module = ModuleFacts { path, bias: 0, start: 0, end: size };
        let symbols = FileSymbols::default();
        let shown: Vec<String> = (0..size).filter_map(|address| symbols.call(&module, address)).collect();
        for place in ["all_reduce.hpp:36 (from app.c:9)", "app.c:2"] {
            assert!(shown.iter().any(|one| one == place), "{place}: {shown:?}");
        }
        assert!(!shown.iter().any(|one| one == "all_reduce.hpp:36"), "{shown:?}");
    }
}
