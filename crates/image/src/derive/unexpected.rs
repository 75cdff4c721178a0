//! Messages that are waiting without a receive: the unexpected-message queue.
//!
//! The number of messages that one rank has sent to another and the other has not received is certain: it is
//! the difference of two counts. Which ones they are follows from the [`Recent`](crate::traffic::Recent)
//! envelopes of both: those sent last, minus those received last. If one of the rings has been overwritten,
//! it is unknown how far back one must go for this to be correct, so the result is checked against the sums
//! of the tags of all messages ([`Peer::sent_tags`](crate::traffic::Peer::sent_tags)), and discarded if they
//! differ.
//!
//! Messages of one sender do not overtake each other, and receives match in the order in which they were
//! posted: each receive, oldest first, takes the oldest message that it matches ([`Posted::take_from`]).
//! Between senders the order is unknown. A message that a probe has matched is treated as taken by a receive
//! with its sender and tag.
//!
//! All memory is in arrays of fixed size, possibly on a signal handler's stack, which may be as small as a
//! page or two: 256 messages of one sender, 256 receives. They are filled in place.
//!
//! Some libraries do not report what a combined send and receive has received
//! ([`Comm::untold`](crate::objects::Comm::untold)). Then the number of remaining messages is certain only
//! over all senders, and which ones they are is unknown ([`Outstanding::unknown`]).

/// Number of messages not received on a communicator, if its peers' records lack `missing` messages in total;
/// `untold` is [`Comm::untold`](crate::objects::Comm::untold).
pub fn left(missing: u64, untold: Option<u64>) -> u64 {
    missing.saturating_sub(untold.unwrap_or(0))
}

/// Maximum number of messages of one sender that are distinguished by their tags.
pub const MESSAGES: usize = 256;
/// Maximum number of receives considered.
pub const RECEIVES: usize = 256;

/// The messages that one rank has sent to another and that have not been received.
#[derive(Debug, Clone)]
pub struct Outstanding {
    /// Tags of the known messages, newest first: the first [`known`](Self::known) entries.
    tags: [u32; MESSAGES],
    known: usize,
    /// Number of older messages, of which nothing is known.
    unknown: u64,
}

impl Outstanding {
    /// Identifies the [`unknown`](Self::unknown) messages, whose tags add up to `sum`. `sent` and `received`
    /// are the tags of the messages between the two ranks, newest first, as long as they are still kept.
    pub fn find<R: Iterator<Item = u32>>(
        &mut self,
        sum: u64,
        sent: impl Iterator<Item = u32>,
        received: impl Fn() -> R,
    ) {
        let missing = self.unknown;
        for (tag, place) in sent.zip(&mut self.tags) {
            *place = tag;
            self.known += 1;
        }
        let least = usize::try_from(missing).unwrap_or(usize::MAX);
        if least <= self.known {
            let mut behind = received().take(self.known - least).count();
            loop {
                let kept = self.without(least + behind, received().take(behind));
                if let Some(kept) = kept.filter(|kept| self.sum_of(kept) == sum) {
                    self.keep(&kept);
                    return;
                }
                if behind == 0 {
                    break;
                }
                behind /= 2;
            }
        }
        self.alike(missing, sum);
    }

    /// `missing` messages of which nothing is known.
    pub fn unknown(missing: u64) -> Self {
        Self { tags: [0; MESSAGES], known: 0, unknown: missing }
    }

    /// Which of the newest `window` messages remain if the received ones are removed, the oldest of each tag
    /// first. `None` if one of them is not among those sent.
    fn without(&self, window: usize, received: impl Iterator<Item = u32>) -> Option<Kept> {
        let mut kept = Kept::first(window);
        // The oldest message that remains: messages are mostly received in the order in which they were sent.
        let mut oldest = window;
        for tag in received {
            let fits = |at: &usize| kept.has(*at) && self.tags.get(*at) == Some(&tag);
            let at = (0..oldest).rev().find(fits)?;
            kept.remove(at);
            while oldest > 0 && !kept.has(oldest - 1) {
                oldest -= 1;
            }
        }
        Some(kept)
    }

