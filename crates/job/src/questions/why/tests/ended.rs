//! Jobs that ended by themselves: which rank was the first.

use super::look;
use crate::model::process::Ending;
use crate::model::process_end::BadEnd;
use crate::questions::why::Kind;
use crate::questions::why::scene::Scene;
use crate::questions::why::snapshot::{Condition, Failed, Outcome, ProcessIndex};

fn ends(scene: &mut Scene, rank: ProcessIndex, at_ms: u64, ending: Ending) {
    let process = scene.process(rank);
    process.condition = Condition::Ended(format!("it ended without MPI_Finalize: {ending}").into());
    process.bad_end = BadEnd::of(false, false, Some(ending), at_ms * 1_000_000);
}

#[test]
fn the_rank_that_was_the_first_to_end_is_named_and_not_those_that_the_launcher_killed() {
    let mut scene = Scene::of(3);
    ends(&mut scene, 0, 20, Ending::Signal(libc::SIGKILL));
    ends(&mut scene, 1, 30, Ending::Signal(libc::SIGSEGV));
    ends(&mut scene, 2, 31, Ending::Signal(libc::SIGKILL));
    let said = look(&scene);
    assert_eq!(said.kind, Kind::RANK_GONE);
    assert_eq!(
        said.verdict,
        "rank 1 was the first to end: it ended without MPI_Finalize: killed by signal 11 (SIGSEGV), after MPI_Barrier; before ranks [0,2]"
    );
    assert_eq!(said.culprits.iter().map(|one| one.ranks.to_string()).collect::<Vec<_>>(), ["1"]);
    ends(&mut scene, 2, 10, Ending::Exit(1));
    let said = look(&scene);
    assert!(
        said.verdict.ends_with("exit status 1, after MPI_Barrier; 20.0 ms before ranks [0-1]"),
        "{}",
        said.verdict
    );
    // Clocks of different hosts are not compared.
    scene.process(2).host = "other".into();
    assert_eq!(look(&scene).culprits[0].ranks.to_string(), "[0-2]");
}

#[test]
fn the_rank_that_ended_in_a_wrong_call_is_the_first_even_if_the_launcher_killed_it_after_another() {
    let mut scene = Scene::of(2);
    scene.collective(1, "MPI_Barrier", 2);
    ends(&mut scene, 0, 20, Ending::Signal(libc::SIGKILL));
    ends(&mut scene, 1, 30, Ending::Signal(libc::SIGKILL));
    assert!(look(&scene).verdict.starts_with("rank 0 was the first"), "{}", look(&scene).verdict);
    let process = scene.process(1);
    process.bad_end = BadEnd::of(false, true, Some(Ending::Signal(libc::SIGKILL)), 30_000_000);
    process.failed.push(Failed {
        function: "MPI_Barrier".into(),
        place: Some("mpi_barrier.c:1".into()),
        error: "MPI_ERR_COMM".into(),
        outcome: Outcome::Given("given MPI_COMM_NULL".into()),
    });
    let said = look(&scene);
    let wanted = "rank 1 was the first to end: it ended without MPI_Finalize: killed by signal 9 (SIGKILL), in \
                  MPI_Barrier at mpi_barrier.c:1, which was given MPI_COMM_NULL (MPI_ERR_COMM); before rank 0";
    assert_eq!(said.verdict, wanted);
    assert!(said.next.starts_with("correct that call"), "{}", said.next);
}

#[test]
fn if_it_is_unknown_which_rank_ended_first_each_is_shown_with_its_last_call() {
    let mut scene = Scene::of(2);
    scene.collective(0, "MPI_Barrier", 2);
    for rank in 0..2 {
        scene.process(rank).condition = Condition::Ended("killed".into());
    }
    let words = "ranks [0-1] have ended (rank 0: killed, in MPI_Barrier at mpi_barrier.c:1; rank 1: killed, after \
                 MPI_Barrier); no rank waits for them";
    assert_eq!(look(&scene).verdict, words);
}

#[test]
fn a_rank_that_had_finalized_mpi_and_ended_with_an_error_is_named() {
    let mut scene = Scene::of(2);
    scene.process(0).condition = Condition::Finalized;
    scene.process(1).condition = Condition::Finalized;
    assert_eq!(look(&scene).kind, Kind::FINISHED);
    scene.process(1).bad_end = BadEnd::of(true, false, Some(Ending::Exit(3)), 30_000_000);
    let said = look(&scene);
    let wanted = "rank 1 has ended: it finalized MPI, exit status 3; no rank waits for it";
    assert_eq!((said.verdict.as_str(), said.kind), (wanted, Kind::RANK_GONE));
    assert_eq!(said.culprits[0].ranks.to_string(), "1");
    scene.collective(1, "MPI_Barrier", 2);
    scene.process(1).failed.push(Failed {
        function: "MPI_Barrier".into(),
        place: Some("mpi_barrier.c:1".into()),
        error: "MPI_ERR_OTHER".into(),
        outcome: Outcome::Given("given MPI_COMM_WORLD after MPI_Finalize".into()),
    });
    let said = look(&scene);
    let wanted = "rank 1 has ended: it finalized MPI, exit status 3, in MPI_Barrier at mpi_barrier.c:1, which was given \
                  MPI_COMM_WORLD after MPI_Finalize (MPI_ERR_OTHER); no rank waits for it";
    assert_eq!(said.verdict, wanted);
    assert!(said.next.starts_with("correct that call"), "{}", said.next);
}
