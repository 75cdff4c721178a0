//! What hooks tell: one function for each kind of observation. Nobody registered: one load and one branch.

use super::kinds::Kind;
use super::payload::Payload;
use super::{anybody, queue, wanted};
use crate::call::Call;
use crate::objects::{files, table::Object, windows};
use crate::threads;
use crate::tool::{bound, own};
use crate::traffic::facts::Envelope;
use crate::{image, real};
use mpi_abi::{Abi, FUNCTIONS, FunctionId};
use mpiscope_image::layout::SectionKind;
use mpiscope_image::objects::Head;
use mpiscope_image::traffic::Request;
use std::ffi::c_int;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Queues an event if anybody wants it.
#[inline(always)]
pub fn note(kind: Kind, object: u64, at: u64, payload: impl FnOnce() -> Payload) {
    if anybody() && wanted(kind, object).is_some() {
        queue::add(kind, object, at, payload());
    }
}

fn number(function: FunctionId) -> i32 {
    i32::from(function.0.cast_signed())
}

/// The program entered a function.
#[inline(always)]
pub fn call_started<A: Abi>(call: &Call<A>) {
    if anybody() {
        note(Kind::CALL_STARTED, 0, call.since, || {
            let thread = call.thread().tid.get().cast_signed();
            Payload::new().int(number(call.function())).int(thread).word(call.return_address)
        });
    }
}

