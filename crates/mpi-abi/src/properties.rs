//! Properties of the calls of each function: columns of the function table.
//!
//! The words stored in an image ([`Properties::word`], [`Fields::word`]) have one byte per code and one bit
//! per flag, so that readers of other versions can decode them. Unknown codes are kept unchanged.

use std::fmt;

use crate::predefined::ObjectKind;

/// Declares an open set of codes: a `u8` newtype with named constants.
macro_rules! codes {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $value:ident = $number:literal $text:literal,)* }) => {
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
        pub struct $name(pub u8);

        impl $name {
            $($(#[$vdoc])* pub const $value: Self = Self($number);)*

            /// The word for it in the table; `-` for the first, `?` for a value of a later version.
            pub const fn name(self) -> &'static str {
                match self.0 { $($number => $text,)* _ => "?" }
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

codes! {
    /// The subject of a function, following the chapters of the standard.
    Class {
        /// Unknown: the version that wrote the image did not record it.
        UNKNOWN = 0 "?",
        /// Initialization and termination, errors, memory, the process's environment.
        ENVIRONMENT = 1 "environment",
        /// Messages, probes, partitioned messages, buffers for them.
        POINT_TO_POINT = 2 "point-to-point",
        /// Completion of requests, statuses, starting of persistent requests.
        REQUESTS = 3 "requests",
        /// Collective communication, including that among neighbors.
        COLLECTIVE = 4 "collective",
        /// Communicators, topologies, groups, datatypes, operations, attributes, error handlers, infos.
        OBJECTS = 5 "objects",
        /// Windows and operations on them.
        ONE_SIDED = 6 "one-sided",
        /// Files.
        IO = 7 "io",
        /// Spawning, connecting and disconnecting.
        DYNAMIC = 8 "dynamic",
        /// Work on local data: packing, reducing.
        LOCAL = 9 "local",
        /// Conversion of handles to and from Fortran.
        CONVERSION = 10 "conversion",
        /// The tool information interface.
        TOOL = 11 "tool",
    }
}

codes! {
    /// The part of an operation that a call leaves to a later call.
    Start {
        /// Nothing: the operation is done when the call returns.
        NONE = 0 "-",
        /// A pending operation: its request, or the access to the window, must be completed.
        NONBLOCKING = 1 "nonblocking",
        /// A persistent request, which must be started.
        PERSISTENT = 2 "persistent",
        /// A persistent request of a partitioned message.
        PARTITIONED = 3 "partitioned",
        /// It starts persistent requests, which must be completed.
        START = 4 "start",
        /// A split collective, which must be ended.
        BEGIN = 5 "begin",
        /// Nothing: it ends a split collective.
        END = 6 "end",
    }
}

codes! {
    /// What a call may have to wait for before it returns.
    Waits {
        /// Nothing: a local call, or the start of an operation.
        NOTHING = 0 "-",
        /// The buffering of its message, or the receiver.
        SEND = 1 "send",
        /// A message, received or probed for.
        RECEIVE = 2 "receive",
        /// Completion of requests: [`Properties::completes`] says how many.
        REQUESTS = 3 "requests",
        /// Other members of a communicator, window or file, which must make the same call.
        COLLECTIVE = 4 "collective",
        /// One-sided synchronization.
        SYNCHRONIZATION = 5 "synchronization",
        /// Processes of another job, or a server that connects them.
        CONNECTION = 6 "connection",
        /// Storage.
        FILE = 7 "file",
    }
}

codes! {
    /// The processes whose participation an operation needs.
    Partners {
        /// None.
        NONE = 0 "-",
        /// The rank in the arguments: destination, source, or both.
        PEER = 1 "peer",
        /// The root; the root itself may need no other process.
        ROOT = 2 "root",
        /// All members except the root; needed only by the root.
        LEAVES = 3 "leaves",
        /// All lower ranks.
        LOWER = 4 "lower",
        /// All members of the communicator, window or file.
        ALL = 5 "all",
        /// The neighbors in the communicator's topology.
        NEIGHBORS = 6 "neighbors",
        /// The members of a group among the arguments.
        GROUP = 7 "group",
        /// The members of two groups among the arguments.
        GROUPS = 8 "groups",
        /// The target of one-sided communication.
        TARGET = 9 "target",
        /// All targets of the access epoch.
        TARGETS = 10 "targets",
        /// All origins of the exposure epoch.
        ORIGINS = 11 "origins",
        /// Another job, or a server.
        REMOTE = 12 "remote",
        /// All connected processes.
        CONNECTED = 13 "connected",
        /// The processes needed by operations that were started earlier.
        OPERATIONS = 14 "operations",
    }
}

codes! {
    /// How many of the requests passed to it a call completes.
    Completes {
        /// None, or no request is passed.
        NONE = 0 "-",
        /// The single request.
        ONE = 1 "one",
        /// All.
        ALL = 2 "all",
        /// Any one.
        ANY = 3 "any",
        /// At least one.
        SOME = 4 "some",
    }
}

codes! {
    /// The direction in which an operation moves data.
    Moves {
        /// No data.
        NONE = 0 "-",
        /// To another rank.
        SEND = 1 "send",
        /// From another rank.
        RECEIVE = 2 "receive",
        /// To a destination and from a source.
        EXCHANGE = 3 "exchange",
        /// Among the members of a communicator.
        COLLECTIVE = 4 "collective",
        /// Into a window.
        PUT = 5 "put",
        /// Out of a window.
        GET = 6 "get",
        /// Into a window, returning its previous contents.
        FETCH = 7 "fetch",
        /// From a file.
        READ = 8 "read",
        /// Into a file.
        WRITE = 9 "write",
        /// Within the process.
        LOCAL = 10 "local",
    }
}

impl Partners {
    /// Whether all members of the communicator, window or file must make the call. Members that have not made
    /// it may be waited for, since the standard allows every collective to synchronize. `false` for calls
    /// that only some members make, and for those among neighbors.
    pub const fn are_all_members(self) -> bool {
        matches!(self, Self::ROOT | Self::LEAVES | Self::LOWER | Self::ALL)
    }
}

/// Flags of a function.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
#[repr(transparent)]
pub struct Flags(pub u16);

impl Flags {
    /// No flag.
    pub const NONE: Flags = Flags(0);
    /// A large-count variant: its name ends in `_c`.
    pub const C: Flags = Flags(1);
    /// Has a large-count variant.
    pub const HAS_C: Flags = Flags(1 << 1);
    /// The preload library does not intercept it.
    pub const UNTRACED: Flags = Flags(1 << 2);
    /// Takes variable arguments.
    pub const VARIADIC: Flags = Flags(1 << 3);
    /// Removed in MPI-3.0, but still exported by libraries.
    pub const REMOVED: Flags = Flags(1 << 4);
    /// Collective according to the standard.
    pub const COLLECTIVE: Flags = Flags(1 << 5);
    /// Answers from local information and changes nothing.
    pub const LOOKUP: Flags = Flags(1 << 6);
    /// Tests whether something has happened that another function would wait for.
    pub const POLLING: Flags = Flags(1 << 7);
    /// A collective whose members must all pass the same number of elements of the same types.
    pub const ALIKE: Flags = Flags(1 << 8);
    /// The same, except for the root, which may pass `MPI_IN_PLACE`.
    pub const LEAVES_ALIKE: Flags = Flags(1 << 9);
    /// Programs call it in loops.
    pub const FREQUENT: Flags = Flags(1 << 10);

    const NAMES: [(Flags, &'static str); 11] = [
        (Flags::C, "c"),
        (Flags::HAS_C, "has_c"),
        (Flags::UNTRACED, "untraced"),
        (Flags::VARIADIC, "variadic"),
        (Flags::REMOVED, "removed"),
        (Flags::COLLECTIVE, "collective"),
        (Flags::LOOKUP, "lookup"),
        (Flags::POLLING, "polling"),
        (Flags::ALIKE, "alike"),
        (Flags::LEAVES_ALIKE, "leaves_alike"),
        (Flags::FREQUENT, "frequent"),
    ];

    /// The union of both sets of flags.
    #[must_use]
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// Whether all flags of `other` are set.
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set = Flags::NAMES.iter().filter(|(flag, _)| self.has(*flag));
        f.debug_set().entries(set.map(|(_, name)| name)).finish()
    }
}

/// The properties of a function's calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Properties {
    /// The subject of the function.
    pub class: Class,
    /// The part of the operation left to a later call.
    pub start: Start,
    /// What a call may wait for.
    pub waits: Waits,
    /// The processes whose participation its operation needs.
    pub partners: Partners,
    /// How many of its requests a call completes.
    pub completes: Completes,
    /// The direction in which it moves data.
    pub moves: Moves,
    /// All other properties.
    pub flags: Flags,
}

impl Properties {
    /// Encodes the properties as a word of the image: one byte per code in the order of the fields, and the
    /// flags in the upper two bytes.
    pub const fn word(self) -> u64 {
        let [low, high] = self.flags.0.to_le_bytes();
        let (class, start, waits) = (self.class.0, self.start.0, self.waits.0);
        u64::from_le_bytes([class, start, waits, self.partners.0, self.completes.0, self.moves.0, low, high])
    }

    /// Decodes a word of an image; `None` if the image does not record the properties.
    pub const fn from_word(word: u64) -> Option<Properties> {
        let [class, start, waits, partners, completes, moves, low, high] = word.to_le_bytes();
        if class == Class::UNKNOWN.0 {
            return None;
        }
        Some(Properties {
            class: Class(class),
            start: Start(start),
            waits: Waits(waits),
            partners: Partners(partners),
            completes: Completes(completes),
            moves: Moves(moves),
            flags: Flags(u16::from_le_bytes([low, high])),
        })
    }

    /// Whether the call may return without anything having happened: it only polls, or it waits for requests, none of which
    /// need be active.
    pub const fn may_find_nothing(self) -> bool {
        self.flags.has(Flags::POLLING) || !matches!(self.completes, Completes::NONE)
    }

    /// Whether all members of the communicator, window or file that the call operates on make the call, and
    /// it may wait for them.
    pub const fn waits_for_all_members(self) -> bool {
        let together = matches!(self.waits, Waits::COLLECTIVE | Waits::CONNECTION | Waits::SYNCHRONIZATION);
        together && self.partners.are_all_members()
    }
}

/// The meaning of the rank in a call's `peer`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Destination of the message.
    Destination,
    /// Source of the message.
    Source,
    /// Root of a collective.
    Root,
    /// Anything else: target of a one-sided operation, leader, and so on.
    Other,
}

/// The fields of a call's record that the function sets: those that the standard makes significant on every
/// process. The other fields hold the values of an earlier call.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Fields {
    /// `object`, and its kind.
    pub object: Option<ObjectKind>,
    /// `peer`, and its role.
    pub peer: Option<Role>,
    /// `datatype`.
    pub datatype: bool,
    /// `count`: of elements, or of requests.
    pub count: bool,
    /// `tag`.
    pub tag: bool,
    /// `request`, holding a request.
    pub request: bool,
    /// `request`, holding a matched message.
    pub message: bool,
    /// The receive side of a send-receive: source and tag in `extra`.
    pub receive: bool,
    /// The operation, in `extra`.
    pub op: bool,
    /// The leader of the local group, in `extra`.
    pub leader: bool,
    /// A second object in `extra`, and its kind: the group of processes that make the call, or the
    /// communicator through which the leaders of two groups find each other.
    pub other: Option<ObjectKind>,
}

impl Fields {
    /// No field.
    pub const NONE: Fields = Fields {
        object: None,
        peer: None,
        datatype: false,
        count: false,
        tag: false,
        request: false,
        message: false,
        receive: false,
        op: false,
        leader: false,
        other: None,
    };

    /// Returns whether `peer` is the root of a collective, which all members must agree on. Only one member
    /// needs to know the leader of another group.
    pub fn root(self) -> bool {
        self.peer == Some(Role::Root)
    }

    /// Encodes the fields as a word of the image: the kind of the object (zero: no object), the role of the
    /// peer (zero: no peer), one bit for each boolean field, the kind of the second object.
    pub const fn word(self) -> u64 {
        let object = match self.object {
            Some(kind) => kind.0,
            None => 0,
        };
        let peer = match self.peer {
            None => 0,
            Some(Role::Destination) => 1,
            Some(Role::Source) => 2,
            Some(Role::Root) => 3,
            Some(Role::Other) => 4,
        };
        let bits = self.datatype as u8
            | (self.count as u8) << 1
            | (self.tag as u8) << 2
            | (self.request as u8) << 3
            | (self.message as u8) << 4
            | (self.receive as u8) << 5
            | (self.op as u8) << 6
            | (self.leader as u8) << 7;
        let other = match self.other {
            Some(kind) => kind.0,
            None => 0,
        };
        u64::from_le_bytes([object, peer, bits, other, 0, 0, 0, 0])
    }

    /// Decodes a word of an image.
    pub const fn from_word(word: u64) -> Fields {
        let [object, peer, bits, other, ..] = word.to_le_bytes();
        Fields {
            object: if object == 0 { None } else { Some(ObjectKind(object)) },
            peer: match peer {
                0 => None,
                1 => Some(Role::Destination),
                2 => Some(Role::Source),
                3 => Some(Role::Root),
                _ => Some(Role::Other),
            },
            datatype: bits & 1 != 0,
            count: bits & 1 << 1 != 0,
            tag: bits & 1 << 2 != 0,
            request: bits & 1 << 3 != 0,
            message: bits & 1 << 4 != 0,
            receive: bits & 1 << 5 != 0,
            op: bits & 1 << 6 != 0,
            leader: bits & 1 << 7 != 0,
            other: if other == 0 { None } else { Some(ObjectKind(other)) },
        }
    }
}
