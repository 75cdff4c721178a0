//! Variables bound to a file: what this process read from it and wrote to it.

use super::kept::{self, List, Subject};
use crate::base::topic::Topic;
use crate::mpi_t::own_categories::Categories;
use crate::record::objects::table::Table;
use crate::record::objects::tables::FILES;
use mpiscope_image::derive::bound;
use mpiscope_image::objects::File;
use mpit::{Bind, Registry};
use std::sync::Mutex;

impl Subject for File {
    const BIND: Bind = Bind::MPI_FILE;

    fn table() -> &'static Table<Self> {
        &FILES
    }

    fn list() -> &'static List<Self> {
        static LIST: List<File> = Mutex::new(Vec::new());
        &LIST
    }
}

/// Descriptions of the variables in [`bound::FILES`].
const WHAT: [&str; 5] = [
    "Calls that read (split ones counted at their begin, nonblocking ones at their start)",
    "Calls that write (split ones counted at their begin, nonblocking ones at their start)",
    "Bytes asked for by calls that read: counts times sizes of datatypes, including what lay beyond the end of the file",
    "Bytes asked to be written: counts times sizes of datatypes",
    "Seconds spent in calls that read or write, in the ends of split ones and in MPI_File_sync, not in waiting for \
     requests",
];

/// Registers the variables.
pub fn publish(registry: &Registry, categories: &mut Categories) {
    let how = "by this process, by file, if they succeeded. About 10 ns per such call, nothing for any other";
    kept::publish(registry, (categories, Topic::Files), bound::FILES.iter().zip(WHAT), how);
}
