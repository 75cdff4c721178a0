//! The part of a call's needs that is already met: those requests of an `MPI_Waitall` whose messages have
//! arrived. They explain nothing and accuse no process, so they are kept apart from what the call still waits
//! for.

use crate::questions::why::messages::Pairs;
use crate::questions::why::snapshot::{Need, Process, ProcessIndex, Snapshot, Wait};

/// Separates met needs in calls that need all of several things and lack some.
pub fn set_apart(snapshot: &mut Snapshot) {
    let mut met: Vec<(usize, usize, Vec<bool>)> = Vec::new();
    let mut pairs = None;
    for (index, process) in snapshot.processes.iter().enumerate() {
        for (thread, needs) in several(process) {
            let pairs = pairs.get_or_insert_with(|| Pairs::of(snapshot));
            let of: Vec<bool> = needs.iter().map(|need| is_met(pairs, index as u32, need)).collect();
            if of.contains(&true) && of.contains(&false) {
                met.push((index, thread, of));
            }
        }
    }
    for (process, thread, of) in met {
        let thread = snapshot.processes.get_mut(process).and_then(|process| process.threads.get_mut(thread));
        let Some(call) = thread.and_then(|thread| thread.call.as_mut()) else { continue };
        let Wait::All(needs) = &mut call.wait else { continue };
        let mut of = of.into_iter();
        (call.met, *needs) = std::mem::take(needs).into_iter().partition(|_| of.next().unwrap_or(false));
    }
}

/// Returns calls that need all of several things, with the index of their thread.
fn several(process: &Process) -> impl Iterator<Item = (usize, &[Need])> {
    let calls =
        process.threads.iter().enumerate().filter_map(|(at, thread)| Some((at, thread.call.as_ref()?)));
    calls.filter_map(|(at, call)| match &call.wait {
        Wait::All(needs) if needs.len() > 1 => Some((at, needs.as_slice())),
        _ => None,
    })
}

fn is_met(pairs: &mut Pairs<'_>, of: ProcessIndex, need: &Need) -> bool {
    match need {
        Need::Message(receive) => pairs.finds(of, receive),
        Need::Receiver(message) => pairs.is_received(of, message),
        // A collective that all have entered may still be one in which they differ.
        Need::Collective(_) | Need::Action { .. } | Need::Outside { .. } => false,
    }
}
