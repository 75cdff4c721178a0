//! What was: the report of a job after (or during) its run.
//!
//! The schema of `report.json` is `mpiscope.report/1`; fields may be added, none changes its meaning.
//!
//! * `wall_s` of a rank: from entering `MPI_Init` to leaving `MPI_Finalize`, or to the end of the process, or to
//!   the last moment that is known.
//! * `mpi_s`: time in outermost calls, all threads together, with the calls that were still open at the end.
//! * Shares, of a thread, a rank and the job, are those of [`mpiscope_image::derive::shares`]: of the time of the threads
//!   that call MPI, never above 1.
//! * Efficiencies after the POP project: *useful* time of a rank is its wall time times the share that is neither MPI nor
//!   polling; load balance is mean over maximum of the useful times, communication efficiency the maximum over the run
//!   time of the world, parallel efficiency their product. Communication efficiency is the product of transfer efficiency, the greatest sum of
//!   useful time and waiting for others over the run time, and serialisation efficiency, the greatest useful time over that sum: waiting
//!   inside of MPI that late partners explain is serialisation, all other time in MPI is transfer.

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
