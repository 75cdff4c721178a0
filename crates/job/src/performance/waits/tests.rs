mod at_the_end;
mod groups;

use super::*;
use crate::observation::history::Completed;
use crate::observation::ledger::{Ledger, Line, Ring, Waited};
use crate::observation::locks::{Epoch, Locks};
use crate::observation::{
    ANOTHER_WORLD, Between, Call, Collective, Communicator, History, LastLook, Remote, RootBetween, Stage,
    Thread,
};
use std::sync::Arc;

const WORLD: u64 = 7;
const MS: u64 = 1_000_000;

/// One of `size` ranks of a world.
fn rank(rank: u32, size: u32) -> Observation {
    let comm =
        Communicator { identity: WORLD, name: "MPI_COMM_WORLD".into(), rank, size, ..Default::default() };
    Observation {
        world: "w".into(),
        rank: Some(rank),
        size: Some(size),
        stage: Stage::Finalized,
        communicators: vec![comm],
        ledger: Some(Box::default()),
        ..Default::default()
    }
}

/// Adds collectives, with start and end in milliseconds.
fn with_collectives(mut seen: Observation, calls: &[(&str, Option<i64>, u64, u64)]) -> Observation {
    let mut history = History { comm: WORLD, newest: calls.len() as u64, ..History::default() };
    for (at, (function, root, from, until)) in (0..).zip(calls) {
        let place = Some(format!("heat.c:{}", 10 * (at + 1)));
        let collective = Collective {
            comm: WORLD,
            function: (*function).into(),
            root: *root,
            place,
            ..Default::default()
        };
        history.kinds.push(collective);
        history.entries.push((u64::from(at) + 1, at));
        history.times.push((from * MS, until * MS));
    }
    seen.history = vec![history];
    seen
}

/// One end of the `nth` message with a rank: posted, then waited for.
fn line(peer: u32, nth: u32, function: &str, place: &str, [posted, from, until]: [u64; 3]) -> Line {
    let call = Called { function: function.into(), place: Some(place.into()) };
    let waited = Waited { from_ns: from * MS, until_ns: until * MS, call: Arc::new(call) };
    let order = u64::from(nth);
    Line { comm: WORLD, peer, nth, order, posted_ns: posted * MS, waited: Some(waited), ..Line::default() }
}

fn with_messages(mut seen: Observation, sent: Vec<Line>, received: Vec<Line>) -> Observation {
    let ring = |lines| Ring { lines, ..Ring::default() };
    seen.ledger = Some(Box::new(Ledger { sent: ring(sent), received: ring(received), ..Ledger::default() }));
    seen
}

/// Returns the waits, of which every one must belong to collectives or messages, unless it is for a lock.
fn of(observations: &[Observation], time: Time<'_>) -> Waits {
    let found = super::of(observations, time);
    let others = found.list.iter().filter(|lost| lost.kind != Kind::LOCK);
    let whole: f64 = others.map(|lost| lost.estimated_s.unwrap_or(lost.seconds)).sum();
    let collectives: f64 = found.of_collectives.iter().map(|part| part.seconds).sum();
    let messages: f64 = found.of_messages.iter().map(OfMessages::seconds).sum();
    assert!((whole - collectives - messages).abs() <= 0.01 * whole, "{found:#?}");
    found
}

fn lines_of(observations: &[Observation]) -> Vec<(Kind, String)> {
    let found = of(observations, Time { threads: 1.0, waiting: 1.0, collectives: 1.0, spent: None });
    found.list.iter().map(|lost| (lost.kind, lost.to_string())).collect()
}

#[test]
fn ranks_that_wait_for_a_late_sender_lose_the_time_until_it_sends() {
    let receive = |me| {
        let line = line(0, 1, "MPI_Waitall", "heat.c:52", [100, 110, 420]);
        with_messages(rank(me, 3), vec![], vec![line])
    };
    let sends = [1, 2].map(|to| line(to, 1, "MPI_Send", "heat.c:44", [410, 410, 415]));
    let before = with_collectives(rank(0, 3), &[("MPI_Barrier", None, 90, 91)]);
    let sender = with_messages(before, sends.to_vec(), vec![]);
    let wanted = "ranks [1-2] lost 600 ms (60 %) in MPI_Waitall at heat.c:52 waiting for rank 0, \
                  which was computing after MPI_Barrier at heat.c:10";
    assert_eq!(lines_of(&[sender, receive(1), receive(2)]), [(Kind::LATE_SENDER, wanted.to_owned())]);
}

#[test]
fn a_sender_waits_for_a_late_receiver_no_longer_than_its_call_took() {
    let pair = |until| {
        let sender = line(1, 1, "MPI_Ssend", "a.c:1", [100, 100, until]);
        let receiver = line(0, 1, "MPI_Recv", "a.c:2", [300, 300, 310]);
        [with_messages(rank(0, 2), vec![sender], vec![]), with_messages(rank(1, 2), vec![], vec![receiver])]
    };
    let waited = |until| of(&pair(until), Time::default()).list.first().map(|lost| (lost.kind, lost.seconds));
    assert_eq!(waited(305), Some((Kind::LATE_RECEIVER, 0.2)));
    assert_eq!(waited(101), Some((Kind::LATE_RECEIVER, 0.001)), "it went into a buffer");
}

