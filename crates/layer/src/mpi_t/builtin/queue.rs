//! The length of a communicator's unexpected-message queue.
//!
//! No stock library installation exposes it, and if the network does the matching, the library has none.
//! Instead, it is derived from the records of both sides: messages that others have sent to this rank, minus
//! those it has received, minus those for which a receive is posted or that a probe has matched
//! (`mpiscope_image::derive::unexpected`).

use crate::base::topic::Topic;
use crate::mpi_t::bound::Bound;
use crate::mpi_t::own_categories::{Categories, publish_one};
use crate::mpi_t::recording::Interest;
use crate::record::traffic::{self, state::State};
use mpiscope_image::derive::bound::UNEXPECTED;
use mpiscope_image::derive::unexpected::{self, Outstanding, Posted};
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
        self.0.set(wanted);
    }
}

fn length(bound: &Bound) -> u64 {
    let Some(state) = traffic::state::get() else { return 0 };
    let mut posted = Posted::default();
    super::posted::on(bound, state, &mut posted);
    let length = (0..bound.size)
        .fold(0, |length: u64, rank| length.saturating_add(waiting(bound, state, rank, &mut posted)));
    unexpected::left(length, bound.comm().untold())
}

/// Number of messages from one sender that no receive takes.
fn waiting(bound: &Bound, state: &'static State, rank: usize, posted: &mut Posted) -> u64 {
    let Some(mine) = bound.peer(rank) else { return 0 };
    let own = rank == bound.rank && !bound.others.is_remote();
    let theirs = if own { Some(mine) } else { bound.others.peer(rank, bound.identity(), bound.rank) };
    let Some(theirs) = theirs else { return 0 };
    // Read the received count first, so that a message arriving meanwhile cannot make the difference
    // negative.
    let (received, tags) = (mine.received.get(), mine.received_tags.get());
    let missing = theirs.sent.get().saturating_sub(theirs.cancelled.get()).saturating_sub(received);
    if missing == 0 || posted.is_empty() {
        return missing;
    }
    let (sum, identity, rank) = (theirs.sent_tags.get().wrapping_sub(tags), bound.identity(), rank as u32);
    let got = || state.recently_received.tags(&state.totals.envelopes_received, identity, rank);
    let mut messages = Outstanding::unknown(missing);
    if bound.comm().untold().is_none() {
        if own {
            messages.find(sum, state.recently_sent.tags(&state.totals.envelopes_sent, identity, rank), got);
        } else {
            messages.find(sum, bound.others.sent_tags(rank as usize, bound.identity(), bound.rank), got);
        }
    }
    posted.take_from(rank, &mut messages);
    messages.len()
}

/// Registers the variables.
pub fn publish(registry: &Registry, categories: &mut Categories) {
    const DESC: &str = "Messages that were sent to this process on the communicator, have not been received, and find no \
        posted receive: by sender, tag, wildcards and order, without those that a matched probe took. Exact for senders on \
        the same node; those on other nodes, and processes that do not run under mpiscope, are not seen. Up to 256 \
        messages of one sender and 256 receives are told apart by their tags, and as far back as the last 512 messages of \
        both, unless MPI_Isendrecv received some with a wildcard and the library (MPICH, Intel MPI) did not say which. Costs nothing beyond the recording of objects; a read takes about 10 ns per rank, and a microsecond or two per sender if there are receives";
    for (name, datatype) in UNEXPECTED.into_iter().zip([Datatype::INT, Datatype::UNSIGNED]) {
        let spec =
            PvarSpec::new(name, PvarClass::LEVEL, datatype).desc(DESC).bind(Bind::MPI_COMM).any_datatype();
        if let Some(index) =
            publish_one(name, registry.add_pvar(spec, Unexpected(Interest::new(Recording::OBJECTS.0))))
        {
            categories.add(Topic::Messages, Member::Pvar(index));
        }
    }
}
