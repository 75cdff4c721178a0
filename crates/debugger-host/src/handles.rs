//! Drives a handle plug-in (`mpidbg_*`), in the order required by the interface.
#![allow(unsafe_code)]

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};

use libloading::{Library, Symbol};
use mpiscope_debug_interfaces::handles::{HandleInfo, NameMap, code};
use mpiscope_debug_interfaces::mqs::{
    BasicCallbacks, ImageCallbacks, ImageInfo, MqsImage, MqsProcess, ProcessCallbacks, ProcessInfo, TAddr,
};
use serde_json::{Value, json};

use crate::process::{BASIC, IMAGE, PROCESS, Process};
use crate::render;

/// Maximum number of entries read from a name map.
const LONGEST_MAP: usize = 4096;

/// The reason why a plug-in gives no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Not a handle plug-in, or one without this function.
    #[error("{0}: name a handle plug-in, a shared library that exports the mpidbg_* functions")]
    Load(#[from] libloading::Error),
    /// The plug-in implements another draft of the interface, whose functions have the same names but
    /// different parameters.
    #[error(
        "this plug-in follows a later draft of the interface ({0}); only the published one is supported here"
    )]
    Generation(&'static str),
    /// The plug-in returned an error code.
    #[error("{step} returned {}", render::code(*code))]
    #[allow(missing_docs)]
    Code { step: String, code: c_int },
    /// An unknown kind.
    #[error("{0:?} is not a kind of object; kinds are {words}", words = render::words())]
    Kind(String),
}

/// A plug-in that has been initialized for one process.
pub struct Handles<'a> {
    library: Library,
    process: &'a Process,
    types: Box<HandleInfo>,
    image_ready: bool,
    process_ready: bool,
}

type Query = unsafe extern "C" fn(
    *mut MqsImage,
    *mut ImageInfo,
    *mut MqsProcess,
    *mut ProcessInfo,
    TAddr,
    *mut *mut c_void,
) -> c_int;
type Convert = unsafe extern "C" fn(
    *mut MqsImage,
    *mut ImageInfo,
    *mut MqsProcess,
    *mut ProcessInfo,
    TAddr,
    *mut TAddr,
) -> c_int;

type CallsQuery = unsafe extern "C" fn(
    *mut MqsImage,
    *mut ImageInfo,
    *mut MqsProcess,
    *mut ProcessInfo,
    c_int,
    TAddr,
    *mut *mut c_void,
) -> c_int;
type PinAddress = unsafe extern "C" fn(
    *mut MqsImage,
    *mut ImageInfo,
    *mut MqsProcess,
    *mut ProcessInfo,
    c_int,
    TAddr,
    *mut TAddr,
) -> c_int;
type Elements = unsafe extern "C" fn(
    *mut MqsImage,
    *mut ImageInfo,
    *mut MqsProcess,
    *mut ProcessInfo,
    TAddr,
    TAddr,
    *mut i64,
    *mut i64,
) -> c_int;

impl<'a> Handles<'a> {
    /// Loads a plug-in and initializes it for a process.
    pub fn load(plugin: &OsStr, process: &'a Process) -> Result<Self, Error> {
        // SAFETY: loading runs the plug-in's code, as requested by the caller.
        let library = unsafe { Library::new(plugin) }?;
        // SAFETY: all pointers may be null in this structure.
        let types = Box::new(unsafe { std::mem::zeroed() });
        let mut handles = Self { library, process, types, image_ready: false, process_ready: false };
        handles.check_generation()?;
        handles.start()?;
        Ok(handles)
    }