#[test]
fn a_send_receive_call_waits_for_its_partner_as_a_receiver() {
    for late in [0, 1] {
        let exchanges = |me: u32| {
            let from = if me == late { 300 } else { 100 };
            let both = line(1 - me, 1, "MPI_Sendrecv", "a.c:3", [from, from, 305]);
            with_messages(rank(me, 2), vec![both.clone()], vec![both])
        };
        let found = of(&[exchanges(0), exchanges(1)], Time::default());
        let kinds: Vec<_> = found.list.iter().map(|lost| (lost.kind, lost.seconds)).collect();
        assert_eq!(kinds, [(Kind::LATE_SENDER, 0.2)], "rank {late} is late");
    }
}

#[test]
fn a_call_that_completes_a_send_and_a_receive_at_once_waited_for_the_message() {
    for late in [0, 1] {
        let exchanges = |me: u32| {
            let at = if me == late { 300 } else { 100 };
            let of = |posted| line(1 - me, 1, "MPI_Waitall", "a.c:5", [posted, at + 2, 310]);
            let seen = Observation { pid: me, ..rank(me, 2) };
            with_messages(seen, vec![of(at + 1)], vec![of(at)])
        };
        let found = finish(Sum::default(), &[exchanges(0), exchanges(1)], of_messages(1));
        let kinds: Vec<_> = found.list.iter().map(|lost| lost.kind).collect();
        assert_eq!(kinds[..1], [Kind::LATE_SENDER], "rank {late} is late: {found:?}");
    }
}

#[test]
fn a_call_that_completes_several_messages_waits_for_the_last_one() {
    let receives = vec![
        line(1, 1, "MPI_Waitall", "a.c:9", [0, 10, 100]),
        line(2, 1, "MPI_Waitall", "a.c:9", [0, 10, 100]),
    ];
    let sender =
        |me, at| with_messages(rank(me, 3), vec![line(0, 1, "MPI_Send", "a.c:5", [at, at, at + 1])], vec![]);
    let all = [with_messages(rank(0, 3), vec![], receives), sender(1, 40), sender(2, 90)];
    let found = of(&all, Time::default());
    assert_eq!(found.list.len(), 1, "{found:?}");
    assert_eq!((found.list[0].culprit.to_string().as_str(), found.list[0].seconds), ("2", 0.08));
}

#[test]
fn members_wait_for_the_last_at_a_barrier_for_a_late_root_and_an_early_root_for_them() {
    let member = |me, at: [u64; 3]| {
        let calls = [
            ("MPI_Barrier", None, at[0], 51),
            ("MPI_Bcast", Some(0), at[1], 151),
            ("MPI_Reduce", Some(0), at[2], 251),
        ];
        with_collectives(rank(me, 3), &calls)
    };
    let all = [member(0, [10, 150, 200]), member(1, [50, 110, 250]), member(2, [20, 120, 210])];
    let found = of(&all, Time::default());
    let got: Vec<_> =
        found.list.iter().map(|l| (l.kind, l.ranks.to_string(), l.culprit.to_string(), l.seconds)).collect();
    let wanted = [
        (Kind::LATE_ROOT, "[1-2]".to_owned(), "0".to_owned(), 0.07),
        (Kind::BARRIER, "[0,2]".to_owned(), "1".to_owned(), 0.07),
        (Kind::EARLY_ROOT, "0".to_owned(), "1".to_owned(), 0.05),
    ];
    assert_eq!(got, wanted);
}

#[test]
fn nothing_is_reported_if_a_member_is_unknown() {
    let calls = [("MPI_Barrier", None, 10, 500)];
    let alone = [with_collectives(rank(0, 2), &calls), rank(1, 2)];
    assert!(lines_of(&alone).is_empty());
}

#[test]
fn a_late_rank_is_described_by_the_call_it_was_in() {
    let first = with_collectives(rank(0, 2), &[("MPI_Barrier", None, 10, 401)]);
    let second = with_collectives(rank(1, 2), &[("MPI_Barrier", None, 400, 401)]);
    let receive = line(0, 1, "MPI_Recv", "a.c:3", [20, 20, 390]);
    let second = with_messages(second, vec![], vec![receive]);
    assert!(lines_of(&[first, second])[0].1.ends_with("which was in MPI_Recv at a.c:3"));
}

#[test]
fn ranks_of_different_hosts_are_not_compared() {
    let late = with_collectives(rank(0, 2), &[("MPI_Barrier", None, 500, 501)]);
    let early = with_collectives(rank(1, 2), &[("MPI_Barrier", None, 100, 501)]);
    let time = Time { threads: 1.0, waiting: 1.0, collectives: 1.0, spent: None };
    let near = of(&[late.clone(), early.clone()], time);
    assert!(near.one_clock && near.list.len() == 1, "{near:?}");
    let far = of(&[late, Observation { host: "n2".into(), ..early }], time);
    assert!(!far.one_clock && far.list.is_empty(), "{far:?}");
}

