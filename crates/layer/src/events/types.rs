//! The event types: names, descriptions, elements. Each type is described completely by one row.
//!
//! A row generates a structure, which is filled in by the code that raises the event, and the description
//! that tools see, composed of the type's own and those of its elements. An element of a given name has the
//! same meaning in all types.

use super::payload::{Element, Payload};
use crate::base::topic::Topic;
use mpiscope_image::layout::Recording;
use mpit::{Bind, Datatype};
use std::mem::offset_of;

/// An event type: its index in [`EVENT_TYPES`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventKind(pub usize);

impl EventKind {
    /// The type's bit in a set of types.
    pub const fn bit(self) -> u64 {
        1 << self.0
    }
}

/// The elements of an event of one type.
pub trait Event {
    /// The type.
    const KIND: EventKind;

    /// The elements as tools read them.
    fn payload(&self) -> Payload;
}

/// Describes an element of an event type.
pub struct ElementDescription {
    /// The name.
    pub name: &'static str,
    /// Its datatype.
    pub datatype: Datatype,
    /// Its offset in the payload.
    #[cfg(test)]
    pub offset: usize,
}

/// Describes an event type.
pub struct EventDescription {
    /// The name that tools search for.
    pub name: &'static str,
    /// When it is raised.
    pub desc: &'static str,
    /// The topic it belongs to.
    pub topic: Topic,
    /// The kind of object a registration is bound to.
    pub bind: Bind,
    /// Its elements, in order.
    pub elements: &'static [ElementDescription],
    /// What must be recorded for it: bits of [`Recording`].
    pub recording: u32,
}

impl EventDescription {
    /// The same type without a binding: one registration receives the events of all objects.
    pub fn twin(&self) -> Self {
        let name = self.name.strip_prefix(PREFIX).unwrap_or(self.name);
        // Leaked once per type.
        let name = format!("{PREFIX}any.{name}").leak();
        let desc = format!("Like {}, for every {}: {}", self.name, self.bound_to(), self.desc).leak();
        Self { name, desc, bind: Bind::NO_OBJECT, ..*self }
    }

    fn bound_to(&self) -> &'static str {
        match self.bind {
            Bind::MPI_COMM => "communicator",
            Bind::MPI_WIN => "window",
            Bind::MPI_FILE => "file",
            _ => "object",
        }
    }

    /// The description, including those of all elements.
    pub fn full_desc(&self) -> String {
        let elements = self.elements.iter().map(|e| format!("{}: {}", e.name, meaning(e.name)));
        let elements: Vec<String> = elements.collect();
        let bound = match self.bind {
            Bind::NO_OBJECT => String::new(),
            _ => format!(" A registration is for one {}.", self.bound_to()),
        };
        format!("{}.{bound} Elements: {}", self.desc, elements.join("; "))
    }
}

/// Prefix of all names.
const PREFIX: &str = "mpiscope.";

/// The meanings of the elements.
const ELEMENTS: &[(&str, &str)] = &[
    ("function", "the MPI function, an item of the enumeration mpiscope_function"),
    ("thread", "the kernel's number of the thread"),
    ("caller", "address behind the call in the program; from 2^63 on it stands for a line of Python"),
    (
        "bytes",
        "how many bytes, by the call's arguments; of what was received where a message arrived, 2^64 - 1 if the library does not \
         say how many those were",
    ),
    ("duration", "ticks of the source that the call took"),
    ("code", "the error code"),
    ("class", "its error class"),
    (
        "peer",
        "rank of the other side in the communicator (in its remote group, if it has one), or MPI_ANY_SOURCE",
    ),
    (
        "world_peer",
        "rank of the other side in MPI_COMM_WORLD, MPI_UNDEFINED if it is not in it or the communicator has been freed, or \
         MPI_ANY_SOURCE",
    ),
    ("tag", "the tag, or MPI_ANY_TAG"),
    ("posted", "when the receive was posted, in ticks of the source"),
    ("sent", "when the sender began to send, in ticks of the source"),
    ("operation", "what the request is for, an item of the enumeration mpiscope_request_kind"),
    ("request", "handle of the request"),
    ("started", "when it was started, in ticks of the source"),
    ("comm_id", "number of the communicator, the same on all its members; 0 if the operation has none"),
    (
        "id",
        "number of the operation, the same in all events of one send, receive, collective or other operation of this \
         process and of its request, also for each start of a persistent one; they count up as operations are posted, and both \
         halves of a send and receive have one. Both ends of a message: of those with the same comm_id, sender, receiver and \
         tag (see world_peer), the nth send posted belongs to the nth receive by its id (sends and receives that were cancelled \
         left out, partitioned ones apart)",
    ),
    ("number", "counts the collectives of the communicator from 1, alike on all its members"),
    ("root", "rank of the root, -1 for operations without one"),
    ("partitions", "how many partitions a partitioned operation has, 0 for any other"),
    ("first", "the first partition"),
    ("partition", "the partition"),
    ("count", "how many"),
    ("kind", "what the object is, an item of the enumeration mpiscope_object_kind"),
    ("handle", "its handle"),
    ("object", "its number, which no other object of the process ever has"),
    ("parent", "number of the object that it was made from, 0 for none"),
    ("epoch", "how it is synchronized: 1 fence, 2 start and complete, 4 post and wait, 8 lock, 16 lock_all"),
    ("target", "rank of the target in the window's group"),
    ("comm", "handle of the intercommunicator"),
    ("cvar", "index of the control variable"),
    ("pvar", "index of the performance variable"),
    ("value", "the new value"),
];

