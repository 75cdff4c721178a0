//! What follows from the records: each fact is computed here, once.
//!
//! ```text
//! records of a process ──► derive ──┬──► MPI_T variables (inside: the records themselves)
//!   (mapping or copy)               └──► ps, report, core, vars, plug-ins (outside: copies)
//! ```
//!
//! The functions are pure and work on records, wherever these lie: in the mapping of the process itself, in that of
//! another one, or in a copy. They allocate nothing, take no lock and do no input or output, so that the layer may call
//! them in a signal handler. Whoever needs one of these facts calls the function here; two views of a process can
//! differ in the moment at which they looked, and in nothing else.
//!
//! Times are ticks of the image's clock. What a function does (what it waits for, whether loops over it are polling) callers
//! bring along: the layer from the function table, a reader from the image, which may know other functions.
//!
//! * [`threads`]: what is read of a thread, which one is the main thread, which one made the last call;
//! * [`status`]: how far the process has come, and what its main thread is doing;
//! * [`polling`]: loops over functions that ask and do not wait;
//! * [`shares`]: how the time of threads and ranks divides;
//! * [`sites`]: what each place of the program did, and what has no record;
//! * [`losses`]: how many records found no room;
//! * [`timed`]: whose calls were timed;
//! * [`totals`]: totals that are words of the records, each a performance variable;
//! * [`bound`]: variables of single objects that are words of their records;
//! * [`ledger`]: whether messages are written down one by one;
//! * [`live`]: which objects count as the program's, and as live;
//! * [`members`]: whom the ranks of a communicator stand for;
//! * [`unexpected`]: which messages wait and have no receive.

pub mod bound;
pub mod ledger;
pub mod live;
pub mod losses;
pub mod members;
pub mod moved;
pub mod polling;
pub mod shares;
pub mod sites;
pub mod status;
pub mod threads;
pub mod timed;
pub mod totals;
pub mod unexpected;

pub use moved::Moved;
pub use polling::Polling;
pub use shares::{Share, Window};
pub use status::Activity;
pub use threads::ThreadView;
