//! The event types: names, meanings, elements.
//!
//! What an element of some name means is the same in all types. The description that tools see is made of the type's own
//! and of those of its elements.

use crate::tool::own::Place;
use mpiscope_image::layout::Recording;
use mpit::{Bind, Datatype};

/// An event type, by its place in [`KINDS`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kind(pub usize);

impl Kind {
    /// The bit of the type in a set of types.
    pub const fn bit(self) -> u64 {
        1 << self.0
    }
}

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

impl About {
    /// The description with that of every element.
    pub fn full_desc(&self) -> String {
        let elements = self.elements.iter().map(|(name, _)| format!("{name}: {}", meaning(name)));
        let elements: Vec<String> = elements.collect();
        let bound = match self.bind {
            Bind::MPI_COMM => " A registration hears one communicator.",
            Bind::MPI_WIN => " A registration hears one window.",
            Bind::MPI_FILE => " A registration hears one file.",
            _ => "",
        };
        format!("{}.{bound} Elements: {}", self.desc, elements.join("; "))
    }
}

/// What the elements mean.
const ELEMENTS: &[(&str, &str)] = &[
    ("function", "the MPI function, an item of the enumeration mpiscope_function"),
    ("thread", "the kernel's number of the thread"),
    ("caller", "address behind the call in the program's code"),
    ("bytes", "how many bytes, by the call's arguments; of what was received where a message arrived"),
    ("duration", "ticks of the source that the call took"),
    ("code", "the error code"),
    ("class", "its error class"),
    (
        "peer",
        "rank of the other side in the communicator (in its remote group, if it has one), or MPI_ANY_SOURCE",
    ),
    ("tag", "the tag, or MPI_ANY_TAG"),
    ("posted", "when the receive was posted, in ticks of the source"),
    ("sent", "when the sender began to send, in ticks of the source"),
    ("operation", "what the request is for, an item of the enumeration mpiscope_request_kind"),
    ("request", "handle of the request"),
    ("started", "when it was started, in ticks of the source"),
    ("comm_id", "number of the communicator, the same on all its members"),
    ("number", "counts the collectives of the communicator from 1, alike on all its members"),
    ("root", "rank of the root, -1 for operations without one"),
    ("first", "the first partition"),
    ("partition", "the partition"),
    ("count", "how many"),
    ("kind", "what the object is, an item of the enumeration mpiscope_object_kind"),
    ("handle", "its handle"),
    ("object", "its number, which no other object of the process ever has"),
    ("parent", "number of the object that it was made from, 0 for none"),
    ("epoch", "how it is synchronised: 1 fence, 2 start and complete, 4 post and wait, 8 lock, 16 lock_all"),
    ("target", "rank of the target in the window's group"),
    ("comm", "handle of the intercommunicator"),
    ("cvar", "index of the control variable"),
    ("pvar", "index of the performance variable"),
    ("value", "the new value"),
];

