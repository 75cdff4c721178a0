//! What the calls of a function do: columns of the function table.
//!
//! The words that go into an image ([`Properties::word`], [`Fields::word`]) have a byte for each code and a bit for each flag, so
//! that a reader of another version still finds its way: codes that it does not know are kept as they are.

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

            /// The word that the table has for it; `-` for the first, `?` for a value of a later version.
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
    /// What a function has to do with, by the chapters of the standard.
    Class {
        /// Not known: the image is of a version that did not say.
        UNKNOWN = 0 "?",
        /// Beginning and end, errors, memory, the process's surroundings.
        ENVIRONMENT = 1 "environment",
        /// Messages, probes, partitioned messages, buffers for them.
        POINT_TO_POINT = 2 "point-to-point",
        /// Completion of requests, statuses, starting what is persistent.
        REQUESTS = 3 "requests",
        /// Collective communication, also among neighbours.
        COLLECTIVE = 4 "collective",
        /// Communicators, topologies, groups, datatypes, operations, attributes, error handlers, infos.
        OBJECTS = 5 "objects",
        /// Windows and what is done on them.
        ONE_SIDED = 6 "one-sided",
        /// Files.
        IO = 7 "io",
        /// Spawning, connecting and parting.
        DYNAMIC = 8 "dynamic",
        /// Work on local data: packing, reducing.
        LOCAL = 9 "local",
        /// Handles to Fortran and back.
        CONVERSION = 10 "conversion",
        /// The tool information interface.
        TOOL = 11 "tool",
    }
}

codes! {
    /// What a call leaves to be done by another call.
    Start {
        /// Nothing: what it does is done when it returns.
        NONE = 0 "-",
        /// An operation under way: its request is to be completed, or the access to the window.
        NONBLOCKING = 1 "nonblocking",
        /// A persistent request that is to be started.
        PERSISTENT = 2 "persistent",
        /// A persistent request of a partitioned message.
        PARTITIONED = 3 "partitioned",
        /// It starts persistent requests, which are to be completed.
        START = 4 "start",
        /// A split collective that is to be ended.
        BEGIN = 5 "begin",
        /// Nothing: it ends a split collective.
        END = 6 "end",
    }
}

codes! {
    /// What may keep a call from returning.
    Waits {
        /// Nothing but the call's own work: a local call, or the start of an operation.
        NOTHING = 0 "-",
        /// The message's way into a buffer, or its receiver.
        SEND = 1 "send",
        /// A message, received or probed for.
        RECEIVE = 2 "receive",
        /// Completion of requests: [`Properties::completes`] says how many.
        REQUESTS = 3 "requests",
        /// Other members of a communicator, window or file, which are to make the same call.
        COLLECTIVE = 4 "collective",
        /// One-sided synchronisation.
        SYNCHRONIZATION = 5 "synchronization",
        /// Processes of another job, or a server that knows them.
        CONNECTION = 6 "connection",
        /// Storage.
        FILE = 7 "file",
    }
}

codes! {
    /// Whose participation an operation needs.
    Partners {
        /// Nobody's.
        NONE = 0 "-",
        /// The rank in the arguments: destination, source, or both.
        PEER = 1 "peer",
        /// The root; the root itself may need nobody.
        ROOT = 2 "root",
        /// Everybody but the root, by the root alone.
        LEAVES = 3 "leaves",
        /// All lower ranks.
        LOWER = 4 "lower",
        /// All members of the communicator, window or file.
        ALL = 5 "all",
        /// The neighbours in the communicator's topology.
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
        /// Whoever those operations need that were started before.
        OPERATIONS = 14 "operations",
    }
}

