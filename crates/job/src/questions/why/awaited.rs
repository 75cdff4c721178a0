//! The processes that each open call certainly waits for at one moment: what verdicts follow over time, for
//! use in accounting for time.

use super::collectives;
use super::messages::Pairs;
use super::snapshot::{Call, CommIndex, Condition, Need, Process, ProcessIndex, Snapshot, Wait};

/// What is awaited of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// A message on this communicator.
    Sender(CommIndex),
    /// A receive for a message that has been sent on this communicator.
    Receiver(CommIndex),
    /// Entering a collective.
    Member,
    /// Something only it can do: ending its part of a window epoch or releasing a lock.
    Actor,
}

/// An open call that is waiting.
#[derive(Debug)]
pub struct Awaited<'a> {
    /// The calling process.
    pub who: ProcessIndex,
    /// The call.
    pub call: &'a Call,
    /// All processes without which it cannot return.
    pub whom: Vec<(ProcessIndex, Part)>,
}

/// Returns the open calls that wait for definite processes. Calls that any of several processes could end, or
/// that a process with lost records may have ended, are omitted. A polling loop waits for the same processes
/// as the blocking function would.
#[must_use]
pub fn awaited(snapshot: &Snapshot) -> Vec<Awaited<'_>> {
    let mut pairs = Pairs::of(snapshot);
    for (index, process) in (0..).zip(&snapshot.processes) {
        pairs.use_up(index, process);
    }
    let mut found = Vec::new();
    for (who, process) in (0..).zip(&snapshot.processes) {
        if process.lost || process.condition != Condition::Running {
            continue;
        }
        let calls = process.threads.iter().filter(|thread| !thread.ended).filter_map(|t| t.call.as_ref());
        for call in calls {
            let whom = of_call(snapshot, &mut pairs, who, call);
            if !whom.is_empty() {
                found.push(Awaited { who, call, whom });
            }
        }
    }
    found
}

fn of_call(
    snapshot: &Snapshot,
    pairs: &mut Pairs<'_>,
    who: ProcessIndex,
    call: &Call,
) -> Vec<(ProcessIndex, Part)> {
    let needs = match &call.wait {
        Wait::Nothing => &[][..],
        Wait::Any(needs) if needs.len() > 1 => &[],
        Wait::All(needs) | Wait::Any(needs) => needs,
    };
    let known = |process: &ProcessIndex| {
        let process: Option<&Process> = snapshot.processes.get(*process as usize);
        process.is_some_and(|process| !process.lost && !matches!(process.condition, Condition::Unseen(_)))
    };
    let mut whom = Vec::new();
    for need in needs {
        match need {
            Need::Message(receive) if !pairs.finds(who, receive) => {
                let from = snapshot.sender(who, receive);
                whom.extend(from.map(|from| (from, Part::Sender(receive.matches.comm))));
            }
            Need::Receiver(message) if !pairs.is_received(who, message) => {
                whom.push((message.to, Part::Receiver(message.comm)));
            }
            Need::Collective(collective) => {
                let missing = collectives::missing(snapshot, collective.comm, collective.number);
                whom.extend(missing.into_iter().map(|member| (member, Part::Member)));
            }
            Need::Action { by, .. } => {
                // One of several may already have done its part.
                if let Some([only]) = snapshot.parties.get(*by as usize).map(AsRef::as_ref) {
                    whom.push((*only, Part::Actor));
                }
            }
            Need::Message(_) | Need::Receiver(_) | Need::Outside { .. } => {}
        }
    }
    whom.retain(|(process, _)| *process != who && known(process));
    whom
}

#[cfg(test)]
mod tests {
    use super::super::scene::Scene;
    use super::super::snapshot::Peer;
    use super::*;

    fn all(scene: &Scene) -> Vec<(ProcessIndex, Vec<(ProcessIndex, Part)>)> {
        awaited(&scene.0).into_iter().map(|one| (one.who, one.whom)).collect()
    }

    #[test]
    fn a_receive_awaits_its_sender_until_the_message_is_in_flight_and_a_wildcard_awaits_nobody() {
        let mut scene = Scene::of(3);
        scene.receive(1, Peer::One(0), 7).receive(2, Peer::Any, 7);
        assert_eq!(all(&scene), [(1, vec![(0, Part::Sender(0))])]);
        scene.sent(0, 1, 7);
        assert_eq!(all(&scene), []);
        let mut pair = Scene::of(2);
        pair.receive(1, Peer::Any, 7);
        assert_eq!(all(&pair), [(1, vec![(0, Part::Sender(0))])], "there is only one other rank");
    }

    #[test]
    fn a_polling_loop_awaits_the_same_rank_as_the_blocking_function() {
        let mut scene = Scene::of(2);
        scene.receive(1, Peer::One(0), 7);
        scene.process(1).threads.iter_mut().filter_map(|thread| thread.call.as_mut()).for_each(|call| {
            call.polling = true;
        });
        assert_eq!(all(&scene), [(1, vec![(0, Part::Sender(0))])]);
    }

    #[test]
    fn a_send_awaits_its_receiver_and_a_member_those_that_have_not_entered() {
        let mut scene = Scene::of(4);
        scene.send(0, 3, 7).collective(1, "MPI_Barrier", 1).collective(2, "MPI_Barrier", 1);
        let missing = || vec![(0, Part::Member), (3, Part::Member)];
        assert_eq!(all(&scene), [(0, vec![(3, Part::Receiver(0))]), (1, missing()), (2, missing())]);
        scene.process(3).lost = true;
        assert_eq!(all(&scene), [(1, vec![(0, Part::Member)]), (2, vec![(0, Part::Member)])]);
    }

    #[test]
    fn the_only_rank_that_can_act_is_awaited_but_none_of_several() {
        let mut scene = Scene::of(3);
        scene.0.parties = vec![[2].into(), [1, 2].into()];
        let post = |by| Need::Action { by, every: false, what: "post".into(), kind: super::super::Kind::RMA };
        scene.call(0, "MPI_Win_complete", Wait::All(vec![post(0)]));
        scene.call(1, "MPI_Win_wait", Wait::All(vec![post(1)]));
        assert_eq!(all(&scene), [(0, vec![(2, Part::Actor)])]);
    }
}
