//! Where data that is not in the image is found: the files that a process has mapped, and its memory.

use super::process_context::{FileContext, ProcessContext};
use crate::model::fortran_frames;
use mpiscope_image::layout::Call;
use mpiscope_target::{Core, Live, Target};
use std::cell::OnceCell;
use std::sync::Arc;

/// Where memory outside the image is read from.
pub enum Memory {
    /// A core file.
    Core(Arc<Core>),
    /// A process that may be running; opened on demand, which may be forbidden.
    Process(u32, OnceCell<Option<Live>>),
    /// No memory is available.
    None,
}

impl Memory {
    fn target(&self) -> Option<&dyn Target> {
        match self {
            Self::Core(core) => Some(core.as_ref()),
            Self::Process(pid, live) => {
                let live = live.get_or_init(|| Live::open(*pid).ok());
                live.as_ref().map(|live| live as &dyn Target)
            }
            Self::None => None,
        }
    }
}

/// Files take precedence: they require no permission to read the process.
pub struct FilesAndMemory<'a> {
    /// The files that the process has mapped.
    pub files: FileContext<'a>,
    /// Its memory.
    pub memory: &'a Memory,
}

impl ProcessContext for FilesAndMemory<'_> {
    fn symbol(&self, name: &str) -> Option<u64> {
        self.files.symbol(name).or_else(|| self.memory.target()?.symbol(name).ok().flatten())
    }

    fn memory(&self, address: u64, buf: &mut [u8]) -> bool {
        self.memory.target().is_some_and(|target| target.read(address, buf).is_ok())
    }

    fn place(&self, return_address: u64) -> Option<String> {
        self.files.place(return_address)
    }

    fn caller(&self, call: &Call) -> Option<u64> {
        let made_by_binding = self.files.in_binding(call.return_address.get());
        made_by_binding.then(|| fortran_frames::caller(self.memory.target()?, call)).flatten()
    }
}
