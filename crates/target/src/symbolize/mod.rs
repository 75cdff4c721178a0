//! Translates addresses to functions, files and lines.
//!
//! Debug information comes from the module itself or from a separate file next to it or under
//! `/usr/lib/debug`. Without it, the nearest symbol of the symbol tables names the function, and [`Location`]
//! shows `function+0xoffset in module`. If not even that is known (a stripped program), it shows
//! `module+0xoffset`, which `addr2line -e module 0xoffset` can translate on a machine that has the debug
//! information.

mod debug_file;
mod dwarf;
mod names;
mod symbols;

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::elf::{self, Mapped};
use crate::{Error, Module, Result};

pub use names::demangle;

/// Maximum number of modules cached; beyond that the cache is cleared.
const MAX_MODULES: usize = 1024;
/// Maximum depth of inlining.
const MAX_INLINED: usize = 64;

/// A location in a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The program or library.
    pub module: PathBuf,
    /// The address in the module, as used by its own tables.
    pub offset: u64,
    /// The innermost function, demangled; may be an inlined one.
    pub function: Option<String>,
    /// The nearest symbol and the distance past its start; not searched if the line is known.
    pub symbol: Option<(String, u64)>,
    /// The source file, as passed to the compiler.
    pub file: Option<PathBuf>,
    /// The line, starting at 1.
    pub line: Option<u32>,
}

impl Location {
    /// Whether it is shown by a function's name.
    pub fn names_function(&self) -> bool {
        self.line.is_none() && self.symbol.is_some()
    }

    /// Turns the location of a call's last byte into that of the call.
    fn returning_to(mut self, offset: u64) -> Self {
        if let Some((_, past)) = &mut self.symbol {
            *past = past.saturating_add(offset.saturating_sub(self.offset));
        }
        Self { offset, ..self }
    }

    fn bare(module: &Path, offset: u64) -> Self {
        Self { module: module.to_path_buf(), offset, function: None, symbol: None, file: None, line: None }
    }
}

/// `file.c:42`; `solve+0x1f in app` without debug information, `app+0x1234` without symbols. With `{:#}` the
/// function precedes forms that do not contain it.
impl fmt::Display for Location {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |path: &Path| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        if let (true, Some(function), false) = (out.alternate(), &self.function, self.names_function()) {
            write!(out, "{function} at ")?;
        }
        match (&self.file, self.line, &self.symbol) {
            (Some(file), Some(line), _) => write!(out, "{}:{line}", name(file)),
            (_, _, Some((symbol, past))) => write!(out, "{symbol}+{past:#x} in {}", name(&self.module)),
            (Some(file), None, None) => write!(out, "{}", name(file)),
            _ => write!(out, "{}+{:#x}", name(&self.module), self.offset),
        }
    }
}

/// Looks up addresses and caches what it learns about each module.
#[derive(Default)]
pub struct Symbolizer {
    root: Option<PathBuf>,
    modules: Mutex<HashMap<PathBuf, Arc<Known>>>,
}

/// What is known about a module, or why nothing is.
enum Known {
    Tables(Tables),
    Nothing(String),
}

struct Tables {
    symbols: symbols::Symbols,
    /// Parsed debug information fills its caches on demand, from one thread at a time.
    lines: Option<Mutex<dwarf::Lines>>,
}

impl Symbolizer {
    /// Creates a symbolizer for modules at the paths that their processes name.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a symbolizer for modules below a directory: `/proc/PID/root` of a process in a container, or a
    /// copy of another host's files.
    pub fn with_root(root: impl Into<PathBuf>) -> Self {
        Self { root: Some(root.into()), modules: Mutex::default() }
    }

    /// Returns the location of an instruction. Unknown parts are `None`; [`Symbolizer::problem`] tells why.
    pub fn locate(&self, module: &Path, address_in_file: u64) -> Location {
        self.locate_first(module, address_in_file, 1).pop().unwrap_or(Location::bare(module, address_in_file))
    }

    /// Returns the locations in all functions that contain the instruction, innermost first: then those that
    /// it is inlined into, each at the inlined call. At least one.
    pub fn locate_inlined(&self, module: &Path, address_in_file: u64) -> Vec<Location> {
        self.locate_first(module, address_in_file, MAX_INLINED)
    }

