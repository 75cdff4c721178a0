//! Jobs made up for tests and the benchmark: ranks of one world that behave as the scene prescribes.

use super::snapshot::{
    Call, Collective, CommIndex, Communicator, Condition, Idle, Match, Message, Need, Peer, Process,
    ProcessIndex, Receive, Signature, Snapshot, Thread, Wait,
};
use std::sync::Arc;

/// `MPI_COMM_WORLD` of every scene.
pub const WORLD: CommIndex = 0;

/// A job whose ranks all compute until told otherwise.
#[derive(Debug, Clone)]
pub struct Scene(pub Snapshot);

impl Scene {
    /// Creates `size` computing ranks.
    #[must_use]
    pub fn of(size: u32) -> Self {
        let (host, name): (Arc<str>, Arc<str>) = ("host".into(), "WORLD".into());
        let process = |rank| Process {
            world: 0,
            rank,
            size,
            host: host.clone(),
            pid: 4711,
            condition: Condition::Running,
            bad_end: None,
            threads: vec![Thread {
                calls: 10,
                polls: 0,
                steps: 10,
                call: None,
                idle: Idle { after: "MPI_Barrier".into(), doing: "computing".into(), at: None },
                ended: false,
            }],
            entered: vec![(WORLD, 0)],
            collectives: Vec::new(),
            sent: Vec::new(),
            posted: Vec::new(),
            freed: Vec::new(),
            not_started: None,
            cancelled_receives: 0,
            messaging: None,
            failed: Vec::new(),
            lost: false,
        };
        let communicators =
            vec![Communicator { name, identity: 1, members: (0..size).collect(), split: None }];
        Self(Snapshot {
            processes: (0..size).map(process).collect(),
            communicators,
            parties: Vec::new(),
            one_sided: Vec::new(),
            creations: Vec::new(),
            unequal: Vec::new(),
            partitioned: Vec::new(),
            shifted: Vec::new(),
            singletons: false,
            losses: Vec::new(),
        })
    }

    /// Returns a process to modify.
    pub fn process(&mut self, rank: ProcessIndex) -> &mut Process {
        let processes = &mut self.0.processes;
        processes.get_mut(rank as usize).expect("the scene has this rank")
    }

    /// Puts the only thread of a rank into a call.
    pub fn call(&mut self, rank: ProcessIndex, function: &str, wait: Wait) -> &mut Self {
        let call = Call {
            function: function.into(),
            place: Some(format!("{}.c:1", function.to_lowercase()).into()),
            age_s: Some(2.0),
            wait,
            met: Vec::new(),
            polling: false,
            polled_before_s: 0.0,
            for_buffered: false,
        };
        if let Some(thread) = self.process(rank).threads.first_mut() {
            thread.call = Some(call);
        }
        self
    }

    /// Puts `rank` into `MPI_Recv`.
    pub fn receive(&mut self, rank: ProcessIndex, from: Peer, tag: i32) -> &mut Self {
        let receive = receive(from, tag);
        self.process(rank).posted.push(receive.clone());
        self.call(rank, "MPI_Recv", Wait::All(vec![Need::Message(receive)]))
    }

    /// Puts `rank` into `MPI_Ssend`.
    pub fn send(&mut self, rank: ProcessIndex, to: ProcessIndex, tag: i32) -> &mut Self {
        let message = message(to, tag);
        self.process(rank).sent.push(message.clone());
        self.call(rank, "MPI_Ssend", Wait::All(vec![Need::Receiver(message)]))
    }

    /// Makes `rank` have sent a message and moved on.
    pub fn sent(&mut self, rank: ProcessIndex, to: ProcessIndex, tag: i32) -> &mut Self {
        self.process(rank).sent.push(message(to, tag));
        self
    }

    /// Puts `rank` into the `number`th collective of the world.
    pub fn collective(&mut self, rank: ProcessIndex, function: &str, number: u64) -> &mut Self {
        let signature = Signature { function: function.into(), ..Signature::default() };
        let collective = Collective {
            comm: WORLD,
            number,
            signature,
            totals: None,
            elements: None,
            data: None,
            place: None,
        };
        if number > 0 {
            let entered = self.process(rank).entered(WORLD).max(number);
            self.process(rank).entered = vec![(WORLD, entered)];
        }
        self.call(rank, function, Wait::All(vec![Need::Collective(Box::new(collective))]))
    }

    /// Makes `rank` have entered and left a collective of the world.
    pub fn left(&mut self, rank: ProcessIndex, number: u64, signature: Signature) -> &mut Self {
        let place = Some("left.c:1".into());
        let collective =
            Collective { comm: WORLD, number, signature, totals: None, elements: None, data: None, place };
        self.process(rank).collectives.push(collective);
        let entered = self.process(rank).entered(WORLD).max(number);
        self.process(rank).entered = vec![(WORLD, entered)];
        self
    }

    /// Puts `rank` into `MPI_Finalize`.
    pub fn finalize(&mut self, rank: ProcessIndex) -> &mut Self {
        self.collective(rank, "MPI_Finalize", super::collectives::FINALIZE)
    }
}

/// Returns a message on the world.
#[must_use]
pub fn message(to: ProcessIndex, tag: i32) -> Message {
    Message { to, comm: WORLD, tag, bytes: 8, place: None, partitioned: false }
}

/// Returns a receive on the world.
#[must_use]
pub fn receive(from: Peer, tag: i32) -> Receive {
    Receive {
        matches: Match { from, comm: WORLD, tag: Some(tag), partitioned: false },
        room: Some(8),
        element: None,
        place: None,
        got: None,
        overwritten: None,
        matched: false,
        took: None,
        order: u64::MAX,
    }
}
