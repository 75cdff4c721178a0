//! The output of `mpiscope inspect`, `mpiscope core` and gdb for a program whose objects are known.

mod cores;
mod debugger;
mod fortran;
mod fortran_lines;
pub mod fortran_waits;
mod freed;
pub mod job;
mod left;
mod live;
mod merged;

use std::sync::Arc;

use anyhow::Result;
use libtest_mimic::Trial;
use mpiscope_testkit::cores::written_where_the_program_runs;
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::program::{Needs, Program};
use mpiscope_testkit::trials::checked;

use crate::skipped;
use crate::subject::Subject;

const PROGRAM: Program = Program { name: "inspected", ranks: 4, needs: Needs::Nothing };

type Check = fn(&Subject, &Library) -> Result<()>;

pub fn trials(subject: &Arc<Subject>, library: &Arc<Library>) -> Vec<Trial> {
    let f77 = || fortran::missing(library).map(String::from);
    let f08 = || fortran::f08_missing(library).map(String::from);
    let gdb = debugger::missing().map(String::from);
    let checks: [(&str, Check, Option<String>); 13] = [
        ("objects_are_shown_while_the_program_runs_and_leaks_at_its_end", live::check, None),
        ("only_windows_and_files_shared_by_ranks_are_merged", merged::check, None),
        ("a_freed_object_is_marked_as_long_as_mpi_holds_it", freed::check, None),
        ("what_was_not_freed_has_ended_after_finalize_and_a_forked_child_shows_nothing", left::check, None),
        (
            "a_deadlock_in_a_session_is_found_after_finalize",
            left::check_session,
            left::no_sessions_beside_a_world(library),
        ),
        ("fortran_objects_are_found_by_their_integers", fortran::check, f77()),
        ("mpi_f08_objects_are_found_by_their_integers", fortran::f08_check, f08()),
        ("the_lines_of_an_mpif_h_program_are_shown", fortran_lines::check, f77()),
        ("the_lines_of_an_mpi_f08_program_are_shown", fortran_lines::f08_check, f08()),
        ("where_an_mpif_h_program_waits_is_shown", fortran_waits::check, f77()),
        ("where_an_mpi_f08_program_waits_is_shown", fortran_waits::f08_check, f08()),
        ("core_files_of_a_job_give_one_consistent_answer", cores::check, written_where_the_program_runs()),
        ("gdb_shows_objects_live_and_in_a_core_file", debugger::check, gdb),
    ];
    let trial = |(name, check, missing): (&str, Check, Option<String>)| {
        let name = format!("{}::inspected::{name}", library.name);
        if let Some(why) = missing {
            return skipped(name, &why);
        }
        let (subject, library) = (Arc::clone(subject), Arc::clone(library));
        checked(name, move || check(&subject, &library))
    };
    checks.into_iter().map(trial).collect()
}