#[test]
fn ranks_of_two_hosts_share_a_clock_and_only_waits_longer_than_its_error_count() {
    let late =
        with_collectives(rank(0, 2), &[("MPI_Barrier", None, 105, 106), ("MPI_Bcast", Some(0), 500, 501)]);
    let early = with_collectives(
        rank(1, 2),
        &[("MPI_Barrier", None, 1_100, 1_106), ("MPI_Bcast", Some(0), 1_300, 1_501)],
    );
    let time = Time { threads: 1.0, waiting: 1.0, collectives: 1.0, spent: None };
    let mut here = late;
    here.by_clock(0, |ns| ns);
    // That host's clock is a second ahead, known with an error of three milliseconds.
    let mut there = Observation { host: "n2".into(), ..early };
    there.by_clock(3 * MS, |ns| ns - 1_000 * MS);
    let found = of(&[here, there], time);
    assert!(found.one_clock && found.clocks_error_s == Some(0.006), "{found:?}");
    assert_eq!(found.list.len(), 1, "the barrier was waited at for less than the error: {found:?}");
    assert!(found.list[0].kind == Kind::LATE_ROOT && found.list[0].seconds == 0.2, "{found:?}");
}

#[test]
fn observations_of_several_hosts_are_summed_as_received() {
    let on = |host: &str, ranks: [u32; 2]| {
        let mut sum = Sum::default();
        let [mut one, mut two] = barriers(1..=8);
        for (seen, rank) in [(&mut one, ranks[0]), (&mut two, ranks[1])] {
            (seen.host, seen.rank) = (host.into(), Some(rank));
            // Each host has its own communicator.
            seen.communicators[0].identity += u64::from(ranks[0]);
            seen.history[0].comm += u64::from(ranks[0]);
        }
        sum.add_last(&[one.clone(), two.clone()], Spent { collectives: 0.3, messages: 0.0 });
        (sum, [one, two])
    };
    let (mut here, first) = on("n1", [0, 1]);
    let (there, second) = on("n2", [2, 3]);
    let sent = serde_json::from_str(&serde_json::to_string(&there).unwrap()).unwrap();
    here.take_in(sent);
    let observations: Vec<_> = first.into_iter().chain(second).collect();
    let found = here.finish(&observations, Time::default(), &|text| text.to_owned());
    assert_eq!((found.collectives, found.collectives_seen, found.looks), (16, 16, 2), "{found:?}");
    let seconds: f64 = found.list.iter().map(|lost| lost.seconds).sum();
    assert!((seconds - 2.0 * 8.0 * 0.03).abs() < 1e-9, "{found:?}");
    assert_eq!(found.list.len(), 2, "each host waited for its own late rank: {found:?}");
}

/// The barriers with these numbers, one every hundred milliseconds, in which rank 1 is thirty milliseconds
/// late.
fn barriers(numbers: std::ops::RangeInclusive<u64>) -> [Observation; 2] {
    [0, 1].map(|me| {
        let mut seen = rank(me, 2);
        let mut history = History { comm: WORLD, newest: *numbers.end(), ..History::default() };
        let place = Some("heat.c:7".into());
        history.kinds.push(Collective { function: "MPI_Barrier".into(), place, ..Collective::default() });
        for number in numbers.clone() {
            let until = 100 * number + 50;
            let from = if me == 1 { until - 10 } else { until - 40 };
            history.entries.push((number, 0));
            history.times.push((from * MS, until * MS));
        }
        seen.history = vec![history];
        seen
    })
}

/// Seconds in the first barriers: fifty milliseconds in each, over both ranks.
fn inside(count: u64) -> f64 {
    count as f64 * 0.05
}

fn spent(count: u64) -> Spent {
    Spent { collectives: inside(count), messages: 0.0 }
}

fn after(count: u64) -> Time<'static> {
    Time { threads: 20.0, waiting: inside(count), collectives: inside(count), spent: None }
}

#[test]
fn a_collective_is_counted_once_however_often_it_was_seen() {
    let mut sum = Sum::default();
    for end in [3u64, 5, 5, 8] {
        sum.add(&barriers(end.max(4) - 3..=end), spent(end));
    }
    let found = sum.finish(&barriers(5..=10), after(10), &str::to_owned);
    assert_eq!((found.collectives, found.collectives_seen, found.looks), (10, 10, 5));
    assert_eq!(found.list.len(), 1, "{found:?}");
    assert!((found.seconds - 0.3).abs() < 1e-9 && found.list[0].times == 10, "{found:?}");
    assert!(found.seen_share > 0.999 && found.estimated.is_none(), "{found:?}");
}

#[test]
fn records_overwritten_between_samples_are_counted_and_estimated() {
    let mut sum = Sum::default();
    for end in [20, 40, 60] {
        sum.add(&barriers(end - 4..=end), spent(end));
    }
    let found = sum.finish(&barriers(96..=100), after(100), &str::to_owned);
    assert_eq!((found.collectives, found.collectives_seen), (100, 20));
    assert!((found.seconds - 0.6).abs() < 1e-9, "{found:?}");
    let all = found.estimated.unwrap();
    assert!((all.seconds - 3.0).abs() < 1e-6 && (all.error_s - 0.2 * 2.4).abs() < 1e-6, "{all:?}");
    assert!((found.seen_share - 0.2).abs() < 1e-6, "{found:?}");
    let wanted = "rank 0 lost 600 ms (3 %) in MPI_Barrier at heat.c:7 waiting for rank 1, which was computing after \
                  MPI_Barrier at heat.c:7 (as far as seen; about 3.00 s over the whole run)";
    assert_eq!(found.list.first().map(ToString::to_string).as_deref(), Some(wanted));
}

