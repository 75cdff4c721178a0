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
        trial!(collector::a_folder_created_by_another_user_is_reported_and_not_used, needs trials::another_user),
        trial!(collector::a_foreign_listener_in_place_of_the_collector_gets_nothing, needs trials::another_user),
        trial!(collector::only_the_rank_can_write_into_its_image),
        trial!(collector::a_killed_collector_is_reported),
        trial!(jobs::jobs_of_two_users_with_the_same_name_are_distinct_and_ones_own_is_preferred, needs trials::another_user),
        trial!(jobs::a_pipe_named_like_an_image_does_not_block, needs jobs::name_spaces),
    ])
}
