use super::super::{Call, Comm, End, JobTrace, Message, RankTrace, ThreadTrace};
use super::functions::{self, Operation, Role};
use super::plan::{Event, Plan};

fn call(function: &str, begin_ns: u64, end_ns: u64) -> Call {
    Call { function: function.into(), begin_ns, end_ns, ..Call::default() }
}

fn rank(rank: u32, host: &str, calls: Vec<Call>) -> RankTrace {
    let threads = vec![ThreadTrace { calls, ..ThreadTrace::default() }];
    RankTrace { rank: Some(rank), host: host.into(), threads, ..RankTrace::default() }
}

/// Ranks 1 and 0 are 0 and 1 of a communicator with identity 7, on which rank 0 sends to rank 1, which posts
/// and completes the receive in different calls.
fn trace() -> JobTrace {
    let from_root = call("MPI_Bcast", 30, 40);
    let from_root = Call { identity: 7, object: Some("c".into()), peer: Some(1), bytes: 8, ..from_root };
    let sends = vec![Call { place: Some("a.c:3".into()), ..call("MPI_Send", 10, 20) }, from_root.clone()];
    let receives = vec![call("MPI_Irecv", 5, 6), call("MPI_Waitall", 12, 25), from_root];
    let message = Message {
        sent: End { rank: 0, call: Some((0, 0)), gone: false },
        received: End { rank: 1, call: Some((0, 1)), gone: false },
        posted: Some((0, 0)),
        done: Some((0, 0)),
        comm: 7,
        object: "c".into(),
        tag: 4,
        bytes: 16,
        sent_ns: Some(10),
        posted_ns: Some(5),
        received_ns: Some(25),
    };
    let comm = Comm { name: "c".into(), members: vec![(0, 1), (1, 0)], inter: false };
    JobTrace {
        ranks: vec![rank(0, "n1", sends), rank(1, "n2", receives)],
        messages: vec![message],
        comms: [(7, comm)].into(),
        ..JobTrace::default()
    }
}

#[test]
fn calls_messages_and_collectives_become_events_with_ranks_of_the_communicator() {
    let plan = Plan::of(&trace());
    let names: Vec<&str> = plan.regions.iter().map(|(name, _)| &*plan.strings[*name as usize]).collect();
    assert_eq!(names, ["MPI_Send", "MPI_Bcast", "MPI_Irecv", "MPI_Waitall"]);
    let place = plan.strings.iter().position(|text| &**text == "a.c:3").map(|at| at as u32);
    let end =
        |sent, received| Event::CollectiveEnd { operation: Operation(1), comm: 0, root: 1, sent, received };
    let sender = [
        (10, Event::Enter { region: 0, place }),
        (10, Event::Send { to: 0, comm: 0, tag: 4, bytes: 16, request: None }),
        (20, Event::Leave { region: 0 }),
        (30, Event::Enter { region: 1, place: None }),
        (30, Event::CollectiveBegin),
        (40, end(8, 0)),
        (40, Event::Leave { region: 1 }),
    ];
    assert_eq!(plan.locations[0].events, sender);
    let receiver = &plan.locations[1].events;
    let wanted = [
        (5, Event::Enter { region: 2, place: None }),
        (5, Event::ReceivePosted { request: 1 }),
        (6, Event::Leave { region: 2 }),
        (12, Event::Enter { region: 3, place: None }),
        (25, Event::Receive { from: 1, comm: 0, tag: 4, bytes: 16, request: Some(1) }),
        (25, Event::Leave { region: 3 }),
    ];
    assert_eq!(receiver[..6], wanted);
    assert!(receiver.contains(&(40, end(0, 8))), "only the root of a broadcast sends: {receiver:?}");
    assert_eq!((plan.comms[0].1.members.as_slice(), plan.hosts.len(), plan.until_ns), (&[1, 0][..], 2, 40));
}