    fn locate_first(&self, module: &Path, address_in_file: u64, most: usize) -> Vec<Location> {
        let bare = Location::bare(module, address_in_file);
        match &*self.known(module) {
            Known::Tables(tables) => tables.locate(&bare, most),
            Known::Nothing(_) => vec![bare],
        }
    }

    /// Returns the location of a call, given its return address. That address may belong to the next line or
    /// function (a call that never returns is the last instruction), so the byte before it is looked up.
    pub fn locate_return(&self, module: &Path, return_address_in_file: u64) -> Location {
        let inside = return_address_in_file.saturating_sub(1);
        self.locate(module, inside).returning_to(return_address_in_file)
    }

    /// Returns the locations in all functions that contain the call, like
    /// [`locate_inlined`](Self::locate_inlined).
    pub fn locate_return_inlined(&self, module: &Path, return_address_in_file: u64) -> Vec<Location> {
        let inside = return_address_in_file.saturating_sub(1);
        let functions = self.locate_inlined(module, inside).into_iter();
        functions.map(|location| location.returning_to(return_address_in_file)).collect()
    }

    /// Returns the location of a call in a target with these modules, given the return address in its memory.
    /// `None` if the address is in no module: code generated at run time, or a damaged stack.
    pub fn locate_call(&self, modules: &[Module], return_address: u64) -> Option<Location> {
        let module = modules.iter().find(|module| module.contains(return_address.wrapping_sub(1)))?;
        Some(self.locate_return(&module.path, module.address_in_file(return_address)))
    }

    /// Explains why a module has no function names or no lines. `None` if it has both.
    pub fn problem(&self, module: &Path) -> Option<String> {
        match &*self.known(module) {
            Known::Nothing(reason) => Some(reason.clone()),
            Known::Tables(Tables { lines: None, .. }) => {
                let name = module.display();
                Some(format!(
                    "{name} has no debug information; compile with -g, or install its -dbgsym package"
                ))
            }
            Known::Tables(_) => None,
        }
    }

    fn known(&self, module: &Path) -> Arc<Known> {
        let lock = || self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(module) {
            return known.clone();
        }
        let known = Arc::new(match self.load(module) {
            Ok(tables) => Known::Tables(tables),
            Err(error) => Known::Nothing(error.to_string()),
        });
        let mut modules = lock();
        if modules.len() >= MAX_MODULES {
            modules.clear();
        }
        modules.insert(module.to_path_buf(), known.clone());
        known
    }

    fn load(&self, module: &Path) -> Result<Tables> {
        let root = self.root.as_deref().unwrap_or(Path::new("/"));
        let path = root.join(module.strip_prefix("/").unwrap_or(module));
        let path = if self.root.is_none() { module } else { &path };
        let file = Arc::new(Mapped::open(path)?);
        if elf::identity(&file).is_none() {
            return Err(Error::elf(
                path,
                "not an ELF file; is this the program itself, or a script that starts it?",
            ));
        }
        let separate = debug_file::find(root, path, &file).map(Arc::new);
        let mut lines = dwarf::load(root, &file)?;
        if lines.is_none() {
            // A damaged separate file must not hide the names in the module itself.
            lines = separate.as_ref().and_then(|separate| dwarf::load(root, separate).ok().flatten());
        }
        let symbols = symbols::Symbols::collect([Some(&file), separate.as_ref()].into_iter().flatten())?;
        Ok(Tables { symbols, lines: lines.map(Mutex::new) })
    }
}

impl Tables {
    /// Returns up to `most` of the functions that contain an address, innermost first; at least one.
    fn locate(&self, bare: &Location, most: usize) -> Vec<Location> {
        let mut found = Vec::new();
        if let Some(lines) = &self.lines {
            let lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
            found.extend(dwarf::functions(&lines, bare.offset).take(most).map(|function| Location {
                function: function.name,
                file: function.file,
                line: function.line,
                ..bare.clone()
            }));
        }
        if found.is_empty() {
            found.push(bare.clone());
        }
        found.iter_mut().for_each(|location| self.name(location));
        found
    }

    /// Fills in from the symbol tables what the debug information lacks.
    fn name(&self, location: &mut Location) {
        if location.line.is_none() || location.function.is_none() {
            let symbol = self.symbols.nearest(location.offset).map(|(name, past)| (demangle(&name), past));
            location.function = location.function.take().or_else(|| Some(symbol.as_ref()?.0.clone()));
            location.symbol = symbol.filter(|_| location.line.is_none());
        }
    }
}

#[cfg(test)]
mod tests;
