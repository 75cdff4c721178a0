//! The event types: names, meanings, elements.

use crate::tool::own::Place;
use mpiscope_image::layout::Recording;
use mpit::{Bind, Datatype};

/// An event type, by its place in [`KINDS`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Kind(pub usize);

/// What is known of an event type.
pub struct About {
    /// The name that tools look for.
    pub name: &'static str,
    /// What it says.
    pub desc: &'static str,
    /// Its category.
    pub place: Place,
    /// What a registration is bound to.
    pub bind: Bind,
    /// Its elements, in order.
    pub elements: &'static [(&'static str, Datatype)],
    /// What has to be recorded for it.
    pub recording: u32,
}

const INT: Datatype = Datatype::INT;
const WORD: Datatype = Datatype::UINT64_T;
const CALLS: u32 = Recording::CALLS.0 | Recording::TIMES.0;
const OBJECTS: u32 = CALLS | Recording::OBJECTS.0;
const LEDGER: u32 = OBJECTS | Recording::MESSAGES.0;

macro_rules! kinds {
    ($($kind:ident = $name:literal, $place:ident, $bind:ident, $recording:ident, [$($element:literal: $type:ident),*], $desc:literal;)*) => {
        impl Kind {
            kinds!(@number 0usize; $($kind)*);
        }

        /// All event types, in the order of their indices.
        pub const KINDS: &[About] = &[$(About {
            name: concat!("mpiscope.", $name),
            desc: $desc,
            place: Place::$place,
            bind: Bind::$bind,
            elements: &[$(($element, $type)),*],
            recording: $recording,
        }),*];
    };
    (@number $n:expr; $kind:ident $($rest:ident)*) => {
        #[allow(missing_docs)]
        pub const $kind: Kind = Kind($n);
        kinds!(@number $n + 1; $($rest)*);
    };
    (@number $n:expr;) => {};
}

