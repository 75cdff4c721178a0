//! Process acquisition with real MPI libraries: symbols and tables as a debugger sees them, jobs that grow
//! and connect, `procs`, `attach`, the gate.
//!
//! Tests that cannot run here are ignored with a reason; limitations of the libraries themselves are
//! reported. Needs a C compiler.

mod attaching;
mod common;
mod containers;
mod growing;
mod hosts;
mod symbols;

use std::process::ExitCode;

use mpiscope_testkit::trials::{self, trial};

fn main() -> ExitCode {
    let mut all = vec![
        trial!(attaching::one_command_in_all_ranks_shows_equal_stacks_once, needs trials::the_layer, trials::a_library, trials::gdb),
        trial!(attaching::lldb_runs_in_all_ranks_like_gdb, needs trials::the_layer, trials::a_library, trials::lldb),
        trial!(attaching::ranks_are_held_in_mpi_init_until_released, needs trials::the_layer, trials::a_library),
        trial!(attaching::a_process_that_already_has_a_debugger_is_reported_with_it, needs trials::the_layer, trials::a_library, trials::gdb),
        trial!(attaching::a_process_of_no_job_is_reported_with_the_next_thing_to_try),
        trial!(attaching::a_process_of_another_user_is_reported_with_both_users_and_a_remedy, needs trials::the_layer, trials::a_library, trials::another_user),
        trial!(attaching::a_path_with_a_newline_and_invalid_text_is_shown_escaped, needs trials::the_layer, trials::a_library),
        trial!(containers::ranks_in_their_own_pid_namespaces_are_each_shown_once_with_the_hosts_pids, needs trials::the_layer, trials::a_library, containers::no_name_space),
        trial!(growing::a_job_that_spawns_twice_and_disconnects_is_found_completely_from_each_process, needs trials::the_layer, trials::a_library),
        trial!(growing::jobs_that_connect_are_one_until_they_disconnect, needs trials::the_layer, trials::a_library),
        trial!(growing::processes_that_join_over_a_socket_are_one_job_until_they_disconnect, needs trials::the_layer, trials::a_library),
        trial!(growing::jobs_send_nothing_to_connected_jobs_without_the_layer, needs trials::the_layer, trials::a_library),
        trial!(growing::parents_send_nothing_to_children_without_the_layer, needs trials::the_layer, trials::a_library),
        trial!(growing::a_rank_that_crashed_is_listed_as_gone_from_every_survivor, needs trials::the_layer, trials::a_library),
        trial!(hosts::the_ranks_of_two_hosts_are_found_and_attached_to_from_both, needs trials::the_layer, hosts::a_launcher_for_hosts, hosts::two_hosts),
        trial!(hosts::every_verb_shows_the_ranks_of_both_hosts_and_does_not_wait_for_a_hanging_host, needs trials::the_layer, hosts::a_launcher_for_hosts, hosts::two_hosts),
        trial!(hosts::the_starter_lists_the_ranks_of_all_hosts, needs trials::the_layer, hosts::a_launcher_for_hosts, hosts::two_hosts),
        trial!(symbols::gdb_stops_in_a_rank_and_reads_the_process_table_by_offsets, needs trials::the_layer, trials::a_library, trials::gdb),
        trial!(symbols::directory_changes_stop_a_debugger_only_on_request, needs trials::the_layer, trials::a_library),
        trial!(symbols::gdb_stops_in_the_starter_of_every_launcher_and_reads_mpirs_table, needs trials::the_layer, trials::a_library, trials::gdb),
        trial!(symbols::a_debugger_that_announces_itself_has_the_ranks_held_until_it_continues_the_starter, needs trials::the_layer, trials::a_library, trials::gdb),
        trial!(symbols::an_abort_stops_the_starter_with_the_state_and_the_reason, needs trials::the_layer, trials::a_library, trials::gdb),
        trial!(symbols::open_mpis_own_plug_in_stays_named_if_ours_is_missing, needs trials::the_layer, trials::a_library, trials::gdb),
    ];
    all.extend(trials::missing_libraries());
    trials::run(all)
}