    /// Looks up a function or variable of the plug-in.
    fn symbol<T>(&self, name: &str) -> Result<Symbol<'_, T>, Error> {
        // SAFETY: every caller names an item of the interface with its published type.
        Ok(unsafe { self.library.get(name.as_bytes()) }?)
    }

    /// The drafts differ in what they export, not in their version number.
    fn check_generation(&self) -> Result<(), Error> {
        if self.symbol::<*const c_void>("mpidbg_comm_f2c").is_ok() {
            return Ok(());
        }
        let later = self.symbol::<*const c_void>("mpidbg_comm_query_basic").is_ok();
        Err(Error::Generation(if later { "2009 or later" } else { "unknown" }))
    }

    fn start(&mut self) -> Result<(), Error> {
        let process = self.process;
        let types: *mut HandleInfo = &mut *self.types;
        // SAFETY: functions by their published types; everything that is passed outlives the plug-in.
        unsafe {
            let once =
                self.symbol::<unsafe extern "C" fn(*const BasicCallbacks) -> c_int>("mpidbg_init_once")?;
            check("mpidbg_init_once", once(&BASIC))?;
            let version =
                self.symbol::<unsafe extern "C" fn() -> c_int>("mpidbg_interface_version_compatibility")?;
            if version() != 1 {
                return Err(Error::Generation("another version number"));
            }
            let image = self.symbol::<unsafe extern "C" fn(
                *mut MqsImage,
                *const ImageCallbacks,
                *mut HandleInfo,
            ) -> c_int>("mpidbg_init_per_image")?;
            check("mpidbg_init_per_image", image(process.image().as_mqs(), &IMAGE, types))?;
        }
        self.image_ready = true;
        // SAFETY: as above.
        unsafe {
            let init = self.symbol::<unsafe extern "C" fn(
                *mut MqsProcess,
                *const ProcessCallbacks,
                *mut HandleInfo,
            ) -> c_int>("mpidbg_init_per_process")?;
            check("mpidbg_init_per_process", init(process.as_mqs(), &PROCESS, types))?;
        }
        self.process_ready = true;
        Ok(())
    }

    /// Returns what the plug-in reports about itself and the process.
    pub fn about(&self) -> Result<Value, Error> {
        // SAFETY: functions and variables by their published types.
        unsafe {
            let version = self.symbol::<unsafe extern "C" fn() -> *mut c_char>("mpidbg_version_string")?;
            let bits = |name: &str| self.symbol::<*const u32>(name).map(|bits| **bits).ok();
            let map = self.symbol::<*const *const NameMap>("mpidbg_comm_name_map")?;
            Ok(json!({
                "version": CStr::from_ptr(version()).to_string_lossy(),
                "comm_capabilities": bits("mpidbg_comm_capabilities"),
                "errhandler_capabilities": bits("mpidbg_errhandler_capabilities"),
                "request_capabilities": bits("mpidbg_request_capabilities"),
                "status_capabilities": bits("mpidbg_status_capabilities"),
                "extended_kinds": bits("mpidbg_extended_kinds"),
                "object_name_length": self.name_length(),
                "comm_names": names(**map),
            }))
        }
    }

    /// Length of names in the published structures: as exported by the plug-in, otherwise 64 as in Open MPI's
    /// header.
    fn name_length(&self) -> i32 {
        // SAFETY: an exported `int`.
        self.symbol::<*const i32>("mpidbg_object_name_length").map_or(64, |length| unsafe { **length })
    }

    /// Queries an object: the published structure, if there is one, and the extended one. Returns the answers
    /// by function name.
    pub fn object(&self, kind: &str, handle: u64) -> Result<Value, Error> {
        let questions =
            render::questions(kind, self.name_length()).ok_or_else(|| Error::Kind(kind.to_owned()))?;
        let mut answers = serde_json::Map::new();
        let mut failure = None;
        for (function, show) in questions {
            let Ok(query) = self.symbol::<Query>(function) else { continue };
            match self.ask(*query, handle) {
                Ok(structure) => {
                    // SAFETY: the structure that this function returns, just created; freed by `show` with
                    // its arrays.
                    answers.insert((*function).to_owned(), unsafe { show(structure) });
                }
                Err(code) => failure = failure.or(Some(Error::Code { step: (*function).to_owned(), code })),
            }
        }
        match failure {
            Some(error) => Err(error),
            None => Ok(Value::Object(answers)),
        }
    }

    /// Returns calls on an object that threads are currently in.
    pub fn calls(&self, kind: &str, handle: u64) -> Result<Value, Error> {
        let number = render::kind_number(kind).ok_or_else(|| Error::Kind(kind.to_owned()))?;
        let query = self.symbol::<CallsQuery>("mpidbg_calls_query")?;
        let (image, process) = (self.process.image(), self.process);
        let mut structure = std::ptr::null_mut();
        // SAFETY: a function of the extended interface, with the pointers that belong to this process; `calls` frees what
        // it returned.
        unsafe {
            let (info, of) = (image.info(), process.info());
            let code = query(image.as_mqs(), info, process.as_mqs(), of, number, handle, &mut structure);
            check("mpidbg_calls_query", code)?;
            Ok(render::calls(structure))
        }
    }

    /// Returns the numbers of whole elements and basic elements of a datatype in the message of a status.
    pub fn elements(&self, status: u64, datatype: u64) -> Result<(i64, i64), Error> {
        let query = self.symbol::<Elements>("mpidbg_status_elements")?;
        let (image, process) = (self.process.image(), self.process);
        let (mut count, mut elements) = (0, 0);
        // SAFETY: a function of the extended interface, with the pointers that belong to this process.
        let code = unsafe {
            let (info, of) = (image.info(), process.info());
            query(image.as_mqs(), info, process.as_mqs(), of, status, datatype, &mut count, &mut elements)
        };
        check("mpidbg_status_elements", code)?;
        Ok((count, elements))
    }

    /// Returns the address of the word that pins an object.
    pub fn pin_address(&self, kind: &str, handle: u64) -> Result<u64, Error> {
        let number = render::kind_number(kind).ok_or_else(|| Error::Kind(kind.to_owned()))?;
        let query = self.symbol::<PinAddress>("mpidbg_pin_address")?;
        let (image, process) = (self.process.image(), self.process);
        let mut address = 0;
        // SAFETY: a function of the extended interface, with the pointers that belong to this process.
        let code = unsafe {
            let (info, of) = (image.info(), process.info());
            query(image.as_mqs(), info, process.as_mqs(), of, number, handle, &mut address)
        };
        check("mpidbg_pin_address", code)?;
        Ok(address)
    }

    fn ask(&self, query: Query, handle: u64) -> Result<*mut c_void, c_int> {
        let (image, process) = (self.process.image(), self.process);
        let mut structure = std::ptr::null_mut();
        // SAFETY: a query function of the interface, with the pointers that belong to this process.
        let code = unsafe {
            query(image.as_mqs(), image.info(), process.as_mqs(), process.info(), handle, &mut structure)
        };
        if code == code::SUCCESS { Ok(structure) } else { Err(code) }
    }

    /// Returns the C handle that a Fortran handle denotes.
    pub fn from_fortran(&self, kind: &str, fortran: i32) -> Result<u64, Error> {
        let name = format!("mpidbg_{}_f2c", render::word(kind).ok_or_else(|| Error::Kind(kind.to_owned()))?);
        let convert = self.symbol::<Convert>(&name)?;
        let (image, process) = (self.process.image(), self.process);
        let mut handle = 0;
        // SAFETY: a conversion function of the interface, with the pointers that belong to this process.
        let code = unsafe {
            let fortran = i64::from(fortran).cast_unsigned();
            convert(image.as_mqs(), image.info(), process.as_mqs(), process.info(), fortran, &mut handle)
        };
        check(&name, code)?;
        Ok(handle)
    }
}

