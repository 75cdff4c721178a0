//! Collectives that some ranks were in when everything ended.

use super::*;
use crate::observation::{Need, Receive};

/// A rank that is not observed again, inside a call since a given time.
fn open_at_the_end(mut seen: Observation, inside: Option<(&str, &str, u64)>) -> Observation {
    seen.last = Some(LastLook { looked_ns: 500 * MS, ended_ns: 400 * MS, began_to_end_ns: 400 * MS });
    let call = inside.map(|(function, place, since)| Call {
        function: function.into(),
        place: Some(place.into()),
        age_s: Some((500 - since) as f64 / 1e3),
        ..Call::default()
    });
    seen.threads = vec![Thread { call, ..Thread::default() }];
    seen
}

#[test]
fn ranks_in_a_collective_at_the_end_waited_for_those_that_had_not_entered_it() {
    let barrier = ("MPI_Barrier", None, 10, 11);
    let inside = |me| {
        let seen = with_collectives(rank(me, 3), &[barrier, ("MPI_Bcast", Some(0), 100, 0)]);
        open_at_the_end(seen, Some(("MPI_Bcast", "heat.c:20", 100)))
    };
    let before = with_collectives(rank(0, 3), &[barrier]);
    let computes = open_at_the_end(before.clone(), None);
    let receives = open_at_the_end(before.clone(), Some(("MPI_Recv", "heat.c:99", 50)));
    let lost = "ranks [1-2] lost 600 ms (60 %) in MPI_Bcast at heat.c:20 waiting for rank 0, which was";
    for (late, doing) in
        [(computes, "computing after MPI_Barrier at heat.c:10"), (receives, "in MPI_Recv at heat.c:99")]
    {
        let found = lines_of(&[late, inside(1), inside(2)]);
        assert_eq!(found, [(Kind::LATE_ROOT, format!("{lost} {doing}"))]);
    }
    // While the run goes on, it is not known how long they will have waited.
    let mut goes_on = [before, inside(1), inside(2)];
    goes_on.iter_mut().for_each(|seen| seen.last = None);
    assert_eq!(lines_of(&goes_on), []);
}

#[test]
fn a_rank_that_entered_it_and_lost_the_record_is_not_waited_for() {
    let inside = with_collectives(rank(1, 2), &[("MPI_Bcast", Some(0), 100, 0)]);
    let mut ahead = with_collectives(rank(0, 2), &[]);
    ahead.history.iter_mut().for_each(|history| history.newest = 60);
    let inside = open_at_the_end(inside, Some(("MPI_Bcast", "heat.c:10", 100)));
    assert_eq!(lines_of(&[open_at_the_end(ahead, None), inside]), []);
}

#[test]
fn activities_are_described_with_names_for_places_that_samples_only_recorded() {
    let barrier = ("MPI_Barrier", None, 10, 11);
    let inside = with_collectives(rank(0, 2), &[barrier, ("MPI_Bcast", Some(1), 100, 0)]);
    let inside = open_at_the_end(inside, Some(("MPI_Bcast", "heat.c:20", 100)));
    let late = || with_collectives(rank(1, 2), &[barrier]);
    let call = |place: &str| Call {
        function: "MPI_Recv".into(),
        place: Some(place.into()),
        age_s: Some(0.3),
        ..Call::default()
    };
    let receives =
        Observation { threads: vec![Thread { call: Some(call("noted")), ..Thread::default() }], ..late() };
    let mut sum = Sum::default();
    sum.sample(350 * MS, &[receives], &[]);
    let last = [inside, open_at_the_end(late(), None)];
    let found =
        sum.finish(&last, Time { threads: 1.0, waiting: 1.0, collectives: 1.0, spent: None }, &|text| {
            text.replace("noted", "heat.c:99")
        });
    let doing: Vec<&str> = found.list.iter().map(|lost| lost.meanwhile.as_str()).collect();
    assert_eq!(doing, ["in MPI_Recv at heat.c:99"]);
}

#[test]
fn ranks_in_a_receive_at_the_end_waited_for_the_sender_whether_or_not_they_were_killed() {
    let need =
        |from| Need::Message(Receive { comm: WORLD, from: Some(from), tag: Some(1), ..Receive::default() });
    let inside = |me: u32, function: &str, needs: Vec<Need>| {
        let mut seen = open_at_the_end(rank(me, 3), Some((function, "heat.c:20", 100)));
        seen.stage = Stage::Running;
        seen.threads
            .iter_mut()
            .flat_map(|thread| &mut thread.call)
            .for_each(|call| call.needs.clone_from(&needs));
        seen
    };
    let computes = || Observation { stage: Stage::Running, ..open_at_the_end(rank(0, 3), None) };
    let receives = inside(1, "MPI_Recv", vec![need(0)]);
    let completes = inside(2, "MPI_Waitall", vec![need(0), need(1)]);
    let killed = Observation { ended: Some("was killed".into()), ..receives.clone() };
    let lost = |who: u32, ms, part, function: &str, whom: u32, doing: &str| {
        let line = format!(
            "rank {who} lost {ms} ms ({part} %) in {function} at heat.c:20 waiting for rank {whom}, which was {doing}"
        );
        (Kind::LATE_SENDER, line)
    };
    for first in [receives, killed] {
        let found = lines_of(&[computes(), first, completes.clone()]);
        let expected = [
            lost(1, 300, 30, "MPI_Recv", 0, "computing"),
            lost(2, 150, 15, "MPI_Waitall", 0, "computing"),
            lost(
                2,
                150,
                15,
                "MPI_Waitall",
                1,
                "in MPI_Recv at heat.c:20; 150 ms of it began with rank 0, computing",
            ),
        ];
        assert_eq!(found, expected);
    }
    // Without records of messages, these waits are found by sampling.
    let mut seen = [computes(), inside(1, "MPI_Recv", vec![need(0)])];
    seen.iter_mut().for_each(|seen| seen.ledger = None);
    assert_eq!(lines_of(&seen), []);
}
