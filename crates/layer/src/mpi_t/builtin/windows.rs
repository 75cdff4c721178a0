//! Variables that are bound to a window: what this process did through it.

use super::categories::Categories;
use super::kept::{self, List, Subject, Variable};
use crate::base::topic::Topic;
use crate::record::objects::table::Table;
use crate::record::objects::windows::WINDOWS;
use mpiscope_image::layout::Recording;
use mpiscope_image::objects::Window;
use mpit::{Bind, PvarClass, Registry, Unit};
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

const fn variable(
    name: &'static str,
    class: PvarClass,
    desc: &'static str,
    value: fn(&Window) -> u64,
) -> Variable<Window> {
    Variable { name, class, desc, value, needs: Recording::OBJECTS.0, unit: Unit::Plain }
}

const VARIABLES: [Variable<Window>; 5] = [
    variable("mpiscope_puts", PvarClass::COUNTER, "MPI_Put and MPI_Rput that this process started", |w| {
        w.puts.get()
    }),
    variable("mpiscope_gets", PvarClass::COUNTER, "MPI_Get and MPI_Rget that this process started", |w| {
        w.gets.get()
    }),
    variable(
        "mpiscope_accumulates",
        PvarClass::COUNTER,
        "MPI_Accumulate and its like, MPI_Fetch_and_op and MPI_Compare_and_swap that this process started",
        |w| w.accumulates.get(),
    ),
    variable(
        "mpiscope_window_pending",
        PvarClass::LEVEL,
        "Operations that this process has started since the last call that completed all of them",
        |w| w.pending.get(),
    ),
    variable(
        "mpiscope_window_size",
        PvarClass::SIZE,
        "Bytes of this process's memory; 0 for a dynamic window",
        |w| w.size.get(),
    ),
];

/// Registers the variables.
pub fn publish(registry: &Registry, categories: &mut Categories) {
    let how = "by window. Costs nothing beyond the recording of objects";
    kept::publish(registry, (categories, Topic::OneSided), VARIABLES, how);
}