kinds! {
    CALL_STARTED = "call_started", CALLS, NO_OBJECT, CALLS, ["function": INT, "thread": INT, "caller": WORD],
        "The program entered an MPI function (item of the enumeration mpiscope_function) at an address of its code";
    CALL_ENDED = "call_ended", CALLS, NO_OBJECT, CALLS,
        ["function": INT, "thread": INT, "caller": WORD, "bytes": WORD, "duration": WORD],
        "An MPI function returned: bytes that its arguments named, ticks that it took";
    ERROR_RAISED = "error_raised", PROCESS, NO_OBJECT, CALLS, ["function": INT, "code": INT, "class": INT],
        "An MPI function returned an error code, of this class";
    SEND_POSTED = "send_posted", MESSAGES, MPI_COMM, OBJECTS, ["peer": INT, "tag": INT, "bytes": WORD],
        "A send to a rank of the communicator was started";
    SEND_COMPLETED = "send_completed", MESSAGES, MPI_COMM, OBJECTS, ["peer": INT, "tag": INT, "bytes": WORD],
        "The program learnt that a send is complete";
    SEND_CANCELLED = "send_cancelled", MESSAGES, MPI_COMM, OBJECTS, ["peer": INT, "tag": INT],
        "A send was cancelled: its message never arrives";
    RECEIVE_POSTED = "receive_posted", MESSAGES, MPI_COMM, OBJECTS, ["peer": INT, "tag": INT],
        "A receive was posted, as the program named source and tag";
    RECEIVE_MATCHED = "receive_matched", MESSAGES, MPI_COMM, OBJECTS, ["peer": INT, "tag": INT, "bytes": WORD],
        "A receive or a matching probe got its message: actual source and tag";
    RECEIVE_COMPLETED = "receive_completed", MESSAGES, MPI_COMM, OBJECTS,
        ["peer": INT, "tag": INT, "bytes": WORD, "posted": WORD],
        "The program got a message: actual source and tag; when the receive was posted, in ticks of the source";
    RECEIVE_CANCELLED = "receive_cancelled", MESSAGES, MPI_COMM, OBJECTS, ["peer": INT, "tag": INT],
        "A posted receive was cancelled";
    RECEIVE_UNEXPECTED = "receive_unexpected", MESSAGES, MPI_COMM, LEDGER,
        ["peer": INT, "tag": INT, "bytes": WORD, "sent": WORD, "posted": WORD],
        "A receive was posted after its message had been sent: the message was waiting. Times of both, in ticks. For \
         senders on this node for which messages are recorded too";
    RECEIVE_LATE = "receive_late", MESSAGES, MPI_COMM, LEDGER,
        ["peer": INT, "tag": INT, "bytes": WORD, "sent": WORD, "posted": WORD],
        "A receive waited for its sender: the message was sent after the receive had been posted. Times of both, in ticks. \
         For senders on this node for which messages are recorded too";
    REQUEST_STARTED = "request_started", REQUESTS, NO_OBJECT, OBJECTS, ["kind": INT, "peer": INT, "tag": INT, "request": WORD],
        "An operation with a request was started: kind as in the records of requests, handle of the request";
    REQUEST_COMPLETED = "request_completed", REQUESTS, NO_OBJECT, OBJECTS,
        ["kind": INT, "peer": INT, "tag": INT, "request": WORD, "started": WORD],
        "The program learnt that an operation with a request is complete; when it was started, in ticks";
    REQUEST_FREED = "request_freed", REQUESTS, NO_OBJECT, OBJECTS, ["kind": INT, "request": WORD],
        "A request object is gone";
    COLLECTIVE_ENTERED = "collective_entered", COLLECTIVES, MPI_COMM, OBJECTS,
        ["function": INT, "root": INT, "number": WORD, "bytes": WORD],
        "A collective operation was entered: its number on the communicator, the root if it has one (else -1), bytes of this \
         process's part";
    COLLECTIVE_LEFT = "collective_left", COLLECTIVES, MPI_COMM, OBJECTS,
        ["function": INT, "number": WORD, "duration": WORD],
        "A collective operation was left; ticks that it took";
    PARTITION_READY = "partition_ready", REQUESTS, NO_OBJECT, OBJECTS, ["first": INT, "count": INT, "request": WORD],
        "Partitions of a partitioned send were marked ready";
    PARTITION_ARRIVED = "partition_arrived", REQUESTS, NO_OBJECT, OBJECTS, ["partition": INT, "request": WORD],
        "A partition of a partitioned receive was seen to have arrived";
    OBJECT_CREATED = "object_created", OBJECTS, NO_OBJECT, OBJECTS, ["kind": INT, "function": INT, "handle": WORD, "parent": WORD],
        "An MPI object was made, of any kind (item of the enumeration mpiscope_object_kind)";
    OBJECT_FREED = "object_freed", OBJECTS, NO_OBJECT, OBJECTS, ["kind": INT, "handle": WORD],
        "An MPI object was freed, of any kind";
    OBJECT_NAMED = "object_named", OBJECTS, NO_OBJECT, OBJECTS, ["kind": INT, "handle": WORD],
        "A communicator, datatype or window got a name";
    OBJECT_ATTACHED = "object_attached", OBJECTS, NO_OBJECT, OBJECTS, ["kind": INT, "handle": WORD],
        "Something was attached to an object: an attribute, an error handler, an info object, memory, a view";
    DATATYPE_COMMITTED = "datatype_committed", OBJECTS, NO_OBJECT, OBJECTS, ["handle": WORD],
        "A datatype was committed";
    COMM_FREED = "comm_freed", OBJECTS, MPI_COMM, OBJECTS, ["handle": WORD],
        "The communicator was freed";
    COMM_NAMED = "comm_named", OBJECTS, MPI_COMM, OBJECTS, ["handle": WORD],
        "The communicator got a name";
    WIN_FREED = "win_freed", RMA, MPI_WIN, OBJECTS, ["handle": WORD],
        "The window was freed";
    FILE_CLOSED = "file_closed", FILES, MPI_FILE, OBJECTS, ["handle": WORD],
        "The file was closed";
    EPOCH_OPENED = "rma_epoch_opened", RMA, MPI_WIN, OBJECTS, ["epoch": INT],
        "An epoch of the window began: a bit for the kind of synchronisation";
    EPOCH_CLOSED = "rma_epoch_closed", RMA, MPI_WIN, OBJECTS, ["epoch": INT],
        "An epoch of the window ended";
    RMA_OPERATION = "rma_operation", RMA, MPI_WIN, OBJECTS, ["function": INT, "target": INT, "bytes": WORD],
        "A one-sided operation was started on the window";
    FILE_ACCESSED = "file_accessed", FILES, MPI_FILE, OBJECTS, ["function": INT, "bytes": WORD, "duration": WORD],
        "The program read or wrote the file, or started to";
    PROCESSES_JOINED = "processes_joined", PROCESS, NO_OBJECT, CALLS, ["function": INT, "duration": WORD],
        "Spawn, connect, accept, join or disconnect returned";
    THREAD_SEEN = "thread_seen", PROCESS, NO_OBJECT, CALLS, ["thread": INT],
        "A thread called MPI for the first time: the kernel's number of it";
    RECORDS_LOST = "records_lost", RECORDING, NO_OBJECT, CALLS, ["count": WORD],
        "Records found no room since the last such event";
    CVAR_WRITTEN = "cvar_written", RECORDING, NO_OBJECT, CALLS, ["cvar": INT],
        "A control variable was written through this interface: its index";
    WATERMARK_PASSED = "watermark_passed", RECORDING, NO_OBJECT, OBJECTS, ["pvar": INT, "value": WORD],
        "A level of the process was higher than ever before: index of the high watermark, new value";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_its_own_name_and_a_kind_is_its_index() {
        let about = |kind: Kind| KINDS.get(kind.0).map(|about| about.name);
        assert_eq!(about(Kind::SEND_POSTED), Some("mpiscope.send_posted"));
        assert_eq!(about(Kind::WATERMARK_PASSED), KINDS.last().map(|about| about.name));
        let mut names: Vec<_> = KINDS.iter().map(|about| about.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), KINDS.len());
    }
}
