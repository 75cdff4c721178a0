//! Facts derived from the records: each fact is computed here, and only here.
//!
//! ```text
//! records of a process ──► derive ──┬──► MPI_T variables (inside: the records themselves)
//!   (mapping or copy)               └──► ps, report, core, vars, plug-ins (outside: copies)
//! ```
//!
//! The functions are pure and work on records anywhere: in the process's own mapping, in that of another
//! process, or in a copy. They allocate nothing, take no locks and do no I/O, so that the preload library may
//! call them in a signal handler. All code that needs one of these facts calls the function here; two views
//! of a process can differ in the time of observation, and in nothing else.
//!
//! Times are ticks of the image's clock. Properties of functions (what they wait for, whether loops over them
//! are polling) are passed in by callers: the preload library takes them from the function table, a reader
//! from the image, which may contain other functions.
//!
//! * [`threads`]: what is read of a thread, which one is the main thread, which one made the last call;
//! * [`status`]: the process's progress, and what its main thread is doing;
//! * [`polling`]: loops over functions that test without waiting;
//! * [`shares`]: how the time of threads and ranks is divided;
//! * [`sites`]: the activity of each call site, and of calls without a record;
//! * [`losses`]: how many records were dropped for lack of space;
//! * [`timed`]: which functions' calls were timed;
//! * [`totals`]: totals stored as words of the records, each a performance variable;
//! * [`bound`]: variables of individual objects, stored as words of their records;
//! * [`epochs`]: whether a call on a window is made at the right time;
//! * [`ledger`]: whether individual messages are recorded;
//! * [`live`]: which objects count as the program's, and as live;
//! * [`members`]: which processes the ranks of a communicator refer to;
//! * [`unexpected`]: which messages are waiting without a receive.

pub mod bound;
pub mod epochs;
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
