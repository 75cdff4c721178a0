//! How much of the time in collectives and for messages was waiting: the waits, entered where they belong.

use crate::performance::report::document::Sections;
use crate::performance::waits::{Waits, makes_persistent_collective};
use std::collections::HashMap;

impl Sections {
    /// Enters the waits. Those of messages are sampled unless these were recorded individually; shorter ones
    /// than samples show are then unknown. Those of persistent collectives are only sampled.
    pub fn wait(&mut self, waits: &Waits) {
        let of_collectives: HashMap<_, f64> = waits
            .of_collectives
            .iter()
            .map(|part| ((part.identity.as_str(), part.function.as_str()), part.seconds))
            .collect();
        for comm in &mut self.collectives {
            for one in &mut comm.functions {
                let key = (comm.identity.as_str(), one.function.as_str());
                let known = waits.one_clock && !makes_persistent_collective(&one.function);
                let found = of_collectives.get(&key).copied();
                one.wait_s = found.or(known.then_some(0.0)).filter(|_| one.time_s.is_some());
            }
        }
        let sampled = waits.sampled.iter().flat_map(|sampled| &sampled.of_messages);
        let of_messages: HashMap<_, _> = waits
            .of_messages
            .iter()
            .chain(sampled)
            .map(|part| ((part.identity.as_str(), part.from.as_str(), part.to.as_str()), part))
            .collect();
        for exchange in &mut self.peers {
            for pair in &mut exchange.pairs {
                let key = (exchange.identity.as_str(), pair.from.as_str(), pair.to.as_str());
                let none = (waits.one_clock && waits.messages).then_some((0.0, 0.0));
                let found = of_messages.get(&key).map(|part| (part.sender_s, part.receiver_s)).or(none);
                (pair.sender_wait_s, pair.receiver_wait_s) = found.unzip();
            }
        }
    }
}