fn meaning(element: &str) -> &'static str {
    ELEMENTS.iter().find(|(name, _)| *name == element).map_or("", |(_, meaning)| meaning)
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
        "The program entered an MPI function; told before the library gets the call";
    CALL_ENDED = "call_ended", CALLS, NO_OBJECT, CALLS,
        ["function": INT, "thread": INT, "caller": WORD, "bytes": WORD, "duration": WORD],
        "An MPI function returned";
    ERROR_RAISED = "error_raised", PROCESS, NO_OBJECT, CALLS, ["function": INT, "code": INT, "class": INT],
        "An MPI function returned an error code";
    SEND_POSTED = "send_posted", MESSAGES, MPI_COMM, OBJECTS, ["peer": INT, "tag": INT, "bytes": WORD],
        "A send was started";
    SEND_COMPLETED = "send_completed", MESSAGES, MPI_COMM, OBJECTS, ["peer": INT, "tag": INT, "bytes": WORD],
        "The program learnt that a send is complete";
    SEND_CANCELLED = "send_cancelled", MESSAGES, MPI_COMM, OBJECTS, ["peer": INT, "tag": INT],
        "A send was cancelled: its message never arrives";
    RECEIVE_POSTED = "receive_posted", MESSAGES, MPI_COMM, OBJECTS, ["peer": INT, "tag": INT],
        "A receive was posted, with this source and tag";
    RECEIVE_MATCHED = "receive_matched", MESSAGES, MPI_COMM, OBJECTS, ["peer": INT, "tag": INT, "bytes": WORD],
        "A receive or a matching probe got its message: actual source and tag. Told when the program learns it";
    RECEIVE_COMPLETED = "receive_completed", MESSAGES, MPI_COMM, OBJECTS,
        ["peer": INT, "tag": INT, "bytes": WORD, "posted": WORD],
        "The program got a message: actual source and tag";
    RECEIVE_CANCELLED = "receive_cancelled", MESSAGES, MPI_COMM, OBJECTS, ["peer": INT, "tag": INT],
        "A posted receive was cancelled";
    RECEIVE_UNEXPECTED = "receive_unexpected", MESSAGES, MPI_COMM, LEDGER,
        ["peer": INT, "tag": INT, "bytes": WORD, "sent": WORD, "posted": WORD],
        "A receive was posted after its message had been sent: the message was waiting. For senders on this node that \
         record messages too";
    RECEIVE_LATE = "receive_late", MESSAGES, MPI_COMM, LEDGER,
        ["peer": INT, "tag": INT, "bytes": WORD, "sent": WORD, "posted": WORD],
        "A receive waited for its sender: the message was sent after the receive had been posted. For senders on this \
         node that record messages too";
    REQUEST_STARTED = "request_started", REQUESTS, NO_OBJECT, OBJECTS,
        ["operation": INT, "peer": INT, "tag": INT, "request": WORD],
        "An operation with a request was started";
    REQUEST_COMPLETED = "request_completed", REQUESTS, NO_OBJECT, OBJECTS,
        ["operation": INT, "peer": INT, "tag": INT, "request": WORD, "started": WORD],
        "The program learnt that an operation with a request is complete";
    REQUEST_FREED = "request_freed", REQUESTS, NO_OBJECT, OBJECTS, ["operation": INT, "request": WORD],
        "A request object is gone, by completion or by being freed";
    COLLECTIVE_ENTERED = "collective_entered", COLLECTIVES, MPI_COMM, OBJECTS,
        ["function": INT, "root": INT, "comm_id": WORD, "number": WORD, "bytes": WORD],
        "A collective operation was entered; bytes are this process's part";
    COLLECTIVE_LEFT = "collective_left", COLLECTIVES, MPI_COMM, OBJECTS,
        ["function": INT, "root": INT, "comm_id": WORD, "number": WORD, "bytes": WORD, "duration": WORD],
        "The call of a collective operation returned; a nonblocking one is complete with its request";
    PARTITION_READY = "partition_ready", REQUESTS, NO_OBJECT, OBJECTS,
        ["first": INT, "count": INT, "request": WORD],
        "Partitions of a partitioned send were marked ready";
    PARTITION_ARRIVED = "partition_arrived", REQUESTS, NO_OBJECT, OBJECTS, ["partition": INT, "request": WORD],
        "A partition of a partitioned receive was seen to have arrived";
    OBJECT_CREATED = "object_created", OBJECTS, NO_OBJECT, OBJECTS,
        ["kind": INT, "function": INT, "handle": WORD, "object": WORD, "parent": WORD],
        "An MPI object was made: communicator, group, datatype, operation, matched message, window, file, info, error \
         handler, session or keyval; requests have types of their own. The function is -1 if the library made it itself";
    OBJECT_FREED = "object_freed", OBJECTS, NO_OBJECT, OBJECTS, ["kind": INT, "handle": WORD, "object": WORD],
        "An MPI object was freed, a matched message received";
    OBJECT_NAMED = "object_named", OBJECTS, NO_OBJECT, OBJECTS, ["kind": INT, "handle": WORD, "object": WORD],
        "A communicator, datatype or window got a name";
    OBJECT_ATTACHED = "object_attached", OBJECTS, NO_OBJECT, OBJECTS, ["kind": INT, "handle": WORD, "object": WORD],
        "Something was attached to this object, or changed: an attribute, an error handler, an info object, memory, a view";
    DATATYPE_COMMITTED = "datatype_committed", OBJECTS, NO_OBJECT, OBJECTS, ["handle": WORD],
        "A datatype was committed";
    COMM_FREED = "comm_freed", OBJECTS, MPI_COMM, OBJECTS, ["handle": WORD],
        "The communicator was freed";
    COMM_NAMED = "comm_named", OBJECTS, MPI_COMM, OBJECTS, ["handle": WORD],
        "The communicator got a name";
    WIN_FREED = "win_freed", RMA, MPI_WIN, OBJECTS, ["handle": WORD],
        "The window was freed";
    EPOCH_OPENED = "rma_epoch_opened", RMA, MPI_WIN, OBJECTS, ["epoch": INT],
        "An epoch of the window began in this process";
    EPOCH_CLOSED = "rma_epoch_closed", RMA, MPI_WIN, OBJECTS, ["epoch": INT],
        "An epoch of the window ended in this process";
    RMA_OPERATION = "rma_operation", RMA, MPI_WIN, OBJECTS, ["function": INT, "target": INT, "bytes": WORD],
        "A one-sided operation was started on the window";
    FILE_OPENED = "file_opened", FILES, NO_OBJECT, OBJECTS, ["handle": WORD, "object": WORD],
        "A file was opened";
    FILE_READ = "file_read", FILES, MPI_FILE, OBJECTS, ["function": INT, "bytes": WORD, "duration": WORD],
        "The program read the file, or started to";
    FILE_WRITTEN = "file_written", FILES, MPI_FILE, OBJECTS, ["function": INT, "bytes": WORD, "duration": WORD],
        "The program wrote the file, or started to";
    FILE_CLOSED = "file_closed", FILES, MPI_FILE, OBJECTS, ["handle": WORD],
        "The file was closed";
    SPAWNED = "processes_spawned", PROCESS, NO_OBJECT, OBJECTS, ["comm": WORD],
        "MPI_Comm_spawn or MPI_Comm_spawn_multiple gave an intercommunicator";
    CONNECTED = "processes_connected", PROCESS, NO_OBJECT, OBJECTS, ["comm": WORD],
        "MPI_Comm_connect gave an intercommunicator";
    ACCEPTED = "processes_accepted", PROCESS, NO_OBJECT, OBJECTS, ["comm": WORD],
        "MPI_Comm_accept gave an intercommunicator";
    JOINED = "processes_joined", PROCESS, NO_OBJECT, OBJECTS, ["comm": WORD],
        "MPI_Comm_join gave an intercommunicator";
    DISCONNECTED = "processes_disconnected", PROCESS, NO_OBJECT, OBJECTS, ["comm": WORD],
        "MPI_Comm_disconnect returned: the handle is no longer valid";
    THREAD_SEEN = "thread_seen", PROCESS, NO_OBJECT, CALLS, ["thread": INT],
        "A thread called MPI for the first time";
    RECORDS_LOST = "records_lost", RECORDING, NO_OBJECT, CALLS, ["count": WORD],
        "Records found no room since the last such event";
    CVAR_WRITTEN = "cvar_written", RECORDING, NO_OBJECT, CALLS, ["cvar": INT],
        "A control variable was written through this interface";
    WATERMARK_PASSED = "watermark_passed", RECORDING, NO_OBJECT, OBJECTS, ["pvar": INT, "value": WORD],
        "A level of the process was higher than ever before: one of pending requests or posted receives";
}

// Sets of types are words.
const _: () = assert!(KINDS.len() <= 64);

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

    #[test]
    fn every_element_is_explained_and_every_explanation_is_needed() {
        let used: Vec<&str> =
            KINDS.iter().flat_map(|about| about.elements).map(|(element, _)| *element).collect();
        for element in &used {
            assert!(!meaning(element).is_empty(), "{element} is not explained");
        }
        for (element, _) in ELEMENTS {
            assert!(used.contains(element), "nothing has an element {element}");
        }
    }
}
