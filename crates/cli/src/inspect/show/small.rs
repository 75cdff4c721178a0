//! Groups, operations, error handlers, infos, sessions, attribute keys.

use super::communicator::order;
use super::{Context, field};
use mpiscope_job::objects::{Errhandler, Group, Hex, Info, Keyval, Op, Session};

/// Pairs of an info in one line.
const MOST_PAIRS: usize = 4;

pub fn group_brief(group: &Group) -> String {
    let members = group.members.as_ref().map_or_else(|| "members not known".into(), |m| order(m));
    format!("{} members, ranks {members}", group.size)
}

pub fn group(context: &Context<'_>, group: &Group, lines: &mut Vec<String>) {
    let own = group.rank.map_or_else(|| "none: the process is no member".into(), |rank| rank.to_string());
    lines.push(field("size", &group.size.to_string()));
    lines.push(field("own rank", &own));
    let members = match &group.members {
        Some(members) => format!("ranks of the world: {}", order(members)),
        None => "cannot be seen: the image does not hold them".to_owned(),
    };
    lines.push(field("members", &members));
    if group.handles > 1 {
        lines.push(field("to be freed", &format!("{} times", group.handles)));
    }
    context.one(lines, "other parent", group.other_parent.as_ref());
    context.many(lines, "communicators", &group.communicators);
}

pub fn op_brief(context: &Context<'_>, op: &Op) -> String {
    let commutative = match op.commutative {
        Some(true) => "commutative",
        Some(false) => "not commutative",
        None => return String::new(),
    };
    if op.common.predefined {
        commutative.to_owned()
    } else {
        format!("{}, {commutative}", context.function_name(op.function))
    }
}

/// A function of the program, which predefined objects have none of.
fn user_function(context: &Context<'_>, function: Hex, fortran: bool, lines: &mut Vec<String>) {
    if function.0 != 0 {
        lines.push(field("function", &context.function(function)));
        lines.push(field("language", if fortran { "Fortran" } else { "C" }));
    }
}

pub fn op(context: &Context<'_>, op: &Op, lines: &mut Vec<String>) {
    user_function(context, op.function, op.fortran_function, lines);
    let commutative = op.commutative.map_or("not known", |yes| if yes { "yes" } else { "no" });
    lines.push(field("commutative", commutative));
    context.many(lines, "requests", &op.requests);
    context.calls(lines, &op.calls);
}

pub fn errhandler_brief(context: &Context<'_>, handler: &Errhandler) -> String {
    let used = match handler.attached.len() {
        0 => "not attached".to_owned(),
        n => format!("attached to {}", count(n, "object")),
    };
    if handler.function.0 == 0 {
        used
    } else {
        format!("{}, {used}", context.function_name(handler.function))
    }
}

pub fn errhandler(context: &Context<'_>, handler: &Errhandler, lines: &mut Vec<String>) {
    user_function(context, handler.function, handler.fortran_function, lines);
    let of = handler.of.map_or_else(|| "anything".to_owned(), |kind| format!("MPI objects of kind {kind}"));
    lines.push(field("for", &of));
    if handler.handles > 1 {
        lines.push(field("to be freed", &format!("{} times", handler.handles)));
    }
    context.many(lines, "attached to", &handler.attached);
}

pub fn info_brief(info: &Info) -> String {
    let pairs: Vec<String> = info.pairs.iter().take(MOST_PAIRS).map(|(k, v)| format!("{k}={v}")).collect();
    let more = if info.pairs.len() > MOST_PAIRS { ", ..." } else { "" };
    if pairs.is_empty() { "no keys".to_owned() } else { format!("{}{more}", pairs.join(", ")) }
}

pub fn info(context: &Context<'_>, info: &Info, lines: &mut Vec<String>) {
    lines.push(field("keys", &info.pairs.len().to_string()));
    let width = info.pairs.iter().map(|(key, _)| key.chars().count()).max().unwrap_or(0).min(40);
    lines.extend(info.pairs.iter().map(|(key, value)| format!("    {key:<width$} = {value}")));
    if info.lost > 0 {
        lines.push(field("not seen", &format!("{} more keys: the image had no room", info.lost)));
    }
    context.many(lines, "used by", &info.used_by);
}

pub fn session_brief(session: &Session) -> String {
    // What it was given is alike on all ranks; the info's handle is not.
    let hints: Vec<String> =
        session.hints.iter().take(MOST_PAIRS).map(|(key, value)| format!(", {key}={value}")).collect();
    format!("{} made from it{}", count(session.groups.len(), "group"), hints.concat())
}

/// `1 group`, `2 groups`.
fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

pub fn session(context: &Context<'_>, session: &Session, lines: &mut Vec<String>) {
    context.given(lines, session.info.as_ref(), &session.hints);
    context.one(lines, "error handler", session.errhandler.as_ref());
    context.many(lines, "groups", &session.groups);
}

pub fn keyval_brief(context: &Context<'_>, keyval: &Keyval) -> String {
    let of = keyval.of.map_or("objects", |kind| kind.name());
    let copy = match keyval.copy.0 {
        predefined @ 0..SMALL => format!("predefined ({predefined})"),
        // Its address differs from process to process.
        _ => context.function_name(keyval.copy),
    };
    format!("key {} ({:#x}) for {of}, copy {copy}", keyval.keyval, keyval.keyval)
}

pub fn keyval(context: &Context<'_>, keyval: &Keyval, lines: &mut Vec<String>) {
    lines.push(field("key", &format!("{} ({:#x})", keyval.keyval, keyval.keyval)));
    lines.push(field("for", keyval.of.map_or("not known", |kind| kind.name())));
    lines.push(field("copy function", &callback(context, keyval.copy.0)));
    lines.push(field("delete function", &callback(context, keyval.delete.0)));
    lines.push(field("extra state", &keyval.extra_state.to_string()));
}

/// Below are no functions: a null pointer or a small number stands for a predefined one.
const SMALL: u64 = 4096;

/// A function of the program, or a predefined one.
fn callback(context: &Context<'_>, address: u64) -> String {
    match address {
        0..SMALL => format!("predefined ({address})"),
        _ => context.function(Hex(address)),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn one_of_something_is_not_several() {
        let told = [0, 1, 2].map(|n| super::count(n, "group"));
        assert_eq!(told, ["0 groups", "1 group", "2 groups"]);
    }
}