fn meaning(element: &str) -> &'static str {
    ELEMENTS.iter().find(|(name, _)| *name == element).map_or("", |(_, meaning)| meaning)
}

const CALLS: u32 = Recording::CALLS.0 | Recording::TIMES.0;
const OBJECTS: u32 = CALLS | Recording::OBJECTS.0;
const LEDGER: u32 = OBJECTS | Recording::MESSAGES.0;

macro_rules! event_types {
    ($(
        $event:ident = $name:literal, $topic:ident, $bind:ident, $recording:ident { $($element:ident: $type:ty),* $(,)? }
        $desc:literal;
    )*) => {
        /// The order of the types.
        enum Position {
            $($event),*
        }

        $(
            #[doc = $desc]
            #[allow(missing_docs)]
            #[derive(Clone, Copy)]
            #[repr(C)]
            pub struct $event {
                $(pub $element: $type),*
            }

            const _: () = assert!(size_of::<$event>() <= Payload::ROOM);

            impl Event for $event {
                const KIND: EventKind = EventKind(Position::$event as usize);

                #[inline(always)]
                fn payload(&self) -> Payload {
                    let mut payload = Payload::new();
                    $(self.$element.put(offset_of!(Self, $element), &mut payload);)*
                    payload
                }
            }
        )*

        /// All event types, ordered by index.
        pub const EVENT_TYPES: &[EventDescription] = &[$(EventDescription {
            name: concat!("mpiscope.", $name),
            desc: $desc,
            topic: Topic::$topic,
            bind: Bind::$bind,
            elements: &[$(ElementDescription {
                name: stringify!($element),
                datatype: <$type as Element>::DATATYPE,
                #[cfg(test)]
                offset: offset_of!($event, $element),
            }),*],
            recording: $recording,
        }),*];
    };
}

