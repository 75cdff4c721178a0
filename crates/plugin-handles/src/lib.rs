//! `libmpiscope_handles.so`: the plug-in through which a debugger shows the objects behind MPI handles.
//!
//! It reads the image that `libmpiscope.so` keeps in the process, exclusively through the debugger's
//! callbacks. It therefore needs no debug information and works for running processes and core files, with
//! every MPI library. Half of its functions are the published interface (`mpidbg_comm_query` …), the other
//! half covers the remaining kinds, as declared in `include/mpiscope/mpihandles.h`.
//!
//! | module | content |
//! | --- | --- |
//! | [`lifecycle`] | versions, images, processes, the exported variables |
//! | [`context`] | one query: from callbacks to reader to answer, error codes |
//! | [`published`] | the published query functions |
//! | [`extended`] | the query functions for all other kinds |
//! | [`convert`] | Fortran and C++ handles |
//! | [`status`] | statuses, which are in the program's memory |
//! | [`calls`] | what threads are doing with an object |
//! | [`answer`] | conversion of models to structures |
//!
//! Guarantees for the debugger: no output; no global state of a process except the variables that the
//! interface itself makes global; no panic across the boundary; memory only from the debugger's allocator,
//! all of it freed if a query cannot be completed.

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
