//! How much of the time in collectives and for messages was waiting: the waits, entered where they belong.

use crate::performance::report::document::Sections;
use crate::performance::waits::{Waits, is_collective_that_waits, makes_persistent_collective};
use std::collections::HashMap;

impl Sections {
    /// Enters the waits. Those of messages are sampled unless these were recorded individually; shorter ones
    /// than samples show are then unknown. Those of persistent collectives, and of collectives between worlds,
    /// are only sampled.
    ///
    /// Estimates extend what was observed of all collectives, of which those of one function may be an unusual
    /// part: those that exceed the time in their calls are reduced to it.
    pub fn wait(&mut self, waits: &mut Waits) {
        let mut of_collectives: HashMap<_, &mut f64> = waits
            .of_collectives
            .iter_mut()
            .map(|part| ((part.identity.as_str(), part.function.as_str()), &mut part.seconds))
            .collect();
        for comm in &mut self.collectives {
            let matched = waits.one_clock && !comm.between_worlds;
            for one in &mut comm.functions {
                let key = (comm.identity.as_str(), one.function.as_str());
                let known = matched && !makes_persistent_collective(&one.function);
                let found = of_collectives.get_mut(&key).map(|seconds| {
                    let inside = one.time_s.filter(|_| is_collective_that_waits(&one.function));
                    **seconds = seconds.min(inside.unwrap_or(f64::INFINITY));
                    **seconds
                });
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::worlds::Members;
    use crate::performance::report::document::{Collectives, OfFunction};
    use crate::performance::waits::OfCollectives;

    #[test]
    fn collectives_do_not_wait_longer_than_their_calls_take_unless_others_complete_them() {
        let functions = ["MPI_Allreduce", "MPI_Iallreduce"].map(str::to_owned);
        let used = |function: &String| OfFunction {
            function: function.clone(),
            calls: 9,
            open: 0,
            time_s: Some(0.5),
            wait_s: None,
            bytes: 72,
        };
        let comm = Collectives {
            communicator: "WORLD".into(),
            identity: "0x7".into(),
            size: 2,
            between_worlds: false,
            entered: 9,
            least: 9,
            behind: Members::default(),
            bytes: 144,
            functions: functions.iter().map(used).collect(),
            last: Vec::new(),
        };
        let mut sections = Sections { collectives: vec![comm], ..Sections::default() };
        let estimated = |function| OfCollectives { identity: "0x7".into(), function, seconds: 0.75 };
        let of_collectives = functions.into_iter().map(estimated).collect();
        let mut waits = Waits { of_collectives, one_clock: true, ..Waits::default() };
        sections.wait(&mut waits);
        let shown =
            |comm: &Collectives| comm.functions.iter().filter_map(|one| one.wait_s).collect::<Vec<_>>();
        assert_eq!(sections.collectives.iter().map(shown).collect::<Vec<_>>(), [[0.5, 0.75]]);
        let listed = waits.of_collectives.iter().map(|part| part.seconds);
        assert_eq!(listed.collect::<Vec<_>>(), [0.5, 0.75]);
        sections.collectives[0].between_worlds = true;
        waits.of_collectives.clear();
        sections.wait(&mut waits);
        assert!(sections.collectives.iter().map(shown).all(|known| known.is_empty()), "not known to be zero");
    }
}
