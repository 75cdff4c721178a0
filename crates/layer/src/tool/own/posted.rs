//! Posted receives as the requests show them.

use crate::image;
use crate::threads;
use crate::tls::Tls;
use crate::tool::bound::Bound;
use mpi_abi::f;
use mpiscope_image::layout::{SectionKind, Thread};
use mpiscope_image::objects::{Flag, Life};
use mpiscope_image::traffic::{Request, RequestKind};

/// Receives from any source that are posted on a communicator: requests, and blocking calls of threads.
pub fn from_any_source(bound: &Bound) -> u64 {
    let mut count = 0;
    let Some(writer) = image::writer() else { return 0 };
    for index in 0.. {
        let Some(request) = writer.record::<Request>(SectionKind::REQUESTS, index) else { break };
        count += u64::from(is_posted(request, bound) && is_any(request.peer.get()));
    }
    let own = Tls::get().thread.get();
    for thread in threads::all().filter(|thread| !std::ptr::eq(*thread, own)) {
        count += u64::from(receive_of(thread, bound).is_some_and(|source| is_any(source.cast_unsigned())));
    }
    count
}

/// The source that a thread names in a blocking receive on the communicator.
fn receive_of(thread: &Thread, bound: &Bound) -> Option<i32> {
    let call = &thread.call;
    let receives = [f::MPI_Recv, f::MPI_Recv_c].iter().any(|r| call.open() == Some(u32::from(r.0)));
    let here = call.object.get() == bound.comm().head.handle.get();
    (receives && here).then(|| call.peer.get() as i32)
}

/// The source of the blocking receive that this thread is in.
pub fn own_receive(bound: &Bound) -> Option<i32> {
    let own = Tls::get().thread.get();
    let thread = threads::all().find(|thread| std::ptr::eq(*thread, own))?;
    receive_of(thread, bound)
}

fn is_posted(request: &Request, bound: &Bound) -> bool {
    request.head.life.get() == Life::LIVE.0
        && request.head.flags.get() & Flag::ACTIVE.0 != 0
        && request.head.parent.get() == bound.comm().head.uid.get()
        && RequestKind(request.kind.get()).receives()
}

/// `MPI_ANY_SOURCE` is a negative number in every ABI, and so is `MPI_PROC_NULL`, from which nothing is posted.
fn is_any(peer: u32) -> bool {
    let any = match crate::resolve::abi() {
        Some(mpi_abi::AbiKind::MPICH) => mpi_abi::mpich::MPI_ANY_SOURCE,
        Some(mpi_abi::AbiKind::OPENMPI) => mpi_abi::openmpi::MPI_ANY_SOURCE,
        _ => mpi_abi::standard::MPI_ANY_SOURCE,
    };
    i64::from(peer.cast_signed()) == any
}