    fn sum_of(&self, kept: &Kept) -> u64 {
        let kept = self.tags.iter().enumerate().filter(|(at, _)| kept.has(*at));
        kept.fold(0, |sum, (_, tag)| sum.wrapping_add(u64::from(*tag)))
    }

    fn keep(&mut self, kept: &Kept) {
        let mut known = 0;
        for at in (0..self.known).filter(|at| kept.has(*at)) {
            let tag = self.tags.get(at).copied().unwrap_or_default();
            if let Some(place) = self.tags.get_mut(known) {
                *place = tag;
                known += 1;
            }
        }
        (self.known, self.unknown) = (known, 0);
    }

    /// Uses the sum alone: a single message has the tag `sum`; several are assumed to have the same tag if
    /// the sum can be divided. Otherwise they stay unknown.
    fn alike(&mut self, missing: u64, sum: u64) {
        self.known = 0;
        let tag = sum.checked_div(missing).filter(|tag| tag.wrapping_mul(missing) == sum);
        let Some(tag) = tag.and_then(|tag| i32::try_from(tag).ok()) else { return };
        self.known = usize::try_from(missing).unwrap_or(usize::MAX).min(MESSAGES);
        self.unknown = missing - self.known as u64;
        self.tags = [tag.cast_unsigned(); MESSAGES];
    }

    /// Number of messages.
    pub fn len(&self) -> u64 {
        self.unknown.saturating_add(self.known as u64)
    }

    /// Whether there are no messages.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The known tags, oldest first.
    pub fn tags(&self) -> impl Iterator<Item = u32> {
        self.tags.iter().take(self.known).rev().copied()
    }

    /// Lets a receive take the oldest message with this tag, or with any tag if it specifies none. Returns
    /// whether there was one. A message with an unknown tag matches only a receive of any tag.
    fn take(&mut self, tag: Option<u32>) -> bool {
        let Some(wanted) = tag else {
            // The messages of which nothing is known are the oldest.
            let known = self.unknown == 0;
            (self.unknown, self.known) =
                (self.unknown.saturating_sub(1), self.known.saturating_sub(usize::from(known)));
            return true;
        };
        let known = self.tags.get(..self.known).unwrap_or_default();
        let Some(at) = known.iter().rposition(|tag| *tag == wanted) else { return false };
        self.tags.copy_within(at + 1..self.known, at);
        self.known -= 1;
        true
    }
}

/// A subset of the messages in an array.
struct Kept([u64; MESSAGES / 64]);

impl Kept {
    /// The first `count` messages.
    fn first(count: usize) -> Self {
        let mut kept = Self([0; MESSAGES / 64]);
        for at in 0..count.min(MESSAGES) {
            if let Some(word) = kept.0.get_mut(at / 64) {
                *word |= 1 << (at % 64);
            }
        }
        kept
    }

    fn has(&self, at: usize) -> bool {
        self.0.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 != 0)
    }

    fn remove(&mut self, at: usize) {
        if let Some(word) = self.0.get_mut(at / 64) {
            *word &= !(1 << (at % 64));
        }
    }
}

/// A posted receive, or a message that a probe has matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receive {
    source: i32,
    tag: i32,
    /// The low 31 bits of its position: receives posted at the same time are less than 2^30 positions apart.
    /// Or [`Self::NEWEST`].
    order: u32,
}

impl Receive {
    /// Sorts after all receives that have a position.
    const NEWEST: u32 = 1 << 31;

    /// A receive of this rank and tag, `None` for any. `order` is its position among the process's receives
    /// ([`Request::order`](crate::traffic::Request::order)), or `None` for a blocking one, which is the
    /// newest.
    pub fn new(source: Option<u32>, tag: Option<u32>, order: Option<u64>) -> Self {
        let word = |named: Option<u32>| named.map_or(-1, u32::cast_signed);
        let order = order.map_or(Self::NEWEST, |order| order as u32 & !Self::NEWEST);
        Self { source: word(source), tag: word(tag), order }
    }

