//! Posted receives, derived from the requests and the threads' open calls.

use crate::base::image;
use crate::interpose::tls::Tls;
use crate::mpi_t::bound::Bound;
use crate::record::threads;
use crate::record::traffic::state::State;
use mpi_abi::f;
use mpiscope_image::derive::unexpected::{Posted, Receive};
use mpiscope_image::layout::{SectionKind, Thread};
use mpiscope_image::objects::{Flag, Life};
use mpiscope_image::traffic::{Message, Request, RequestKind};

/// Adds everything posted on a communicator: requests, and blocking calls of other threads. If a tool calls
/// this from its own wrapper of a receive, inside ours, that receive is not posted yet. Messages that a probe
/// has matched are taken by the receives made for them, so those are added with their source and tag.
///
/// Async-signal-safe.
pub fn on(bound: &Bound, state: &State, posted: &mut Posted) {
    let Some(writer) = image::writer() else { return };
    if state.totals.matched.get() != 0 {
        let matched = (0..).map_while(|index| writer.record::<Message>(SectionKind::MESSAGES, index));
        let uid = bound.comm().head.uid.get();
        let matched = matched.filter(|m| m.head.life.get() == Life::LIVE.0 && m.head.parent.get() == uid);
        matched.for_each(|m| add(posted, m.source.get(), m.tag.get(), Some(m.order.get())));
    }
    if state.totals.pending.get() != 0 || state.totals.posted.get() != 0 {
        let requests = (0..).map_while(|index| writer.record::<Request>(SectionKind::REQUESTS, index));
        let receives = requests.filter(|request| is_posted(request, bound));
        receives.for_each(|r| add(posted, r.peer.get(), r.tag.get(), Some(r.order.get())));
    }
    if state.totals.posted.get() != 0 {
        let own = Tls::get().thread.get();
        let others = threads::all().filter(|thread| !std::ptr::eq(*thread, own));
        for (source, tag) in others.filter_map(|thread| receive_of(thread, bound)) {
            add(posted, source, tag, None);
        }
    }
}

/// `MPI_ANY_TAG` is negative in every ABI, and so are `MPI_ANY_SOURCE` and `MPI_PROC_NULL`, which never posts
/// a receive.
fn add(posted: &mut Posted, source: u32, tag: u32, order: Option<u64>) {
    let named = |word: u32| Some(word).filter(|word| word.cast_signed() >= 0);
    if named(source).is_some() || is_any(source) {
        posted.add(Receive::new(named(source), named(tag), order));
    }
}

/// Source and tag of the blocking receive on the communicator that a thread is executing.
fn receive_of(thread: &Thread, bound: &Bound) -> Option<(u32, u32)> {
    const RECEIVES: [mpi_abi::FunctionId; 2] = [f::MPI_Recv, f::MPI_Recv_c];
    const EXCHANGES: [mpi_abi::FunctionId; 4] =
        [f::MPI_Sendrecv, f::MPI_Sendrecv_c, f::MPI_Sendrecv_replace, f::MPI_Sendrecv_replace_c];
    let call = &thread.call;
    let function = call.open().filter(|_| call.object.get() == bound.comm().head.handle.get())?;
    let is = |functions: &[mpi_abi::FunctionId]| functions.iter().any(|f| function == u32::from(f.0));
    if is(&RECEIVES) {
        return Some((call.peer.get() as u32, call.tag.get() as u32));
    }
    let [source, tag, ..] = &call.extra;
    is(&EXCHANGES).then(|| (source.get() as u32, tag.get() as u32))
}

fn is_posted(request: &Request, bound: &Bound) -> bool {
    let life = request.head.life.get();
    // A request freed while active still takes its message.
    (life == Life::LIVE.0 || life == Life::MARKED.0)
        && request.is(Flag::ACTIVE)
        && !request.is(Flag::CANCELLED)
        && !request.is(Flag::SHARED_HANDLE)
        && request.head.parent.get() == bound.comm().head.uid.get()
        && RequestKind(request.kind.get()).receives()
}

fn is_any(peer: u32) -> bool {
    let any = match crate::interpose::resolver::abi() {
        Some(mpi_abi::AbiKind::MPICH) => mpi_abi::mpich::MPI_ANY_SOURCE,
        Some(mpi_abi::AbiKind::OPENMPI) => mpi_abi::openmpi::MPI_ANY_SOURCE,
        _ => mpi_abi::standard::MPI_ANY_SOURCE,
    };
    i64::from(peer.cast_signed()) == any
}
