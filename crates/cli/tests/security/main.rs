//! Other users of the same machine: what they can see of a job, and what they can do to processes that
//! observe it.
//!
//! Most of these tests need a second user and therefore run only as root; otherwise they are ignored.

mod collector;
mod jobs;
mod stranger;

use std::process::ExitCode;

use mpiscope_testkit::trials::{self, trial};

fn main() -> ExitCode {
    trials::run(vec![
        trial!(collector::a_folder_that_somebody_else_made_first_is_not_used_which_is_said_and_the_report_comes, needs trials::another_user),
        trial!(collector::one_who_listens_where_the_collector_is_looked_for_gets_nothing, needs trials::another_user),
        trial!(collector::nobody_but_the_rank_can_write_into_its_image),
        trial!(collector::a_collector_that_was_killed_is_missed_aloud),
        trial!(jobs::jobs_of_two_users_with_one_name_are_two_jobs_and_the_own_one_is_meant, needs trials::another_user),
        trial!(jobs::a_pipe_named_like_an_image_makes_nobody_wait, needs jobs::name_spaces),
    ])
}