    /// Whether it was posted before another one, or is the same one.
    fn is_no_newer(&self, other: &Self) -> bool {
        match (self.order == Self::NEWEST, other.order == Self::NEWEST) {
            (false, false) => (self.order.wrapping_sub(other.order) << 1).cast_signed() <= 0,
            (_, newest) => newest,
        }
    }
}

/// The receives posted on a communicator.
#[derive(Debug, Clone)]
pub struct Posted {
    /// Oldest first: the first `count` entries.
    receives: [Receive; RECEIVES],
    count: usize,
}

impl Default for Posted {
    /// All zeros. Inlined, since a separate function would build it a second time on its stack.
    #[inline(always)]
    fn default() -> Self {
        const UNUSED: Receive = Receive { source: 0, tag: 0, order: 0 };
        Self { receives: [UNUSED; RECEIVES], count: 0 }
    }
}

impl Posted {
    /// Adds a receive, in any order. If there are too many, the newest are dropped.
    pub fn add(&mut self, receive: Receive) {
        let known = self.receives.get(..self.count).unwrap_or_default();
        let at = known.partition_point(|other| other.is_no_newer(&receive));
        let end = self.count.min(RECEIVES - 1);
        if at > end {
            return;
        }
        self.receives.copy_within(at..end, at + 1);
        if let Some(place) = self.receives.get_mut(at) {
            *place = receive;
        }
        self.count = end + 1;
    }

