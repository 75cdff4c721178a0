//! Drives a message queue plug-in (`mqs_*`), in the order required by the interface.
#![allow(unsafe_code)]

use std::ffi::{CStr, OsStr, c_char, c_int};

use libloading::{Library, Symbol};
use mpiscope_debug_interfaces::mqs::{
    self, BasicCallbacks, Communicator, ImageCallbacks, ImageInfo, MqsImage, MqsProcess, PendingOperation,
    ProcessCallbacks, ProcessInfo,
};
use serde::Serialize;

use crate::process::{BASIC, IMAGE, PROCESS, Process};

/// Limit for a list of a plug-in, which may be endless.
const MOST: usize = 1 << 20;

/// The reason why the queues cannot be shown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Not a message queue plug-in.
    #[error("{0}: name a message queue plug-in, a shared library that exports the mqs_* functions")]
    Load(#[from] libloading::Error),
    /// The plug-in returned an error code.
    #[error("{step} failed with code {code}: {text}{}", hint(asked))]
    #[allow(missing_docs)]
    Stopped { step: &'static str, code: c_int, text: String, asked: Vec<String> },
}

fn hint(asked: &[String]) -> String {
    if asked.is_empty() {
        return String::new();
    }
    let types = asked.iter().any(|what| what.starts_with("type "));
    let way_out = "\nTypes come from debug information: install the debug symbols of the MPI library, or use a plug-in \
                   that needs none";
    format!("\nIt requested these without success: {}.{}", asked.join(", "), if types { way_out } else { "" })
}

/// What a plug-in reports about a process.
#[derive(Debug, Serialize)]
pub struct Queues {
    /// The plug-in's version string.
    pub version: String,
    /// Messages printed in addition to its answers.
    pub remarks: Vec<String>,
    /// The communicators that it sees.
    pub communicators: Vec<Queue>,
}

/// A communicator.
#[derive(Debug, Serialize)]
pub struct Queue {
    /// Its name, up to its first NUL.
    pub name: String,
    /// The plug-in's number for it.
    pub unique_id: u64,
    /// Rank of this process in it.
    pub rank: i64,
    /// Number of its processes.
    pub size: i64,
    /// Ranks in the world of its members, if the plug-in reports them.
    pub group: Option<Vec<i32>>,
    /// Incomplete sends; none if the plug-in cannot see them.
    pub sends: Option<Vec<Operation>>,
    /// Incomplete receives.
    pub receives: Option<Vec<Operation>>,
    /// Messages without a matching receive.
    pub unexpected: Option<Vec<Operation>>,
    /// Collectives by `mqs_get_comm_coll_state`: number, count of entries, whether a thread is in it.
    pub collectives: Option<Vec<(i32, i32, i32)>>,
}

/// A pending operation.
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct Operation {
    pub status: i32,
    pub peer: i64,
    pub peer_in_world: i64,
    pub tag: Option<i64>,
    pub bytes: i64,
    pub buffer: String,
    pub actual_peer: i64,
    pub actual_tag: i64,
    pub actual_bytes: i64,
    pub text: Vec<String>,
}

type OfProcess = unsafe extern "C" fn(*mut MqsProcess) -> c_int;
type HasQueues<T> = unsafe extern "C" fn(*mut T, *mut *mut c_char) -> c_int;

/// Loads the plug-in and queries everything.
pub fn dump(plugin: &OsStr, process: &Process) -> Result<Queues, Error> {
    // SAFETY: loading runs the plug-in's code, as requested by the caller.
    let library = unsafe { Library::new(plugin) }?;
    let run = Run { library, process };
    let queues = run.all();
    run.forget();
    queues
}

struct Run<'a> {
    library: Library,
    process: &'a Process,
}

