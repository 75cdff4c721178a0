//! Calls that wait for buffered messages to be received: `MPI_Buffer_detach` and related calls.
//!
//! It is not recorded which unreceived messages are buffered. At least one of them is, or the call would
//! return, so the call waits for any one of them.

use super::{Slot, communicators::Communicators};
use crate::observation::Need as Wanted;
use crate::questions::why::snapshot::{Need, Process, Wait};

/// Makes such calls wait for their processes' unreceived messages.
pub fn wait(slots: &[Slot<'_>], communicators: &Communicators, processes: &mut [Process]) {
    for ((_, _, seen), process) in slots.iter().zip(processes) {
        let Some(seen) = seen.filter(|_| !process.lost) else { continue };
        for (seen, thread) in seen.threads.iter().zip(&mut process.threads) {
            let needs = seen.call.iter().flat_map(|call| &call.needs);
            let mut comm = needs.filter_map(|need| match need {
                Wanted::Buffered { comm } => Some(*comm),
                _ => None,
            });
            let (Some(comm), Some(call)) = (comm.next(), &mut thread.call) else { continue };
            let on = comm.and_then(|comm| communicators.index(comm));
            let sent = process.sent.iter().filter(|message| on.is_none_or(|on| on == message.comm));
            let needs: Vec<Need> = sent.cloned().map(Need::Receiver).collect();
            if !needs.is_empty() {
                (call.wait, call.for_buffered) = (Wait::Any(needs), true);
            }
        }
    }
}
