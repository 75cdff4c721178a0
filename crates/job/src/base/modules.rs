//! The files with code in a process, and the call paths through its libraries.

use mpiscope_image::call_path::{self, CallPath};
use mpiscope_image::layout::{Module, SectionKind};
use mpiscope_image::{Error, Image, Source};
use std::ops::Deref;

/// Longer paths are truncated.
const LONGEST_PATH: usize = 4096;
/// At most this many modules are read; the layer never creates more.
const MOST: u64 = 1 << 16;

/// An executable file mapped into the process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleFacts {
    /// Path of the file.
    pub path: String,
    /// Address in the process minus address in the file.
    pub bias: u64,
    /// First address.
    pub start: u64,
    /// First address past the end.
    pub end: u64,
}

/// A call that a library made on behalf of the program: see [`mpiscope_image::call_path`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathFacts {
    /// The return address of the MPI call in the library.
    pub site: u64,
    /// The return address of the user's call of the library, or an address that represents its line.
    pub caller: u64,
}

/// Maps addresses in a process to modules and call paths. Dereferences to the modules.
#[derive(Debug, Clone, Default)]
pub struct Modules {
    files: Vec<ModuleFacts>,
    paths: Vec<PathFacts>,
}

impl From<Vec<ModuleFacts>> for Modules {
    fn from(files: Vec<ModuleFacts>) -> Self {
        Self { files, paths: Vec::new() }
    }
}

impl Deref for Modules {
    type Target = [ModuleFacts];

    fn deref(&self) -> &[ModuleFacts] {
        &self.files
    }
}

impl Modules {
    /// Reads the modules and call paths of an image.
    ///
    /// # Errors
    /// When the image is damaged or cannot be read.
    pub fn read<S: Source>(image: &Image<S>) -> Result<Self, Error> {
        let table = image.table::<Module>(SectionKind::MODULES)?;
        let files = (0..table.len().min(MOST))
            .filter_map(|index| Some(image.get::<Module>(&table, index).ok()?.value));
        let files = files.map(|module| ModuleFacts {
            path: image.text(&module.path, LONGEST_PATH).unwrap_or_default(),
            bias: module.bias.get(),
            start: module.start.get(),
            end: module.end.get(),
        });
        let files = files.collect();
        let table = image.table::<CallPath>(SectionKind::CALL_PATHS)?;
        let path = |index| match image.get::<CallPath>(&table, index) {
            Ok(path) => PathFacts { site: path.value.site.get(), caller: path.value.caller.get() },
            Err(_) => PathFacts { site: 0, caller: 0 },
        };
        Ok(Self { files, paths: (0..table.len().min(MOST)).map(path).collect() })
    }

    /// Returns the number of modules and call paths in an image. If it has not grown, the tables read earlier
    /// are still complete.
    pub fn count<S: Source>(image: &Image<S>) -> u64 {
        let files = image.table::<Module>(SectionKind::MODULES).map_or(0, |table| table.len());
        files + image.table::<CallPath>(SectionKind::CALL_PATHS).map_or(0, |table| table.len())
    }

    /// Returns the module, or the source file with the line, that contains the call with this return address.
    pub fn of_call(&self, return_address: u64) -> Option<&ModuleFacts> {
        // The call instruction is before its return address, perhaps in another function or module.
        let address = return_address.checked_sub(1)?;
        self.files.iter().find(|module| (module.start..module.end).contains(&address))
    }

    /// Returns the call path that an address stands for, or `None` for a code address.
    fn path(&self, address: u64) -> Option<PathFacts> {
        let known = usize::try_from(call_path::index(address)?).ok().and_then(|index| self.paths.get(index));
        Some(known.copied().filter(|path| path.site != 0).unwrap_or(PathFacts { site: 0, caller: 0 }))
    }

    /// Returns the return address of the MPI call itself, as [`call_path::code`] defines it.
    #[must_use]
    pub fn code(&self, address: u64) -> u64 {
        self.path(address).map_or(address, |path| path.site)
    }

    /// Describes an address in terms of `one`, which describes a code address: `site (from caller)` for a
    /// call path.
    pub fn words(&self, address: u64, one: impl Fn(u64) -> Option<String>) -> Option<String> {
        let Some(PathFacts { site, caller }) = self.path(address) else { return one(address) };
        // A path that was added after the others were read, or one in a damaged image.
        let place = |address| if call_path::index(address).is_some() { None } else { one(address) };
        let site = place(site)?;
        Some(match place(caller) {
            // Either may itself be inlined into another place: what counts is the innermost and the user's.
            Some(caller) => from(parts(&site).0, parts(&caller).1.unwrap_or(&caller)),
            None => site,
        })
    }
}

/// Formats the place of a call and the line that led to it: `site (from caller)`.
#[must_use]
pub fn from(site: &str, caller: &str) -> String {
    format!("{site} (from {caller})")
}

/// Takes apart what [`from`] has put together.
fn parts(place: &str) -> (&str, Option<&str>) {
    let parts = place.strip_suffix(')').and_then(|place| place.split_once(" (from "));
    parts.map_or((place, None), |(site, caller)| (site, Some(caller)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modules(paths: &[(u64, u64)]) -> Modules {
        let paths = paths.iter().map(|(site, caller)| PathFacts { site: *site, caller: *caller }).collect();
        Modules { files: Vec::new(), paths }
    }

    #[test]
    fn a_call_path_has_the_names_of_both_places_and_the_address_of_the_first() {
        let known = modules(&[(0x10, 0x20)]);
        let words = |address| known.words(address, |one| Some(format!("{one:x}")));
        assert_eq!(words(call_path::address(0)).as_deref(), Some("10 (from 20)"));
        assert_eq!(words(0x30).as_deref(), Some("30"));
        assert_eq!((known.code(call_path::address(0)), known.code(0x30)), (0x10, 0x30));
        let inlined = |address| known.words(address, |one| Some(format!("{one:x} (from a{one:x})")));
        assert_eq!(inlined(call_path::address(0)).as_deref(), Some("10 (from a20)"));
    }

    #[test]
    fn unknown_or_nested_call_paths_have_no_name() {
        let path = call_path::address;
        let broken = modules(&[(path(0), path(1)), (0x10, path(1)), (0, 0x20)]);
        let words = |address| broken.words(address, |one| (one != 0).then(|| format!("{one:x}")));
        assert_eq!(words(path(0)), None);
        assert_eq!(words(path(1)).as_deref(), Some("10"));
        assert_eq!(words(path(2)), None);
        assert_eq!((words(path(7)), broken.code(path(7))), (None, 0));
    }
}
