//! On random jobs, the stuck processes are those found by trying all sets.

use crate::questions::why::blocked;
use crate::questions::why::join::settled;
use crate::questions::why::scene::{Scene, message, receive};
use crate::questions::why::snapshot::{Condition, Need, Peer, Process, Snapshot, Wait};

/// Random numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        u32::try_from(self.0 >> 33).unwrap() % end
    }
}

fn random(dice: &mut Dice, size: u32) -> Scene {
    let mut scene = Scene::of(size);
    for rank in 0..size {
        let mut needs = Vec::new();
        for _ in 0..dice.below(3) {
            let (peer, tag) = (dice.below(size), dice.below(2) as i32);
            let from = if dice.below(4) == 0 { Peer::Any } else { Peer::One(peer) };
            needs.push(if dice.below(3) == 0 {
                let sent = message(peer, tag);
                scene.process(rank).sent.push(sent.clone());
                Need::Receiver(sent)
            } else {
                let posted = receive(from, tag);
                scene.process(rank).posted.push(posted.clone());
                Need::Message(posted)
            });
        }
        match dice.below(5) {
            0 => {}
            1 => drop(scene.collective(rank, "MPI_Barrier", u64::from(1 + dice.below(2)))),
            2 if !needs.is_empty() => drop(scene.call(rank, "MPI_Waitany", Wait::Any(needs))),
            _ if !needs.is_empty() => drop(scene.call(rank, "MPI_Waitall", Wait::All(needs))),
            _ => {}
        }
        if dice.below(12) == 0 {
            scene.process(rank).condition = Condition::Finalized;
        }
    }
    scene
}

/// Whether a process could go on if exactly the processes outside `stuck` could act.
fn released(snapshot: &Snapshot, process: u32, stuck: u32) -> bool {
    let acts = |p: u32| stuck & (1 << p) == 0 && !snapshot.processes[p as usize].is_gone();
    let this: &Process = &snapshot.processes[process as usize];
    let Some(call) = this.calls().next() else { return true };
    let met = |need: &Need| match need {
        Need::Message(receive) => match receive.matches.from {
            Peer::One(from) => acts(from),
            Peer::Any => (0..snapshot.processes.len() as u32).any(|p| p != process && acts(p)),
        },
        Need::Receiver(message) => acts(message.to),
        Need::Collective(c) => (0..snapshot.processes.len() as u32)
            .all(|p| snapshot.processes[p as usize].entered(c.comm) >= c.number || acts(p)),
        _ => unreachable!("not made here"),
    };
    match &call.wait {
        Wait::Nothing => true,
        Wait::All(needs) => needs.iter().all(met),
        Wait::Any(needs) => needs.iter().any(met),
    }
}

/// The largest set of processes none of which can go on while only the others act, found by trying all sets.
fn by_force(snapshot: &Snapshot) -> u32 {
    let size = snapshot.processes.len() as u32;
    let mut union = 0;
    for set in 1u32..1 << size {
        let inside = |p: &u32| set & (1 << p) != 0;
        let gone = |p: u32| snapshot.processes[p as usize].is_gone();
        if (0..size).filter(inside).all(|p| !gone(p) && !released(snapshot, p, set)) {
            union |= set;
        }
    }
    union
}

#[test]
fn random_jobs_have_the_stuck_ranks_that_trying_all_sets_finds() {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let mut some = 0;
    for round in 0..3000 {
        let size = 2 + dice.below(6);
        let mut scene = random(&mut dice, size);
        // Messages on their way are tested elsewhere: nothing sent here matches.
        for process in &mut scene.0.processes {
            process.posted.clear();
            process.sent.iter_mut().for_each(|sent| sent.tag += 10);
            let calls = process.threads.iter_mut().filter_map(|thread| thread.call.as_mut());
            for call in calls {
                let (Wait::All(needs) | Wait::Any(needs)) = &mut call.wait else { continue };
                for need in needs {
                    if let Need::Receiver(sent) = need {
                        sent.tag += 10;
                    }
                }
            }
        }
        let found = blocked(&scene.0, &vec![false; size as usize], false);
        let stuck = found.stuck().fold(0, |set, p| set | 1 << p);
        assert_eq!(stuck, by_force(&scene.0), "round {round}: {:#?}", scene.0.processes);
        some += u32::from(stuck != 0);
    }
    assert!(some > 300, "only {some} of them had a stuck rank");
}

#[test]
fn ranks_set_aside_do_not_change_the_outcome_of_others() {
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    let mut apart = 0;
    for round in 0..3000 {
        let size = 2 + dice.below(6);
        let mut scene = random(&mut dice, size);
        let nobody = vec![false; size as usize];
        let before = blocked(&scene.0, &nobody, false);
        settled::set_apart(&mut scene.0);
        let after = blocked(&scene.0, &nobody, false);
        assert_eq!(before.stuck, after.stuck, "round {round}: {:#?}", scene.0.processes);
        apart += scene.0.processes.iter().flat_map(Process::calls).map(|call| call.met.len()).sum::<usize>();
    }
    assert!(apart > 100, "only {apart} needs were set apart");
}
