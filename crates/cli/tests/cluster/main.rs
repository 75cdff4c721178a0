//! Jobs on several hosts: namespaces of this machine connected by ssh and Slurm, as set up by
//! `cargo xtask cluster run`.

mod common;
mod doctor;
mod hangs;
mod live;
mod reach;
mod reports;
mod silent;
mod slurm;
mod spawned;
mod strangers;

use mpiscope_testkit::cluster;
use mpiscope_testkit::trials::{self, trial};
use std::process::ExitCode;

/// Returns why tests are skipped, if they are: every test needs a cluster, which takes seconds to
/// start.
fn asked_for() -> Option<String> {
    let asked = std::env::var_os("MPISCOPE_CLUSTER").is_some();
    (!asked).then(|| "`cargo xtask cluster run` runs it".to_owned())
}

fn main() -> ExitCode {
    let mut all = vec![
        trial!(reports::every_launcher_gives_one_report_of_all_hosts, needs asked_for, cluster::no_ssh, trials::the_layer),
        trial!(reports::waits_between_hosts_whose_clocks_differ_are_as_long_as_the_program_says, needs asked_for, cluster::no_ssh, trials::the_layer),
        trial!(reports::srun_gives_one_report_in_both_forms, needs asked_for, cluster::no_slurm, trials::the_layer),
        trial!(reports::a_rank_that_is_killed_on_another_host_is_in_the_report, needs asked_for, cluster::no_slurm, trials::the_layer),
        trial!(reports::hosts_that_are_lost_are_named_in_bounded_time, needs asked_for, cluster::no_ssh, trials::the_layer),
        trial!(reports::a_host_that_was_cut_off_for_a_while_is_in_the_report_and_not_among_the_lost, needs asked_for, cluster::no_ssh, trials::the_layer),
        trial!(reports::a_host_whose_connection_was_given_up_sends_through_the_folder_and_is_not_called_missing, needs asked_for, cluster::no_ssh, trials::the_layer),
        trial!(live::a_job_of_slurm_is_seen_whole_by_its_number_from_the_login_node_and_from_each_host, needs asked_for, cluster::no_slurm, trials::the_layer),
        trial!(live::a_job_started_here_by_ssh_is_seen_whole_and_a_host_that_is_cut_off_costs_its_own_ranks_only, needs asked_for, cluster::no_ssh, trials::the_layer),
        trial!(reach::hosts_that_only_the_launcher_of_the_job_reaches_are_asked_by_its_way, needs asked_for, cluster::no_ssh, trials::the_layer),
        trial!(reach::a_job_of_slurm_that_was_started_here_is_reached_by_slurm, needs asked_for, cluster::no_slurm, trials::the_layer),
        trial!(slurm::a_step_on_some_hosts_of_the_job_is_seen_whole_and_nothing_is_said_to_be_missing, needs asked_for, cluster::no_slurm, trials::the_layer),
        trial!(slurm::two_steps_of_one_job_are_two_jobs_from_each_host_and_each_is_seen_whole_by_its_name, needs asked_for, cluster::no_slurm, trials::the_layer),
        trial!(slurm::a_task_of_an_array_and_a_heterogeneous_job_are_seen_whole_by_what_slurm_calls_them, needs asked_for, cluster::no_slurm, trials::the_layer),
        trial!(silent::ranks_on_another_host_that_have_not_called_mpi_are_seen_from_each_host_and_kept, needs asked_for, cluster::no_ssh, trials::the_layer),
        trial!(silent::ranks_that_have_not_called_mpi_are_seen_and_listed_with_each_launcher, needs asked_for, cluster::no_slurm, trials::the_layer),
        trial!(spawned::a_world_that_is_spawned_to_a_host_without_earlier_ranks_is_in_all_views_and_in_the_report_or_missed_aloud, needs asked_for, cluster::no_ssh, trials::the_layer),
        trial!(spawned::a_world_that_is_spawned_under_slurm_is_in_all_views_and_in_the_report, needs asked_for, cluster::no_slurm, trials::the_layer),
        trial!(strangers::another_user_of_the_hosts_sees_nothing_of_a_job_reads_no_secret_and_adds_nothing_to_the_report, needs asked_for, cluster::no_ssh, trials::the_layer),
        trial!(hangs::a_job_that_hangs_on_many_hosts_is_judged_as_a_whole_by_one_of_them, needs asked_for, cluster::no_ssh, trials::the_layer),
        trial!(hangs::a_job_of_slurm_that_hangs_is_judged_as_a_whole_in_both_forms_and_when_it_is_cancelled, needs asked_for, cluster::no_slurm, trials::the_layer),
        trial!(hangs::who_ends_a_job_that_hangs_on_many_hosts_is_told_why_it_hung, needs asked_for, cluster::no_ssh, trials::the_layer),
        trial!(hangs::a_job_on_many_hosts_that_waits_for_one_that_computes_is_not_said_to_hang, needs asked_for, cluster::no_ssh, trials::the_layer),
        trial!(doctor::doctor_names_the_ranks_of_a_host_without_the_layer_and_of_one_that_is_down, needs asked_for, cluster::no_ssh, trials::the_layer),
    ];
    all.extend(trials::missing_libraries());
    let code = trials::run(all);
    common::end_hosts();
    code
}
