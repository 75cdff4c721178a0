//! Requests and matched messages.

use super::{Called, Context, Fact, field, when};
use mpiscope_job::model::objects::request::{Rank, When};
use mpiscope_job::model::objects::{Message, Request};
use std::fmt;

/// The contents of the request's line.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Summary {
    what: What,
    state: State,
}

/// The operation: `receive from 0 tag 42 on "solver" 10 x MPI_INT`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct What {
    operation: String,
    way: Option<Way>,
    object: Option<Called>,
    count: u64,
    datatype: Option<Called>,
}

/// The peer and tag; a tag of `None` is any tag.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Way {
    Receive(Rank, Option<i64>),
    Send(Rank, Option<i64>),
    Both((i64, i64), Rank, Option<i64>),
    Target(Rank),
    Root(Rank),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    persistent: bool,
    progress: &'static str,
    cancelled: bool,
    /// Number of requests so far with this handle, if several share it.
    starts: Option<u64>,
}

impl Summary {
    pub fn of(request: &Request) -> Self {
        Self { what: What::of(request), state: State::of(request) }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.what, self.state)
    }
}

impl What {
    pub fn of(request: &Request) -> Self {
        Self {
            operation: operation(request).to_owned(),
            way: Way::of(request),
            object: request.object.as_ref().map(Called::of),
            count: request.count,
            datatype: request.datatype.as_ref().map(Called::of),
        }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.operation)?;
        if let Some(way) = &self.way {
            write!(f, " {way}")?;
        }
        if let Some(object) = &self.object {
            write!(f, " on {object}")?;
        }
        match &self.datatype {
            Some(datatype) => write!(f, " {} x {datatype}", self.count),
            None if self.count > 0 => write!(f, " {}", self.count),
            None => Ok(()),
        }
    }
}

/// Returns the operation's name. For anything but messages, the name of the function says more than
/// the kind.
fn operation(request: &Request) -> &str {
    let made_by = request.common.created.as_ref().and_then(|created| created.function.as_deref());
    let function = made_by.filter(|_| matches!(request.class, "collective" | "one-sided" | "file"));
    function.or(request.operation).unwrap_or("unknown operation")
}

impl Way {
    fn of(request: &Request) -> Option<Self> {
        let receives = request.operation?.contains("receive");
        let (peer, tag) = (request.peer.clone()?, request.tag);
        Some(match (request.class, request.send) {
            ("point-to-point", Some(send)) => Self::Both(send, peer, tag),
            ("point-to-point", None) if receives => Self::Receive(peer, tag),
            ("point-to-point", None) => Self::Send(peer, tag),
            ("one-sided", _) => Self::Target(peer),
            _ if request.root => Self::Root(peer),
            _ => return None,
        })
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tagged = |tag: &Option<i64>| tag.map_or_else(|| "any tag".to_owned(), |tag| format!("tag {tag}"));
        match self {
            Self::Receive(from, tag) => write!(f, "from {} {}", peer(from), tagged(tag)),
            Self::Send(to, tag) => write!(f, "to {} {}", peer(to), tagged(tag)),
            Self::Both((to, sent), from, tag) => {
                write!(f, "to {to} tag {sent}, from {} {}", peer(from), tagged(tag))
            }
            Self::Target(target) => write!(f, "target {}", peer(target)),
            Self::Root(root) => write!(f, "root {}", peer(root)),
        }
    }
}

fn peer(rank: &Rank) -> String {
    rank.name.map_or_else(|| rank.value.to_string(), |name| name.trim_start_matches("MPI_").to_owned())
}

impl State {
    fn of(request: &Request) -> Self {
        let progress = match (request.marked, request.active, request.complete, request.started) {
            (true, ..) => "marked for freeing, completion not seen",
            (_, true, true, _) => "complete",
            (_, true, ..) => "completion not yet seen",
            (_, _, true, _) => "complete",
            (_, _, _, false) => "not started",
            _ => "inactive",
        };
        let starts = request.several.then_some(request.starts);
        Self { persistent: request.persistent, progress, cancelled: request.cancelled, starts }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let persistent = if self.persistent { "persistent, " } else { "" };
        let cancelled = if self.cancelled { ", cancelled" } else { "" };
        write!(f, "{persistent}{}{cancelled}", self.progress)?;
        self.starts.map_or(Ok(()), |starts| write!(f, ", the last of {starts} with this handle"))
    }
}

