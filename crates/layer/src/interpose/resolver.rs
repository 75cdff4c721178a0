//! Finds the real MPI library and fills the slots.
//!
//! Every exported function jumps through [`ENTRY`]. Initially all entries point at the resolver, which the
//! first MPI call of the process runs once. Afterward, entries of hooked functions point at the gate, the
//! others at the library itself.
//!
//! Nothing is linked: every function is looked up, and absence is normal. `MPI_X` is forwarded to the next
//! `MPI_X` and `PMPI_X` to the next `PMPI_X`, so that other profiling tools can be stacked above or below.
#![allow(unsafe_code)]

use crate::base::complaint::complain;
use crate::base::{image, settings};
use crate::interpose::slots::{HOOK, REAL, SLOTS};
use crate::interpose::tls::Tls;
use crate::interpose::upcalls::upcalls;
use crate::interpose::{arch, exports, stubs};
use mpi_abi::{Abi, AbiKind, FUNCTIONS, FunctionId, Mpich, OpenMpi, Standard, f};
use std::ffi::{CStr, CString, c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

/// Where the stub of slot `2 * function` (`MPI_X`) or `2 * function + 1` (`PMPI_X`) jumps to.
pub static ENTRY: AtomicTable = AtomicTable([const { AtomicPtr::new(arch::resolver as *mut c_void) }; SLOTS]);

/// A table of code addresses that is not initialized to zero.
#[repr(transparent)]
pub struct AtomicTable([AtomicPtr<c_void>; SLOTS]);

impl AtomicTable {
    fn store(&self, slot: usize, code: usize) {
        if let Some(entry) = self.0.get(slot) {
            entry.store(code as *mut c_void, Ordering::Release);
        }
    }

    fn load(&self, slot: usize) -> usize {
        self.0.get(slot).map_or(0, |entry| entry.load(Ordering::Acquire) as usize)
    }
}

/// Progress of the resolver: 0 not started, 1 in progress, 2 done.
static PROGRESS: AtomicU32 = AtomicU32::new(0);
/// The handle of the real library, for [`symbol`].
static LIBRARY: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
/// Whether the library is part of the program.
static LINKED_IN: AtomicBool = AtomicBool::new(false);
/// The ABI, as [`AbiKind`]'s number; 0 before it is known.
static ABI: AtomicU32 = AtomicU32::new(0);

/// Fills the slots if necessary, and returns the address that slot `slot` points to afterward.
pub unsafe extern "C" fn resolve_slot(slot: usize) -> usize {
    // SAFETY: the C library's errno belongs to this thread.
    let errno = unsafe { *libc::__errno_location() };
    resolve();
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
    let code = ENTRY.load(slot);
    // Without a library, the entry still points at the resolver: return an error instead of looping.
    if code == arch::resolver as *const () as usize { no_library as *const () as usize } else { code }
}

/// Finds the library and fills the slots, unless that has already happened.
pub fn resolve() {
    if PROGRESS.load(Ordering::Acquire) == 2 {
        return;
    }
    loop {
        match PROGRESS.compare_exchange(0, 1, Ordering::Acquire, Ordering::Acquire) {
            Ok(_) => break,
            Err(2) => return,
            Err(_) => std::thread::yield_now(),
        }
    }
    let found = find_library();
    if let Some(library) = &found {
        LIBRARY.store(library.handle, Ordering::Release);
        take_over(library);
    }
    PROGRESS.store(if found.is_some() { 2 } else { 0 }, Ordering::Release);
}

/// The real library.
struct Library {
    handle: *mut c_void,
    path: CString,
}

/// Finds the library that determined which of our symbols are visible.
fn find_library() -> Option<Library> {
    let path = exports::library()?;
    let handle = reopen(&path)?;
    // The dynamic linker has no name for the program.
    LINKED_IN.store(path.is_empty(), Ordering::Release);
    let path = if path.is_empty() { program() } else { path };
    Some(Library { handle, path })
}

fn program() -> CString {
    let path = std::fs::read_link("/proc/self/exe").unwrap_or_default();
    CString::new(path.into_os_string().into_encoded_bytes()).unwrap_or_default()
}

/// File name of the object that contains an address.
pub fn object_of(address: *const c_void) -> Option<CString> {
    let info = about(address)?;
    // SAFETY: a C string of the dynamic linker.
    (!info.dli_fname.is_null()).then(|| unsafe { CStr::from_ptr(info.dli_fname) }.to_owned())
}

/// Name of the function at an address, if it has a dynamic symbol.
pub fn name_of(address: *const c_void) -> Option<CString> {
    let info = about(address)?;
    // SAFETY: a C string of the object.
    (!info.dli_sname.is_null()).then(|| unsafe { CStr::from_ptr(info.dli_sname) }.to_owned())
}

/// Whether the MPI library is part of the program.
pub fn linked_in() -> bool {
    LINKED_IN.load(Ordering::Acquire)
}

fn about(address: *const c_void) -> Option<libc::Dl_info> {
    // SAFETY: all zero is a valid `Dl_info`.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: dladdr accepts any address and fills `info` when it returns non-zero.
    let found = unsafe { libc::dladdr(address, &mut info) } != 0;
    found.then_some(info)
}

/// Returns a handle of an already loaded object.
fn reopen(path: &CStr) -> Option<*mut c_void> {
    // SAFETY: NOLOAD never runs code of a new object.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    (!handle.is_null()).then_some(handle)
}

/// Looks up the address of a function in the MPI library.
pub fn symbol(name: &CStr) -> Option<*mut c_void> {
    let library = LIBRARY.load(Ordering::Acquire);
    if library.is_null() {
        return None;
    }
    // SAFETY: a look-up by name in a loaded object.
    let address = unsafe { libc::dlsym(library, name.as_ptr()) };
    (!address.is_null() && !is_own(address)).then_some(address)
}

/// Whether a symbol found through the program's handle is one of ours: that handle covers everything that is
/// loaded.
fn is_own(address: *const c_void) -> bool {
    linked_in() && exports::is_in_one_of_ours(address as usize)
}

/// Looks up the address of a variable of the MPI library. If the executable has a copy of it, that copy is
/// the one in use.
pub fn data_symbol(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: a look-up by name.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    if address.is_null() { symbol(name) } else { Some(address) }
}

/// Returns the next function of this name after this library, or else the MPI library's.
pub fn next(name: &CStr) -> usize {
    // SAFETY: a look-up by name.
    let address = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    if address.is_null() { symbol(name).map_or(0, |a| a as usize) } else { address as usize }
}

/// Fills the tables. Behind another of our libraries, this one only forwards the other one's calls.
fn take_over(library: &Library) {
    let second = exports::another_is_in_front();
    let abi = if second { None } else { detect_abi() };
    let exported = stubs::exported();
    for function in exported.iter().copied() {
        let Some(name) = FUNCTIONS.get(usize::from(function.0)).map(|f| f.name) else { continue };
        let plain = CString::new(name).map_or(0, |n| next(&n));
        let profiled = CString::new(format!("P{name}")).map_or(0, |n| next(&n));
        let slot = 2 * usize::from(function.0);
        // Some libraries lack one of the two names.
        REAL.store(slot, if plain == 0 { profiled } else { plain });
        REAL.store(slot + 1, if profiled == 0 { plain } else { profiled });
    }
    match abi {
        Some(AbiKind::MPICH) => install::<Mpich>(library),
        Some(AbiKind::OPENMPI) => install::<OpenMpi>(library),
        Some(AbiKind::STANDARD) => install::<Standard>(library),
        _ if second => {}
        _ => {
            complain(&format!(
                "{} follows an MPI ABI that this version does not know; nothing will be recorded",
                library.path.to_string_lossy()
            ));
        }
    }
    switch_slots(abi.is_some() && settings::recording() != 0);
}

fn install<A: Abi>(library: &Library) {
    ABI.store(u32::from(A::CODE.0), Ordering::Release);
    (upcalls().hooks)(A::CODE, |function, hook| HOOK.store(usize::from(function.0), hook));
    settings::start();
    (upcalls().found)(A::CODE, &library.path);
    // SAFETY: the handler only stores to our own tables.
    unsafe { libc::pthread_atfork(None, None, Some(forked)) };
}

/// Stops recording in a forked child: the image, and the thread's record in it, belong to the parent.
unsafe extern "C" fn forked() {
    Tls::get().thread.set(std::ptr::null());
    settings::set_recording(0);
    (upcalls().forked)();
    switch_slots(false);
    image::abandon();
}

/// Points every slot at its hook (through the gate) or at the library.
pub fn switch_slots(hooked: bool) {
    let gate = match (upcalls().has_bindings)() {
        true => arch::gate_of_bindings as *const () as usize,
        false => arch::gate as *const () as usize,
    };
    // Without an ABI there are no hooks.
    let known = abi().is_some();
    for function in stubs::exported() {
        let slot = 2 * usize::from(function.0);
        for slot in [slot, slot + 1] {
            let real = REAL.load(slot);
            let code = if real == 0 {
                missing as *const () as usize
            } else if !known || !hooked && !always_hooked(*function) {
                real
            } else if *function == f::MPI_Pcontrol {
                arch::pcontrol as *const () as usize
            } else {
                gate
            };
            ENTRY.store(slot, code);
        }
    }
}

/// Whether a function is hooked even when nothing is recorded: these identify the process and its
/// connections.
fn always_hooked(function: FunctionId) -> bool {
    [
        f::MPI_Init,
        f::MPI_Init_thread,
        f::MPI_Finalize,
        f::MPI_Abort,
        f::MPI_Comm_spawn,
        f::MPI_Comm_spawn_multiple,
        f::MPI_Comm_accept,
        f::MPI_Comm_connect,
        f::MPI_Comm_join,
        f::MPI_Comm_disconnect,
    ]
    .contains(&function)
}

/// Detects the ABI from the library's symbols and versions.
fn detect_abi() -> Option<AbiKind> {
    if symbol(c"ompi_mpi_comm_world").is_some() {
        return Some(AbiKind::OPENMPI);
    }
    let mut version: [c_int; 2] = [0, 0];
    if let Some(get) = symbol(c"PMPI_Abi_get_version").or_else(|| symbol(c"MPI_Abi_get_version")) {
        call_version(get, &mut version);
    }
    if version[0] <= 0 {
        // MPICH's header defines MPI_DUP_FN as this symbol, so every library of that ABI has it. Other
        // libraries are not recorded: their handles need not fit into an `int` (MPItrampoline, HPE MPT).
        return symbol(c"MPIR_Dup_fn").map(|_| AbiKind::MPICH);
    }
    // Drafts of the standard ABI also report version 1.0, but have different constants.
    let mut standard: [c_int; 2] = [0, 0];
    if let Some(get) = symbol(c"PMPI_Get_version").or_else(|| symbol(c"MPI_Get_version")) {
        call_version(get, &mut standard);
    }
    (standard[0] >= 5).then_some(AbiKind::STANDARD)
}

fn call_version(get: *mut c_void, version: &mut [c_int; 2]) {
    let [major, minor] = version;
    // SAFETY: MPI_Get_version and MPI_Abi_get_version have this type and may be called at any time.
    unsafe {
        let get: unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int = std::mem::transmute(get);
        get(major, minor);
    }
}

/// The ABI of the library, once it is known.
pub fn abi() -> Option<AbiKind> {
    match ABI.load(Ordering::Acquire) {
        0 => None,
        code => u8::try_from(code).ok().map(AbiKind),
    }
}

/// Stands in for a function that the library lacks.
unsafe extern "C" fn missing() -> c_int {
    complain("the program called a function that this MPI library does not have; the call returned an error");
    match abi() {
        Some(AbiKind::MPICH) => Mpich::ERR_UNSUPPORTED_OPERATION,
        Some(AbiKind::OPENMPI) => OpenMpi::ERR_UNSUPPORTED_OPERATION,
        _ => Standard::ERR_UNSUPPORTED_OPERATION,
    }
}

/// Stands in for every function if no MPI library can be found.
unsafe extern "C" fn no_library() -> c_int {
    complain(
        "an MPI function was called, but no MPI library is loaded in this process; \
         link the program with one, or load the library before the first call",
    );
    Standard::ERR_UNSUPPORTED_OPERATION
}