#[test]
fn an_unfinished_collective_is_counted_in_the_next_sample() {
    let mut sum = Sum::default();
    let mut first = barriers(1..=2);
    first[0].history[0].times[1].1 = 0;
    sum.add(&first, spent(1));
    let found = sum.finish(&barriers(1..=2), after(2), &str::to_owned);
    assert_eq!((found.collectives_seen, found.list[0].times), (2, 2), "{found:?}");
}

#[test]
fn waits_are_read_back_as_they_were_written() {
    let mut found = of(&barriers(1..=4), after(4));
    // Every digit counts: the report of a finished job is printed from what was read back.
    found.seconds = 1.050_000_000_000_000_3;
    let text = serde_json::to_string(&found).unwrap();
    assert_eq!(serde_json::from_str::<Waits>(&text).unwrap(), found);
}

#[test]
fn no_rank_waits_longer_than_it_was_in_mpi_and_equal_ranks_do_not_wait() {
    let even =
        |me| with_collectives(rank(me, 2), &[("MPI_Barrier", None, 10, 20), ("MPI_Allreduce", None, 30, 45)]);
    assert!(lines_of(&[even(0), even(1)]).is_empty());
    let found = of(&barriers(1..=30), after(30));
    assert!(found.seconds <= found.seen_s && found.seen_s <= inside(30) + 1e-9, "{found:?}");
}

/// One end of a message that rank 0 sends and rank 1 receives: its position in the ring is one less than its
/// number.
fn end(peer: u32, nth: u64, function: &str, times: [u64; 3]) -> Line {
    Line { place: nth - 1, ..line(peer, nth as u32, function, "heat.c:9", times) }
}

/// Messages with these numbers, one every hundred milliseconds; the receiver waits thirty milliseconds for
/// each.
fn messages(
    sent: std::ops::RangeInclusive<u64>,
    received: std::ops::RangeInclusive<u64>,
) -> [Observation; 2] {
    let ring = |written, lines: Vec<Line>| Ring { lines, wrapped: true, written, ..Ring::default() };
    let send = |nth: u64| end(1, nth, "MPI_Send", [100 * nth, 100 * nth, 100 * nth + 1]);
    let receive = |nth: u64| end(0, nth, "MPI_Recv", [100 * nth - 30, 100 * nth - 30, 100 * nth + 10]);
    let [mut sender, mut receiver] = [rank(0, 2), rank(1, 2)];
    (sender.pid, receiver.pid) = (10, 11);
    let there = ring(*sent.end(), sent.map(send).collect());
    let here = ring(*received.end(), received.map(receive).collect());
    sender.ledger = Some(Box::new(Ledger { sent: there, ..Ledger::default() }));
    receiver.ledger = Some(Box::new(Ledger { received: here, ..Ledger::default() }));
    [sender, receiver]
}

/// Seconds in the first of these messages: forty-one milliseconds in each, over both ranks.
fn of_messages(count: u64) -> Spent {
    Spent { collectives: 0.0, messages: count as f64 * 0.041 }
}

/// The last pass of the follower, and that of the reporter, which observes the same again.
fn finish(mut sum: Sum, last: &[Observation], spent: Spent) -> Waits {
    sum.add_last(last, spent);
    sum.finish(
        last,
        Time { threads: 20.0, waiting: spent.messages, collectives: 0.0, spent: None },
        &str::to_owned,
    )
}

#[test]
fn a_message_is_counted_once_however_often_and_in_whatever_order_its_ends_were_seen() {
    let mut sum = Sum::default();
    for [sent, received] in [[3, 2], [5, 5], [5, 5], [9, 8], [12, 12]] {
        sum.add(&messages(1..=sent, 1..=received), of_messages(received));
    }
    let found = finish(sum, &messages(5..=20, 3..=20), of_messages(20));
    assert_eq!((found.messages_received, found.messages_seen), (20, 20), "{found:?}");
    assert_eq!(found.list.iter().map(|lost| lost.times).sum::<u64>(), 20, "{found:?}");
    assert!((found.seconds - 0.6).abs() < 1e-9, "{found:?}");
    assert!((found.seen_share - 1.0).abs() < 1e-9 && found.estimated.is_none(), "{found:?}");
    assert!(found.list.iter().all(|lost| lost.kind == Kind::LATE_SENDER && lost.culprit.to_string() == "0"));
}

