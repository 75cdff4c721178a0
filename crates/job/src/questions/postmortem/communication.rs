//! The active requests of a process when it died, and its most recent messages.

use crate::model::objects::Request;
use crate::model::rank::Rank;
use crate::questions::process_file::Dead;
use mpiscope_image::Source;
use mpiscope_image::derive::live;
use mpiscope_image::layout::SectionKind;
use mpiscope_image::objects::Head;
use mpiscope_image::traffic::{Entry, Traffic, UNKNOWN_SIZE};
use serde::Serialize;
use std::collections::HashMap;

/// Maximum number of requests listed.
const MOST_PENDING: usize = 1000;
/// Maximum number of messages listed per direction.
const LAST: u64 = 5;

/// A request that was started and not complete.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PendingRequest {
    /// The request, as shown by `inspect`.
    #[serde(flatten)]
    pub request: Request,
    /// Time from its start to the death of the process, in seconds.
    pub age_s: Option<f64>,
}

/// A message from the ledger.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LastMessage {
    /// Whether it was sent; otherwise it was received.
    pub sent: bool,
    /// Rank of the other side in the communicator.
    pub peer: i32,
    /// Tag.
    pub tag: i32,
    /// Size in bytes, if known.
    pub bytes: Option<u64>,
    /// The communicator, if it still exists.
    pub comm: Option<String>,
    /// The communicator's identity.
    #[serde(skip)]
    pub identity: u64,
    /// Whether the program had learned of its completion.
    pub complete: bool,
    /// When it was sent or its receive posted, in seconds after the start of the image.
    pub seconds: f64,
}

/// Returns the active requests, oldest first. What cannot be shown is mentioned in `notes`.
pub fn pending<S: Source>(rank: &Rank<'_, S>, dead: &Dead, notes: &mut Vec<String>) -> Vec<PendingRequest> {
    let open = |head: &Head| live::is_held(head) && live::is_under_way(head);
    let (mut found, mut further) = (Vec::new(), 0u64);
    let each = rank.objects().each::<Request>(&mut |head| open(head), &mut |request| match found.len()
        < MOST_PENDING
    {
        _ if request.is_with_nobody() => {}
        true => found.push(request),
        false => further += 1,
    });
    // Whatever a damaged table still yields is shown.
    notes.extend(each.err().map(|why| format!("not all of its requests can be read: {why}")));
    notes.extend(
        (further > 0).then(|| format!("{further} more requests were in progress and are not listed")),
    );
    let began = |request: &Request| request.start.as_ref().map_or(0.0, |start| start.seconds);
    found.sort_by(|a, b| began(a).total_cmp(&began(b)));
    let process = rank.process();
    // If a process records no times, all its times are zero.
    let age = |request: &Request| {
        let start = request.start.as_ref().filter(|start| start.seconds != 0.0)?;
        dead.age_after_start(process, start.seconds)
    };
    found.into_iter().map(|request| PendingRequest { age_s: age(&request), request }).collect()
}

/// Returns the newest messages of the ledger, newest first. What cannot be shown is mentioned in `notes`.
pub fn last<S: Source>(rank: &Rank<'_, S>, notes: &mut Vec<String>) -> Vec<LastMessage> {
    let (mut messages, mut lost) = (Vec::new(), 0u64);
    if let Err(why) = read(rank, &mut messages, &mut lost) {
        notes.push(format!("its last messages cannot be read: {why}"));
    }
    notes.extend((lost > 0).then(|| format!("{lost} of its last messages cannot be read")));
    messages.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    messages
}

fn read<S: Source>(
    rank: &Rank<'_, S>,
    messages: &mut Vec<LastMessage>,
    lost: &mut u64,
) -> Result<(), mpiscope_image::Error> {
    let (image, process) = (rank.image(), rank.process());
    let totals = image.table::<Traffic>(SectionKind::TRAFFIC)?;
    if totals.is_empty() {
        return Ok(());
    }
    let totals = image.get::<Traffic>(&totals, 0)?.value;
    let capacity = totals.ledger_capacity.get();
    let table = image.table::<Entry>(SectionKind::LEDGER)?;
    let comms: HashMap<u64, String> = rank.identities();
    let first = totals.ledger_first.get();
    for (sent, written, ring) in
        [(true, totals.ledger_sent.get(), 0), (false, totals.ledger_received.get(), capacity)]
    {
        for back in 1..=LAST.min(written).min(capacity) {
            let place = (written - back).checked_rem(capacity);
            let index = place.and_then(|place| first.checked_add(ring)?.checked_add(place));
            let entry = index.and_then(|index| image.get::<Entry>(&table, index).ok());
            let Some(entry) = entry.filter(|entry| !entry.torn) else {
                *lost += 1;
                continue;
            };
            let entry = entry.value;
            let began = process.clock.ns_at(entry.posted.get());
            messages.push(LastMessage {
                sent,
                peer: entry.peer.get().cast_signed(),
                tag: entry.tag.get().cast_signed(),
                bytes: Some(entry.bytes.get()).filter(|bytes| *bytes != UNKNOWN_SIZE),
                comm: comms.get(&entry.comm.get()).cloned(),
                identity: entry.comm.get(),
                complete: entry.completed.get() != 0,
                seconds: began.saturating_sub(process.clock.start_ns()) as f64 / 1e9,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Process;
    use crate::base::clock::Moment;
    use crate::model::locate::NoSymbols;
    use crate::model::rank::SymbolContext;
    use crate::sources::image_source::open_fd;
    use crate::test_image::TestImage;

    fn told(sample: &TestImage) -> Vec<String> {
        let image = open_fd(sample.fd.try_clone().unwrap(), "sample").unwrap();
        let process = Process::read(&image, Some(Moment::now())).unwrap();
        let (context, mut notes) = (SymbolContext::new(&process, &NoSymbols), Vec::new());
        assert!(last(&Rank::new(&image, &process, &context), &mut notes).is_empty());
        notes
    }

    #[test]
    fn unreadable_messages_are_reported_and_no_messages_are_no_loss() {
        let sample = TestImage::new("ledger", 0, 2);
        assert!(told(&sample).is_empty(), "none were recorded");
        let (_, traffic) = sample.writer.new_record::<Traffic>(SectionKind::TRAFFIC, 1).unwrap();
        assert!(told(&sample).is_empty(), "there were none");
        traffic.ledger_capacity.set(4);
        traffic.ledger_sent.set(3);
        assert_eq!(told(&sample), ["3 of its last messages cannot be read"]);
    }
}
