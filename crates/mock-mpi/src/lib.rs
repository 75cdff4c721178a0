//! A small MPI library of the MPICH ABI (`int` handles, a status of 20 bytes), for tests where no MPI is installed.
//!
//! A process is a world of its own as far as messages go: it sends to itself. Rank and size are taken from
//! `PMI_RANK` and `PMI_SIZE`, so that several processes can pose as the ranks of one job. Every function is there
//! as `MPI_X` and `PMPI_X`, as in real libraries; [`engine`] does the work, the module `exports` is its C face.
//!
//! Like MPICH, a send that is complete at once gives the one handle of all completed requests, so that what holds
//! for real libraries (a handle is no identity) holds here. Like an MPICH that was built with them, it has events (`tools`).

mod engine;
mod export;
mod exports;
mod tools;