#[test]
fn a_receive_waits_during_its_probe_but_not_during_work_before_the_receive() {
    let sent = || end(1, 1, "MPI_Isend", [100, 300, 301]);
    let probe = |from: u64, until: u64| {
        let call = Arc::new(Called { function: "MPI_Probe".into(), place: Some("heat.c:5".into()) });
        Some(Waited { from_ns: from * MS, until_ns: until * MS, call })
    };
    let found = |probed, times| {
        let [mut sender, mut receiver] = [rank(0, 2), rank(1, 2)];
        (sender.pid, receiver.pid) = (10, 11);
        let received = Line { probed, ..end(0, 1, "MPI_Recv", times) };
        let ends =
            [with_messages(sender, vec![sent()], vec![]), with_messages(receiver, vec![], vec![received])];
        let mut sum = Sum::default();
        sum.add(&ends, Spent::default());
        let followed = finish(sum, &ends, Spent::default());
        let looked_at_once = of(&ends, Time { threads: 1.0, waiting: 1.0, collectives: 0.0, spent: None });
        for waits in [&followed, &looked_at_once] {
            assert_eq!(waits.list.len(), followed.list.len(), "{waits:#?}");
        }
        let one = |lost: &Lost| (lost.kind, lost.function.clone(), (1000.0 * lost.seconds).round() as u64);
        followed.list.iter().map(one).collect::<Vec<_>>()
    };
    let in_probe = || (Kind::LATE_SENDER, "MPI_Probe".to_owned(), 60);
    assert_eq!(found(probe(40, 102), [200, 200, 210]), [in_probe()]);
    // It arrived at once, and the receive waited until the sender was in MPI again.
    let completed = (Kind::LATE_COMPLETION, "MPI_Recv".to_owned(), 100);
    assert_eq!(found(probe(40, 102), [200, 200, 310]), [completed, in_probe()]);
    // A message sent after the probe returned is not what it found.
    assert_eq!(found(probe(40, 90), [200, 200, 210]), []);
}

#[test]
fn messages_overwritten_between_samples_are_estimated_and_never_paired_wrongly() {
    let mut sum = Sum::default();
    for end in [20, 40, 60, 80] {
        // The rings end differently: the sender is ahead.
        sum.add(&messages(end - 5..=end + 2, end - 7..=end), of_messages(end));
    }
    let found = finish(sum, &messages(93..=100, 93..=100), of_messages(100));
    assert_eq!(found.messages_received, 100);
    assert!((20..=40).contains(&found.messages_seen), "{found:?}");
    // A wrongly paired message would be late by another tenth of a second.
    let times: u64 = found.list.iter().map(|lost| lost.times).sum();
    assert!((found.seconds - 0.03 * times as f64).abs() < 1e-9 && times == found.messages_seen, "{found:?}");
    let all = found.estimated.unwrap();
    assert!((all.seconds - 3.0).abs() <= all.error_s && all.error_s < 1.0, "{all:?}");
}

#[test]
fn a_call_that_completes_messages_of_several_samples_waits_once_for_the_last() {
    let receive = |place, peer, times| Line { place, ..line(peer, 1, "MPI_Waitall", "heat.c:9", times) };
    let send = |me: u32, at| {
        let mut seen = with_messages(rank(me, 3), vec![end(0, 1, "MPI_Send", [at, at, at + 1])], vec![]);
        seen.pid = me;
        seen
    };
    let receives = [receive(0, 1, [0, 10, 100]), receive(1, 2, [0, 10, 100])];
    let all = |count: usize| {
        let mut seen =
            [with_messages(rank(0, 3), vec![], receives[..count].to_vec()), send(1, 40), send(2, 90)];
        seen[0].pid = 99;
        seen
    };
    let mut sum = Sum::default();
    [1, 1, 2, 2].iter().for_each(|count| sum.add(&all(*count), of_messages(0)));
    let found = finish(sum, &all(2), of_messages(0));
    assert_eq!(found.list.len(), 1, "{found:?}");
    assert_eq!((found.list[0].culprit.to_string().as_str(), found.list[0].seconds), ("2", 0.08));
    assert!((found.seen_s - 0.092).abs() < 1e-9, "{found:?}");
}

#[test]
fn a_send_that_ends_after_its_message_was_paired_still_waited_for_the_receiver() {
    let pair = |ended: bool| {
        let mut send = end(1, 1, "MPI_Wait", [10, 20, 320]);
        send.waited = send.waited.filter(|_| ended);
        let receive = end(0, 1, "MPI_Recv", [300, 300, 310]);
        let mut both =
            [with_messages(rank(0, 2), vec![send], vec![]), with_messages(rank(1, 2), vec![], vec![receive])];
        (both[0].pid, both[1].pid) = (1, 2);
        both
    };
    let mut sum = Sum::default();
    [false, false, false, true].iter().for_each(|ended| sum.add(&pair(*ended), of_messages(0)));
    let found = finish(sum, &pair(true), of_messages(0));
    assert_eq!(found.list.len(), 1, "{found:?}");
    assert_eq!((found.list[0].kind, found.list[0].seconds), (Kind::LATE_RECEIVER, 0.28));
}

#[test]
fn receives_completed_out_of_order_get_their_own_messages() {
    let sends = [10, 200].map(|at| (at, [at, at, at + 1]));
    let sends = (1u64..).zip(sends).map(|(nth, (_, times))| end(1, nth, "MPI_Send", times)).collect();
    // The receive posted second was waited for first.
    let second = Line { order: 2, ..end(0, 1, "MPI_Wait", [5, 100, 210]) };
    let first = Line { order: 1, ..end(0, 2, "MPI_Wait", [4, 211, 212]) };
    let all = |count: usize| {
        let received = [second.clone(), first.clone()][..count].to_vec();
        let mut both = [
            with_messages(rank(0, 2), Vec::clone(&sends), vec![]),
            with_messages(rank(1, 2), vec![], received),
        ];
        (both[0].pid, both[1].pid) = (1, 2);
        both
    };
    let mut sum = Sum::default();
    [1, 2, 2, 2].iter().for_each(|count| sum.add(&all(*count), of_messages(0)));
    let found = finish(sum, &all(2), of_messages(0));
    assert!((found.seconds - 0.1).abs() < 1e-9 && found.list.len() == 1, "{found:?}");
}