/// A function has returned, with all that its hooks do done.
#[cold]
pub fn call_ended<A: Abi>(call: &Call<A>, bytes: u64) {
    let function = call.function();
    let duration = call.returned().wrapping_sub(call.since);
    let at = call.returned();
    note(Kind::CALL_ENDED, 0, at, || {
        let thread = call.thread().tid.get().cast_signed();
        let payload = Payload::new().int(number(function)).int(thread).word(call.return_address);
        payload.word(bytes).word(duration)
    });
    let noted = &call.thread().call;
    match sort(function) {
        Sort::File => {
            if let Some(file) = files::FILES.find(noted.object.get()) {
                note(Kind::FILE_ACCESSED, file.head().uid.get(), at, || {
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
        Sort::Processes => {
            note(Kind::PROCESSES_JOINED, 0, at, || Payload::new().int(number(function)).word(duration));
        }
        Sort::Other => {}
    }
    lost();
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sort {
    File,
    OneSided,
    Processes,
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
    let name = FUNCTIONS.get(usize::from(function.0)).map_or("", |function| function.name);
    let name = name.trim_end_matches("_c");
    let is = |names: &[&str]| names.contains(&name);
    if name.starts_with("MPI_File_")
        && (name.contains("_read")
            || name.contains("_write")
            || name.contains("_iread")
            || name.contains("_iwrite"))
    {
        Sort::File
    } else if is(&["MPI_Put", "MPI_Get", "MPI_Accumulate", "MPI_Get_accumulate", "MPI_Fetch_and_op"])
        || is(&["MPI_Rput", "MPI_Rget", "MPI_Raccumulate", "MPI_Rget_accumulate", "MPI_Compare_and_swap"])
    {
        Sort::OneSided
    } else if is(&["MPI_Comm_spawn", "MPI_Comm_spawn_multiple", "MPI_Comm_connect", "MPI_Comm_accept"])
        || is(&["MPI_Comm_join", "MPI_Comm_disconnect"])
    {
        Sort::Processes
    } else {
        Sort::Other
    }
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
        // SAFETY of the answer: an output variable; the code is the library's own.
        real::error_class::<A>(code, &mut class);
        Payload::new().int(number(call.function())).int(code).int(class)
    });
}

/// Something happened to a message.
#[inline(always)]
pub fn message(kind: Kind, on: &Envelope, bytes: u64, at: u64) {
    note(kind, on.comm, at, || Payload::new().int(on.rank).int(on.tag).word(bytes));
}

/// A message was received, the `nth` from its sender.
#[inline(always)]
pub fn received(from: &Envelope, nth: u64, bytes: u64, posted: u64, at: u64, probed: bool) {
    if anybody() {
        compare(from, nth, bytes, posted, at);
        // A message that a probe matched is told then.
        if !probed {
            message(Kind::RECEIVE_MATCHED, from, bytes, at);
        }
        note(Kind::RECEIVE_COMPLETED, from.comm, at, || {
            Payload::new().int(from.rank).int(from.tag).word(bytes).word(posted)
        });
    }
}

/// Compares with what the sender recorded: who was first?
#[cold]
fn compare(from: &Envelope, nth: u64, bytes: u64, posted: u64, at: u64) {
    let heard = |kind| wanted(kind, from.comm).is_some();
    if posted == 0 || !(heard(Kind::RECEIVE_UNEXPECTED) || heard(Kind::RECEIVE_LATE)) {
        return;
    }
    let sent = bound::sent_at(from.comm, from.rank, nth, from.tag, bytes);
    let Some(sent) = sent.filter(|sent| *sent != 0) else { return };
    let kind = if sent < posted { Kind::RECEIVE_UNEXPECTED } else { Kind::RECEIVE_LATE };
    note(kind, from.comm, at, || {
        Payload::new().int(from.rank).int(from.tag).word(bytes).word(sent).word(posted)
    });
}

/// A request was started or freed.
#[inline(always)]
pub fn request(kind: Kind, request: &Request) {
    note(kind, 0, 0, || {
        let payload = Payload::new().int(request.kind.get().cast_signed());
        let handle = request.head.handle.get();
        if kind == Kind::REQUEST_FREED {
            return payload.word(handle);
        }
        let (peer, tag) = (request.peer.get().cast_signed(), request.tag.get().cast_signed());
        payload.int(peer).int(tag).word(handle).word(request.started_at.get())
    });
}

/// A collective was entered.
#[inline(always)]
pub fn collective_entered<A: Abi>(call: &Call<A>, uid: u64, sequence: u64) {
    note(Kind::COLLECTIVE_ENTERED, uid, call.since, || {
        let noted = &call.thread().call;
        let datatype = mpi_abi::Handle::from_raw(noted.datatype.get());
        let bytes = match noted.datatype.get() {
            0 => 0,
            _ => crate::bytes::elements::<A>(noted.count.get().cast_signed(), datatype),
        };
        let root = if has_root(call.function()) { noted.peer.get() as i32 } else { -1 };
        Payload::new().int(number(call.function())).int(root).word(sequence).word(bytes)
    });
}

fn has_root(function: FunctionId) -> bool {
    let params = FUNCTIONS.get(usize::from(function.0)).map_or(&[][..], |function| function.params);
    params.iter().any(|param| param.name == "root")
}

/// A collective was left.
#[inline(always)]
pub fn collective_left<A: Abi>(call: &Call<A>, sequence: u64) {
    if anybody() {
        let handle = call.thread().call.object.get();
        let Some(comm) = crate::objects::comms::COMMS.find(handle) else { return };
        note(Kind::COLLECTIVE_LEFT, comm.head.uid.get(), call.returned(), || {
            let duration = call.returned().wrapping_sub(call.since);
            Payload::new().int(number(call.function())).word(sequence).word(duration)
        });
    }
}

/// Something happened to an object: `any` is the type for all kinds, `bound` the one for this object.
#[inline]
pub fn object(any: Kind, bound: Option<Kind>, kind: SectionKind, head: &Head) {
    if !anybody() {
        return;
    }
    note(any, 0, 0, || {
        let payload = Payload::new().int(own::objects::number(kind));
        if any == Kind::OBJECT_CREATED {
            let function = head.made_by.get().cast_signed() - 1;
            return payload.int(function).word(head.handle.get()).word(head.parent.get());
        }
        payload.word(head.handle.get())
    });
    if let Some(bound) = bound {
        note(bound, head.uid.get(), 0, || Payload::new().word(head.handle.get()));
    }
}

/// An object was freed.
#[inline(always)]
pub fn freed(kind: SectionKind, head: &Head) {
    let bound = match kind {
        SectionKind::COMMS => Some(Kind::COMM_FREED),
        SectionKind::WINDOWS => Some(Kind::WIN_FREED),
        SectionKind::FILES => Some(Kind::FILE_CLOSED),
        _ => None,
    };
    object(Kind::OBJECT_FREED, bound, kind, head);
}

/// An epoch of a window began or ended.
#[inline(always)]
pub fn epoch(kind: Kind, head: &Head, epoch: u32) {
    note(kind, head.uid.get(), 0, || Payload::new().int(epoch.cast_signed()));
}

/// A thread called MPI for the first time.
#[cold]
pub fn thread_seen(tid: u32) {
    note(Kind::THREAD_SEEN, 0, 0, || Payload::new().int(tid.cast_signed()));
}

/// A level is higher than ever before.
#[inline(always)]
pub fn watermark(which: &AtomicU64, value: u64) {
    if anybody() {
        note(Kind::WATERMARK_PASSED, 0, 0, || {
            Payload::new().int(which.load(Ordering::Relaxed) as i32).word(value)
        });
    }
}

/// A control variable was written: its handle's index is known to the caller.
pub fn cvar_written(index: usize) {
    note(Kind::CVAR_WRITTEN, 0, 0, || Payload::new().int(i32::try_from(index).unwrap_or(-1)));
    let tls = crate::tls::Tls::get();
    // Inside of a call the hook will deliver.
    if tls.depth.get() == 0 && threads::local(tls).is_some() {
        queue::flush(tls);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpi_abi::f;

    #[test]
    fn functions_are_sorted_by_what_they_do() {
        assert_eq!(sort(f::MPI_File_iwrite_at_c), Sort::File);
        assert_eq!(sort(f::MPI_File_open), Sort::Other);
        assert_eq!(sort(f::MPI_Rput), Sort::OneSided);
        assert_eq!(sort(f::MPI_Comm_accept), Sort::Processes);
    }
}
