//! Which ranks send to which, by communicator: the counts of senders and receivers in one table.

use crate::jobs::worlds::Worlds;
use crate::observation::{Communicator, Observation};
use crate::performance::report::document::{Exchange, Pair};
use crate::performance::waits::identity;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Maximum number of pairs listed per communicator; those with the most bytes are kept.
const MOST_PAIRS: usize = 1 << 16;

/// A process by world and rank, or by its rank in the communicator if its world is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Who {
    Known(usize, u32),
    Member(u32),
}

impl std::fmt::Display for Who {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Known(0, rank) => write!(f, "{rank}"),
            Self::Known(world, rank) => write!(f, "{world}.{rank}"),
            Self::Member(rank) => write!(f, "?.{rank}"),
        }
    }
}

/// The counts for a pair, as recorded by the sender and by the receiver.
#[derive(Debug, Default, Clone, Copy)]
struct Counted {
    sent: [u64; 2],
    received: [u64; 2],
}

type Pairs = BTreeMap<(Who, Who), Counted>;

/// Returns the exchanges by communicator, in descending order of bytes.
pub fn peers(observations: &[Observation], worlds: &Worlds) -> Vec<Exchange> {
    let mut found: BTreeMap<u64, (Exchange, Pairs)> = BTreeMap::new();
    let sides = sides(observations, worlds);
    for seen in observations {
        let Some(rank) = seen.rank else { continue };
        let world = worlds.number(&seen.world);
        for comm in seen.communicators.iter().filter(|comm| !comm.peers.is_empty()) {
            let (_, pairs) = found.entry(comm.identity).or_insert_with(|| (begun(comm), Pairs::new()));
            for peer in &comm.peers {
                let own = Who::Known(world, rank);
                let other = other(comm, peer.rank, world, &sides);
                let to = pairs.entry((own, other)).or_default();
                to.sent = added(to.sent, [peer.sent, peer.sent_bytes]);
                let from = pairs.entry((other, own)).or_default();
                from.received = added(from.received, [peer.received, peer.received_bytes]);
            }
        }
    }
    let mut found: Vec<Exchange> =
        found.into_values().map(|(exchange, pairs)| ended(exchange, pairs)).collect();
    found.retain(|exchange| !exchange.pairs.is_empty());
    found.sort_by(|a, b| {
        b.bytes.cmp(&a.bytes).then(b.messages.cmp(&a.messages)).then(a.communicator.cmp(&b.communicator))
    });
    found
}

/// Members of intercommunicators by world and rank in their local group, by which the other group identifies
/// them.
type Sides = BTreeMap<u64, Vec<(usize, u32, Who)>>;

fn sides(observations: &[Observation], worlds: &Worlds) -> Sides {
    let mut sides = Sides::new();
    for seen in observations {
        let Some(rank) = seen.rank else { continue };
        let world = worlds.number(&seen.world);
        for comm in seen.communicators.iter().filter(|comm| comm.remote.is_some()) {
            sides.entry(comm.identity).or_default().push((world, comm.rank, Who::Known(world, rank)));
        }
    }
    sides
}

fn other(comm: &Communicator, peer: u32, world: usize, sides: &Sides) -> Who {
    let known = |ranks: &[u32]| {
        ranks.get(peer as usize).filter(|rank| **rank != u32::MAX).map(|rank| Who::Known(world, *rank))
    };
    let Some(remote) = &comm.remote else {
        let members = comm.members.as_ref().filter(|members| !members.is_empty());
        return members
            .map_or(Some(Who::Known(world, peer)), |members| known(members))
            .unwrap_or(Who::Member(peer));
    };
    let elsewhere = || {
        let members = sides.get(&comm.identity)?;
        members.iter().find(|(other, rank, _)| *other != world && *rank == peer).map(|(_, _, who)| *who)
    };
    known(&remote.members).or_else(elsewhere).unwrap_or(Who::Member(peer))
}

fn begun(comm: &Communicator) -> Exchange {
    Exchange {
        communicator: comm.name.clone(),
        identity: identity(comm.identity),
        size: comm.processes(),
        messages: 0,
        bytes: 0,
        pairs: Vec::new(),
        more_pairs: 0,
    }
}

fn ended(mut exchange: Exchange, pairs: Pairs) -> Exchange {
    for ((from, to), Counted { sent: [messages, bytes], received: [received, received_bytes] }) in pairs {
        if messages != 0 || received != 0 {
            let (from, to) = (from.to_string(), to.to_string());
            let counts = Pair { messages, bytes, received, received_bytes, ..Pair::default() };
            exchange.pairs.push(Pair { from, to, ..counts });
        }
        exchange.messages = exchange.messages.saturating_add(messages);
        exchange.bytes = exchange.bytes.saturating_add(bytes);
    }
    exchange.bounded()
}

fn added(one: [u64; 2], other: [u64; 2]) -> [u64; 2] {
    [one[0].saturating_add(other[0]), one[1].saturating_add(other[1])]
}

impl Exchange {
    /// Keeps the pairs with the most bytes; equal ones stay in the order of ranks.
    fn bounded(mut self) -> Self {
        self.pairs.sort_by_key(|pair| Reverse((pair.bytes, pair.messages)));
        self.more_pairs = self.pairs.len().saturating_sub(MOST_PAIRS);
        self.pairs.truncate(MOST_PAIRS);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::Peer;

    fn seen(rank: u32, members: Option<Vec<u32>>, peers: Vec<Peer>) -> Observation {
        let comm = Communicator {
            identity: 7,
            name: "\"solver\"".into(),
            rank,
            size: 2,
            members,
            peers,
            ..Communicator::default()
        };
        Observation { rank: Some(rank), communicators: vec![comm], ..Observation::default() }
    }

    #[test]
    fn records_of_sender_and_receiver_are_joined_in_one_pair_of_world_ranks() {
        // The communicator consists of ranks 4 and 2 of the world, in this order.
        let members = Some(vec![4, 2]);
        let sends = Peer { rank: 1, sent: 3, sent_bytes: 300, ..Peer::default() };
        let receives = Peer { rank: 0, received: 2, received_bytes: 200, ..Peer::default() };
        let both = [seen(4, members.clone(), vec![sends]), seen(2, members, vec![receives])];
        let found = peers(&both, &Worlds::default());
        let wanted = Pair {
            from: "4".into(),
            to: "2".into(),
            messages: 3,
            bytes: 300,
            received: 2,
            received_bytes: 200,
            ..Pair::default()
        };
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].messages, found[0].bytes, &found[0].pairs), (3, 300, &vec![wanted]));
    }

    #[test]
    fn pairs_with_equal_bytes_are_in_the_order_of_ranks() {
        let to = |rank| Peer { rank, sent: 1, sent_bytes: 8, ..Peer::default() };
        let found = peers(&[seen(0, Some((0..12).collect()), (1..12).map(to).collect())], &Worlds::default());
        let receivers: Vec<&str> = found[0].pairs.iter().map(|pair| pair.to.as_str()).collect();
        assert_eq!(receivers, ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"]);
        let from = |rank| seen(rank, Some((0..12).collect()), vec![to(0)]);
        let found = peers(&[from(10), from(9), from(2)], &Worlds::default());
        let senders: Vec<&str> = found[0].pairs.iter().map(|pair| pair.from.as_str()).collect();
        assert_eq!(senders, ["2", "9", "10"]);
    }
}
