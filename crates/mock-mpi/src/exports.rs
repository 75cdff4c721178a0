//! The C interface: `MPI_X` and `PMPI_X` of each function.
//!
//! # Safety
//! The functions have the contracts of the standard: pointers are valid for the given count and datatype, or
//! one of the special values, which are checked. All state is behind one lock.
#![allow(unsafe_code)]
// Every block relies on the contract above, so it is not repeated at each.
#![allow(clippy::undocumented_unsafe_blocks)]

use std::env;
use std::ffi::{c_char, c_int, c_void};
use std::process;
use std::ptr;
use std::slice;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::engine::{COMPLETED, Engine, Message, NULL, Receive};
use crate::export::export;
use crate::tools;

const SUCCESS: c_int = 0;
const ERR_TRUNCATE: c_int = 14;
const IN_PLACE: usize = usize::MAX;
const STATUS_IGNORE: usize = 1;
const PROC_NULL: c_int = -1;
const MAX_OPERATORS: usize = 8;
const FIRST_OPERATOR: c_int = 0x5800_0000 + 0x100;
const VERSION: &[u8] = b"mpiscope mock MPI 1.0 (MPICH ABI)\0";

type UserFunction = unsafe extern "C" fn(*const c_void, *mut c_void, *mut c_int, *mut c_int);

/// `MPI_Status` of the MPICH ABI.
#[repr(C)]
pub struct Status {
    count_lo: c_int,
    count_hi_and_cancelled: c_int,
    source: c_int,
    tag: c_int,
    error: c_int,
}
const _: () = assert!(size_of::<Status>() == 20);

static ENGINE: Mutex<Option<Engine>> = Mutex::new(None);
static OPERATORS: Mutex<[Option<UserFunction>; MAX_OPERATORS]> = Mutex::new([None; MAX_OPERATORS]);
/// 0 before `MPI_Init`, 1 while initialized, 2 after `MPI_Finalize`.
static STATE: AtomicI32 = AtomicI32::new(0);

