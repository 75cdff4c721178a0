//! One query of the debugger, from its four pointers to a result code.
#![allow(unsafe_code)]

use std::ffi::c_int;

use mpiscope_debug_interfaces::handles::code;
use mpiscope_debug_interfaces::mqs::{ImageInfo, MqsImage, MqsProcess, ProcessInfo};
use mpiscope_job::model::objects::{Missing, Reader, TargetContext};
use mpiscope_plugin_support::{Allocations, ImageMemory, NoMemory, Unavailable, View, caught};
use mpiscope_target::Target;

use crate::kept::{KeptForImage, KeptForProcess};

/// What the debugger passes to every query.
#[derive(Clone, Copy)]
pub struct Context {
    #[allow(missing_docs)]
    pub image: *mut MqsImage,
    #[allow(missing_docs)]
    pub image_info: *mut ImageInfo,
    #[allow(missing_docs)]
    pub process: *mut MqsProcess,
    #[allow(missing_docs)]
    pub process_info: *mut ProcessInfo,
}

/// Why there is no answer, as a code of the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code(pub c_int);

impl From<NoMemory> for Code {
    fn from(_: NoMemory) -> Self {
        Self(code::NO_MEM)
    }
}

impl From<Missing> for Code {
    fn from(missing: Missing) -> Self {
        Self(match missing {
            Missing::NotFound { .. } => code::NOT_FOUND,
            // The argument is a handle, but not of a kind that this function can show.
            Missing::OtherKind { .. } => code::OUT_OF_RANGE,
            _ => code::UNAVAILABLE,
        })
    }
}

impl From<Unavailable> for Code {
    fn from(unavailable: Unavailable) -> Self {
        Self(match unavailable {
            Unavailable::NoLayer => code::NOT_SUPPORTED,
            _ => code::UNAVAILABLE,
        })
    }
}

impl From<mpiscope_image::Error> for Code {
    fn from(_: mpiscope_image::Error) -> Self {
        Self(code::UNAVAILABLE)
    }
}

/// The target as seen by one query.
pub type Seen<'a> = ImageMemory<&'a dyn Target>;

impl Context {
    /// Returns the view of the process that `init_per_process` prepared.
    fn view(&self) -> Result<View, Code> {
        let kept = self.process_info.cast::<KeptForProcess>();
        // SAFETY: what the plug-in stored and the debugger passes back; null before `init_per_process`.
        let kept = unsafe { kept.as_ref() }.ok_or(Code(code::OUT_OF_RANGE))?;
        // SAFETY: likewise.
        let of_image = unsafe { self.image_info.cast::<KeptForImage>().as_ref() };
        let of_image = of_image.map_or(kept.of_image, |image| image.callbacks);
        let image = if self.image.is_null() { kept.image } else { self.image };
        let process = if self.process.is_null() { kept.process } else { self.process };
        // SAFETY: the debugger's pointers and tables, which it keeps as long as the process is shown.
        unsafe { View::new(image, of_image, process, kept.of_process) }.ok_or(Code(code::OUT_OF_RANGE))
    }

    /// Length of object names in the process.
    pub fn name_length(&self) -> usize {
        // SAFETY: what the plug-in stored and the debugger passes back; null before `init_per_process`.
        let kept = unsafe { self.process_info.cast::<KeptForProcess>().as_ref() };
        kept.map_or(128, |kept| kept.name_length)
    }

    /// Reads the current state of the process.
    pub fn look<T>(
        &self,
        see: impl FnOnce(&Reader<'_, Seen<'_>>, &dyn Target) -> Result<T, Code>,
    ) -> Result<T, Code> {
        look_through(&self.view()?, see)
    }

    /// Answers a query with a structure: `make` builds it, with its arrays in `Allocations`.
    ///
    /// # Safety
    /// `out` is null or writable.
    pub unsafe fn answer<T: Copy>(
        &self,
        out: *mut *mut T,
        make: impl FnOnce(&Reader<'_, Seen<'_>>, &dyn Target, &mut Allocations) -> Result<T, Code>,
    ) -> c_int {
        guarded(|| {
            if out.is_null() {
                return Err(Code(code::OUT_OF_RANGE));
            }
            // SAFETY: the contract of this function. Null, so that an old value cannot be taken for an
            // answer.
            unsafe { out.write(std::ptr::null_mut()) };
            let mut blocks = Allocations::new().ok_or(Code(code::UNAVAILABLE))?;
            let made = self.look(|reader, target| make(reader, target, &mut blocks))?;
            let made = blocks.one(&made)?;
            // SAFETY: the contract of this function.
            unsafe { out.write(made) };
            blocks.hand_over();
            Ok(())
        })
    }
}

/// Reads the process behind a view.
pub fn look_through<T>(
    view: &View,
    see: impl FnOnce(&Reader<'_, Seen<'_>>, &dyn Target) -> Result<T, Code>,
) -> Result<T, Code> {
    let target = view.target()?;
    let target: &dyn Target = &target;
    let image = ImageMemory::open(target)?;
    let around = TargetContext::new(target);
    let reader = Reader::new(&image, &around)?;
    let seen = see(&reader, target);
    image.source().check()?;
    seen
}

/// The boundary to C: always returns a code.
pub fn guarded(act: impl FnOnce() -> Result<(), Code>) -> c_int {
    match caught(act) {
        Some(Ok(())) => code::SUCCESS,
        Some(Err(Code(code))) => code,
        None => code::UNAVAILABLE,
    }
}
