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
        trial!(attaching::lldb_is_asked_in_all_ranks_as_gdb_is, needs trials::the_layer, trials::a_library, trials::lldb),
        trial!(attaching::ranks_are_held_in_mpi_init_until_somebody_opens_the_gate, needs trials::the_layer, trials::a_library),
        trial!(attaching::a_process_that_is_in_a_debugger_already_is_named_with_it, needs trials::the_layer, trials::a_library, trials::gdb),
        trial!(attaching::what_is_no_process_of_a_job_is_reported_with_the_next_thing_to_try),
        trial!(attaching::a_process_of_another_user_is_reported_with_both_users_and_the_way_out, needs trials::the_layer, trials::a_library, trials::another_user),
        trial!(attaching::a_path_with_a_newline_and_bytes_that_are_no_text_is_shown_escaped, needs trials::the_layer, trials::a_library),
        trial!(containers::ranks_in_name_spaces_of_their_own_are_each_shown_once_with_the_numbers_of_the_host, needs trials::the_layer, trials::a_library, containers::no_name_space),
        trial!(growing::a_job_that_spawns_twice_and_parts_is_found_whole_from_each_of_its_processes, needs trials::the_layer, trials::a_library),
        trial!(growing::jobs_that_connect_are_one_until_they_disconnect, needs trials::the_layer, trials::a_library),
        trial!(growing::processes_that_join_over_a_socket_are_one_job_until_they_disconnect, needs trials::the_layer, trials::a_library),
        trial!(growing::jobs_without_the_layer_are_sent_nothing_by_those_that_they_connect_with, needs trials::the_layer, trials::a_library),
        trial!(growing::children_without_the_layer_are_sent_nothing_by_their_parents, needs trials::the_layer, trials::a_library),
        trial!(growing::a_rank_that_crashed_is_listed_as_gone_from_every_survivor, needs trials::the_layer, trials::a_library),
        trial!(hosts::the_ranks_of_two_hosts_are_found_and_attached_to_from_both, needs trials::the_layer, hosts::a_launcher_for_hosts, hosts::two_hosts),
        trial!(hosts::every_verb_shows_the_ranks_of_both_hosts_from_both_and_does_not_wait_for_one_that_hangs, needs trials::the_layer, hosts::a_launcher_for_hosts, hosts::two_hosts),
        trial!(hosts::the_starter_has_the_ranks_of_all_hosts, needs trials::the_layer, hosts::a_launcher_for_hosts, hosts::two_hosts),
        trial!(symbols::gdb_stops_in_a_rank_and_reads_the_process_table_by_offsets, needs trials::the_layer, trials::a_library, trials::gdb),
        trial!(symbols::changes_of_the_directories_stop_a_debugger_only_if_it_asked_for_them, needs trials::the_layer, trials::a_library),
        trial!(symbols::gdb_stops_in_the_starter_of_every_launcher_and_reads_mpirs_table, needs trials::the_layer, trials::a_library, trials::gdb),
        trial!(symbols::a_debugger_that_says_it_is_there_has_the_ranks_held_until_it_continues_the_starter, needs trials::the_layer, trials::a_library, trials::gdb),
        trial!(symbols::an_abort_stops_the_starter_with_the_state_and_the_reason, needs trials::the_layer, trials::a_library, trials::gdb),
        trial!(symbols::open_mpis_own_plug_in_stays_named_where_ours_is_not_there, needs trials::the_layer, trials::a_library, trials::gdb),
    ];
    all.extend(trials::missing_libraries());
    trials::run(all)
}
