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
        trial!(reports::waits_between_hosts_with_different_clocks_are_measured_correctly, needs asked_for, cluster::no_ssh, trials::the_layer),
        trial!(reports::srun_gives_one_report_in_both_forms, needs asked_for, cluster::no_slurm, trials::the_layer),
        trial!(reports::a_rank_killed_on_another_host_is_in_the_report, needs asked_for, cluster::no_slurm, trials::the_layer),
        trial!(reports::a_job_ended_by_mpi_abort_under_slurm_and_one_whose_mpiscope_run_is_killed_are_reported, needs asked_for, cluster::no_slurm, trials::the_layer),
        trial!(reports::a_report_that_a_launcher_passes_on_to_nobody_is_in_a_file, needs asked_for, cluster::no_ssh, trials::the_layer),
        trial!(reports::lost_hosts_are_named_in_bounded_time, needs asked_for, cluster::no_ssh, trials::the_layer),
        trial!(reports::a_temporarily_disconnected_host_is_in_the_report_and_not_called_lost, needs asked_for, cluster::no_ssh, trials::the_layer),
        trial!(reports::a_host_with_a_failed_connection_sends_through_the_folder_and_is_not_called_missing, needs asked_for, cluster::no_ssh, trials::the_layer),
        trial!(live::a_slurm_job_is_seen_completely_by_its_id_from_the_login_node_and_each_host, needs asked_for, cluster::no_slurm, trials::the_layer),
        trial!(live::a_job_started_by_ssh_is_seen_completely_and_a_disconnected_host_costs_only_its_own_ranks, needs asked_for, cluster::no_ssh, trials::the_layer),
        trial!(live::top_shows_the_ranks_of_all_hosts_and_says_which_host_does_not_answer, needs asked_for, cluster::no_ssh, trials::the_layer),
        trial!(reach::hosts_reachable_only_by_the_jobs_launcher_are_asked_through_it, needs asked_for, cluster::no_ssh, trials::the_layer),
        trial!(reach::a_slurm_job_started_here_is_reached_through_slurm, needs asked_for, cluster::no_slurm, trials::the_layer),
        trial!(slurm::a_step_on_some_hosts_of_the_job_is_seen_completely_and_nothing_is_called_missing, needs asked_for, cluster::no_slurm, trials::the_layer),
        trial!(slurm::two_steps_of_one_job_are_two_jobs_and_each_is_seen_completely_by_its_name, needs asked_for, cluster::no_slurm, trials::the_layer),
        trial!(slurm::an_array_task_and_a_heterogeneous_job_are_seen_completely_by_their_slurm_names, needs asked_for, cluster::no_slurm, trials::the_layer),
        trial!(silent::ranks_of_another_host_that_have_not_called_mpi_are_seen_from_each_host_and_saved, needs asked_for, cluster::no_ssh, trials::the_layer),
        trial!(silent::ranks_that_have_not_called_mpi_are_seen_and_listed_with_each_launcher, needs asked_for, cluster::no_slurm, trials::the_layer),
        trial!(spawned::a_world_spawned_on_a_new_host_is_in_all_views_and_the_report_or_reported_missing, needs asked_for, cluster::no_ssh, trials::the_layer),
        trial!(spawned::a_world_spawned_under_slurm_is_in_all_views_and_the_report, needs asked_for, cluster::no_slurm, trials::the_layer),
        trial!(strangers::another_user_cannot_see_a_job_read_its_secret_or_add_to_its_report, needs asked_for, cluster::no_ssh, trials::the_layer),
        trial!(hangs::a_job_hanging_on_many_hosts_gets_one_verdict_from_one_host, needs asked_for, cluster::no_ssh, trials::the_layer),
        trial!(hangs::ranks_of_several_hosts_that_can_never_continue_are_reported_while_others_work, needs asked_for, cluster::no_ssh, trials::the_layer),
        trial!(hangs::a_hanging_slurm_job_gets_one_verdict_in_both_forms_and_when_cancelled, needs asked_for, cluster::no_slurm, trials::the_layer),
        trial!(hangs::ending_a_job_that_hangs_on_many_hosts_explains_the_hang, needs asked_for, cluster::no_ssh, trials::the_layer),
        trial!(hangs::a_job_on_many_hosts_that_waits_for_a_computing_rank_is_not_called_hanging, needs asked_for, cluster::no_ssh, trials::the_layer),
        trial!(doctor::doctor_names_the_ranks_of_a_host_without_the_layer_and_of_one_that_is_down, needs asked_for, cluster::no_ssh, trials::the_layer),
    ];
    all.extend(trials::missing_libraries());
    let code = trials::run(all);
    common::end_hosts();
    code
}
