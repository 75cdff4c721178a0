//! Buffers that the program changed or released before it knew that their operations were complete: of nonblocking
//! messages, and of what collectives with a request send.
//!
//! The layer compares their contents and marks the entries. If another operation that writes the same memory was active
//! at the same time, it may have changed them, and [`overlaps`](super::overlaps) reports that instead.

use super::alike::Alike;
use super::overlaps::{Operation, described, written_over};
use super::{Finding, Kind, Whose};
use crate::observation::Observation;
use crate::observation::ledger::{Called, Line, Misuse};
use mpi_abi::{FunctionId, Start};
use std::collections::HashSet;

/// Lines of a process by address.
pub(super) type Lines = HashSet<*const Line>;

/// Returns the messages and collectives of a process into whose buffers another operation wrote meanwhile.
pub(super) fn written_over_in(seen: &Observation) -> Lines {
    let line = |operation: Operation<'_>| match operation {
        Operation::Line(line) => Some(std::ptr::from_ref(line)),
        Operation::OneSided(_) => None,
    };
    written_over(seen).into_iter().filter_map(line).collect()
}

/// Returns the operations whose buffers the program itself changed, each with whether it receives.
pub(super) fn changed(seen: &Observation) -> Vec<(&Line, bool)> {
    let ledger = seen.ledger.as_deref();
    let (sent, received) = (ledger.map(|ledger| &ledger.sent), ledger.map(|ledger| &ledger.received));
    let collective = ledger.map(|ledger| &ledger.collective);
    let rings = [(sent, false), (received, true), (collective, false)];
    let all = rings.into_iter().flat_map(|(ring, receives)| {
        ring.into_iter().flat_map(move |ring| ring.lines.iter().map(move |line| (line, receives)))
    });
    let mut lines: Vec<_> = all.filter(|(line, _)| line.misuse().is_some()).collect();
    if !lines.is_empty() {
        let written_over = written_over_in(seen);
        lines.retain(|(line, _)| !written_over.contains(&std::ptr::from_ref(*line)));
    }
    lines
}

fn said(line: &Line, receives: bool) -> Option<String> {
    Some(sentence(line.misuse()?, &described(line, receives), completed(line)))
}

/// Returns the call that completed an operation; `None` if it was complete when the call returned that started it, or
/// unknown.
pub(super) fn completed(line: &Line) -> Option<&Called> {
    let call = line.waited.as_ref().map(|waited| &*waited.call)?;
    let function = FunctionId::from_name(&call.function);
    let starts = function.is_some_and(|function| function.properties().start == Start::NONBLOCKING);
    (!starts).then_some(call)
}

/// Describes the error in an operation and the call that completed it.
pub(super) fn sentence(misuse: Misuse, operation: &str, completed: Option<&Called>) -> String {
    let was = match misuse {
        Misuse::Changed => "changed",
        Misuse::Released => "released",
    };
    let before =
        completed.map_or_else(|| "it was complete".to_owned(), |call| format!("{call} completed it"));
    format!("the buffer of {operation} was {was} before {before}")
}

/// Returns one finding for each line that started such operations.
pub(super) fn changes(observations: &[Observation], whose: &Whose) -> Vec<Finding> {
    let mut found = Alike::new();
    for seen in observations {
        for (line, receives) in changed(seen) {
            let Some(said) = said(line, receives) else { continue };
            found.add((line.named.place.as_deref(), receives), whose.who(seen), 1, || said);
        }
    }
    found.findings(Kind::BUFFER_CHANGED, |(place, _)| *place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::ledger::{Ledger, Named, Ring, Waited};
    use mpiscope_image::traffic::EntryFlag;
    use std::sync::Arc;

    fn line(order: u64, buffer: u64, flag: u32) -> Line {
        let named = Named { place: Some("a.c:5".into()), data: "4 x MPI_INT".into(), ..Named::default() };
        let call = Called { function: "MPI_Wait".into(), place: Some("a.c:7".into()) };
        Line {
            order,
            buffer,
            bytes: 16,
            flags: flag | EntryFlag::GAPLESS.0,
            named: named.into(),
            posted_ns: order,
            waited: Some(Waited { from_ns: order + 5, until_ns: order + 6, call: call.into() }),
            ..Line::default()
        }
    }

    fn said_of(sent: Vec<Line>, received: Vec<Line>) -> Vec<String> {
        let ring = |lines: Vec<Line>| Ring { written: lines.len() as u64, lines, ..Ring::default() };
        let ledger = Ledger { sent: ring(sent), received: ring(received), ..Ledger::default() };
        let job = [Observation { rank: Some(3), ledger: Some(Box::new(ledger)), ..Observation::default() }];
        changes(&job, &Whose::of(&job)).into_iter().map(|one| one.sentence).collect()
    }

    #[test]
    fn messages_of_one_line_whose_buffers_changed_are_one_finding() {
        let changed = EntryFlag::CHANGED.0;
        let sent = vec![line(1, 100, changed), line(20, 100, 0), line(30, 100, changed)];
        let wanted = "rank 3: the buffer of the send of 4 x MPI_INT at a.c:5 was changed before MPI_Wait at a.c:7 \
                      completed it (2 times)";
        assert_eq!(said_of(sent, Vec::new()), [wanted]);
        let at_start = Called { function: "MPI_Isend".into(), place: Some("a.c:5".into()) };
        let waited = Some(Waited { from_ns: 2, until_ns: 3, call: at_start.into() });
        let wanted =
            "rank 3: the buffer of the send of 4 x MPI_INT at a.c:5 was changed before it was complete";
        assert_eq!(said_of(vec![Line { waited, ..line(1, 100, changed) }], Vec::new()), [wanted]);
        let released = EntryFlag::RELEASED.0;
        let unknown = Line { named: Arc::default(), waited: None, ..line(1, 100, released) };
        let wanted = "rank 3: the buffer of the send was released before it was complete";
        assert_eq!(said_of(vec![unknown], Vec::new()), [wanted]);
    }

    #[test]
    fn what_a_collective_sends_is_described_by_its_function_unless_another_operation_wrote_it() {
        let function = Called { function: "MPI_Ibcast".into(), place: Some("a.c:5".into()) };
        let collective = Line { collective: Some(function.into()), ..line(1, 100, EntryFlag::CHANGED.0) };
        let said = |received: Vec<Line>| {
            let ring = |lines: Vec<Line>| Ring { written: 1, lines, ..Ring::default() };
            let (collective, received) = (ring(vec![collective.clone()]), ring(received));
            let ledger = Ledger { collective, received, ..Ledger::default() };
            let job =
                [Observation { rank: Some(3), ledger: Some(Box::new(ledger)), ..Observation::default() }];
            changes(&job, &Whose::of(&job)).into_iter().map(|one| one.sentence).collect::<Vec<_>>()
        };
        let wanted = "rank 3: the buffer of MPI_Ibcast of 4 x MPI_INT at a.c:5 was changed before MPI_Wait at a.c:7 \
                      completed it";
        assert_eq!(said(Vec::new()), [wanted]);
        assert!(said(vec![line(2, 108, 0)]).is_empty());
    }

    #[test]
    fn a_buffer_into_which_a_message_was_received_meanwhile_is_reported_as_shared() {
        let sent = vec![line(1, 100, EntryFlag::CHANGED.0)];
        assert_eq!(said_of(sent.clone(), vec![line(2, 108, 0)]).len(), 0);
        assert_eq!(said_of(sent, vec![line(2, 200, 0)]).len(), 1);
    }
}