    /// Whether there are no receives.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Lets the receives take the messages of a sender that they match, which removes both.
    pub fn take_from(&mut self, sender: u32, messages: &mut Outstanding) {
        let (mut left, mut at) = (0, 0);
        while let Some(receive) = self.receives.get(at).copied().filter(|_| at < self.count) {
            at += 1;
            let fits = receive.source < 0 || receive.source == sender.cast_signed();
            let tag = u32::try_from(receive.tag).ok();
            if fits && !messages.is_empty() && messages.take(tag) {
                continue;
            }
            if let Some(place) = self.receives.get_mut(left) {
                *place = receive;
                left += 1;
            }
        }
        self.count = left;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(tags: &[u32]) -> u64 {
        tags.iter().map(|tag| u64::from(*tag)).sum()
    }

    /// Computes the outstanding messages from all sent and received ones, with only the last `far` of each
    /// kept.
    fn outstanding(sent: &[u32], received: &[u32], far: usize) -> Outstanding {
        let missing = (sent.len() - received.len()) as u64;
        let newest = |tags: &[u32]| tags.iter().rev().take(far).copied().collect::<Vec<_>>();
        let mut found = Outstanding::unknown(missing);
        let received_last = || newest(received).into_iter();
        found.find(sum(sent) - sum(received), newest(sent).into_iter(), received_last);
        found
    }

    fn tags(sent: &[u32], received: &[u32], far: usize) -> Vec<u32> {
        outstanding(sent, received, far).tags().collect()
    }

    fn left(messages: &[u32], receives: &[(Option<u32>, Option<u32>)]) -> u64 {
        let mut messages = outstanding(messages, &[], 100);
        let mut posted = Posted::default();
        // Newest first: the order follows from their positions.
        for (order, (source, tag)) in receives.iter().enumerate().rev() {
            posted.add(Receive::new(*source, *tag, Some(order as u64)));
        }
        posted.take_from(0, &mut messages);
        messages.len()
    }

    #[test]
    fn outstanding_messages_are_those_sent_minus_those_received() {
        assert_eq!(tags(&[1, 2, 3], &[], 100), [1, 2, 3]);
        assert_eq!(tags(&[1, 2, 3], &[2], 100), [1, 3]);
        assert_eq!(tags(&[1, 2, 3, 1], &[1, 3], 100), [2, 1]);
        assert_eq!(tags(&[7, 7, 7], &[7], 100), [7, 7]);
        assert_eq!(tags(&[1, 2], &[2, 1], 100), [0; 0]);
    }

    #[test]
    fn without_older_messages_the_newer_ones_suffice_if_the_sums_agree() {
        let sent: Vec<u32> = (0..1000).collect();
        assert_eq!(tags(&sent, &sent[..997], 100), [997, 998, 999]);
        let mut received = sent[..998].to_vec();
        received.swap(990, 997);
        received.pop();
        received.push(999);
        assert_eq!(outstanding(&sent, &received, 20).len(), 2);
    }

    #[test]
    fn unknown_tags_are_not_invented() {
        let sent: Vec<u32> = (0..50).map(|n| n * n).collect();
        let found = outstanding(&sent, &sent[..20], 7);
        assert_eq!((found.len(), found.tags().count()), (30, 0));
        assert_eq!(tags(&sent, &sent[..49], 0), [49 * 49], "the sums reveal a single tag");
        assert_eq!(tags(&[5; 9], &[5; 4], 0), [5; 5], "several are assumed to have equal tags");
        assert_eq!(outstanding(&[6; 999], &[], 100).len(), 999);
    }

    #[test]
    fn a_receive_of_another_tag_hides_no_message() {
        assert_eq!(left(&[1, 2, 3], &[(Some(0), Some(9)), (Some(0), Some(2))]), 2);
        assert_eq!(left(&[1, 2, 3], &[(Some(0), Some(9)), (Some(1), Some(2))]), 3);
        assert_eq!(left(&[1, 2, 3], &[(None, None), (None, Some(3)), (None, Some(9))]), 1);
    }

    #[test]
    fn receives_match_in_the_order_in_which_they_were_posted() {
        // The first takes message 1, and the second finds none.
        assert_eq!(left(&[1, 2], &[(None, None), (None, Some(1))]), 1);
        assert_eq!(left(&[1, 2], &[(None, Some(1)), (None, None)]), 0);
    }

    #[test]
    fn a_receive_from_any_source_takes_only_one_message() {
        let mut posted = Posted::default();
        posted.add(Receive::new(None, Some(4), Some(1)));
        let (mut first, mut second) = (outstanding(&[4], &[], 9), outstanding(&[4], &[], 9));
        posted.take_from(0, &mut first);
        posted.take_from(1, &mut second);
        assert_eq!((first.len(), second.len(), posted.is_empty()), (0, 1, true));
    }

    #[test]
    fn the_oldest_of_too_many_receives_are_kept() {
        let mut posted = Posted::default();
        for order in (0..RECEIVES as u64 + 9).rev() {
            posted.add(Receive::new(None, Some(order as u32), Some(order)));
        }
        let mut messages = outstanding(&[0, RECEIVES as u32 - 1, RECEIVES as u32], &[], 9);
        posted.take_from(0, &mut messages);
        assert_eq!(messages.tags().collect::<Vec<_>>(), [RECEIVES as u32]);
    }

    #[test]
    fn a_blocking_receive_is_the_newest_and_positions_may_cross_any_power_of_two() {
        for boundary in [1_u64 << 30, 1 << 31, 1 << 32, 3 << 31] {
            let mut posted = Posted::default();
            posted.add(Receive::new(None, Some(4), None));
            for order in [boundary + 1, boundary - 2, boundary, boundary - 1] {
                posted.add(Receive::new(None, Some((order + 2 - boundary) as u32), Some(order)));
            }
            let tags: Vec<i32> =
                posted.receives.iter().take(posted.count).map(|receive| receive.tag).collect();
            assert_eq!(tags, [0, 1, 2, 3, 4]);
        }
    }

    #[test]
    fn both_arrays_fit_on_the_stack_of_a_signal_handler() {
        assert!(size_of::<Posted>() + size_of::<Outstanding>() <= 4200);
    }

    #[test]
    fn messages_with_unknown_tags_match_only_receives_of_any_tag() {
        let sent: Vec<u32> = (0..50).map(|n| n * n).collect();
        let mut messages = outstanding(&sent, &sent[..20], 7);
        let mut posted = Posted::default();
        posted.add(Receive::new(None, None, Some(1)));
        posted.add(Receive::new(None, Some(49 * 49), Some(2)));
        posted.take_from(0, &mut messages);
        assert_eq!(messages.len(), 29);
    }
}
