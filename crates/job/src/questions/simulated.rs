//! Simulated jobs of any size that were never started, as two snapshots would show them. For benchmarking the
//! verdict.

use crate::observation::{
    Call, Collective, Communicator, History, Message, Need, Observation, Peer, Receive, Stage, Thread,
};

/// Identity of their only communicator.
const WORLD: u64 = 1;
/// Number of collectives all ranks have entered earlier.
const BEFORE: u64 = 1000;
/// Number of those remembered.
const REMEMBERED: u64 = 32;

/// What the ranks of a job do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A two-dimensional stencil: one rank computes, and all others wait for messages from neighbors closer
    /// to it.
    StencilWithAStraggler,
    /// The same, but that rank has sent with the wrong tag and waits as well.
    StencilWithAWrongTag,
    /// All ranks but one are in a collective; the other one computes.
    CollectiveWithAStraggler,
    /// One rank is in a different collective.
    WrongCollective,
    /// Each rank receives from its predecessor.
    Ring,
    /// Each rank receives from any source, and no rank sends.
    Wildcards,
    /// All ranks have sent to rank 0, which has received nothing and computes.
    ManyToOne,
    /// Half of the ranks form pairs waiting for each other; the other half is in a collective.
    Pairs,
}

impl Shape {
    /// All shapes.
    pub const ALL: [Self; 8] = [
        Self::StencilWithAStraggler,
        Self::StencilWithAWrongTag,
        Self::CollectiveWithAStraggler,
        Self::WrongCollective,
        Self::Ring,
        Self::Wildcards,
        Self::ManyToOne,
        Self::Pairs,
    ];

    /// Returns the kind of verdict expected for such a job.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::StencilWithAStraggler | Self::CollectiveWithAStraggler | Self::ManyToOne => "slow",
            Self::StencilWithAWrongTag => "message-never-sent",
            Self::WrongCollective => "collective-mismatch",
            Self::Ring | Self::Wildcards | Self::Pairs => "deadlock",
        }
    }

    /// Returns the observations of one snapshot of a job with this number of ranks.
    #[must_use]
    pub fn look(self, ranks: u32) -> Vec<Observation> {
        (0..ranks).map(|rank| Simulated { shape: self, rank, ranks }.observation()).collect()
    }
}

struct Simulated {
    shape: Shape,
    rank: u32,
    ranks: u32,
}

impl Simulated {
    /// The odd rank, in the middle, where nothing else is special.
    fn odd(&self) -> u32 {
        self.ranks / 2
    }

    fn observation(&self) -> Observation {
        let call = self.call();
        let after = if call.is_none() { "MPI_Allreduce at step.c:70" } else { "" };
        let doing = if call.is_none() { "computing" } else { "" };
        let collective =
            call.iter().flat_map(|call| &call.needs).any(|need| matches!(need, Need::Collective(_)));
        let thread = Thread {
            calls: 20_000,
            call,
            after: after.to_owned(),
            doing: doing.to_owned(),
            ..Thread::default()
        };
        let posted = thread.call.iter().flat_map(|call| &call.needs).filter_map(|need| match need {
            Need::Message(receive) => Some(receive.clone()),
            _ => None,
        });
        let world = Communicator {
            identity: WORLD,
            name: "MPI_COMM_WORLD".into(),
            rank: self.rank,
            size: self.ranks,
            collectives: BEFORE + u64::from(collective),
            peers: self.peers(),
            ..Communicator::default()
        };
        Observation {
            job: "simulated".into(),
            world: "simulated".into(),
            rank: Some(self.rank),
            size: Some(self.ranks),
            host: format!("node{}", self.rank / 64),
            pid: self.rank,
            stage: Stage::Running,
            posted: posted.collect(),
            history: vec![self.history(collective)],
            sent: self.sent(),
            threads: vec![thread],
            communicators: vec![world],
            ..Observation::default()
        }
    }

    fn call(&self) -> Option<Call> {
        let call = |function: &str, needs| {
            let place = Some("step.c:42".to_owned());
            Some(Call { function: function.to_owned(), place, age_s: Some(60.0), needs, ..Call::default() })
        };
        let (rank, ranks, odd) = (self.rank, self.ranks, self.rank == self.odd());
        let inside =
            |function: &str| call(function, vec![Need::Collective(Box::new(self.collective(function)))]);
        match self.shape {
            Shape::StencilWithAStraggler | Shape::CollectiveWithAStraggler if odd => None,
            Shape::ManyToOne if rank == 0 => None,
            Shape::StencilWithAWrongTag if odd => inside("MPI_Allreduce"),
            Shape::StencilWithAStraggler | Shape::StencilWithAWrongTag => {
                // Messages from the others have arrived: a wave of waiting spreads from the odd rank.
                let late =
                    self.neighbours().into_iter().filter(|from| self.distance(*from) < self.distance(rank));
                call("MPI_Waitall", late.map(|from| Need::Message(receive(Some(from), 1))).collect())
            }
            Shape::CollectiveWithAStraggler | Shape::ManyToOne => inside("MPI_Allreduce"),
            Shape::WrongCollective => inside(if odd { "MPI_Bcast" } else { "MPI_Allreduce" }),
            Shape::Ring => {
                let before = (rank + ranks - 1) % ranks;
                call("MPI_Recv", vec![Need::Message(receive(Some(before), 1))])
            }
            Shape::Wildcards => call("MPI_Recv", vec![Need::Message(receive(None, 1))]),
            Shape::Pairs if rank < ranks / 2 => inside("MPI_Allreduce"),
            Shape::Pairs => call("MPI_Recv", vec![Need::Message(receive(Some(self.other()), 1))]),
        }
    }