impl Run<'_> {
    /// Looks up a function of the plug-in.
    fn function<T>(&self, name: &str) -> Result<Symbol<'_, T>, Error> {
        // SAFETY: every caller names a function of the interface with its published type.
        Ok(unsafe { self.library.get(name.as_bytes()) }?)
    }

    fn all(&self) -> Result<Queues, Error> {
        let version = self.setup()?;
        let mut remarks = Vec::new();
        let mut communicators = Vec::new();
        remarks.extend(self.has_queues()?);
        // SAFETY: all of this section calls functions by their published types with the pointers they expect.
        unsafe {
            let update = self.function::<OfProcess>("mqs_update_communicator_list")?;
            self.check("mqs_update_communicator_list", update(self.process.as_mqs()))?;
            let start = self.function::<OfProcess>("mqs_setup_communicator_iterator")?;
            let get = self.function::<unsafe extern "C" fn(*mut MqsProcess, *mut Communicator) -> c_int>(
                "mqs_get_communicator",
            )?;
            let next = self.function::<OfProcess>("mqs_next_communicator")?;
            let mut status = start(self.process.as_mqs());
            while status == mqs::OK && communicators.len() < MOST {
                let mut comm = Communicator::default();
                self.check("mqs_get_communicator", get(self.process.as_mqs(), &mut comm))?;
                communicators.push(self.queue(&comm)?);
                status = next(self.process.as_mqs());
            }
        }
        remarks.extend(crate::memory::words());
        Ok(Queues { version, remarks, communicators })
    }

    fn setup(&self) -> Result<String, Error> {
        // SAFETY: functions by their published types; callbacks and process live as long as the library.
        unsafe {
            let version = self.function::<unsafe extern "C" fn() -> *mut c_char>("mqs_version_string")?;
            let compatible = self.function::<unsafe extern "C" fn() -> c_int>("mqs_version_compatibility")?;
            let width = self.function::<unsafe extern "C" fn() -> c_int>("mqs_dll_taddr_width")?;
            let version = string(version());
            if compatible() != mqs::INTERFACE_COMPATIBILITY || width() as usize != size_of::<mqs::TAddr>() {
                let text = format!("interface {}, addresses of {} bytes", compatible(), width());
                return Err(Error::Stopped { step: "the version check", code: 0, text, asked: Vec::new() });
            }
            let basic =
                self.function::<unsafe extern "C" fn(*const BasicCallbacks)>("mqs_setup_basic_callbacks")?;
            basic(&BASIC);
            let setup = self
                .function::<unsafe extern "C" fn(*mut MqsImage, *const ImageCallbacks) -> c_int>(
                    "mqs_setup_image",
                )?;
            self.check("mqs_setup_image", setup(self.process.image().as_mqs(), &IMAGE))?;
            Ok(version)
        }
    }

    /// Returns the messages of the two functions that report whether there are queues.
    fn has_queues(&self) -> Result<Vec<String>, Error> {
        let mut remarks = Vec::new();
        // SAFETY: functions by their published types; the message is our variable.
        unsafe {
            let mut message: *mut c_char = std::ptr::null_mut();
            let image = self.function::<HasQueues<MqsImage>>("mqs_image_has_queues")?;
            let code = image(self.process.image().as_mqs(), &mut message);
            remarks.extend(optional(message));
            self.check_with("mqs_image_has_queues", code, message)?;
            let setup = self
                .function::<unsafe extern "C" fn(*mut MqsProcess, *const ProcessCallbacks) -> c_int>(
                    "mqs_setup_process",
                )?;
            self.check("mqs_setup_process", setup(self.process.as_mqs(), &PROCESS))?;
            let mut message: *mut c_char = std::ptr::null_mut();
            let process = self.function::<HasQueues<MqsProcess>>("mqs_process_has_queues")?;
            let code = process(self.process.as_mqs(), &mut message);
            remarks.extend(optional(message));
            self.check_with("mqs_process_has_queues", code, message)?;
        }
        Ok(remarks)
    }

    fn queue(&self, comm: &Communicator) -> Result<Queue, Error> {
        let size = usize::try_from(comm.size).unwrap_or(0).min(MOST);
        Ok(Queue {
            name: chars(&comm.name),
            unique_id: comm.unique_id,
            rank: comm.local_rank,
            size: comm.size,
            group: self.group(size)?,
            sends: self.operations(mqs::PENDING_SENDS)?,
            receives: self.operations(mqs::PENDING_RECEIVES)?,
            unexpected: self.operations(mqs::UNEXPECTED_MESSAGES)?,
            collectives: self.collectives(),
        })
    }

    fn group(&self, size: usize) -> Result<Option<Vec<i32>>, Error> {
        let mut ranks = vec![mqs::INVALID_PROCESS; size];
        // SAFETY: the function by its published type; room for every member.
        let code = unsafe {
            let get = self.function::<unsafe extern "C" fn(*mut MqsProcess, *mut c_int) -> c_int>(
                "mqs_get_comm_group",
            )?;
            get(self.process.as_mqs(), ranks.as_mut_ptr())
        };
        Ok((code == mqs::OK).then_some(ranks))
    }

    fn operations(&self, class: c_int) -> Result<Option<Vec<Operation>>, Error> {
        let mut operations = Vec::new();
        // SAFETY: functions by their published types; the record is ours.
        unsafe {
            let start = self.function::<unsafe extern "C" fn(*mut MqsProcess, c_int) -> c_int>(
                "mqs_setup_operation_iterator",
            )?;
            let next = self
                .function::<unsafe extern "C" fn(*mut MqsProcess, *mut PendingOperation) -> c_int>(
                    "mqs_next_operation",
                )?;
            match start(self.process.as_mqs(), class) {
                mqs::OK => {}
                mqs::END_OF_LIST => return Ok(Some(operations)),
                _ => return Ok(None),
            }
            let mut record = PendingOperation::default();
            while operations.len() < MOST && next(self.process.as_mqs(), &mut record) == mqs::OK {
                operations.push(operation(&record));
                record = PendingOperation::default();
            }
        }
        Ok(Some(operations))
    }

    /// Queries the extension that reports how often each collective was entered; not every plug-in has it.
    fn collectives(&self) -> Option<Vec<(i32, i32, i32)>> {
        type State = unsafe extern "C" fn(*mut MqsProcess, c_int, *mut c_int, *mut c_int) -> c_int;
        let state = self.function::<State>("mqs_get_comm_coll_state").ok()?;
        let mut all = Vec::new();
        for which in 0..14 {
            let (mut count, mut active) = (0, 0);
            // SAFETY: the function by its documented type; both variables are ours.
            let code = unsafe { state(self.process.as_mqs(), which, &mut count, &mut active) };
            if code == mqs::OK {
                all.push((which, count, active));
            }
        }
        Some(all)
    }

    fn check(&self, step: &'static str, code: c_int) -> Result<(), Error> {
        self.check_with(step, code, std::ptr::null())
    }

    fn check_with(&self, step: &'static str, code: c_int, message: *const c_char) -> Result<(), Error> {
        if code == mqs::OK {
            return Ok(());
        }
        // SAFETY: a function by its published type.
        let text = unsafe {
            match optional(message) {
                Some(text) => text,
                None => self
                    .function::<unsafe extern "C" fn(c_int) -> *mut c_char>("mqs_dll_error_string")
                    .map_or_else(|_| String::new(), |explain| string(explain(code))),
            }
        };
        let mut asked = self.process.image().refusals();
        if !self.process.image().has_types() {
            asked.push("any module with debug information".into());
        }
        Err(Error::Stopped { step, code, text, asked })
    }

    /// Releases the plug-in's state, so that the memory counts show its leaks.
    fn forget(&self) {
        let (process, image) = (self.process.info(), self.process.image().info());
        // SAFETY: functions by their published types, with the infos that the plug-in stored.
        unsafe {
            if let (Ok(destroy), false) = (
                self.function::<unsafe extern "C" fn(*mut ProcessInfo)>("mqs_destroy_process_info"),
                process.is_null(),
            ) {
                destroy(process);
            }
            if let (Ok(destroy), false) = (
                self.function::<unsafe extern "C" fn(*mut ImageInfo)>("mqs_destroy_image_info"),
                image.is_null(),
            ) {
                destroy(image);
            }
        }
    }
}

fn operation(record: &PendingOperation) -> Operation {
    Operation {
        status: record.status,
        peer: record.desired_local_rank,
        peer_in_world: record.desired_global_rank,
        tag: (record.tag_wild == 0).then_some(record.desired_tag),
        bytes: record.desired_length,
        buffer: format!("{:#x}", record.buffer),
        actual_peer: record.actual_local_rank,
        actual_tag: record.actual_tag,
        actual_bytes: record.actual_length,
        text: record.extra_text.iter().map(|line| chars(line)).take_while(|line| !line.is_empty()).collect(),
    }
}

/// Decodes text in a fixed-length field, up to its first NUL.
pub fn chars(text: &[c_char]) -> String {
    let bytes: Vec<u8> = text.iter().take_while(|c| **c != 0).flat_map(|c| c.to_ne_bytes()).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Copies a string that belongs to the plug-in.
///
/// # Safety
/// `text` is null or a C string.
unsafe fn optional(text: *const c_char) -> Option<String> {
    // SAFETY: the contract above.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// Like [`optional`], but empty for null.
///
/// # Safety
/// `text` is null or a C string.
unsafe fn string(text: *const c_char) -> String {
    // SAFETY: the contract above.
    unsafe { optional(text) }.unwrap_or_default()
}