/// Adds all facts.
pub fn text(context: &Context<'_>, request: &Request, lines: &mut Vec<Fact>) {
    let operation = operation(request);
    let class = if operation == request.class { String::new() } else { format!(" ({})", request.class) };
    lines.push(field("operation", &format!("{operation}{class}")));
    lines.push(field("state", &State::of(request).to_string()));
    if let Some(way) = Way::of(request) {
        lines.push(field("peer", &way.to_string()));
    }
    context.one(lines, "on", request.object.as_ref());
    if request.count > 0 || request.datatype.is_some() {
        let datatype = request.datatype.as_ref().map_or_else(|| "elements".to_owned(), |d| context.refer(d));
        // The buffer of a collective is not recorded, as there may be several.
        let at =
            if request.class == "collective" { String::new() } else { format!(" at {}", request.buffer) };
        lines.push(field("buffer", &format!("{} x {datatype}{at}", request.count)));
    }
    context.one(lines, "reduction", request.reduction.as_ref());
    if request.partitions > 0 {
        lines.push(field("partitions", &request.partitions.to_string()));
    }
    if let Some(start) = &request.start {
        lines.push(when("started", start.seconds));
        lines.push(field("", &format!("{}{}", place(context, start), age(context, start, request))));
    }
    if let Some(completion) = &request.completion {
        lines.push(when("completion seen", completion.seconds));
        lines.push(field("", &place(context, completion)));
    }
    if let Some((source, tag)) = request.received {
        let bytes =
            request.bytes.map_or_else(|| "an unknown number of".to_owned(), |bytes| bytes.to_string());
        lines.push(field("received", &format!("{bytes} bytes from {source} tag {tag}")));
    } else if let Some(bytes) = request.bytes.filter(|bytes| *bytes > 0) {
        lines.push(field("bytes", &bytes.to_string()));
    }
    if request.persistent {
        lines.push(field("starts", &request.starts.to_string()));
    }
    if request.error != 0 {
        lines.push(field("error", &format!("code {}", request.error)));
    }
    if request.several {
        let open = request.outstanding;
        let text = format!(
            "{} requests so far, all complete at start; {open} not completed by the program",
            request.starts
        );
        lines.push(field("handle of", &text));
    }
}

fn place(context: &Context<'_>, when: &When) -> String {
    context.place(when.place.as_ref(), when.address).trim_start().to_owned()
}

/// Formats how long the request has been active.
fn age(context: &Context<'_>, start: &When, request: &Request) -> String {
    let clock = &context.process.clock;
    let now = clock.end_ns().saturating_sub(clock.start_ns()) as f64 / 1e9;
    let age = now - start.seconds;
    if request.active && !request.complete && age > 0.0 {
        format!(", {} ago", crate::render::duration(age))
    } else {
        String::new()
    }
}

/// Returns the source and tag; `None` for `MPI_MESSAGE_NO_PROC`, the only predefined message.
fn from(message: &Message) -> Option<(i64, i64)> {
    (!message.common.predefined).then_some((message.source, message.tag))
}

/// The contents of a matched message's line.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MessageSummary {
    /// The source and tag; `None` if it is from no process.
    from: Option<(i64, i64)>,
    communicator: Option<Called>,
    bytes: u64,
}

impl MessageSummary {
    pub fn of(message: &Message) -> Self {
        let communicator = message.communicator.as_ref().map(Called::of);
        Self { from: from(message), communicator, bytes: message.bytes }
    }
}

impl fmt::Display for MessageSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, communicator, bytes } = self;
        let Some((source, tag)) = from else { return f.write_str("from no process") };
        let on = communicator.as_ref().map_or_else(String::new, |comm| format!(" on {comm}"));
        write!(f, "from {source} tag {tag}{on}, {bytes} bytes, matched and not received")
    }
}

/// Adds all facts.
pub fn message(context: &Context<'_>, message: &Message, lines: &mut Vec<Fact>) {
    let from = from(message).map(|(source, tag)| format!("rank {source} with tag {tag}"));
    lines.push(field("from", from.as_deref().unwrap_or("no process")));
    lines.push(field("bytes", &message.bytes.to_string()));
    context.one(lines, "on", message.communicator.as_ref());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_of_no_process_has_no_sender() {
        let message = MessageSummary { from: None, communicator: None, bytes: 0 };
        assert_eq!(message.to_string(), "from no process");
        let message = MessageSummary { from: Some((2, 7)), ..message };
        assert_eq!(message.to_string(), "from 2 tag 7, 0 bytes, matched and not received");
    }
}