event_types! {
    CallStarted = "call_started", Calls, NO_OBJECT, CALLS { function: i32, thread: i32, caller: u64 }
        "The program entered an MPI function; reported before the library is called";
    CallEnded = "call_ended", Calls, NO_OBJECT, CALLS {
        function: i32, thread: i32, caller: u64, bytes: u64, duration: u64,
    }
        "An MPI function returned";
    ErrorRaised = "error_raised", Process, NO_OBJECT, CALLS { function: i32, code: i32, class: i32 }
        "An MPI function returned an error code";
    SendPosted = "send_posted", Messages, MPI_COMM, OBJECTS {
        peer: i32, tag: i32, bytes: u64, comm_id: u64, id: u64, world_peer: i32,
        partitions: i32,
    }
        "A send was started";
    SendCompleted = "send_completed", Messages, MPI_COMM, OBJECTS {
        peer: i32, tag: i32, bytes: u64, comm_id: u64, id: u64, world_peer: i32,
        partitions: i32,
    }
        "The program learned that a send is complete";
    SendCancelled = "send_cancelled", Messages, MPI_COMM, OBJECTS {
        peer: i32, tag: i32, comm_id: u64, id: u64, world_peer: i32,
        partitions: i32,
    }
        "A send was cancelled, or its call failed: its message never arrives";
    ReceivePosted = "receive_posted", Messages, MPI_COMM, OBJECTS {
        peer: i32, tag: i32, comm_id: u64, id: u64, world_peer: i32,
        partitions: i32,
    }
        "A receive was posted, with this source and tag. A message that MPI_Mprobe or MPI_Improbe got has none: its \
         receive_matched stands for it";
    ReceiveMatched = "receive_matched", Messages, MPI_COMM, OBJECTS {
        peer: i32, tag: i32, bytes: u64, comm_id: u64, id: u64, world_peer: i32,
        partitions: i32,
    }
        "A receive or a matching probe got its message: actual source and tag. Reported when the program learns it";
    ReceiveCompleted = "receive_completed", Messages, MPI_COMM, OBJECTS {
        peer: i32, tag: i32, bytes: u64, posted: u64, comm_id: u64, id: u64, world_peer: i32,
        partitions: i32,
    }
        "The program got a message: actual source and tag. What the library does not say (the status of MPI_Isendrecv on \
         MPICH and Intel MPI) is as the receive named it, wildcards included";
    ReceiveCancelled = "receive_cancelled", Messages, MPI_COMM, OBJECTS {
        peer: i32, tag: i32, comm_id: u64, id: u64, world_peer: i32,
        partitions: i32,
    }
        "A posted receive was cancelled, failed, or its call was left by an error handler that does not return: it gets no \
         message";
    ReceiveUnexpected = "receive_unexpected", Messages, MPI_COMM, LEDGER {
        peer: i32, tag: i32, bytes: u64, sent: u64, posted: u64, comm_id: u64, id: u64, world_peer: i32,
        partitions: i32,
    }
        "A receive was posted after its message had been sent: the message was waiting. For senders on this node that \
         record messages too";
    ReceiveLate = "receive_late", Messages, MPI_COMM, LEDGER {
        peer: i32, tag: i32, bytes: u64, sent: u64, posted: u64, comm_id: u64, id: u64, world_peer: i32,
        partitions: i32,
    }
        "A receive waited for its sender: the message was sent after the receive had been posted. For senders on this \
         node that record messages too";
    RequestStarted = "request_started", Requests, NO_OBJECT, OBJECTS {
        operation: i32, peer: i32, tag: i32, request: u64, bytes: u64, comm_id: u64, id: u64,
    }
        "An operation with a request was started";
    RequestCompleted = "request_completed", Requests, NO_OBJECT, OBJECTS {
        operation: i32, peer: i32, tag: i32, request: u64, started: u64, bytes: u64, comm_id: u64, id: u64,
    }
        "The program learned that an operation with a request is complete";
    RequestFreed = "request_freed", Requests, NO_OBJECT, OBJECTS {
        operation: i32, request: u64, id: u64,
    }
        "A request object is gone, by completion or by being freed. An operation that was complete when its request was made \
         has none of its own: reported at once";
    CollectiveEntered = "collective_entered", Collectives, MPI_COMM, OBJECTS {
        function: i32, root: i32, comm_id: u64, number: u64, id: u64,
    }
        "A collective operation was entered; a persistent one when it is started, with the function that initialized it";
    CollectiveLeft = "collective_left", Collectives, MPI_COMM, OBJECTS {
        function: i32, root: i32, comm_id: u64, number: u64, bytes: u64, duration: u64, id: u64,
    }
        "The call of a collective operation returned; one with a request is complete with that. Bytes are this process's \
         part";
    PartitionReady = "partition_ready", Requests, NO_OBJECT, OBJECTS {
        first: i32, count: i32, request: u64, id: u64,
    }
        "Partitions of a partitioned send were marked ready";
    PartitionArrived = "partition_arrived", Requests, NO_OBJECT, OBJECTS {
        partition: i32, request: u64, id: u64,
    }
        "A partition of a partitioned receive was seen to have arrived";
    ObjectCreated = "object_created", Objects, NO_OBJECT, OBJECTS {
        kind: i32, function: i32, handle: u64, object: u64, parent: u64,
    }
        "An MPI object was made: communicator, group, datatype, operation, matched message, window, file, info, error \
         handler, session or keyval; requests have types of their own. The function is -1 if the library made it itself";
    ObjectFreed = "object_freed", Objects, NO_OBJECT, OBJECTS { kind: i32, handle: u64, object: u64 }
        "An MPI object was freed, a matched message received";
    ObjectNamed = "object_named", Objects, NO_OBJECT, OBJECTS { kind: i32, handle: u64, object: u64 }
        "A communicator, datatype or window was named";
    ObjectAttached = "object_attached", Objects, NO_OBJECT, OBJECTS { kind: i32, handle: u64, object: u64 }
        "Something was attached to this object, or changed: an attribute, an error handler, an info object, memory, a view";
    DatatypeCommitted = "datatype_committed", Objects, NO_OBJECT, OBJECTS { handle: u64 }
        "A datatype was committed";
    CommFreed = "comm_freed", Objects, MPI_COMM, OBJECTS { handle: u64, object: u64, comm_id: u64 }
        "The communicator was freed";
    CommNamed = "comm_named", Objects, MPI_COMM, OBJECTS { handle: u64, object: u64, comm_id: u64 }
        "The communicator was named";
    WinFreed = "win_freed", OneSided, MPI_WIN, OBJECTS { handle: u64, object: u64 }
        "The window was freed";
    RmaEpochOpened = "rma_epoch_opened", OneSided, MPI_WIN, OBJECTS { epoch: i32, object: u64 }
        "An epoch of the window began in this process";
    RmaEpochClosed = "rma_epoch_closed", OneSided, MPI_WIN, OBJECTS { epoch: i32, object: u64 }
        "An epoch of the window ended in this process";
    RmaOperation = "rma_operation", OneSided, MPI_WIN, OBJECTS {
        function: i32, target: i32, bytes: u64, object: u64,
    }
        "A one-sided operation was started on the window";
    FileOpened = "file_opened", Files, NO_OBJECT, OBJECTS { handle: u64, object: u64 }
        "A file was opened";
    FileRead = "file_read", Files, MPI_FILE, OBJECTS {
        function: i32, bytes: u64, duration: u64, object: u64,
    }
        "The program read the file, or started to";
    FileWritten = "file_written", Files, MPI_FILE, OBJECTS {
        function: i32, bytes: u64, duration: u64, object: u64,
    }
        "The program wrote the file, or started to";
    FileClosed = "file_closed", Files, MPI_FILE, OBJECTS { handle: u64, object: u64 }
        "The file was closed";
    ProcessesSpawned = "processes_spawned", Process, NO_OBJECT, OBJECTS { comm: u64 }
        "MPI_Comm_spawn or MPI_Comm_spawn_multiple returned an intercommunicator";
    ProcessesConnected = "processes_connected", Process, NO_OBJECT, OBJECTS { comm: u64 }
        "MPI_Comm_connect returned an intercommunicator";
    ProcessesAccepted = "processes_accepted", Process, NO_OBJECT, OBJECTS { comm: u64 }
        "MPI_Comm_accept returned an intercommunicator";
    ProcessesJoined = "processes_joined", Process, NO_OBJECT, OBJECTS { comm: u64 }
        "MPI_Comm_join returned an intercommunicator";
    ProcessesDisconnected = "processes_disconnected", Process, NO_OBJECT, OBJECTS { comm: u64 }
        "MPI_Comm_disconnect returned: the handle is no longer valid";
    ThreadSeen = "thread_seen", Process, NO_OBJECT, CALLS { thread: i32 }
        "A thread called MPI for the first time";
    RecordsLost = "records_lost", Recording, NO_OBJECT, CALLS { count: u64 }
        "Records were dropped for lack of space since the last such event";
    CvarWritten = "cvar_written", Recording, NO_OBJECT, CALLS { cvar: i32 }
        "A control variable was written through this interface";
    WatermarkPassed = "watermark_passed", Recording, NO_OBJECT, OBJECTS { pvar: i32, value: u64 }
        "A level of the process was higher than ever before: one of pending requests or posted receives";
}