#[test]
fn a_propagated_delay_is_attributed_to_its_origin() {
    // All meet at a barrier; rank 0 sends late to rank 1, which sends to rank 2 after as much work as rank 2
    // has done.
    let met = |me| {
        let mut seen = with_collectives(rank(me, 3), &[("MPI_Barrier", None, 9, 10)]);
        seen.pid = me;
        seen
    };
    let first = with_messages(met(0), vec![line(1, 1, "MPI_Send", "a.c:1", [410, 410, 411])], vec![]);
    let second = with_messages(
        met(1),
        vec![line(2, 1, "MPI_Send", "a.c:3", [511, 511, 512])],
        vec![line(0, 1, "MPI_Recv", "a.c:2", [10, 10, 411])],
    );
    let third = with_messages(met(2), vec![], vec![line(1, 1, "MPI_Recv", "a.c:4", [111, 111, 512])]);
    let found =
        of(&[first, second, third], Time { threads: 2.0, waiting: 2.0, collectives: 0.1, spent: None });
    let lines: Vec<String> = found.list.iter().map(ToString::to_string).collect();
    let wanted = [
        "rank 1 lost 400 ms (20 %) in MPI_Recv at a.c:2 waiting for rank 0, which was computing after MPI_Barrier at heat.c:10",
        "rank 2 lost 400 ms (20 %) in MPI_Recv at a.c:4 waiting for rank 1, which was in MPI_Recv at a.c:2; 400 ms of it began \
         with rank 0, computing after MPI_Barrier at heat.c:10",
    ];
    assert_eq!(lines, wanted);
    let causes: Vec<String> = found.causes.iter().map(ToString::to_string).collect();
    let wanted = "rank 0, computing after MPI_Barrier at heat.c:10, cost ranks [1-2] 800 ms (40 %), 400 ms of it \
                  through others that it delayed";
    assert_eq!(causes.first().map(String::as_str), Some(wanted));
    assert_eq!(found.foremost(0.05).as_deref(), Some(wanted));
    assert_eq!(found.foremost(0.3), None, "no wait is as long, though all together are");
    let direct = Waits { causes: Vec::new(), ..found.clone() };
    assert_eq!(direct.foremost(0.05), lines.last().cloned());
    let sum: f64 = found.causes.iter().map(|cause| cause.seconds).sum();
    assert!((sum - found.seconds).abs() < 1e-6, "{found:?}");
}

#[test]
fn a_member_of_a_prefix_reduction_waits_for_the_last_of_lower_rank() {
    let member = |me, at| with_collectives(rank(me, 4), &[("MPI_Scan", None, at, 200)]);
    let found = of(&[member(0, 100), member(1, 20), member(2, 90), member(3, 150)], Time::default());
    let parts = |lost: &Lost| (lost.kind, lost.ranks.to_string(), lost.culprit.to_string(), lost.seconds);
    let lines: Vec<_> = found.list.iter().map(parts).collect();
    let wait = |rank: &str, seconds| (Kind::EARLY_SCAN, rank.to_owned(), "0".to_owned(), seconds);
    assert_eq!(lines, [wait("[1-2]", 0.09)], "nobody waits for ranks above: {found:?}");
}

#[test]
fn waiting_for_a_late_message_while_a_later_one_is_there_is_the_wrong_order() {
    let all = |asked: u64| {
        let receives = vec![
            Line { place: 0, ..line(1, 1, "MPI_Recv", "a.c:1", [20, 20, 320]) },
            Line { place: 1, ..line(2, 1, "MPI_Recv", "a.c:2", [asked, 330, 331]) },
        ];
        let send = |me, at| with_messages(rank(me, 3), vec![end(0, 1, "MPI_Send", [at, at, at + 1])], vec![]);
        let mut seen = [with_messages(rank(0, 3), vec![], receives), send(1, 319), send(2, 10)];
        (0..).zip(&mut seen).for_each(|(pid, seen)| seen.pid = pid);
        seen
    };
    let kind = |asked| {
        let found = finish(Sum::default(), &all(asked), of_messages(0));
        assert_eq!(found.list[0].line.as_deref(), Some("a.c:1"), "{found:?}");
        found.list[0].kind
    };
    assert_eq!(kind(330), Kind::WRONG_ORDER);
    assert_eq!(kind(5), Kind::LATE_SENDER, "its receive was posted before");
}

#[test]
fn an_earlier_message_of_the_same_rank_is_in_the_wrong_order_whatever_its_tag() {
    for tags in [[1, 2], [2, 1]] {
        let tagged = |at: usize, line: Line| Line { tag: tags[at], place: at as u64, ..line };
        let sent = vec![
            tagged(0, end(1, 1, "MPI_Send", [10, 10, 11])),
            tagged(1, end(1, 2, "MPI_Send", [319, 319, 320])),
        ];
        let received = vec![
            Line { tag: tags[1], place: 0, ..line(0, 2, "MPI_Recv", "a.c:1", [20, 20, 320]) },
            Line { tag: tags[0], place: 1, ..line(0, 1, "MPI_Recv", "a.c:2", [330, 330, 331]) },
        ];
        let seen = [with_messages(rank(0, 2), sent, vec![]), with_messages(rank(1, 2), vec![], received)];
        let found = finish(Sum::default(), &seen, of_messages(0));
        assert_eq!(found.list[0].kind, Kind::WRONG_ORDER, "{tags:?}: {found:?}");
    }
}

