//! Waits for messages, determined from both ends.

use super::alike::End;
use super::calls::Calls;
use super::{Kind, Span, Wait};
use crate::observation::ledger::{Line, Waited};
use crate::questions::why::Hosts;
use crate::questions::why::{Ends, ProcessIndex};
use std::collections::HashMap;
use std::sync::Arc;

/// Returns the waits for messages between processes that can be compared, each limited to the duration of its
/// call.
pub fn for_messages(messages: &[Ends<'_>], calls: &Calls, hosts: &Hosts<'_>) -> Vec<Wait> {
    let mut latest: HashMap<(ProcessIndex, u64), Vec<Wait>> = HashMap::new();
    for ends in messages {
        let Some(error_ns) = hosts.between([&ends.sender, &ends.receiver]) else { continue };
        for waits in of_message(ends) {
            let long = waits.into_iter().filter(|wait| wait.span.ns() > error_ns);
            let waits: Vec<Wait> = long.filter_map(|wait| calls.bounded(wait)).collect();
            let Some(last) = waits.last() else { continue };
            let until = |wait: &Wait| (wait.span.until, receives(wait));
            let known = latest.entry((last.who, last.in_call)).or_default();
            if known.last().is_none_or(|known| until(known) < until(last)) {
                *known = waits;
            }
        }
    }
    latest.into_values().flatten().collect()
}

/// Whether a wait is for a message to arrive. In a call that sends and receives, that is what it waits for if
/// both took equally long.
pub fn receives(wait: &Wait) -> bool {
    matches!(wait.message, Some((_, End::Receiver)))
}

/// Returns the waits of the receiver, in its probe and in the receiving call, and of the sender: for the
/// other end to appear and then, unless the call returned earlier, until the other side asked for completion
/// too.
pub fn of_message(ends: &Ends<'_>) -> [Vec<Wait>; 3] {
    let side = |kind, end, call: &Option<Waited>, other: &Line| {
        let (who, culprit) = match end {
            End::Sender => (ends.sender, ends.receiver),
            End::Receiver => (ends.receiver, ends.sender),
        };
        let mut waits = Vec::new();
        let Some(call) = call else { return waits };
        let mut wait = |kind, from, until| {
            let span = Span { from, until };
            waits.push(Wait {
                kind,
                who,
                call: Arc::clone(&call.call),
                in_call: call.from_ns,
                span,
                culprit,
                message: Some((ends.sent.comm, end)),
            });
        };
        if other.posted_ns > call.from_ns {
            wait(kind, call.from_ns, other.posted_ns);
        }
        let both = other.posted_ns.max(call.from_ns);
        if let Some(asked) = &other.waited
            && (both + 1..=call.until_ns).contains(&asked.from_ns)
        {
            wait(Kind::LATE_COMPLETION, both, asked.from_ns);
        }
        waits
    };
    // A probe waits only for the message to arrive; one sent after the probe returned is not what it found.
    let probed = &ends.received.probed;
    let mut in_probe = side(Kind::LATE_SENDER, End::Receiver, probed, ends.sent);
    in_probe.retain(|wait| {
        let found = probed.as_ref().is_some_and(|call| wait.span.until <= call.until_ns);
        wait.kind == Kind::LATE_SENDER && found
    });
    [
        in_probe,
        side(Kind::LATE_SENDER, End::Receiver, &ends.received.waited, ends.sent),
        side(Kind::LATE_RECEIVER, End::Sender, &ends.sent.waited, ends.received),
    ]
}