// Sets of types are stored in one word.
const _: () = assert!(EVENT_TYPES.len() <= 64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_its_own_name_and_a_kind_is_its_index() {
        let name = |kind: EventKind| EVENT_TYPES.get(kind.0).map(|described| described.name);
        assert_eq!(name(SendPosted::KIND), Some("mpiscope.send_posted"));
        assert_eq!(name(WatermarkPassed::KIND), EVENT_TYPES.last().map(|described| described.name));
        let mut names: Vec<_> = EVENT_TYPES.iter().map(|described| described.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), EVENT_TYPES.len());
    }

    #[test]
    fn every_element_is_explained_and_every_explanation_is_needed() {
        let used: Vec<&str> =
            EVENT_TYPES.iter().flat_map(|described| described.elements).map(|element| element.name).collect();
        for element in &used {
            assert!(!meaning(element).is_empty(), "{element} is not explained");
        }
        for (element, _) in ELEMENTS {
            assert!(used.contains(element), "no type has an element {element}");
        }
    }

    #[test]
    fn elements_are_at_their_described_offsets_in_the_payload() {
        let payload = CallEnded { function: 7, thread: -1, caller: 9, bytes: 10, duration: 11 }.payload();
        let described = EVENT_TYPES.get(CallEnded::KIND.0).unwrap();
        let at = |name: &str| described.elements.iter().find(|e| e.name == name).unwrap().offset;
        assert_eq!(payload.as_ref()[at("thread")..][..4], (-1i32).to_ne_bytes());
        assert_eq!(payload.as_ref()[at("duration")..][..8], 11u64.to_ne_bytes());
    }
}
