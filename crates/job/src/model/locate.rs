//! Names for addresses, from the files in the process.

use crate::base::modules::{ModuleFacts, Modules};
use mpiscope_image::layout::source_line;

/// Translates an address to a source line, a function or an object of a file.
pub trait Locate {
    /// Locates the call in `module` with this return address: `file:line`, or `function+0x1f in module` by
    /// the symbol table; `None` if the file has neither.
    fn call(&self, module: &ModuleFacts, return_address: u64) -> Option<String>;

    /// Calls `each` with the name and address in the process of every predefined MPI object that `module`
    /// exports.
    fn exports(&self, module: &ModuleFacts, each: &mut dyn FnMut(&str, u64));

    /// Returns the predefined object at this address of `module`.
    fn symbol(&self, module: &ModuleFacts, address: u64) -> Option<String> {
        let mut found = None;
        self.exports(module, &mut |name, at| {
            if at == address && found.is_none() {
                found = Some(name.to_owned());
            }
        });
        found
    }
}

/// Knows nothing: addresses are shown as module and offset.
#[derive(Debug)]
pub struct NoSymbols;

impl Locate for NoSymbols {
    fn call(&self, _: &ModuleFacts, _: u64) -> Option<String> {
        None
    }

    fn exports(&self, _: &ModuleFacts, _: &mut dyn FnMut(&str, u64)) {}
}

/// Describes where the program made a call: a source line, or a function and offset, or at worst module and
/// offset. Python code has recorded lines and needs no symbols. If a library made the call, the place where
/// the user's code called the library is appended.
pub fn place(modules: &Modules, locate: &dyn Locate, return_address: u64) -> Option<String> {
    modules.words(return_address, |address| place_of_one(modules, locate, address))
}

fn place_of_one(modules: &Modules, locate: &dyn Locate, return_address: u64) -> Option<String> {
    if return_address == 0 {
        return None;
    }
    let Some(module) = modules.of_call(return_address) else {
        return Some(format!("{return_address:#x}"));
    };
    let name = module.path.rsplit('/').next().unwrap_or_default();
    if let Some(line) = source_line(return_address) {
        return Some(format!("{name}:{line}"));
    }
    Some(
        locate
            .call(module, return_address)
            .unwrap_or_else(|| format!("{name}+{:#x}", return_address.wrapping_sub(module.bias))),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpiscope_image::layout::{SOURCE_SIZE, source_start};

    #[test]
    fn lines_of_interpreted_programs_are_shown_without_symbols() {
        let source = |index| {
            let start = source_start(index);
            ModuleFacts { path: format!("/home/u/part{index}.py"), bias: 0, start, end: start + SOURCE_SIZE }
        };
        let modules = vec![source(0), source(1)].into();
        let shown = |index, line| place(&modules, &NoSymbols, source_start(index) + line);
        assert_eq!(shown(0, 1).as_deref(), Some("part0.py:1"));
        assert_eq!(shown(1, 4711).as_deref(), Some("part1.py:4711"));
        assert_eq!(shown(2, 1).as_deref(), Some("0x8000000002000001"));
    }
}