#[test]
fn messages_of_a_rank_found_late_are_not_lost() {
    for late in [0, 1] {
        let mut sum = Sum::default();
        for look in 1..=3 {
            let both = messages(1..=3 * look, 1..=3 * look);
            let seen = if look == 1 { vec![both[1 - late].clone()] } else { both.to_vec() };
            sum.add(&seen, of_messages(3 * look));
        }
        let found = finish(sum, &messages(1..=9, 1..=9), of_messages(9));
        assert_eq!((found.messages_received, found.messages_seen), (9, 9), "rank {late}: {found:?}");
    }
}

/// A collective started at a time and completed by a call.
fn started(me: u32, size: u32, function: &str, at: u64, completed: Option<[u64; 2]>) -> Observation {
    let mut seen = with_collectives(rank(me, size), &[(function, None, at, 0)]);
    let of = |[from, until]: [u64; 2]| Completed {
        number: 1,
        from_ns: from * MS,
        until_ns: until * MS,
        function: "MPI_Wait".into(),
        place: Some("heat.c:11".into()),
    };
    seen.history[0].completed = completed.map(of).into_iter().collect();
    seen
}

#[test]
fn completing_a_nonblocking_collective_waits_for_the_last_member_to_start_or_poll() {
    let all = [
        started(0, 2, "MPI_Iallreduce", 100, Some([110, 510])),
        started(1, 2, "MPI_Iallreduce", 300, Some([500, 511])),
    ];
    let got = lines_of(&all);
    let wanted = [
        "rank 0 lost 200 ms (20 %) in MPI_Wait at heat.c:11 waiting for rank 1, which was computing after MPI_Iallreduce at heat.c:10",
        "rank 0 lost 190 ms (19 %) in MPI_Wait at heat.c:11 waiting for rank 1, which was computing",
    ];
    assert_eq!(got.len(), 2, "{got:?}");
    assert_eq!((got[0].0, got[1].0), (Kind::LATE_COMPLETION, Kind::N_TO_N));
    assert!(got.iter().zip(wanted).all(|((_, said), wanted)| said.starts_with(&wanted[..60])), "{got:?}");
}

#[test]
fn a_nonblocking_collective_is_counted_once_complete_while_others_continue() {
    let look = |done: Option<[u64; 2]>| {
        let of = |me| {
            let mut seen = started(me, 2, "MPI_Ibarrier", 100 + 50 * u64::from(me), done);
            let history = &mut seen.history[0];
            let kind = Collective { function: "MPI_Barrier".into(), ..Collective::default() };
            history.kinds.push(kind);
            history.entries.push((2, 1));
            history.times.push((200 * MS, 201 * MS));
            history.newest = 2;
            seen
        };
        [of(0), of(1)]
    };
    let mut sum = Sum::default();
    sum.add(&look(None), Spent::default());
    sum.add(&look(None), Spent::default());
    let half = sum.finish(&[], Time::default(), &str::to_owned);
    assert_eq!((half.collectives, half.collectives_seen), (2, 1), "{half:?}");
    sum.add(&look(Some([110, 400])), Spent::default());
    let found = sum.finish(&look(Some([110, 400])), Time::default(), &str::to_owned);
    assert_eq!((found.collectives, found.collectives_seen), (2, 2), "{found:?}");
    let [wait] = found.list.as_slice() else { panic!("{found:?}") };
    assert_eq!((wait.kind, wait.seconds, wait.times), (Kind::BARRIER, 0.04, 1));
}

#[test]
fn members_of_a_neighborhood_wait_for_the_last_neighbor_whose_data_they_receive() {
    let member = |me: u32, sources: &[u32], from| {
        let mut seen = with_collectives(rank(me, 4), &[("MPI_Neighbor_alltoall", None, from, 600)]);
        seen.communicators[0].sources = Some(sources.to_vec());
        seen
    };
    let all = [member(0, &[1], 500), member(1, &[0, 2], 100), member(2, &[1, 3], 150), member(3, &[2], 110)];
    let found = of(&all, Time::default());
    let got: Vec<_> =
        found.list.iter().map(|l| (l.kind, l.ranks.to_string(), l.culprit.to_string(), l.seconds)).collect();
    let wanted = [
        (Kind::N_TO_N, "1".to_owned(), "0".to_owned(), 0.4),
        (Kind::N_TO_N, "3".to_owned(), "2".to_owned(), 0.04),
    ];
    assert_eq!(got, wanted);
}

#[test]
fn a_sender_waits_for_a_receiver_that_polls_late_unless_its_call_returned_before() {
    let pair = |until| {
        let sender = line(1, 1, "MPI_Send", "a.c:1", [100, 100, until]);
        let receiver = line(0, 1, "MPI_Wait", "a.c:2", [50, 300, 310]);
        [with_messages(rank(0, 2), vec![sender], vec![]), with_messages(rank(1, 2), vec![], vec![receiver])]
    };
    let waited = |until| of(&pair(until), Time::default()).list.first().map(|lost| (lost.kind, lost.seconds));
    assert_eq!(waited(305), Some((Kind::LATE_COMPLETION, 0.2)));
    assert_eq!(waited(299), None, "it went into a buffer");
}

