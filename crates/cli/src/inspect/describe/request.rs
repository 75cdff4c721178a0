//! Requests and matched messages.

use super::{Context, Fact, field, when};
use mpiscope_job::objects::request::{Rank, When};
use mpiscope_job::objects::{Lifetime, Message, Reference, Request};

/// In one line.
pub fn brief(context: &Context<'_>, request: &Request) -> String {
    if request.common.standing == Lifetime::Null {
        return String::new();
    }
    format!("{}, {}", what(request, &|object| context.call(object)), state(request))
}

/// `receive from 0 tag 42 on "solver" 10 x MPI_INT`, with the names that `name` gives to other objects.
pub fn what(request: &Request, name: &dyn Fn(&Reference) -> String) -> String {
    let mut parts = vec![operation(request).to_owned()];
    if let Some(way) = way(request) {
        parts.push(way);
    }
    if let Some(object) = &request.object {
        parts.push(format!("on {}", name(object)));
    }
    if request.count > 0 || request.datatype.is_some() {
        let datatype = request.datatype.as_ref().map_or_else(String::new, |d| format!(" x {}", name(d)));
        parts.push(format!("{}{datatype}", request.count));
    }
    parts.join(" ")
}

/// What it stands for: of what is no message, the function says more than its kind.
fn operation(request: &Request) -> &str {
    let made_by = request.common.created.as_ref().and_then(|created| created.function.as_deref());
    let function = made_by.filter(|_| matches!(request.class, "collective" | "one-sided" | "file"));
    function.or(request.operation).unwrap_or("operation that is not known")
}

/// From or to whom, with which tag.
fn way(request: &Request) -> Option<String> {
    let operation = request.operation?;
    let rank = peer(request.peer.as_ref()?);
    let peer = || &rank;
    let tag = request.tag.map_or_else(|| "any tag".to_owned(), |tag| format!("tag {tag}"));
    Some(match (request.class, operation.contains("receive")) {
        ("point-to-point", _) if request.send.is_some() => {
            let (dest, send_tag) = request.send?;
            format!("to {dest} tag {send_tag}, from {} {tag}", peer())
        }
        ("point-to-point", true) => format!("from {} {tag}", peer()),
        ("point-to-point", false) => format!("to {} {tag}", peer()),
        ("one-sided", _) => format!("target {}", peer()),
        _ if request.root => format!("root {}", peer()),
        _ => return None,
    })
}

fn peer(rank: &Rank) -> String {
    rank.name.map_or_else(|| rank.value.to_string(), |name| name.trim_start_matches("MPI_").to_owned())
}

fn state(request: &Request) -> String {
    let persistent = if request.persistent { "persistent, " } else { "" };
    let state = match (request.marked, request.active, request.complete, request.started) {
        (true, ..) => "marked for freeing, completion not seen",
        (_, true, true, _) => "complete",
        (_, true, ..) => "completion not yet seen",
        (_, _, true, _) => "complete",
        (_, _, _, false) => "not started",
        _ => "inactive",
    };
    let cancelled = if request.cancelled { ", cancelled" } else { "" };
    let shared = if request.several {
        format!(", the last of {} with this handle", request.starts)
    } else {
        String::new()
    };
    format!("{persistent}{state}{cancelled}{shared}")
}

/// Everything.
pub fn text(context: &Context<'_>, request: &Request, lines: &mut Vec<Fact>) {
    let operation = operation(request);
    let class = if operation == request.class { String::new() } else { format!(" ({})", request.class) };
    lines.push(field("operation", &format!("{operation}{class}")));
    lines.push(field("state", &state(request)));
    if let Some(way) = way(request) {
        lines.push(field("peer", &way));
    }
    context.one(lines, "on", request.object.as_ref());
    if request.count > 0 || request.datatype.is_some() {
        let datatype = request.datatype.as_ref().map_or_else(|| "elements".to_owned(), |d| context.refer(d));
        // Of a collective, which may have several, none is recorded.
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
        lines.push(field("received", &format!("{} bytes from {source} tag {tag}", request.bytes)));
    } else if request.bytes > 0 {
        lines.push(field("bytes", &request.bytes.to_string()));
    }
    if request.persistent {
        lines.push(field("starts", &request.starts.to_string()));
    }
    if request.error != 0 {
        lines.push(field("error", &format!("code {}", request.error)));
    }
    if request.several {
        let open = request.outstanding;
        let told = format!(
            "{} requests so far, all complete at start; {open} not completed by the program",
            request.starts
        );
        lines.push(field("handle of", &told));
    }
}

fn place(context: &Context<'_>, when: &When) -> String {
    context.place(when.place.as_ref(), when.address).trim_start().to_owned()
}

/// How long it has been under way.
fn age(context: &Context<'_>, start: &When, request: &Request) -> String {
    let clock = &context.process.clock;
    let now = clock.end_ns().saturating_sub(clock.start_ns()) as f64 / 1e9;
    let age = now - start.seconds;
    if request.active && !request.complete && age > 0.0 { format!(", {age:.1} s ago") } else { String::new() }
}

/// In one line.
pub fn message_brief(context: &Context<'_>, message: &Message) -> String {
    let comm = message.communicator.as_ref().map_or_else(String::new, |c| format!(" on {}", context.call(c)));
    format!(
        "from {} tag {}{comm}, {} bytes, matched and not received",
        message.source, message.tag, message.bytes
    )
}

/// Everything.
pub fn message(context: &Context<'_>, message: &Message, lines: &mut Vec<Fact>) {
    lines.push(field("from", &format!("rank {} with tag {}", message.source, message.tag)));
    lines.push(field("bytes", &message.bytes.to_string()));
    context.one(lines, "on", message.communicator.as_ref());
}
