//! Topologies of communicators, as the library reports them for the new communicator.

use crate::interpose::real;
use crate::record::objects::{arena, ask};
use mpi_abi::Abi;
use mpiscope_image::Writer;
use mpiscope_image::objects::{Comm, Topology};
use std::ffi::c_int;

/// Queries the topology of a communicator and stores it in its record.
pub fn record<A: Abi>(writer: &'static Writer, comm: &Comm, handle: A::Handle) {
    let mut kind = A::UNDEFINED;
    if real::topo_test::<A>(handle, &mut kind) != Some(A::SUCCESS) {
        return;
    }
    let (topology, arguments) = if kind == A::CART {
        (Topology::CART, cartesian::<A>(handle))
    } else if kind == A::GRAPH {
        (Topology::GRAPH, graph::<A>(handle))
    } else if kind == A::DIST_GRAPH {
        (Topology::DIST_GRAPH, distributed::<A>(handle))
    } else {
        return;
    };
    let arguments = arguments.unwrap_or_default();
    comm.head.seq.write(|| {
        comm.topology.set(topology.0);
        arena::put(writer, &comm.topology_args, arguments.len(), arguments);
    });
}

fn words(values: &[c_int]) -> impl Iterator<Item = u64> {
    values.iter().map(|v| i64::from(*v) as u64)
}

fn list(len: c_int) -> Vec<c_int> {
    vec![0; usize::try_from(len).unwrap_or(0)]
}

fn cartesian<A: Abi>(comm: A::Handle) -> Option<Vec<u64>> {
    let mut n = 0;
    real::cartdim_get::<A>(comm, &mut n).filter(|r| *r == A::SUCCESS)?;
    let (mut dims, mut periods, mut coords) = (list(n), list(n), list(n));
    ask::cart_get::<A>(comm, n, dims.as_mut_ptr(), periods.as_mut_ptr(), coords.as_mut_ptr())
        .filter(|r| *r == A::SUCCESS)?;
    Some(words(&[n]).chain(words(&dims)).chain(words(&periods)).collect())
}

fn graph<A: Abi>(comm: A::Handle) -> Option<Vec<u64>> {
    let (mut nodes, mut edges) = (0, 0);
    ask::graphdims_get::<A>(comm, &mut nodes, &mut edges).filter(|r| *r == A::SUCCESS)?;
    let (mut index, mut ends) = (list(nodes), list(edges));
    ask::graph_get::<A>(comm, nodes, edges, index.as_mut_ptr(), ends.as_mut_ptr())
        .filter(|r| *r == A::SUCCESS)?;
    Some(words(&[nodes]).chain(words(&index)).chain(words(&ends)).collect())
}

fn distributed<A: Abi>(comm: A::Handle) -> Option<Vec<u64>> {
    let (mut from, mut to, mut weighted) = (0, 0, 0);
    real::dist_graph_neighbors_count::<A>(comm, &mut from, &mut to, &mut weighted)
        .filter(|r| *r == A::SUCCESS)?;
    let (mut sources, mut source_weights) = (list(from), list(from));
    let (mut destinations, mut destination_weights) = (list(to), list(to));
    ask::dist_graph_neighbors::<A>(
        comm,
        from,
        sources.as_mut_ptr(),
        source_weights.as_mut_ptr(),
        to,
        destinations.as_mut_ptr(),
        destination_weights.as_mut_ptr(),
    )
    .filter(|r| *r == A::SUCCESS)?;
    if weighted == 0 {
        source_weights.clear();
        destination_weights.clear();
    }
    let parts = [sources, source_weights, destinations, destination_weights];
    Some(words(&[from, to, weighted]).chain(parts.iter().flat_map(|part| words(part))).collect())
}
