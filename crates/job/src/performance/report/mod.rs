//! The report of a job after (or during) its run.
//!
//! The schema of `report.json` is `mpiscope.report/1`; fields may be added, and existing ones never change
//! their meaning.
//!
//! * `wall_s` of a rank: from entering `MPI_Init` to leaving `MPI_Finalize`, or to the end of the process, or
//!   to the last known moment.
//! * `mpi_s`: time in outermost calls of all threads, including calls still open at the end.
//! * Shares of a thread, a rank and the job are those of [`mpiscope_image::derive::shares`]: relative to the
//!   time of the threads that call MPI, never above 1.
//! * Efficiencies are defined by the POP project: the *useful* time of a rank is its wall time multiplied by
//!   the share that is neither MPI nor polling; load balance is the mean divided by the maximum of the useful
//!   times, communication efficiency is the maximum divided by the run time of the world, and parallel
//!   efficiency is their product. Communication efficiency is the product of transfer efficiency, the maximum
//!   sum of useful time and time waiting for others divided by the run time, and serialization efficiency,
//!   the maximum useful time divided by that sum: waiting inside MPI explained by late partners is
//!   serialization, all other time in MPI is transfer.

mod document;
mod efficiencies;
pub mod facts;
mod first_end;
mod functions;
mod join;
mod observed;
pub mod of_job;
mod one_by_one;
mod ranks;
mod sections;

pub use self::document::{
    Calls, Collectives, Crowd, Exchange, Extreme, FileUse, FirstEnd, FunctionReport, HostReport, JobReport,
    Memory, Messages, Most, OfFunction, Pair, RankReport, Recent, SCHEMA, Sections, Silent, SizeClass,
    ThreadReport, WorldReport, both_times,
};
pub use self::efficiencies::Efficiencies;
pub use self::observed::Observed;
pub(crate) use self::observed::settle;
