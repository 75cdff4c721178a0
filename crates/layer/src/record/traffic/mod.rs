//! Communication as the layer follows it: messages, requests, probes, collectives.
//!
//! | module | has |
//! | --- | --- |
//! | [`facts`] | one function for each fact: counters and ledger are written, and events raised, only there |
//! | [`requests`], [`table`] | life of request records; handle to record |
//! | [`nonblocking`], [`completion`] | hooks of the functions that make, start, free and complete requests |
//! | [`blocking`], [`probes`], [`collectives`] | hooks of the others |
//! | [`lines`], [`peers`] | communicators at hand; what was exchanged with each rank |
//! | [`ledger`], [`recent`] | the rings of messages, if they are recorded one by one; those of the last envelopes, always |
//! | [`history`], [`totals`] | the last collectives of each communicator; what was given and expected in all |
//! | [`faults`] | what calls were seen to do wrong |
//! | [`orphans`] | receives that the program freed while they were active: when they have ended |
//! | [`probed`] | calls of probes whose message is not received yet |
//! | [`polling`], [`preempted`], [`ran`] | loops over functions that ask and do not wait; when these did not run |
//! | [`status`], [`scratch`] | reading statuses; what a thread keeps between before and after a call |
//! | [`state`] | what all share, and its lock |
//!
//! `hooks/traffic.tsv` says which function has which hooks. With times on, a hooked call costs two readings of the
//! clock; the work of these hooks lies behind the second.
//!
//! # Threads
//!
//! If the program may call MPI from several threads at once, a spin lock is held around each hook's work (never
//! around the library's). Otherwise there is no lock and no locked instruction.
//!
//! # The usual case
//!
//! Mostly one thread calls MPI, no tool has registered for events or watches a level, no ledger is kept and no receive was freed
//! while it was active. One word says so
//! ([`state::reconsider`]), and the hooks that cost most are compiled once more for it ([`state::with`]).

pub mod blocking;
pub mod channel;
pub mod collectives;
pub mod completion;
pub mod facts;
pub mod faults;
pub mod history;
pub mod ledger;
pub mod levels;
pub mod lines;
pub mod nonblocking;
pub mod orphans;
pub mod peers;
pub mod polling;
pub mod preempted;
pub mod probed;
pub mod probes;
pub mod ran;
pub mod recent;
pub mod requests;
pub mod scratch;
pub mod scratch_memory;
pub mod state;
pub mod status;
pub mod table;
pub mod totals;

mod start;

pub use blocking::left;
pub use start::{finalizing, initialized, session_initialized};
