//! `libmpiscope_handles.so`: the plug-in through which a debugger shows what is behind MPI handles.
//!
//! It reads the image that `libmpiscope.so` keeps in the process, through the debugger's callbacks and nothing else: so it
//! needs no debug information, works for a running process as for a core file, and for every MPI library alike. The first
//! half of its functions is the published interface (`mpidbg_comm_query` …), the second the kinds that it leaves open, as
//! `include/mpiscope/mpihandles.h` declares them.
//!
//! | module | has |
//! | --- | --- |
//! | [`lifecycle`] | versions, images, processes, the exported variables |
//! | [`context`] | one question: callbacks to reader to answer, codes for what went wrong |
//! | [`published`] | the published query functions |
//! | [`extended`] | the query functions for all other kinds |
//! | [`convert`] | handles of Fortran and C++ |
//! | [`status`] | statuses, which are memory of the program |
//! | [`calls`] | what threads are doing with an object |
//! | [`answer`] | models to structures |
//!
//! What a debugger must be able to rely on: no output, no global state of a process but the variables that the interface
//! itself makes global, no panic across the border, memory only from the debugger's allocator, and all of it given back
//! when a question cannot be answered to the end.

mod answer;
mod calls;
mod context;
mod convert;
mod extended;
mod kept;
mod lifecycle;
mod names;
mod published;
mod status;

pub use calls::*;
pub use convert::*;
pub use extended::*;
pub use lifecycle::*;
pub use published::*;
pub use status::*;