    /// The partner in a pair of the upper half.
    fn other(&self) -> u32 {
        let (first, last) = (self.ranks / 2, self.ranks - 1);
        let other = first + ((self.rank - first) ^ 1);
        if other > last { first } else { other }
    }

    /// Distance from the odd rank in rank order.
    fn distance(&self, rank: u32) -> u32 {
        let apart = rank.abs_diff(self.odd());
        apart.min(self.ranks - apart)
    }

    fn width(&self) -> u32 {
        self.ranks.isqrt().max(1)
    }

    fn neighbours(&self) -> [u32; 4] {
        let (rank, ranks, width) = (self.rank, self.ranks, self.width());
        [
            (rank + 1) % ranks,
            (rank + ranks - 1) % ranks,
            (rank + width) % ranks,
            (rank + ranks - width) % ranks,
        ]
    }

    /// Each rank has sent its neighbors what they wait for, except the one that computes or has used another
    /// tag.
    fn sent(&self) -> Vec<Message> {
        let to = |peer: u32, tag: i32| Message { comm: WORLD, peer, tag, bytes: 8192, place: None };
        let odd = self.rank == self.odd();
        match self.shape {
            Shape::StencilWithAWrongTag if odd => self.neighbours().map(|peer| to(peer, 2)).to_vec(),
            Shape::ManyToOne if self.rank != 0 => vec![to(0, 1)],
            _ => Vec::new(),
        }
    }

    fn peers(&self) -> Vec<Peer> {
        let all = |rank: u32| Peer {
            rank,
            sent: 5000,
            received: 5000,
            sent_tags: 5000,
            received_tags: 5000,
            ..Peer::default()
        };
        let more = |peer: Peer, tag: u64| Peer { sent: 5001, sent_tags: 5000 + tag, ..peer };
        let stencil = matches!(self.shape, Shape::StencilWithAStraggler | Shape::StencilWithAWrongTag);
        let wrong = self.shape == Shape::StencilWithAWrongTag && self.rank == self.odd();
        match self.shape {
            _ if stencil => {
                let mut ranks = self.neighbours();
                ranks.sort_unstable();
                ranks.map(|rank| if wrong { more(all(rank), 2) } else { all(rank) }).to_vec()
            }
            Shape::ManyToOne if self.rank == 0 => (1..self.ranks).map(all).collect(),
            Shape::ManyToOne => vec![more(all(0), 1)],
            _ => Vec::new(),
        }
    }

    fn collective(&self, function: &str) -> Collective {
        Collective {
            comm: WORLD,
            number: BEFORE + 1,
            function: function.to_owned(),
            bytes: Some(8),
            place: Some("step.c:42".into()),
            ..Collective::default()
        }
    }

    /// The same collective repeated, as in a loop.
    fn history(&self, inside: bool) -> History {
        let newest = BEFORE + u64::from(inside);
        let loops = Collective { number: 0, ..self.collective("MPI_Allreduce") };
        let mut kinds = vec![loops];
        let odd = self.rank == self.odd() && self.shape == Shape::WrongCollective;
        if odd {
            kinds.push(Collective { number: 0, ..self.collective("MPI_Bcast") });
        }
        let kind = |number| (number, u32::from(odd && number == newest));
        History {
            times: Vec::new(),
            comm: WORLD,
            newest,
            entries: (newest - REMEMBERED + 1..=newest).map(kind).collect(),
            kinds,
            completed: Vec::new(),
        }
    }
}

fn receive(from: Option<u32>, tag: i32) -> Receive {
    let place = Some("step.c:30".into());
    Receive {
        comm: WORLD,
        from,
        tag: Some(tag),
        room: Some(8192),
        element: None,
        place,
        order: 1,
        overwritten: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::questions::why::{snapshot, verdict};

    #[test]
    fn every_simulated_job_gets_its_intended_verdict() {
        for shape in Shape::ALL {
            for ranks in [16, 100] {
                let look = snapshot(&shape.look(ranks), "it is simulated");
                let found = verdict(&look, &look, 1.0);
                assert_eq!(found.kind.0, shape.kind(), "{shape:?} of {ranks}: {}", found.verdict);
            }
        }
    }
}
