//! Identity of the process: the tables of the image that are written once.
#![allow(unsafe_code)]

use crate::base::{image, job, settings};
use crate::interpose::resolver::symbol;
use crate::record::modules;
use mpi_abi::{Abi, COUNT, FunctionId};
use mpiscope_image::layout::{Chars, FunctionRecord, Note, Process, SectionKind, State};
use mpiscope_image::{Writer, launcher};
use std::ffi::{CStr, c_char, c_int};

/// Returns the record of this process.
pub fn record() -> Option<&'static Process> {
    image::writer()?.record::<Process>(SectionKind::PROCESS, 0)
}

/// Writes everything that is known at the first MPI call.
pub fn describe_process<A: Abi>(library: &CStr) {
    let Some(writer) = image::writer() else { return };
    crate::base::clock::start(&writer.header().clock);
    describe_functions(writer);
    // Without this, an image that cannot grow could not carry any notes.
    writer.reserve::<Note>(SectionKind::NOTES, 16);
    let Some((_, process)) = writer.new_record::<Process>(SectionKind::PROCESS, 1) else { return };
    process.seq.write(|| {
        process.pid.set(image::own_pid());
        // SAFETY: no arguments, always succeeds.
        process.ppid.set(unsafe { libc::getppid() }.unsigned_abs());
        let launcher_rank = launcher::rank(settings::small_number);
        process.rank.set(launcher_rank.unwrap_or(u32::MAX));
        process.launcher_rank.set(launcher_rank.map_or(0, |rank| u64::from(rank) + 1));
        let size =
            settings::small_number(c"PMI_SIZE").or_else(|| settings::small_number(c"OMPI_COMM_WORLD_SIZE"));
        process.size.set(size.unwrap_or(0));
        process.abi.set(u32::from(A::CODE.0));
        process.mpi_version.set(mpi_version());
        process.recording.set(settings::recording());
        process.main_thread.set(u64::MAX);
        put(&process.host, host().as_bytes());
        put(&process.executable, &modules::executable());
        put(&process.command, &command());
        put(&process.library, library_version().as_bytes());
        put(&process.library_path, library.to_bytes());
        put(&process.job, job::name().as_bytes());
        put(&process.world, world().as_bytes());
        put(&process.layer, env!("CARGO_PKG_VERSION").as_bytes());
    });
    modules::list(writer);
    writer.header().pid.set(image::own_pid());
    writer.header().state.set(State::STARTED.0);
}

/// Sets the name of the world that all its ranks have agreed on.
pub fn name_world(name: &str) {
    if let Some(process) = record() {
        process.seq.write(|| put(&process.world, name.as_bytes()));
    }
}

fn put<const N: usize>(to: &Chars<N>, text: &[u8]) {
    to.set(&Chars::new(text));
}

/// Records the names and properties of all functions, so that a reader of another build can interpret their
/// numbers.
fn describe_functions(writer: &Writer) {
    for id in FunctionId::all() {
        let Some((_, record)) = writer.new_record::<FunctionRecord>(SectionKind::FUNCTIONS, COUNT) else {
            continue;
        };
        record.name.set(&Chars::new(id.name().as_bytes()));
        let (properties, fields, base, operation) = mpiscope_image::words(id);
        record.properties.set(properties);
        record.fields.set(fields);
        record.base.set(base);
        record.operation.set(operation);
    }
}

/// Returns the name of this host.
pub fn host() -> String {
    let mut name = [0u8; 256];
    // SAFETY: the buffer is ours; its length is passed, less one for the terminating zero.
    unsafe { libc::gethostname(name.as_mut_ptr().cast::<c_char>(), name.len() - 1) };
    CStr::from_bytes_until_nul(&name).map_or_else(|_| String::new(), |n| n.to_string_lossy().into_owned())
}

fn command() -> Vec<u8> {
    let mut bytes = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    while bytes.last() == Some(&0) {
        bytes.pop();
    }
    bytes.iter().map(|b| if *b == 0 { b' ' } else { *b }).collect()
}

/// Returns a name for the world, without communication: the launcher's name for it, or the job and the
/// launcher's process on this host.
pub fn world() -> String {
    match settings::variable(c"PMIX_NAMESPACE") {
        Some(name) => name.to_string_lossy().into_owned(),
        // SAFETY: no arguments, always succeeds.
        None => format!("{}/{}", job::name(), unsafe { libc::getppid() }),
    }
}

/// Returns the first line of the library's version string.
fn library_version() -> String {
    let Some(get) = symbol(c"PMPI_Get_library_version").or_else(|| symbol(c"MPI_Get_library_version")) else {
        return String::new();
    };
    // Larger than the largest `MPI_MAX_LIBRARY_VERSION_STRING` of all ABIs (8192).
    let mut text = vec![0u8; 16384];
    let mut len: c_int = 0;
    // SAFETY: the C type of the function, which may be called at any time; the buffer is large enough.
    unsafe {
        let get: unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int = std::mem::transmute(get);
        get(text.as_mut_ptr().cast(), &mut len);
    }
    let text = CStr::from_bytes_until_nul(&text)
        .map_or_else(|_| String::new(), |t| t.to_string_lossy().into_owned());
    text.lines().next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn mpi_version() -> u32 {
    let Some(get) = symbol(c"PMPI_Get_version").or_else(|| symbol(c"MPI_Get_version")) else { return 0 };
    let (mut major, mut minor): (c_int, c_int) = (0, 0);
    // SAFETY: the C type of the function, which may be called at any time.
    unsafe {
        let get: unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int = std::mem::transmute(get);
        get(&mut major, &mut minor);
    }
    (major.unsigned_abs() << 16) | minor.unsigned_abs() & 0xffff
}
