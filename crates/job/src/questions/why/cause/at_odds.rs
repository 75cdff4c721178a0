//! A rank whose messages fit those of none of its neighbors.
//!
//! If a message has another tag or communicator than the one that is awaited, either end may be wrong. If one of the
//! two also sends a third rank something else than that one awaits, or awaits something else than that one sends, it is
//! at odds with two ranks, which agree with all others.

use super::Case;
use super::distance::distance;
use super::stuck::{MEANT_FOR_IT, MOST_COMPARED};
use crate::questions::why::blocked::Blocked;
use crate::questions::why::messages::Sent;
use crate::questions::why::snapshot::{Peer, ProcessIndex, Receive};

/// A receive, and a message of the awaited sender that does not fit.
type Misfit<'a> = (ProcessIndex, &'a Receive, Sent<'a>);

impl Case<'_> {
    /// Returns the one of two ranks that is at odds with a third one in its other role as well, and how this shows.
    pub(super) fn at_odds_with_two(
        &self,
        found: &Blocked,
        (receiver, sender): (ProcessIndex, ProcessIndex),
    ) -> Option<(ProcessIndex, String)> {
        let misfits: Vec<Misfit<'_>> = self.misfits(found);
        let third = |one: ProcessIndex| one != receiver && one != sender;
        let of_receiver = misfits.iter().find(|(to, _, (from, _))| *from == receiver && third(*to));
        let of_sender = misfits.iter().find(|(to, _, (from, _))| *to == sender && third(*from));
        let (odd, (to, receive, (from, message))) = match (of_receiver, of_sender) {
            (Some(misfit), None) => (receiver, misfit),
            (None, Some(misfit)) => (sender, misfit),
            _ => return None,
        };
        let also = format!(
            "; likewise, rank {} waits for {}, and rank {} sent {}: rank {} differs from two others",
            self.words.rank(*to),
            self.words.message(&receive.matches),
            self.words.rank(*from),
            self.words.sent(message),
            self.words.rank(odd)
        );
        Some((odd, also))
    }

    fn misfits(&self, found: &Blocked) -> Vec<Misfit<'_>> {
        let receives = self.receives(found).take(MOST_COMPARED);
        receives
            .filter_map(|(to, receive)| {
                let left = self.pairs().left(to).iter().take(MOST_COMPARED);
                let sent = left.copied().find(|sent| {
                    receive.matches.from == Peer::One(sent.0)
                        && !self.pairs().is_matched(sent.1)
                        && distance(receive, *sent).is_some_and(|distance| distance <= MEANT_FOR_IT)
                })?;
                Some((to, receive, sent))
            })
            .collect()
    }
}
