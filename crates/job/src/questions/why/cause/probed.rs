//! Messages that a probe has removed from the queue: only `MPI_Mrecv` can receive those.

use super::{Case, Reason};
use crate::questions::why::blocked::Blocked;
use crate::questions::why::cycle;
use crate::questions::why::messages::Sent;
use crate::questions::why::snapshot::{Message, Need, ProcessIndex};
use crate::questions::why::verdict::Kind;

impl Case<'_> {
    /// A stuck receive wants such a message, or its sender waits for it to be received.
    pub(super) fn taken_by_probe(&self, found: &Blocked) -> Option<Reason> {
        let (receiver, verdict) = self.wanted_by_another(found).or_else(|| self.kept(found))?;
        let next = "receive the message that MPI_Mprobe or MPI_Improbe matched with MPI_Mrecv or MPI_Imrecv";
        let mut reason =
            Reason::new(Kind::MESSAGE_NEVER_RECEIVED, verdict, next).blaming(self.culprit(receiver));
        reason.cycle = cycle::cycle(self.snapshot, found);
        Some(reason)
    }

    /// A stuck receive of the probing process matches it.
    fn wanted_by_another(&self, found: &Blocked) -> Option<(ProcessIndex, String)> {
        let (receiver, wanted, sent) = self.receives(found).find_map(|(receiver, receive)| {
            let fits = |(sender, message): &Sent<'_>| receive.matches.fits(*sender, message);
            Some((receiver, receive.matches, self.taken(receiver).find(fits)?))
        })?;
        let verdict = format!(
            "rank {} waits for {}; the message that rank {} sent it was taken by MPI_Mprobe{}, and can be received \
             only with MPI_Mrecv",
            self.words.rank(receiver),
            self.words.message(&wanted),
            self.words.rank(sent.0),
            self.probed_at(receiver, sent),
        );
        Some((receiver, verdict))
    }

    /// Its sender, one of those that hold up the others, waits for a process that waits itself.
    fn kept(&self, found: &Blocked) -> Option<(ProcessIndex, String)> {
        let core = cycle::core(self.snapshot, found);
        let holds = |one: &ProcessIndex| core.get(*one as usize).copied().unwrap_or(false);
        let sender = found.stuck().filter(holds);
        let (sender, message) = sender
            .flat_map(|sender| {
                let needs = self.process(sender).into_iter().flat_map(|process| process.calls());
                needs.flat_map(|call| call.wait.needs()).map(move |need| (sender, need))
            })
            .find_map(|(sender, need)| match need {
                Need::Receiver(message) => Some((sender, self.only_taken(sender, message)?)),
                _ => None,
            })?;
        let receiver = message.to;
        let verdict = format!(
            "rank {} sent {} that is never received: rank {} took it with MPI_Mprobe{}, did not receive it with MPI_Mrecv, and is {}",
            self.words.rank(sender),
            self.words.sent(message),
            self.words.rank(receiver),
            self.probed_at(receiver, (sender, message)),
            self.words.activity(receiver),
        );
        Some((receiver, verdict))
    }

    /// Returns the message as matched by a probe, if all messages like it were.
    fn only_taken(&self, sender: ProcessIndex, message: &Message) -> Option<&Message> {
        let like =
            |(from, other): &&Sent<'_>| (*from, other.comm, other.tag) == (sender, message.comm, message.tag);
        let mut alike = self.pairs().left(message.to).iter().filter(like).map(|(_, message)| *message);
        let first = alike.next().filter(|message| self.pairs().is_matched(message))?;
        alike.all(|message| self.pairs().is_matched(message)).then_some(first)
    }

    /// Returns messages to a process that its probes have matched.
    fn taken(&self, receiver: ProcessIndex) -> impl Iterator<Item = Sent<'_>> {
        self.pairs().left(receiver).iter().copied().filter(|(_, message)| self.pairs().is_matched(message))
    }

    /// Formats ` at f.c:4`, where it was matched.
    fn probed_at(&self, receiver: ProcessIndex, (sender, message): Sent<'_>) -> String {
        let mut posted = self.process(receiver).into_iter().flat_map(|process| &process.posted);
        let probe = posted.find(|one| one.matched && one.matches.fits(sender, message));
        probe.and_then(|probe| probe.place.as_ref()).map_or_else(String::new, |at| format!(" at {at}"))
    }
}
