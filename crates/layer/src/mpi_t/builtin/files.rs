//! Variables that are bound to a file: what this process read and wrote in it.

use super::categories::Categories;
use super::kept::{self, List, Subject, Variable};
use crate::base::topic::Topic;
use crate::mpi_t::ticks;
use crate::record::objects::files::FILES;
use crate::record::objects::table::Table;
use mpiscope_image::layout::Recording;
use mpiscope_image::objects::File;
use mpit::{Bind, PvarClass, Registry, Unit};
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

const fn counter(name: &'static str, desc: &'static str, value: fn(&File) -> u64) -> Variable<File> {
    let class = PvarClass::COUNTER;
    Variable { name, class, desc, value, needs: Recording::OBJECTS.0, unit: Unit::Plain }
}

const VARIABLES: [Variable<File>; 5] = [
    counter(
        "mpiscope_file_reads",
        "Calls that read (split ones at their begin, nonblocking at their start)",
        |f| f.reads.get(),
    ),
    counter(
        "mpiscope_file_writes",
        "Calls that write (split ones at their begin, nonblocking at their start)",
        |f| f.writes.get(),
    ),
    counter(
        "mpiscope_file_bytes_read",
        "Bytes asked for by calls that read: counts times sizes of datatypes, also of what lay behind the end of the file",
        |f| f.read_bytes.get(),
    ),
    counter(
        "mpiscope_file_bytes_written",
        "Bytes asked to be written: counts times sizes of datatypes",
        |f| f.written_bytes.get(),
    ),
    Variable {
        name: "mpiscope_file_time",
        class: PvarClass::TIMER,
        desc: "Seconds spent in calls that read or write, in the ends of split ones and in MPI_File_sync, not in waiting for \
               requests",
        value: |f| ticks::units(f.ticks.get()),
        needs: Recording::OBJECTS.0 | Recording::TIMES.0,
        unit: Unit::Scaled(ticks::UNIT),
    },
];

/// Registers the variables.
pub fn publish(registry: &Registry, categories: &mut Categories) {
    let how = "by this process, by file, if they succeeded. About 10 ns per such call, nothing for any other";
    kept::publish(registry, (categories, Topic::Files), VARIABLES, how);
}
