//! A process waits for buffered messages to be received, and no process can receive them.

use super::{Case, Reason};
use crate::questions::why::blocked::Blocked;
use crate::questions::why::snapshot::Need;
use crate::questions::why::verdict::Kind;
use crate::questions::why::words::place;

impl Case<'_> {
    /// A stuck call that waits for messages sent earlier.
    pub(super) fn buffered(&self, found: &Blocked) -> Option<Reason> {
        let call = |one| self.process(one).and_then(|process| process.calls().find(|call| call.for_buffered));
        let (sender, call) = found.stuck().find_map(|one| Some((one, call(one)?)))?;
        let message = call.wait.needs().iter().find_map(|need| match need {
            Need::Receiver(message) => Some(message),
            _ => None,
        })?;
        let verdict = format!(
            "rank {} is {} and waits until {} is received; rank {}: {}",
            self.words.rank(sender),
            place(call),
            self.words.sent(message),
            self.words.rank(message.to),
            self.words.activity(message.to)
        );
        let next = "messages sent with MPI_Bsend must be received before their buffer can be detached";
        let reason = Reason::new(Kind::MESSAGE_NEVER_RECEIVED, verdict, next);
        Some(reason.blaming(self.culprit(sender)).blaming(self.culprit(message.to)))
    }
}
