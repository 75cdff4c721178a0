//! A small MPI library with the MPICH ABI (`int` handles, a 20-byte status), for tests on machines without
//! MPI.
//!
//! For messages, each process is its own world: it sends to itself. Rank and size are read from `PMI_RANK`
//! and `PMI_SIZE`, so that several processes can pose as the ranks of one job. Every function exists as
//! `MPI_X` and `PMPI_X`, as in real libraries; [`engine`] does the work, and the module `exports` is its C
//! interface.
//!
//! As in MPICH, a send that completes immediately returns the one handle shared by all completed requests, so
//! that a property of real libraries (a handle does not identify a request) holds here too. As in an MPICH
//! built with them, there are events (`tools`).

mod engine;
mod export;
mod exports;
mod tools;