/// The locks of one rank on a window: requested, granted, and the start and end of the releasing call, in
/// milliseconds.
fn with_locks(mut seen: Observation, exclusive: bool, calls: &[[u64; 4]]) -> Observation {
    let call = |function: &str, from: u64, until: u64| Waited {
        from_ns: from * MS,
        until_ns: until * MS,
        call: Arc::new(Called { function: function.into(), place: None }),
    };
    let epoch = |(number, [asked, granted, releasing, released]): (u64, &[u64; 4])| Epoch {
        number,
        target: Some(0),
        exclusive,
        asked: call("MPI_Win_lock", *asked, *granted),
        released: Some(call("MPI_Win_unlock", *releasing, *released)),
    };
    let list: Vec<Epoch> = (1..).zip(calls).map(epoch).collect();
    seen.locks = vec![Locks { window: 3, newest: list.len() as u64, list }];
    seen
}

#[test]
fn a_lock_waits_for_its_holders_in_turn_but_readers_do_not_wait_for_each_other() {
    let holders = |exclusive| {
        [
            with_locks(rank(0, 3), exclusive, &[[100, 101, 200, 201]]),
            with_locks(rank(1, 3), exclusive, &[[110, 201, 300, 301]]),
            with_locks(rank(2, 3), exclusive, &[[120, 301, 310, 311]]),
        ]
    };
    let found = of(&holders(true), Time::default());
    let mut got: Vec<_> =
        found.list.iter().map(|l| (l.kind, l.ranks.to_string(), l.culprit.to_string(), l.seconds)).collect();
    got.sort_by(|a, b| (&a.1, &a.2).cmp(&(&b.1, &b.2)));
    let wanted = [
        (Kind::LOCK, "2".to_owned(), "1".to_owned(), 0.1),
        (Kind::LOCK, "[1-2]".to_owned(), "0".to_owned(), 0.17),
    ];
    assert_eq!(got, wanted);
    assert_eq!((found.locks, found.locks_seen), (3, 3));
    let seconds = found.seconds;
    assert!(of(&holders(false), Time::default()).list.is_empty());
    // A process slow to return from the release did not wait for the next holder.
    let slow = [
        with_locks(rank(0, 2), true, &[[100, 101, 200, 400]]),
        with_locks(rank(1, 2), true, &[[110, 201, 300, 301]]),
    ];
    let found = of(&slow, Time::default());
    assert!(found.list.len() == 1 && found.list[0].ranks.to_string() == "1", "{found:?}");
    // A library that defers taking locks grants them at once.
    let late = [
        with_locks(rank(0, 2), true, &[[100, 101, 200, 201]]),
        with_locks(rank(1, 2), true, &[[110, 111, 120, 205]]),
    ];
    let found = of(&late, Time::default());
    let [wait] = found.list.as_slice() else { panic!("{found:?}") };
    assert_eq!((wait.function.as_str(), wait.seconds), ("MPI_Win_unlock", 0.08));
    // The target was outside MPI until 400: that the lock came late is not due to the one that got it first.
    let together = [
        with_locks(rank(0, 3), true, &[[100, 400, 401, 402]]),
        with_locks(rank(1, 3), true, &[[110, 406, 410, 411]]),
        with_locks(rank(2, 3), true, &[[120, 415, 420, 421]]),
    ];
    let found = of(&together, Time::default());
    let all: f64 = found.list.iter().map(|lost| lost.seconds).sum();
    assert!(
        (all - 0.011).abs() < 1e-9,
        "2 x 1 ms for rank 0, and from its release 9 ms for rank 1: {found:?}"
    );
    // Observing the same again counts nothing twice.
    let mut sum = Sum::default();
    (0..3).for_each(|_| sum.add(&holders(true), Spent::default()));
    sum.add_last(&holders(true), Spent::default());
    let again = sum.finish(&holders(true), Time::default(), &str::to_owned);
    assert_eq!((again.locks, again.locks_seen, again.seconds), (3, 3, seconds));
}

#[test]
fn the_first_message_of_a_rank_is_paired_even_if_it_had_no_ledger_yet() {
    let open = Line { waited: None, ..line(1, 1, "MPI_Ssend", "a.c:1", [100, 100, 0]) };
    let nothing = Observation { ledger: None, ..rank(1, 2) };
    let mut sum = Sum::default();
    sum.add(&[with_messages(rank(0, 2), vec![open], vec![]), nothing], Spent::default());
    let sent = line(1, 1, "MPI_Ssend", "a.c:1", [100, 100, 305]);
    let received = line(0, 1, "MPI_Wait", "a.c:2", [50, 300, 310]);
    let mut all =
        [with_messages(rank(0, 2), vec![sent], vec![]), with_messages(rank(1, 2), vec![], vec![received])];
    for seen in &mut all {
        let ledger = seen.ledger.as_mut().unwrap();
        (ledger.sent.written, ledger.received.written) =
            (ledger.sent.lines.len() as u64, ledger.received.lines.len() as u64);
    }
    sum.add_last(&all, Spent::default());
    let found = sum.finish(&all, Time::default(), &str::to_owned);
    assert_eq!((found.messages_received, found.messages_seen), (1, 1), "{found:?}");
    assert_eq!(found.list[0].kind, Kind::LATE_COMPLETION);
}