impl Drop for Handles<'_> {
    fn drop(&mut self) {
        type End<T, I> = unsafe extern "C" fn(*mut T, *mut I);
        let process = self.process;
        // SAFETY: functions by their published types, once, with the infos that the plug-in stored; only for what was
        // initialized.
        unsafe {
            if let (true, Ok(end)) = (
                self.process_ready,
                self.symbol::<End<MqsProcess, ProcessInfo>>("mpidbg_finalize_per_process"),
            ) {
                end(process.as_mqs(), process.info());
            }
            if let (true, Ok(end)) =
                (self.image_ready, self.symbol::<End<MqsImage, ImageInfo>>("mpidbg_finalize_per_image"))
            {
                end(process.image().as_mqs(), process.image().info());
            }
        }
    }
}

fn check(step: &str, code: c_int) -> Result<(), Error> {
    if code == code::SUCCESS { Ok(()) } else { Err(Error::Code { step: step.to_owned(), code }) }
}

/// Reads a name map up to its null name.
///
/// # Safety
/// `map` is null or an array of the interface.
unsafe fn names(map: *const NameMap) -> Value {
    let mut names = serde_json::Map::new();
    for place in 0..LONGEST_MAP {
        if map.is_null() {
            break;
        }
        // SAFETY: before the entry that ends the map.
        let entry = unsafe { map.add(place).read() };
        if entry.map_name.is_null() {
            break;
        }
        // SAFETY: a C string of the plug-in.
        let name = unsafe { CStr::from_ptr(entry.map_name) }.to_string_lossy().into_owned();
        names.insert(name, json!(format!("{:#x}", entry.map_handle)));
    }
    Value::Object(names)
}
