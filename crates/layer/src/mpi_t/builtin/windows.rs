//! Variables bound to a window: this process's use of it.

use super::kept::{self, List, Subject};
use crate::base::topic::Topic;
use crate::mpi_t::own_categories::Categories;
use crate::record::objects::table::Table;
use crate::record::objects::tables::WINDOWS;
use mpiscope_image::derive::bound;
use mpiscope_image::objects::Window;
use mpit::{Bind, Registry};
use std::sync::Mutex;

impl Subject for Window {
    const BIND: Bind = Bind::MPI_WIN;

    fn table() -> &'static Table<Self> {
        &WINDOWS
    }

    fn list() -> &'static List<Self> {
        static LIST: List<Window> = Mutex::new(Vec::new());
        &LIST
    }
}

/// Descriptions of the variables in [`bound::WINDOWS`].
const WHAT: [&str; 5] = [
    "MPI_Put and MPI_Rput operations that this process started",
    "MPI_Get and MPI_Rget operations that this process started",
    "Accumulate operations (MPI_Accumulate and its variants, MPI_Fetch_and_op, MPI_Compare_and_swap) that this process started",
    "Operations that this process has started since the last call that completed all of them",
    "Bytes of this process's memory; 0 for a dynamic window",
];

/// Registers the variables.
pub fn publish(registry: &Registry, categories: &mut Categories) {
    let how = "by window. Costs nothing beyond the recording of objects";
    kept::publish(registry, (categories, Topic::OneSided), bound::WINDOWS.iter().zip(WHAT), how);
}