codes! {
    /// How many of the requests that it is given a call completes.
    Completes {
        /// It is given none, or completes none.
        NONE = 0 "-",
        /// The only one.
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
    /// What data an operation moves.
    Moves {
        /// None.
        NONE = 0 "-",
        /// To another rank.
        SEND = 1 "send",
        /// From another rank.
        RECEIVE = 2 "receive",
        /// To one rank and from one.
        EXCHANGE = 3 "exchange",
        /// Among the members of a communicator.
        COLLECTIVE = 4 "collective",
        /// Into a window.
        PUT = 5 "put",
        /// Out of a window.
        GET = 6 "get",
        /// Into a window, and what was there before out of it.
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
    /// All members of the communicator, window or file must make the call: whoever has not made it may be waited for, since
    /// the standard lets every collective synchronise. Not those that only some of the members make, and not the neighbourhood's.
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
    /// The preload library leaves it alone.
    pub const UNTRACED: Flags = Flags(1 << 2);
    /// Takes variable arguments.
    pub const VARIADIC: Flags = Flags(1 << 3);
    /// Removed in MPI-3.0, but exported by libraries.
    pub const REMOVED: Flags = Flags(1 << 4);
    /// The standard calls it collective.
    pub const COLLECTIVE: Flags = Flags(1 << 5);
    /// Answers from what the process knows, and changes nothing.
    pub const LOOKUP: Flags = Flags(1 << 6);
    /// Asks whether something has happened that another function would wait for.
    pub const POLLING: Flags = Flags(1 << 7);
    /// A collective whose members all name equally many elements of the same types.
    pub const ALIKE: Flags = Flags(1 << 8);
    /// The same, the root left out: it may pass `MPI_IN_PLACE`.
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

    /// Both.
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

/// What the calls of a function do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Properties {
    /// What it has to do with.
    pub class: Class,
    /// What it leaves to be done.
    pub start: Start,
    /// What it may wait for.
    pub waits: Waits,
    /// Whose participation its operation needs.
    pub partners: Partners,
    /// How many requests it completes.
    pub completes: Completes,
    /// What data it moves.
    pub moves: Moves,
    /// What else is to be known of it.
    pub flags: Flags,
}

impl Properties {
    /// As a word of the image: a byte for each code in the order of the fields, the flags in the upper two.
    pub const fn word(self) -> u64 {
        let [low, high] = self.flags.0.to_le_bytes();
        let (class, start, waits) = (self.class.0, self.start.0, self.waits.0);
        u64::from_le_bytes([class, start, waits, self.partners.0, self.completes.0, self.moves.0, low, high])
    }

    /// From a word of an image; nothing if the image does not say.
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

    /// Whether all members of the communicator, window or file that the call is about make it, and it may wait for them.
    pub const fn waits_for_all_members(self) -> bool {
        let together = matches!(self.waits, Waits::COLLECTIVE | Waits::CONNECTION | Waits::SYNCHRONIZATION);
        together && self.partners.are_all_members()
    }
}

/// What the rank in a call's `peer` is to the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Where the message goes.
    Destination,
    /// Where it comes from.
    Source,
    /// Root of a collective.
    Root,
    /// Target of a one-sided operation, leader, and so on.
    Other,
}

/// Which fields of a call's record the function sets: those that the standard makes significant on every process. The others
/// hold what an earlier call left.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Fields {
    /// `object`, and what it is.
    pub object: Option<ObjectKind>,
    /// `peer`, and its role.
    pub peer: Option<Role>,
    /// `datatype`.
    pub datatype: bool,
    /// `count`: of elements, or of requests.
    pub count: bool,
    /// `tag`.
    pub tag: bool,
    /// `request`, which is a request.
    pub request: bool,
    /// `request`, which is a matched message.
    pub message: bool,
    /// The receive side of a send-receive: source and tag in `extra`.
    pub receive: bool,
    /// The operation, in `extra`.
    pub op: bool,
    /// The leader of the local group, in `extra`.
    pub leader: bool,
    /// A second object in `extra`, and what it is: the group of those that make the call, or the communicator by which the leaders
    /// of two groups find each other.
    pub other: Option<ObjectKind>,
}

impl Fields {
    /// Nothing.
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

    /// As a word of the image: the kind of the object (zero: no object), the role of the peer (zero: no peer), a bit for each
    /// of the others, the kind of the second object.
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

    /// From a word of an image.
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
