//! Access to a process beyond its image: symbols, memory, source lines.
//!
//! The image alone is enough for almost everything. Three things need more: the names of Open MPI's
//! predefined handles, which are addresses of exported objects; Fortran handles of libraries that keep them
//! in a table; and source lines.

use crate::base::modules::ModuleFacts;
use crate::model::locate::{Locate, place};
use crate::model::process::Process;
use mpiscope_image::layout::Call;
use mpiscope_target::Target;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;

/// Access to the process beyond its image. Every method may return that the answer is unknown.
pub trait ProcessContext {
    /// Returns the address of an exported object. The program's copy of a library's object takes precedence.
    fn symbol(&self, _name: &str) -> Option<u64> {
        None
    }

    /// Returns the exported object at this address, where that is easier to find than an address by name.
    fn exported_at(&self, _address: u64) -> Option<String> {
        None
    }

    /// Reads memory of the process, in its byte order; returns whether that succeeded.
    fn memory(&self, _address: u64, _buf: &mut [u8]) -> bool {
        false
    }

    /// Returns the source location of the call with this return address.
    fn place(&self, _return_address: u64) -> Option<String> {
        None
    }

    /// Returns the return address of the program's call of the Fortran binding that made this open call.
    fn caller(&self, _call: &Call) -> Option<u64> {
        None
    }
}

/// Only the image.
#[derive(Debug, Default, Clone, Copy)]
pub struct ImageOnly;

impl ProcessContext for ImageOnly {}

/// A target as seen by a debugger.
pub struct TargetContext<'a> {
    target: &'a dyn Target,
}

impl<'a> TargetContext<'a> {
    /// Provides symbols and memory of this target.
    pub fn new(target: &'a dyn Target) -> Self {
        Self { target }
    }
}

impl ProcessContext for TargetContext<'_> {
    fn symbol(&self, name: &str) -> Option<u64> {
        self.target.symbol(name).ok().flatten()
    }

    fn memory(&self, address: u64, buf: &mut [u8]) -> bool {
        self.target.read(address, buf).is_ok()
    }
}

/// The files that the process had mapped, as listed in its image. Requires no permission to read the process.
pub struct FileContext<'a> {
    process: &'a Process,
    files: &'a dyn Locate,
    exports: OnceCell<HashMap<String, u64>>,
    places: RefCell<HashMap<u64, Option<String>>>,
}

/// Number of locations cached: a program creates objects in few places, but a damaged image may claim any
/// number.
const MOST_PLACES: usize = 1 << 12;

impl<'a> FileContext<'a> {
    /// Provides the files of this process.
    pub fn new(process: &'a Process, files: &'a dyn Locate) -> Self {
        Self { process, files, exports: OnceCell::new(), places: RefCell::default() }
    }

    fn exports(&self) -> HashMap<String, u64> {
        let mut all = HashMap::new();
        let is_program = |module: &&ModuleFacts| module.path == self.process.executable;
        let program = self.process.modules.iter().filter(is_program);
        let rest = self.process.modules.iter().filter(|module| !is_program(module));
        for module in program.chain(rest) {
            self.files.exports(module, &mut |name, address| {
                all.entry(name.to_owned()).or_insert(address);
            });
        }
        all
    }
}

impl ProcessContext for FileContext<'_> {
    fn symbol(&self, name: &str) -> Option<u64> {
        self.exports.get_or_init(|| self.exports()).get(name).copied()
    }

    fn place(&self, return_address: u64) -> Option<String> {
        if let Some(known) = self.places.borrow().get(&return_address) {
            return known.clone();
        }
        let place = place(&self.process.modules, self.files, return_address);
        let mut places = self.places.borrow_mut();
        if places.len() < MOST_PLACES {
            places.insert(return_address, place.clone());
        }
        place
    }
}

impl FileContext<'_> {
    /// Whether the call with this return address is in a Fortran binding.
    pub fn in_binding(&self, return_address: u64) -> bool {
        self.process.in_binding(return_address)
    }
}
