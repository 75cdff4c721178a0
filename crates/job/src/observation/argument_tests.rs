//! Invalid arguments of open calls, on images built by hand.
#![allow(clippy::unwrap_used)]

use crate::base::clock::Moment;
use crate::model::locate::NoSymbols;
use crate::model::process::Process;
use crate::model::rank::{Rank, SymbolContext};
use crate::observation::of_messages;
use crate::sources::image_source::open_fd;
use crate::test_image::TestImage;
use mpiscope_image::layout::State;

const WORLD: u64 = 0x4400_0000;
const INT: u64 = 0x4c00_0405;

/// The invalid arguments of the call that one of two ranks is in.
fn wrong(name: &str, on: [u64; 3], peer: i32, tag: i32) -> Vec<String> {
    wrong_in(State::INITIALIZED, name, on, peer, tag)
}

/// The same, of a rank in this state.
fn wrong_in(state: State, name: &str, on: [u64; 3], peer: i32, tag: i32) -> Vec<String> {
    let sample = TestImage::new("arguments", 0, 2);
    sample.has_comm(WORLD, "MPI_COMM_WORLD", 2);
    sample.enters(name, on, peer, tag);
    sample.state(state);
    let image = open_fd(sample.fd.try_clone().unwrap(), "sample").unwrap();
    let process = Process::read(&image, Some(Moment::now())).unwrap();
    let context = SymbolContext::new(&process, &NoSymbols);
    let seen = of_messages(&Rank::new(&image, &process, &context));
    let calls = seen.threads.into_iter().filter_map(|thread| thread.call);
    calls.flat_map(|call| call.wrong).map(|wrong| format!("{}: {}", wrong.error, wrong.what)).collect()
}

#[test]
fn valid_arguments_are_not_reported() {
    let (any_source, any_tag, nobody, root) = (-2, -1, -1, -3);
    for (name, peer, tag) in [
        ("MPI_Send", 1, 0),
        ("MPI_Send", nobody, 0),
        ("MPI_Recv", any_source, any_tag),
        ("MPI_Bcast", 1, 0),
        ("MPI_Gather", 0, 0),
    ] {
        assert_eq!(wrong(name, [WORLD, INT, 0], peer, tag), [""; 0], "{name} {peer} {tag}");
    }
    let in_place = 0x0c00_0000;
    assert_eq!(wrong("MPI_Gather", [WORLD, in_place, 0], 0, 0), [""; 0]);
    assert_eq!(wrong("MPI_Bcast", [WORLD, INT, 1], root, 0).len(), 1, "there is one group");
}

#[test]
fn communication_before_mpi_is_initialized_or_after_it_is_finalized_is_wrong() {
    let at = |state| wrong_in(state, "MPI_Send", [WORLD, INT, 1], 1, 0);
    assert_eq!(at(State::STARTED), ["MPI_ERR_OTHER: given MPI_COMM_WORLD before MPI_Init"]);
    assert_eq!(at(State::FINALIZED), ["MPI_ERR_OTHER: given MPI_COMM_WORLD after MPI_Finalize"]);
    assert_eq!(at(State::FINALIZING), [""; 0], "an attribute's callback may communicate");
    assert_eq!(at(State::INITIALIZED), [""; 0]);
    assert_eq!(wrong_in(State::FINALIZED, "MPI_Get_version", [0; 3], 0, 0), [""; 0]);
    assert_eq!(
        wrong_in(State::FINALIZED, "MPI_Finalize", [0; 3], 0, 0),
        ["MPI_ERR_OTHER: called after MPI_Finalize"]
    );
    assert_eq!(wrong_in(State::FINALIZING, "MPI_Finalize", [0; 3], 0, 0), [""; 0]);
    assert_eq!(wrong_in(State::STARTED, "MPI_Abort", [WORLD, 0, 0], 0, 0), [""; 0]);
}

#[test]
fn invalid_arguments_are_reported_with_their_error_class() {
    let minus_one = u64::MAX;
    assert_eq!(wrong("MPI_Send", [WORLD, INT, minus_one], 1, 0), ["MPI_ERR_COUNT: given count -1"]);
    assert_eq!(wrong("MPI_Send", [WORLD, INT, 1], 1, -7), ["MPI_ERR_TAG: given tag -7"]);
    let null = 0x0c00_0000;
    assert_eq!(wrong("MPI_Isend", [WORLD, null, 1], 1, 0), ["MPI_ERR_TYPE: given MPI_DATATYPE_NULL"]);
    let other = wrong("MPI_Recv", [WORLD, INT, 1], 7, 0);
    assert_eq!(other, ["MPI_ERR_RANK: given source 7 on MPI_COMM_WORLD with 2 ranks"]);
    let root = wrong("MPI_Bcast", [WORLD, INT, 1], 2, 0);
    assert_eq!(root, ["MPI_ERR_ROOT: given root 2 on MPI_COMM_WORLD with 2 ranks"]);
    let comm = 0x0400_0000;
    assert_eq!(wrong("MPI_Send", [comm, INT, minus_one], 9, 0), ["MPI_ERR_COMM: given MPI_COMM_NULL"]);
}
