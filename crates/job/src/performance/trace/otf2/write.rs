//! Writes an archive with the OTF2 library.
#![allow(unsafe_code)]

use super::super::JobTrace;
use super::error::Error;
use super::library::{Code, FLUSH, Handle, Library};
use super::plan::{Event, Location, Plan};
use std::ffi::{CStr, CString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null_mut;

/// The library's buffer sizes, as recommended by its documentation.
const EVENTS_AT_ONCE: u64 = 1 << 20;
const DEFINITIONS_AT_ONCE: u64 = 1 << 22;
/// Values of OTF2 enumerations: file mode, substrate, compression; kinds of locations and groups; the MPI
/// paradigm; string type.
const WRITE: u8 = 0;
const POSIX: u8 = 1;
const UNCOMPRESSED: u8 = 1;
const PROCESS: u8 = 1;
const THREAD: u8 = 1;
const COMM_LOCATIONS: u8 = 4;
const COMM_GROUP: u8 = 5;
const MPI: u8 = 4;
const STRING: u8 = 11;
const UNDEFINED: u32 = u32::MAX;
/// The attribute for the source line.
const CALL_SITE: u32 = 0;
/// Time unit: nanoseconds.
const TICKS_PER_SECOND: u64 = 1_000_000_000;

/// Writes the archive into a directory, which is created; readers open its file `traces.otf2`.
///
/// # Errors
/// If the directory exists and is not empty, the library is not installed, or it reports a write error.
pub fn write(trace: &JobTrace, folder: &Path) -> Result<(), Error> {
    let library = Library::load()?;
    empty(folder)?;
    let mut plan = Plan::of(trace);
    let path = CString::new(folder.as_os_str().as_bytes())
        .map_err(|_| Error::new("a name with a NUL byte in it"))?;
    // SAFETY: both names are null-terminated strings.
    let archive = unsafe {
        let (events, definitions) = (EVENTS_AT_ONCE, DEFINITIONS_AT_ONCE);
        (library.archive)(path.as_ptr(), c"traces".as_ptr(), WRITE, events, definitions, POSIX, UNCOMPRESSED)
    };
    if archive.is_null() {
        return Err(Error::new(format!("{}: the OTF2 library cannot write there", folder.display())));
    }
    let archive = Archive { library: &library, handle: archive };
    archive.all(&mut plan, trace.start_unix_ns)
}

/// The library does not touch an existing archive, and neither do we.
fn empty(folder: &Path) -> Result<(), Error> {
    let fail = |why: std::io::Error| Error::new(format!("{}: {why}", folder.display()));
    fs::create_dir_all(folder).map_err(fail)?;
    if fs::read_dir(folder).map_err(fail)?.next().is_some() {
        return Err(Error::new(format!("{}: not empty; name a new folder", folder.display())));
    }
    Ok(())
}

/// An open archive.
struct Archive<'a> {
    library: &'a Library,
    handle: Handle,
}

