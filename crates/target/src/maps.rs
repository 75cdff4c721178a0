//! Which files are mapped where, and the modules that follow from it.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::elf::{CodeFile, Table};
use crate::{Module, Result};

/// More mappings than this no program has (`vm.max_map_count` is 65530 unless raised).
const MAX_MAPPINGS: usize = 1 << 20;

/// A piece of a file in the target's memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// First address.
    pub start: u64,
    /// First address behind it.
    pub end: u64,
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// Whether code may run there.
    pub executable: bool,
    /// The file, without the kernel's mark for deleted ones.
    pub path: PathBuf,
    /// Whether the kernel says that the path no longer leads to this file.
    pub deleted: bool,
    /// Device and inode, as the kernel writes them; zero where they are not known, as in a core file.
    pub inode: (u64, u64),
}

/// The file-backed mappings in a text such as `/proc/PID/maps`. Lines that make no sense are left out.
pub fn parse(text: &[u8]) -> Vec<Mapping> {
    text.split(|byte| *byte == b'\n').filter_map(line).take(MAX_MAPPINGS).collect()
}

fn line(line: &[u8]) -> Option<Mapping> {
    let mut fields = line.splitn(6, |byte| *byte == b' ');
    let mut field = || fields.next().and_then(|bytes| std::str::from_utf8(bytes).ok());
    let (start, end) = field()?.split_once('-')?;
    let (rights, offset) = (field()?, field()?);
    let hex = |text| u64::from_str_radix(text, 16).ok();
    let (start, end, offset) = (hex(start)?, hex(end)?, hex(offset)?);
    let executable = rights.contains('x');
    let mut field = || fields.next().and_then(|bytes| std::str::from_utf8(bytes).ok());
    let (major, minor) = field()?.split_once(':')?;
    let inode = (hex(major)? << 32 | hex(minor)?, field()?.parse().ok()?);
    let path = fields.next()?.trim_ascii_start();
    let (path, deleted) = match path.strip_suffix(b" (deleted)") {
        Some(path) => (path, true),
        None => (path, false),
    };
    let path = PathBuf::from(OsStr::from_bytes(path));
    (start < end && path.is_absolute()).then_some(Mapping {
        start,
        end,
        offset,
        executable,
        path,
        deleted,
        inode,
    })
}

/// The mappings of each module: a file of which some part is executable, mapped from its beginning. A file that is mapped
/// twice (other linker namespaces) is two modules. The modules stand in order of address.
pub fn group(mappings: &[Mapping]) -> Vec<Vec<Mapping>> {
    let mut groups: Vec<Vec<Mapping>> = Vec::new();
    let mut open: HashMap<&Path, usize> = HashMap::new();
    for mapping in mappings {
        let known = open.get(mapping.path.as_path()).and_then(|at| groups.get_mut(*at));
        // The pieces of one module go upwards in the file; a small one may lie in one page of it that is mapped twice.
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

/// The modules among the mappings, the executable first. `open` finds the file behind a mapping; where it cannot, the
/// module is taken to begin where its first mapping does.
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

/// The address of a symbol in the first module that defines it: all dynamic tables first, then all full ones.
///
/// # Errors
/// When not one of the files could be opened, so that "there is none" would be a guess: the first reason.
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

    const MAPS: &[u8] = b"\
5581a000-5581b000 r--p 00000000 08:01 42                     /opt/my app\n\
5581b000-5581c000 r-xp 00001000 08:01 42                     /opt/my app\n\
5581d000-5581e000 rw-p 00002000 08:01 42                     /opt/my app\n\
5581e000-5581f000 rw-p 00000000 00:00 0                      [heap]\n\
7f000000-7f001000 r--p 00000000 00:2d 9                      /usr/share/data\n\
7f100000-7f101000 r-xp 00000000 00:2d 7                      /lib/x.so (deleted)\n\
7f200000-7f201000 rw-s 00000000 00:01 3                      /memfd:image (deleted)\n\
7f300000-7f301000 r-xp 00000000 00:2d 7                      /lib/x.so (deleted)\n\
zzz\n\
\xff\xfe-3 r-xp\n";

    #[test]
    fn only_files_with_code_are_modules_and_a_file_mapped_twice_is_two() {
        let groups = group(&parse(MAPS));
        let starts: Vec<_> = groups.iter().map(|group| (group[0].start, group.len())).collect();
        assert_eq!(starts, [(0x5581_a000, 3), (0x7f10_0000, 1), (0x7f30_0000, 1)]);
    }

    #[test]
    fn a_path_with_a_space_and_a_deleted_file_are_told_apart() {
        let mappings = parse(MAPS);
        assert_eq!((mappings[0].path.to_str(), mappings[0].deleted), (Some("/opt/my app"), false));
        assert_eq!((mappings[4].path.to_str(), mappings[4].deleted), (Some("/lib/x.so"), true));
    }

    #[test]
    fn the_executable_stands_first_and_a_file_that_is_gone_still_is_a_module() {
        let gone = |mapping: &Mapping| CodeFile::open(&mapping.path.join("gone"));
        let modules = modules(&parse(MAPS), Some(Path::new("/lib/x.so")), gone);
        assert_eq!(modules[0].path, Path::new("/lib/x.so"));
        let app = modules.last().unwrap();
        assert_eq!((app.bias, app.executable.clone()), (0x5581_a000, 0x5581_b000..0x5581_c000));
    }
}
