//! The modules of a program, derived from its mappings.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use crate::elf::{CodeFile, Table};
use crate::maps::Mapping;
use crate::{Module, Result};

/// Groups the mappings by module: a file mapped from its beginning, with some executable part. A file that is
/// mapped twice (in other linker namespaces) is two modules. Modules are in address order.
pub fn group(mappings: &[Mapping]) -> Vec<Vec<Mapping>> {
    let mut groups: Vec<Vec<Mapping>> = Vec::new();
    let mut open: HashMap<&Path, usize> = HashMap::new();
    for mapping in mappings {
        let known = open.get(mapping.path.as_path()).and_then(|at| groups.get_mut(*at));
        // File offsets ascend within one module; a small one may have one page of the file mapped twice.
        let follows = |last: &Mapping| {
            last.offset < mapping.offset || (last.offset, last.end) == (mapping.offset, mapping.start)
        };
        match known {
            Some(group) if group.last().is_some_and(follows) => {
                group.push(mapping.clone());
            }
            _ => {
                open.insert(&mapping.path, groups.len());
                groups.push(vec![mapping.clone()]);
            }
        }
    }
    groups.retain(|group| group.iter().any(|mapping| mapping.executable));
    groups
}

/// Returns the modules among the mappings, the executable first. `open` opens the file behind a mapping; if
/// it cannot, the module is assumed to begin at its first mapping.
pub fn modules(
    mappings: &[Mapping],
    executable: Option<&Path>,
    open: impl Fn(&Mapping) -> Result<Arc<CodeFile>>,
) -> Vec<Module> {
    let mut modules: Vec<Module> = group(mappings).iter().filter_map(|group| module(group, &open)).collect();
    modules.sort_by_key(|module| Some(module.path.as_path()) != executable);
    modules
}

fn module(group: &[Mapping], open: impl Fn(&Mapping) -> Result<Arc<CodeFile>>) -> Option<Module> {
    let (first, last) = (group.first()?, group.last()?);
    let code = || group.iter().filter(|mapping| mapping.executable);
    let executable = code().map(|mapping| mapping.start).min()?..code().map(|mapping| mapping.end).max()?;
    let known = open(first).ok().and_then(|file| file.bias(first));
    let bias = known.unwrap_or(first.start.wrapping_sub(first.offset));
    Some(Module { path: first.path.clone(), bias, start: first.start, end: last.end, executable })
}

/// Returns the address of a symbol in the first module that defines it: first all dynamic tables are
/// searched, then all full ones.
///
/// # Errors
/// The first reason, if none of the files could be opened: absence of the symbol would be a guess.
pub fn symbol(
    modules: &[Module],
    name: &str,
    open: impl Fn(&Module) -> Result<Arc<CodeFile>>,
) -> Result<Option<u64>> {
    let (mut seen, mut reason) = (false, None);
    for table in [Table::Dynamic, Table::Full] {
        for module in modules {
            match open(module).and_then(|file| file.symbol(table, name)) {
                Ok(Some(address)) => return Ok(Some(address.wrapping_add(module.bias))),
                Ok(None) => seen = true,
                Err(why) => reason = reason.or(Some(why)),
            }
        }
    }
    match reason {
        Some(why) if !seen => Err(why),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maps::{parse, tests::MAPS};

    #[test]
    fn only_files_with_code_are_modules_and_a_file_mapped_twice_is_two_modules() {
        let groups = group(&parse(MAPS));
        let starts: Vec<_> = groups.iter().map(|group| (group[0].start, group.len())).collect();
        assert_eq!(starts, [(0x5581_a000, 3), (0x7f10_0000, 1), (0x7f30_0000, 1)]);
    }

    #[test]
    fn the_executable_comes_first_and_a_deleted_file_is_still_a_module() {
        let gone = |mapping: &Mapping| CodeFile::open(&mapping.path.join("gone"));
        let modules = modules(&parse(MAPS), Some(Path::new("/lib/x.so")), gone);
        assert_eq!(modules[0].path, Path::new("/lib/x.so"));
        let app = modules.last().unwrap();
        assert_eq!((app.bias, app.executable.clone()), (0x5581_a000, 0x5581_b000..0x5581_c000));
    }
}
