//! Communication as the layer tracks it: messages, requests, probes, collectives.
//!
//! | module | contents |
//! | --- | --- |
//! | [`facts`] | one function per fact: the only place where counters and ledger are written and events raised |
//! | [`requests`], [`table`] | life of request records; mapping of handles to records |
//! | [`nonblocking`], [`completion`] | hooks of the functions that make, start, free and complete requests |
//! | [`blocking`], [`probes`], [`collectives`] | hooks of the others |
//! | [`envelope`], [`channel`], [`operations`] | what the hooks know of a message, a communicator, an operation |
//! | [`lines`], [`comm_cache`], [`peers`], [`spare_peers`] | looking up communicators; messages exchanged with each rank |
//! | [`ledger`], [`recent`] | rings of messages, if they are recorded one by one; rings of the last envelopes, always |
//! | [`contents`], [`watched`], [`buffers`] | whether buffers stay unchanged until operations are complete; the buffers of collectives |
//! | [`history`], [`rings`], [`totals`] | the last collectives of each communicator; their total contributions and expectations |
//! | [`faults`], [`fault_ring`] | errors seen in calls |
//! | [`rejected`] | which errors mean that a collective did not take place |
//! | [`orphans`] | receives that the program freed while they were active: when they end |
//! | [`probed`] | probe calls whose message has not been received yet |
//! | [`polling`], [`preempted`], [`ran`] | loops over calls that query without waiting; when they were not running |
//! | [`status`], [`scratch`] | reading statuses; a thread's state between the hooks before and after a call |
//! | [`state`], [`levels`], [`wait_listener`] | the shared state and its lock; what listeners listen to |
//!
//! `hooks/traffic.tsv` lists the hooks of each function. With times on, a hooked call costs two readings of
//! the clock; these hooks do their work after the second.
//!
//! # Threads
//!
//! If the program may call MPI from several threads at once, a spin lock is held around each hook's work
//! (never around the library's). Otherwise there is no lock and no locked instruction.
//!
//! # The usual case
//!
//! Usually one thread calls MPI, no tool has registered for events or watches a level, no ledger is kept, and
//! no receive was freed while active. One word records this ([`state::reconsider`]), and the most expensive
//! hooks are compiled a second time for this case ([`state::with`]).

pub mod blocking;
pub mod buffers;
pub mod channel;
pub mod collectives;
pub mod comm_cache;
pub mod completion;
pub mod contents;
pub mod data;
pub mod envelope;
pub mod facts;
pub mod fault_ring;
pub mod faults;
pub mod freed;
pub mod history;
pub mod ledger;
pub mod levels;
pub mod lines;
pub mod nonblocking;
pub mod one_sided;
pub mod one_sided_ring;
pub mod operations;
pub mod orphans;
pub mod peers;
pub mod polling;
pub mod preempted;
pub mod probed;
pub mod probes;
pub mod ran;
pub mod recent;
pub mod rejected;
pub mod requests;
pub mod rings;
pub mod scratch;
pub mod scratch_memory;
pub mod spare_peers;
pub mod state;
pub mod status;
pub mod table;
pub mod totals;
pub mod wait_listener;
pub mod watched;

mod start;

pub use blocking::left;
pub use start::{finalizing, initialized, session_initialized};