fn engine() -> MutexGuard<'static, Option<Engine>> {
    ENGINE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn from_environment(name: &str, otherwise: c_int) -> c_int {
    env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Size of one element in bytes, which MPICH's built-in handles encode.
fn size_of_type(datatype: c_int) -> usize {
    usize::try_from((datatype >> 8) & 0xff).unwrap_or(0)
}

fn bytes_of(count: c_int, datatype: c_int) -> usize {
    usize::try_from(count).unwrap_or(0) * size_of_type(datatype)
}

unsafe fn read(buffer: *const c_void, size: usize) -> Vec<u8> {
    if size == 0 { Vec::new() } else { unsafe { slice::from_raw_parts(buffer.cast(), size) }.to_vec() }
}

unsafe fn deliver(receive: Receive, message: &Message, status: *mut Status) -> c_int {
    let size = message.bytes.len().min(receive.size);
    unsafe {
        ptr::copy_nonoverlapping(message.bytes.as_ptr(), receive.buffer as *mut u8, size);
        set_status(status, from_environment("PMI_RANK", 0), message.tag, size);
    }
    if size < message.bytes.len() { ERR_TRUNCATE } else { SUCCESS }
}

unsafe fn set_status(status: *mut Status, source: c_int, tag: c_int, bytes: usize) {
    if !status.is_null() && status as usize != STATUS_IGNORE {
        let count_lo = c_int::try_from(bytes).unwrap_or(c_int::MAX);
        unsafe { status.write(Status { count_lo, count_hi_and_cancelled: 0, source, tag, error: SUCCESS }) };
    }
}

/// Completes a request if its message has arrived.
unsafe fn try_complete(request: *mut c_int, status: *mut Status) -> Option<c_int> {
    let handle = unsafe { request.read() };
    let mut guard = engine();
    let engine = guard.get_or_insert_with(Engine::default);
    if !engine.is_open(handle) {
        unsafe {
            request.write(NULL);
            set_status(status, PROC_NULL, -1, 0);
        }
        return Some(SUCCESS);
    }
    let (receive, message) = engine.complete(handle)?;
    unsafe {
        request.write(NULL);
        Some(deliver(receive, &message, status))
    }
}

unsafe fn wait(request: *mut c_int, status: *mut Status) -> c_int {
    loop {
        if let Some(code) = unsafe { try_complete(request, status) } {
            return code;
        }
        // Another thread may send it; otherwise the program hangs here, as it would with any MPI library.
        thread::sleep(Duration::from_millis(1));
    }
}

/// With one process, every reduction is a copy. A user-defined operator is applied once, to zeros, so that it
/// is called.
unsafe fn reduce(from: *const c_void, to: *mut c_void, count: c_int, datatype: c_int, op: c_int) -> c_int {
    let size = bytes_of(count, datatype);
    if from as usize != IN_PLACE && !to.is_null() {
        unsafe { ptr::copy_nonoverlapping(from.cast::<u8>(), to.cast(), size) };
    }
    let index = usize::try_from(op - FIRST_OPERATOR).unwrap_or(MAX_OPERATORS);
    let function = OPERATORS.lock().unwrap_or_else(PoisonError::into_inner).get(index).copied().flatten();
    if let Some(function) = function {
        let zeros = vec![0_u8; size];
        let (mut count, mut datatype) = (count, datatype);
        unsafe { function(zeros.as_ptr().cast(), to, &raw mut count, &raw mut datatype) };
    }
    SUCCESS
}

/// `MPI_DUP_FN` in MPICH's header; this symbol identifies the ABI.
#[unsafe(export_name = "MPIR_Dup_fn")]
unsafe extern "C" fn dup_fn(
    _object: c_int,
    _keyval: c_int,
    _extra: *mut c_void,
    value: *mut c_void,
    copy: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: the standard's attribute copy function has room for the value and for the flag.
    unsafe {
        *copy.cast::<*mut c_void>() = value;
        *flag = 1;
    }
    SUCCESS
}

export! {
    "MPI_Init" "PMPI_Init" fn init(_argc: *mut c_int, _argv: *mut *mut *mut c_char) {
        STATE.store(1, Ordering::SeqCst);
        SUCCESS
    }
    "MPI_Init_thread" "PMPI_Init_thread"
    fn init_thread(_argc: *mut c_int, _argv: *mut *mut *mut c_char, required: c_int, provided: *mut c_int) {
        STATE.store(1, Ordering::SeqCst);
        unsafe { provided.write(required) };
        SUCCESS
    }
    "MPI_Initialized" "PMPI_Initialized" fn initialized(flag: *mut c_int) {
        unsafe { flag.write(c_int::from(STATE.load(Ordering::SeqCst) > 0)) };
        SUCCESS
    }
    "MPI_Finalize" "PMPI_Finalize" fn finalize() {
        STATE.store(2, Ordering::SeqCst);
        SUCCESS
    }
    "MPI_Finalized" "PMPI_Finalized" fn finalized(flag: *mut c_int) {
        unsafe { flag.write(c_int::from(STATE.load(Ordering::SeqCst) == 2)) };
        SUCCESS
    }
    "MPI_Abort" "PMPI_Abort" fn abort(_comm: c_int, code: c_int) { process::exit(code) }
    "MPI_Get_version" "PMPI_Get_version" fn get_version(major: *mut c_int, minor: *mut c_int) {
        unsafe {
            major.write(3);
            minor.write(1);
        }
        SUCCESS
    }
    "MPI_Get_library_version" "PMPI_Get_library_version"
    fn get_library_version(text: *mut c_char, length: *mut c_int) {
        unsafe {
            ptr::copy_nonoverlapping(VERSION.as_ptr().cast(), text, VERSION.len());
            length.write(c_int::try_from(VERSION.len() - 1).unwrap_or(0));
        }
        SUCCESS
    }
    "MPI_Comm_rank" "PMPI_Comm_rank" fn comm_rank(_comm: c_int, rank: *mut c_int) {
        unsafe { rank.write(from_environment("PMI_RANK", 0)) };
        SUCCESS
    }
    "MPI_Comm_size" "PMPI_Comm_size" fn comm_size(_comm: c_int, size: *mut c_int) {
        unsafe { size.write(from_environment("PMI_SIZE", 1)) };
        SUCCESS
    }
    "MPI_Type_size" "PMPI_Type_size" fn type_size(datatype: c_int, size: *mut c_int) {
        unsafe { size.write(c_int::try_from(size_of_type(datatype)).unwrap_or(0)) };
        SUCCESS
    }
    "MPI_Get_count" "PMPI_Get_count" fn get_count(status: *const Status, datatype: c_int, count: *mut c_int) {
        let each = c_int::try_from(size_of_type(datatype)).unwrap_or(1).max(1);
        unsafe { count.write((*status).count_lo / each) };
        SUCCESS
    }
    "MPI_Send" "PMPI_Send"
    fn send(buffer: *const c_void, count: c_int, datatype: c_int, peer: c_int, tag: c_int, _comm: c_int) {
        if peer != PROC_NULL {
            let bytes = unsafe { read(buffer, bytes_of(count, datatype)) };
            let length = bytes.len();
            engine().get_or_insert_with(Engine::default).send(Message { tag, bytes });
            tools::sent(tag, length);
        }
        SUCCESS
    }
    "MPI_Isend" "PMPI_Isend"
    fn isend(buffer: *const c_void, count: c_int, datatype: c_int, peer: c_int, tag: c_int, comm: c_int,
             request: *mut c_int) {
        unsafe {
            request.write(COMPLETED);
            send(buffer, count, datatype, peer, tag, comm)
        }
    }
    "MPI_Irecv" "PMPI_Irecv"
    fn irecv(buffer: *mut c_void, count: c_int, datatype: c_int, peer: c_int, tag: c_int, _comm: c_int,
             request: *mut c_int) {
        let receive = Receive { buffer: buffer as usize, size: bytes_of(count, datatype), tag };
        let post = || engine().get_or_insert_with(Engine::default).post(receive);
        unsafe { request.write(if peer == PROC_NULL { COMPLETED } else { post() }) };
        SUCCESS
    }
    "MPI_Recv" "PMPI_Recv"
    fn recv(buffer: *mut c_void, count: c_int, datatype: c_int, peer: c_int, tag: c_int, comm: c_int,
            status: *mut Status) {
        let mut request = NULL;
        unsafe {
            irecv(buffer, count, datatype, peer, tag, comm, &raw mut request);
            wait(&raw mut request, status)
        }
    }
    "MPI_Wait" "PMPI_Wait" fn wait_one(request: *mut c_int, status: *mut Status) {
        unsafe { wait(request, status) }
    }
    "MPI_Waitall" "PMPI_Waitall" fn waitall(count: c_int, requests: *mut c_int, statuses: *mut Status) {
        let ignored = statuses as usize == STATUS_IGNORE;
        let mut worst = SUCCESS;
        for index in 0..usize::try_from(count).unwrap_or(0) {
            let code = unsafe {
                wait(requests.add(index), if ignored { statuses } else { statuses.add(index) })
            };
            worst = if code == SUCCESS { worst } else { code };
        }
        worst
    }
    "MPI_Test" "PMPI_Test" fn test(request: *mut c_int, flag: *mut c_int, status: *mut Status) {
        let done = unsafe { try_complete(request, status) };
        unsafe { flag.write(c_int::from(done.is_some())) };
        done.unwrap_or(SUCCESS)
    }
    "MPI_Request_free" "PMPI_Request_free" fn request_free(request: *mut c_int) {
        unsafe {
            engine().get_or_insert_with(Engine::default).forget(request.read());
            request.write(NULL);
        }
        SUCCESS
    }
    "MPI_Barrier" "PMPI_Barrier" fn barrier(_comm: c_int) { SUCCESS }
    "MPI_Bcast" "PMPI_Bcast"
    fn bcast(_buffer: *mut c_void, _count: c_int, _datatype: c_int, _root: c_int, _comm: c_int) { SUCCESS }
    "MPI_Allreduce" "PMPI_Allreduce"
    fn allreduce(from: *const c_void, to: *mut c_void, count: c_int, datatype: c_int, op: c_int, _comm: c_int) {
        unsafe { reduce(from, to, count, datatype, op) }
    }
    "MPI_Reduce" "PMPI_Reduce"
    fn reduce_to_root(from: *const c_void, to: *mut c_void, count: c_int, datatype: c_int, op: c_int, _root: c_int,
                      _comm: c_int) {
        unsafe { reduce(from, to, count, datatype, op) }
    }
    "MPI_Op_create" "PMPI_Op_create" fn op_create(function: UserFunction, _commutes: c_int, op: *mut c_int) {
        let mut operators = OPERATORS.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(index) = operators.iter().position(Option::is_none) else { return 16 };
        operators[index] = Some(function);
        unsafe { op.write(FIRST_OPERATOR + c_int::try_from(index).unwrap_or(0)) };
        SUCCESS
    }
    "MPI_Op_free" "PMPI_Op_free" fn op_free(op: *mut c_int) {
        let index = usize::try_from(unsafe { op.read() } - FIRST_OPERATOR).unwrap_or(MAX_OPERATORS);
        if let Some(slot) = OPERATORS.lock().unwrap_or_else(PoisonError::into_inner).get_mut(index) {
            *slot = None;
        }
        unsafe { op.write(0x1800_0000) };
        SUCCESS
    }
}
