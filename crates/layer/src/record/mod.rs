//! Recording of the process, its threads, MPI objects, messages and requests into the image, and the
//! program's own call sites behind libraries and the bindings of other languages.

pub mod attach;
pub mod bytes;
pub mod call_path;
pub mod counts;
pub mod extensions;
pub mod fortran_call_site;
pub mod fortran_hooks;
pub mod left;
pub mod local;
pub mod modules;
pub mod objects;
pub mod observe;
pub mod process;
pub mod python_call_site;
pub mod raised;
pub mod sites;
pub mod size_cache;
pub mod stack_frames;
pub mod start;
pub mod threads;
pub mod trace;
pub mod tracer;
pub mod traffic;
