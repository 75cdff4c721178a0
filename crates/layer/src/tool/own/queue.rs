//! The length of the unexpected-message queue of a communicator.
//!
//! No library tells it on a stock installation, and where the network matches there is none to be seen. It follows from
//! what both sides recorded: messages that the others have sent to this rank, less those that it has received, less
//! those for which a receive is posted.

use super::categories::{Categories, Place};
use super::publish_one;
use crate::tool::bound::Bound;
use crate::tool::recording::Interest;
use crate::traffic;
use mpiscope_image::layout::Recording;
use mpit::{Bind, Binding, Datatype, Instrument, Member, PvarClass, PvarSpec, Registry, Result};

/// The queue's length.
pub struct Unexpected(Interest);

impl Instrument for Unexpected {
    fn bind(&self, object: u64) -> Result<Binding<'_>> {
        Bound::of(object).map(|_| Binding::sampled(1))
    }

    fn sample(&self, object: u64, _element: usize) -> Result<u64> {
        Bound::of(object).map(length)
    }

    fn interest(&self, wanted: bool) {
        self.0.tell(wanted);
    }
}

fn length(bound: &Bound) -> u64 {
    // A tool that asks from inside of its wrapper of a receive, below ours: that receive is not posted yet.
    let own = super::posted::own_receive(bound);
    let (mut waiting, mut named) = (0u64, 0u64);
    for rank in 0..bound.size {
        let Some(mine) = bound.peer(rank) else { continue };
        // What was received is read first: a message that arrives meanwhile is not counted below zero.
        let (received, posted) = (mine.received.get(), mine.posted.get());
        let posted = posted.saturating_sub(u64::from(own == Some(rank as i32)));
        named = named.saturating_add(posted);
        let theirs = if rank == bound.rank && !bound.others.is_remote() {
            Some(mine)
        } else {
            bound.others.peer(rank, bound)
        };
        let Some(theirs) = theirs else { continue };
        let sent = theirs.sent.get().saturating_sub(theirs.cancelled.get());
        waiting = waiting.saturating_add(sent.saturating_sub(received).saturating_sub(posted));
    }
    waiting.saturating_sub(any_source(bound, named + u64::from(own.is_some())))
}

/// Receives from any source that are posted on this communicator.
fn any_source(bound: &Bound, named: u64) -> u64 {
    let Some(state) = traffic::state::get() else { return 0 };
    // Over all communicators there are so many; only if there are more than those that named a source is it worth
    // looking through the requests.
    if state.totals.posted.get() <= named {
        return 0;
    }
    super::posted::from_any_source(bound)
}

/// Registers the variables.
pub fn publish(registry: &Registry, categories: &mut Categories) {
    const DESC: &str = "Messages that were sent to this process on the communicator, have not been received, and find no \
        posted receive from their sender or from any source (tags are not compared). Exact for senders on the same node; \
        those on other nodes, and processes that do not run under mpiscope, are not seen. Costs nothing beyond the \
        recording of objects; a read takes about 10 ns per rank";
    for (name, datatype) in
        [("MPI_T_UMQ_LENGTH", Datatype::INT), ("mpiscope_unexpected_messages", Datatype::UNSIGNED)]
    {
        let spec =
            PvarSpec::new(name, PvarClass::LEVEL, datatype).desc(DESC).bind(Bind::MPI_COMM).any_datatype();
        if let Some(index) =
            publish_one(name, registry.add_pvar(spec, Unexpected(Interest::new(Recording::OBJECTS.0))))
        {
            categories.add(Place::MESSAGES, Member::Pvar(index));
        }
    }
}
