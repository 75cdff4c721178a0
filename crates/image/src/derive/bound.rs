//! Performance variables of individual objects, stored as words of their records.
//!
//! The preload library publishes them bound to a communicator, file or window; readers show them for other
//! processes.

use crate::objects::{Comm, File, Window};
use crate::traffic::Peer;

/// The unit of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// A plain number.
    Plain,
    /// Ticks, shown as seconds.
    Ticks,
}

/// The classes of these variables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Class {
    Counter,
    Timer,
    Level,
    Size,
}

impl Class {
    /// The class's name in the standard, without the prefix.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Counter => "COUNTER",
            Self::Timer => "TIMER",
            Self::Level => "LEVEL",
            Self::Size => "SIZE",
        }
    }
}

/// A variable of an object whose record is a `T`.
pub struct OfObject<T> {
    /// The variable's name.
    pub name: &'static str,
    /// Its class in the tool interface.
    pub class: Class,
    #[allow(missing_docs)]
    pub unit: Unit,
    #[allow(missing_docs)]
    pub value: fn(&T) -> u64,
}

impl<T> OfObject<T> {
    const fn counter(name: &'static str, value: fn(&T) -> u64) -> Self {
        Self { name, class: Class::Counter, unit: Unit::Plain, value }
    }
}

/// Variables of each rank of a communicator.
pub static PEERS: [OfObject<Peer>; 4] = [
    OfObject::counter("mpiscope_messages_sent", |peer| peer.sent.get()),
    OfObject::counter("mpiscope_bytes_sent", |peer| peer.sent_bytes.get()),
    OfObject::counter("mpiscope_messages_received", |peer| peer.received.get()),
    OfObject::counter("mpiscope_bytes_received", |peer| peer.received_bytes.get()),
];

/// A variable of a communicator.
pub static COLLECTIVES: OfObject<Comm> = OfObject::counter("mpiscope_collectives", |comm| {
    comm.collectives.get().wrapping_add(comm.restarts.get())
});

/// Variables of a file.
pub static FILES: [OfObject<File>; 5] = [
    OfObject::counter("mpiscope_file_reads", |file| file.reads.get()),
    OfObject::counter("mpiscope_file_writes", |file| file.writes.get()),
    OfObject::counter("mpiscope_file_bytes_read", |file| file.read_bytes.get()),
    OfObject::counter("mpiscope_file_bytes_written", |file| file.written_bytes.get()),
    OfObject {
        name: "mpiscope_file_time",
        class: Class::Timer,
        unit: Unit::Ticks,
        value: |file| file.ticks.get(),
    },
];

/// Variables of a window.
pub static WINDOWS: [OfObject<Window>; 5] = [
    OfObject::counter("mpiscope_puts", |window| window.puts.get()),
    OfObject::counter("mpiscope_gets", |window| window.gets.get()),
    OfObject::counter("mpiscope_accumulates", |window| window.accumulates.get()),
    OfObject {
        name: "mpiscope_window_pending",
        class: Class::Level,
        unit: Unit::Plain,
        value: |window| window.pending.get(),
    },
    OfObject {
        name: "mpiscope_window_size",
        class: Class::Size,
        unit: Unit::Plain,
        value: |window| window.size.get(),
    },
];

/// Number of messages on a communicator that are waiting without a receive: see
/// [`unexpected`](super::unexpected).
pub const UNEXPECTED: [&str; 2] = ["MPI_T_UMQ_LENGTH", "mpiscope_unexpected_messages"];
/// Number of ranks that a process can communicate with on a communicator.
pub const COMM_SIZE: &str = "mpiscope_comm_size";
