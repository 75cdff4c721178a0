//! Calls: their beginning and end, and what is known from a call alone.

use super::super::kinds::Kind;
use super::super::{Payload, queue, wanted};
use super::{note, number};
use crate::call::Call;
use crate::objects::{files, table::Object, windows};
use crate::tls::Tls;
use crate::{image, real};
use mpi_abi::{Abi, FUNCTIONS, FunctionId, f};
use std::ffi::c_int;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The types that [`subject_ended`] tells.
pub const OF_SUBJECT: u64 = Kind::FILE_READ.bit()
    | Kind::FILE_WRITTEN.bit()
    | Kind::RMA_OPERATION.bit()
    | Kind::DISCONNECTED.bit()
    | Kind::RECORDS_LOST.bit();

/// The program entered a function.
#[inline(never)]
pub fn call_started<A: Abi>(call: &Call<A>) {
    note(Kind::CALL_STARTED, 0, call.since, || {
        let thread = call.thread().tid.get().cast_signed();
        Payload::new().int(number(call.function())).int(thread).word(call.return_address())
    });
}

/// A function has returned, with all that its hooks do done, and nothing of the call is open any longer: this event, and
/// all before it, are delivered.
#[inline(never)]
pub fn call_ended<A: Abi>(call: &Call<A>, tls: &Tls, bytes: u64) {
    if wanted(Kind::CALL_ENDED, 0).is_none() {
        return queue::flush(tls);
    }
    let (function, thread) = (number(call.function()), call.thread().tid.get().cast_signed());
    let payload = Payload::new().int(function).int(thread).word(call.return_address());
    let payload = payload.word(bytes).word(call.returned().wrapping_sub(call.since));
    queue::flush_with(tls, Kind::CALL_ENDED, call.returned(), &payload);
}

/// What a call that has returned was about. While its record still says so.
#[cold]
pub fn subject_ended<A: Abi>(call: &Call<A>, bytes: u64) {
    let function = call.function();
    let (at, duration) = (call.returned(), call.returned().wrapping_sub(call.since));
    let noted = &call.thread().call;
    match sort(function) {
        sort @ (Sort::Read | Sort::Write) => {
            if let Some(file) = files::FILES.find(noted.object.get()) {
                let kind = if sort == Sort::Read { Kind::FILE_READ } else { Kind::FILE_WRITTEN };
                note(kind, file.head().uid.get(), at, || {
                    Payload::new().int(number(function)).word(bytes).word(duration)
                });
            }
        }
        Sort::OneSided => {
            if let Some(win) = windows::WINDOWS.find(noted.object.get()) {
                note(Kind::RMA_OPERATION, win.head().uid.get(), at, || {
                    Payload::new().int(number(function)).int(noted.peer.get() as i32).word(bytes)
                });
            }
        }
        Sort::Disconnect => {
            note(Kind::DISCONNECTED, 0, at, || Payload::new().word(noted.object.get()));
        }
        Sort::Other => {}
    }
    lost();
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sort {
    Read,
    Write,
    OneSided,
    Disconnect,
    Other,
}

/// What a function is about, looked up in a table that is made once.
#[inline]
fn sort(function: FunctionId) -> Sort {
    static SORTS: OnceLock<Vec<Sort>> = OnceLock::new();
    let sorts =
        SORTS.get_or_init(|| (0..FUNCTIONS.len()).map(|at| sort_by_name(FunctionId(at as u16))).collect());
    sorts.get(usize::from(function.0)).copied().unwrap_or(Sort::Other)
}

fn sort_by_name(function: FunctionId) -> Sort {
    const ONE_SIDED: [&str; 6] =
        ["Put", "Get", "Accumulate", "Get_accumulate", "Fetch_and_op", "Compare_and_swap"];
    if function == f::MPI_Comm_disconnect {
        return Sort::Disconnect;
    }
    let name = FUNCTIONS.get(usize::from(function.0)).map_or("", |function| function.name);
    let name = name.trim_start_matches("MPI_").trim_end_matches("_c");
    let is = |what: &str| name.strip_prefix("File_").is_some_and(|rest| starts(rest, what));
    if is("read") {
        Sort::Read
    } else if is("write") {
        Sort::Write
    } else if ONE_SIDED.iter().any(|op| name == *op || name == format!("R{}", op.to_lowercase())) {
        Sort::OneSided
    } else {
        Sort::Other
    }
}

/// Is the rest of a file function's name `read`, `iread_at`, `write_all_begin`…?
fn starts(rest: &str, what: &str) -> bool {
    let rest = rest.strip_prefix('i').unwrap_or(rest);
    rest.strip_prefix(what).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
}

/// Looks whether anything was lost since it was looked last.
fn lost() {
    static SEEN: AtomicU64 = AtomicU64::new(0);
    if wanted(Kind::RECORDS_LOST, 0).is_none() {
        return;
    }
    let Some(writer) = image::writer() else { return };
    let now = writer.header().lost.iter().map(|kind| kind.get()).fold(0, u64::wrapping_add);
    let before = SEEN.swap(now, Ordering::Relaxed);
    if now > before {
        note(Kind::RECORDS_LOST, 0, 0, || Payload::new().word(now - before));
    }
}

/// A function returned an error code.
#[cold]
pub fn failed<A: Abi>(call: &Call<A>, code: c_int) {
    note(Kind::ERROR_RAISED, 0, 0, || {
        let mut class = code;
        // Without an answer the code stands for its class.
        real::error_class::<A>(code, &mut class);
        Payload::new().int(number(call.function())).int(code).int(class)
    });
}

/// A thread called MPI for the first time.
#[cold]
pub fn thread_seen(tid: u32) {
    note(Kind::THREAD_SEEN, 0, 0, || Payload::new().int(tid.cast_signed()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_sorted_by_what_they_do() {
        assert_eq!(sort(f::MPI_File_iwrite_at_c), Sort::Write);
        assert_eq!(sort(f::MPI_File_read_all_begin), Sort::Read);
        assert_eq!(sort(f::MPI_File_open), Sort::Other);
        assert_eq!(sort(f::MPI_Rput), Sort::OneSided);
        assert_eq!(sort(f::MPI_Rget_accumulate), Sort::OneSided);
        assert_eq!(sort(f::MPI_Get_count), Sort::Other);
        assert_eq!(sort(f::MPI_Comm_disconnect), Sort::Disconnect);
    }
}