#[test]
fn the_requests_of_a_message_to_itself_differ() {
    let calls = vec![call("MPI_Irecv", 5, 6), call("MPI_Isend", 7, 8), call("MPI_Waitall", 12, 25)];
    let end = |call| End { rank: 0, call: Some((0, call)), gone: false };
    let mut trace = trace();
    trace.ranks = vec![rank(0, "n1", calls)];
    let message = &mut trace.messages[0];
    (message.sent, message.received) = (end(1), end(2));
    (message.posted, message.done) = (Some((0, 0)), Some((0, 2)));
    let plan = Plan::of(&trace);
    let events = plan.locations[0].events.iter();
    let requests = events.filter_map(|(_, event)| match event {
        Event::ReceivePosted { request } | Event::Receive { request: Some(request), .. } => {
            Some(("receive", *request))
        }
        Event::Send { request: Some(request), .. } | Event::SendDone { request } => Some(("send", *request)),
        _ => None,
    });
    assert_eq!(requests.collect::<Vec<_>>(), [("receive", 1), ("send", 2), ("send", 2), ("receive", 1)]);
}

#[test]
fn messages_without_a_call_lie_between_calls_and_users_of_a_communicator_are_members() {
    let mut trace = trace();
    trace.comms.clear();
    let message = &mut trace.messages[0];
    (message.sent.call, message.sent_ns, message.received.call) = (None, Some(3), None);
    let plan = Plan::of(&trace);
    assert!(matches!(plan.locations[0].events[0], (3, Event::Send { to: 1, request: None, .. })));
    let receiver = &plan.locations[1].events;
    let at = receiver.iter().position(|(_, event)| matches!(event, Event::Receive { from: 0, .. })).unwrap();
    assert!(matches!(receiver[at - 1], (25, Event::Leave { .. })), "{receiver:?}");
    assert_eq!(plan.comms[0].1.members, [0, 1]);
    assert!(receiver.is_sorted_by_key(|(ns, _)| *ns));
}

#[test]
fn a_message_sent_before_the_trace_is_omitted() {
    let mut trace = trace();
    let message = &mut trace.messages[0];
    (message.sent.call, message.sent_ns, message.done) = (None, None, None);
    let plan = Plan::of(&trace);
    let of_message = |(_, event): &&(u64, Event)| {
        matches!(event, Event::Send { .. } | Event::Receive { .. } | Event::ReceivePosted { .. })
    };
    let events = plan.locations.iter().flat_map(|location| &location.events);
    assert_eq!(events.filter(of_message).count(), 0);
}

#[test]
fn a_call_in_a_callback_ends_with_its_outer_call_and_a_rank_without_calls_has_a_location() {
    let inner = Call { nested: 1, ..call("MPI_Test", 6, 90) };
    let ranks = vec![
        rank(0, "n", vec![call("MPI_Reduce", 5, 30), inner]),
        RankTrace { rank: Some(1), ..RankTrace::default() },
    ];
    let plan = Plan::of(&JobTrace { ranks, ..JobTrace::default() });
    let ends: Vec<u64> = plan.locations[0]
        .events
        .iter()
        .filter(|(_, event)| matches!(event, Event::Leave { .. }))
        .map(|(ns, _)| *ns)
        .collect();
    assert_eq!((ends.as_slice(), plan.locations.len()), (&[30, 30][..], 2));
    assert_eq!((plan.locations[1].id, plan.locations[1].events.len()), (1, 0));
}

#[test]
fn nonblocking_calls_are_not_collectives_and_large_counts_change_nothing() {
    let operation = |name| functions::operation(name).map(|operation| operation.0);
    assert_eq!((operation("MPI_Allreduce_c"), operation("MPI_Iallreduce")), (Some(11), None));
    assert_eq!((operation("MPI_Comm_dup"), operation("MPI_Barrier")), (None, Some(0)));
    let roles = ["MPI_Sendrecv_replace", "MPI_Send_c", "MPI_File_open", "MPI_Win_fence", "MPI_Init"];
    let wanted = [Role::POINT_TO_POINT, Role::POINT_TO_POINT, Role::FILE, Role::ONE_SIDED, Role::FUNCTION];
    assert_eq!(roles.map(functions::role), wanted);
}

#[test]
fn a_folder_that_is_not_empty_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("mine"), "").unwrap();
    let refused = super::write(&trace(), folder.path()).unwrap_err().to_string();
    // Without the library, that is reported first.
    assert!(refused.contains("not empty") || refused.contains("libopen-trace-format2-10"), "{refused}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