impl Archive<'_> {
    fn all(&self, plan: &mut Plan, start_unix_ns: u64) -> Result<(), Error> {
        let (library, archive) = (self.library, self.handle);
        // SAFETY: the archive is open, the callbacks live as long as the process, and the name is a
        // null-terminated string.
        unsafe {
            self.well((library.flush)(archive, &raw const FLUSH, null_mut()))?;
            self.well((library.serial)(archive))?;
            self.well((library.creator)(archive, c"mpiscope".as_ptr()))?;
            self.well((library.open_events)(archive))?;
            for location in &plan.locations {
                self.events(location)?;
            }
            self.well((library.close_events)(archive))?;
            // Every location has its own definitions, which are empty here.
            self.well((library.open_definitions)(archive))?;
            for location in &plan.locations {
                let local = (library.local)(archive, location.id);
                self.well((library.close_local)(archive, local))?;
            }
            self.well((library.close_definitions)(archive))?;
            let global = (library.global)(archive);
            self.definitions(global, plan, start_unix_ns)?;
            self.well((library.close_global)(archive, global))?;
            self.well((library.close)(archive))
        }
    }

    fn events(&self, location: &Location) -> Result<(), Error> {
        let (library, archive) = (self.library, self.handle);
        // SAFETY: the archive and its event files are open. Writer and list are ours until closed.
        unsafe {
            let (writer, list) = ((library.writer)(archive, location.id), (library.attributes)());
            for (ns, event) in &location.events {
                self.well(self.event(writer, list, *ns, *event))?;
            }
            self.well((library.delete_attributes)(list))?;
            self.well((library.close_writer)(archive, writer))
        }
    }

    /// # Safety
    /// Writer and list must be open.
    unsafe fn event(&self, writer: Handle, list: Handle, ns: u64, event: Event) -> Code {
        let (library, none) = (self.library, null_mut());
        // SAFETY: guaranteed by the caller. The library empties the list when writing it.
        unsafe {
            match event {
                Event::Enter { region, place } => {
                    let added = place.map_or(0, |place| (library.add_string)(list, CALL_SITE, place));
                    if added == 0 { (library.enter)(writer, list, ns, region) } else { added }
                }
                Event::Leave { region } => (library.leave)(writer, none, ns, region),
                Event::Send { to, comm, tag, bytes, request: None } => {
                    (library.send)(writer, none, ns, to, comm, tag, bytes)
                }
                Event::Send { to, comm, tag, bytes, request: Some(request) } => {
                    (library.isend)(writer, none, ns, to, comm, tag, bytes, request)
                }
                Event::SendDone { request } => (library.isend_complete)(writer, none, ns, request),
                Event::ReceivePosted { request } => (library.irecv_request)(writer, none, ns, request),
                Event::Receive { from, comm, tag, bytes, request: None } => {
                    (library.recv)(writer, none, ns, from, comm, tag, bytes)
                }
                Event::Receive { from, comm, tag, bytes, request: Some(request) } => {
                    (library.irecv)(writer, none, ns, from, comm, tag, bytes, request)
                }
                Event::CollectiveBegin => (library.collective_begin)(writer, none, ns),
                Event::CollectiveEnd { operation, comm, root, sent, received } => {
                    (library.collective_end)(writer, none, ns, operation.0, comm, root, sent, received)
                }
            }
        }
    }

    /// # Safety
    /// The writer must be open.
    unsafe fn definitions(&self, writer: Handle, plan: &mut Plan, start_unix_ns: u64) -> Result<(), Error> {
        let library = self.library;
        let [machine, node, call_site, about] =
            ["machine", "node", "call site", "the line of the program"].map(|text| plan.add(text));
        // SAFETY: guaranteed by the caller; strings are null-terminated, and member counts match the slices.
        unsafe {
            let until = plan.until_ns.saturating_add(1);
            self.well((library.define_clock)(writer, TICKS_PER_SECOND, 0, until, start_unix_ns))?;
            for (number, text) in (0..).zip(&plan.strings) {
                let text = CString::new(text.as_bytes()).unwrap_or_default();
                self.well((library.define_string)(writer, number, text.as_ptr()))?;
            }
            self.well((library.define_attribute)(writer, CALL_SITE, call_site, about, STRING))?;
            self.well((library.define_node)(writer, 0, machine, machine, UNDEFINED))?;
            for (number, name) in (1..).zip(&plan.hosts) {
                self.well((library.define_node)(writer, number, *name, node, 0))?;
            }
            for (number, group) in (0..).zip(&plan.groups) {
                let host = group.host as u32 + 1;
                let define = library.define_group_of_locations;
                self.well(define(writer, number, group.name, PROCESS, host, UNDEFINED))?;
            }
            for Location { id, rank, name, events } in &plan.locations {
                let (count, rank) = (events.len() as u64, *rank as u32);
                self.well((library.define_location)(writer, *id, *name, THREAD, count, rank))?;
            }
            for (number, (name, role)) in (0..).zip(&plan.regions) {
                let define = library.define_region;
                self.well(define(writer, number, *name, *name, 0, role.0, MPI, 0, 0, 0, 0))?;
            }
            self.communicators(writer, plan)
        }
    }

    /// # Safety
    /// The writer must be open.
    unsafe fn communicators(&self, writer: Handle, plan: &Plan) -> Result<(), Error> {
        let library = self.library;
        let group = |number: u32, kind: u8, members: &[u64]| {
            let count = members.len() as u32;
            // SAFETY: guaranteed by the caller; `count` is the number of members.
            self.well(unsafe {
                (library.define_group)(writer, number, 0, kind, MPI, 0, count, members.as_ptr())
            })
        };
        // The first thread of each rank represents it.
        let first: Vec<u64> = (0..plan.groups.len() as u64).collect();
        group(0, COMM_LOCATIONS, &first)?;
        for (number, (name, comm)) in (0..).zip(&plan.comms) {
            let members: Vec<u64> = comm.members.iter().map(|member| *member as u64).collect();
            group(number + 1, COMM_GROUP, &members)?;
            // SAFETY: guaranteed by the caller.
            self.well(unsafe { (library.define_comm)(writer, number, *name, number + 1, UNDEFINED, 0) })?;
        }
        Ok(())
    }

    fn well(&self, code: Code) -> Result<(), Error> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: accepts any code and returns a static string.
        let text = unsafe { (self.library.describe)(code) };
        // SAFETY: the pointer is null or a null-terminated string.
        let words = (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned());
        Err(Error::new(format!("the OTF2 library says: {}", words.unwrap_or_else(|| code.to_string()))))
    }
}
