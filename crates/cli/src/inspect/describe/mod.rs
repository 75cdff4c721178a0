//! Describes an object for people: facts about it, which become lines and are merged across processes.

/// A line of text without a label.
macro_rules! line {
    ($($text:tt)*) => { Fact::line(format!($($text)*)) };
}
/// A line that continues the label above.
macro_rules! continued {
    ($text:literal, "", $($values:tt)*) => { field("", &format!($text, $($values)*)) };
}

mod called;
mod communicator;
mod datatype;
mod error_handler;
pub mod fact;
mod group;
mod info;
mod keyval;
mod operation;
pub mod request;
mod session;
mod summary;
mod type_map;
mod window;

pub use called::Called;
use called::Name;
pub use fact::Fact;
use fact::{field, left_out, when};
pub use summary::Summary;
use summary::What;

use mpiscope_job::jobs::symbols::function_at;
use mpiscope_job::model::objects::{
    Attribute, CallSite, Common, Hex, Keyval, Kind, Lifetime, Object, OpenCall, Reader, Reference,
};
use mpiscope_job::{Bytes, Process};

/// Number of references listed in one line.
const MOST_REFERENCES: usize = 12;

/// Number of info pairs in one line.
const MOST_PAIRS: usize = 4;

/// The context needed to describe an object.
pub struct Context<'a> {
    /// The other objects of its process.
    pub reader: &'a Reader<'a, Bytes>,
    pub process: &'a Process,
    /// Number of its world, in the order in which the worlds began.
    pub world: usize,
}

impl Context<'_> {
    /// Returns the contents of the object's line.
    pub fn summary(&self, object: &Object) -> Summary {
        let what = match object {
            null if null.common().standing == Lifetime::Null => What::Null,
            Object::Communicator(comm) => What::Communicator(communicator::Summary::of(comm, self.world)),
            Object::Group(group) => What::Group(group::Summary::of(group, self.world)),
            Object::Datatype(datatype) => What::Datatype(datatype::Summary::of(datatype)),
            Object::Request(request) => What::Request(request::Summary::of(request)),
            Object::Message(message) => What::Message(request::MessageSummary::of(message)),
            Object::Op(op) => What::Op(operation::Summary::of(self, op)),
            Object::Errhandler(handler) => What::Errhandler(error_handler::Summary::of(self, handler)),
            Object::Info(info) => What::Info(info::Summary::of(info)),
            Object::File(file) => What::File(window::FileSummary::of(file)),
            Object::Window(window) => What::Window(window::Summary::of(window)),
            Object::Session(session) => What::Session(session::Summary::of(session)),
            Object::Keyval(keyval) => What::Keyval(keyval::Summary::of(self, keyval)),
        };
        Summary::new(object.common(), what)
    }

    /// Returns all facts about the object.
    pub fn facts(&self, object: &Object) -> Vec<Fact> {
        let common = object.common();
        let mut lines = self.head(common);
        if common.standing == Lifetime::Null {
            return lines;
        }
        match object {
            Object::Communicator(comm) => communicator::text(self, comm, &mut lines),
            Object::Group(group) => group::text(self, group, &mut lines),
            Object::Datatype(datatype) => datatype::text(self, datatype, &mut lines),
            Object::Request(request) => request::text(self, request, &mut lines),
            Object::Message(message) => request::message(self, message, &mut lines),
            Object::Op(op) => operation::text(self, op, &mut lines),
            Object::Errhandler(handler) => error_handler::text(self, handler, &mut lines),
            Object::Info(info) => info::text(self, info, &mut lines),
            Object::File(file) => window::file(self, file, &mut lines),
            Object::Window(window) => window::text(self, window, &mut lines),
            Object::Session(session) => session::text(self, session, &mut lines),
            Object::Keyval(keyval) => keyval::text(self, keyval, &mut lines),
        }
        lines
    }

    fn head(&self, common: &Common) -> Vec<Fact> {
        let name = Name::of(common).map_or_else(String::new, |name| format!(" {name}"));
        let state = match common.standing {
            Lifetime::Live if common.predefined => "predefined",
            // The handle is gone, so completion can no longer be observed.
            Lifetime::Marked if common.kind == Kind::Request => {
                "marked for freeing: the program freed it before its completion was seen"
            }
            Lifetime::Marked => "marked for freeing: the program freed it, MPI still holds it",
            Lifetime::Ended if common.predefined => "predefined, ended with MPI",
            Lifetime::Ended => "ended with MPI: the program did not free it",
            other => state(other),
        };
        let mut lines = vec![Fact::heading(format!(
            "{}{name}, handle {}, {state}",
            common.kind.c_type_or_name(),
            common.handle
        ))];
        if let Some(given) = &common.given_name {
            lines.push(field("named", &format!("\"{given}\" by the program")));
        }
        if let Some(fortran) = common.fortran.filter(|f| i128::from(*f) != i128::from(common.handle.0)) {
            lines.push(field("in Fortran", &fortran.to_string()));
        }
        if let Some(created) = &common.created {
            let parent =
                common.parent.as_ref().map_or_else(String::new, |p| format!(" from {}", self.refer(p)));
            lines.push(field("made by", &format!("{}{parent}", self.call_site(created))));
            lines.push(when("made", created.seconds));
        }
        if let Some(freed) = &common.freed {
            lines.push(field("freed by", &self.call_site(freed)));
            lines.push(when("freed", freed.seconds));
        }
        if common.is_pinned() {
            lines.push(field("kept", "for a debugger, even after it is freed"));
        }
        if common.torn {
            lines.push(line!("  (it kept changing while it was read: parts may be inconsistent)"));
        }
        lines
    }

    /// Formats a call site: `MPI_Comm_dup at solver.c:12`.
    fn call_site(&self, call_site: &CallSite) -> String {
        let function = call_site.function.as_deref().unwrap_or("an unknown call");
        let place = self.place(call_site.place.as_ref(), call_site.address);
        format!("{function}{place}")
    }

    fn place(&self, place: Option<&String>, address: Hex) -> String {
        let known = place.cloned().or_else(|| {
            mpiscope_job::model::locate::place(
                &self.process.modules,
                &mpiscope_job::model::locate::NoSymbols,
                address.0,
            )
        });
        known.map_or_else(String::new, |place| format!(" at {place}"))
    }

    /// Names another object by its name and handle.
    fn refer(&self, reference: &Reference) -> String {
        match &reference.name {
            Some(name) if reference.predefined => name.clone(),
            Some(name) => format!("\"{name}\" ({})", reference.handle),
            None => format!("{} {}", reference.kind, reference.handle),
        }
    }

    /// Adds a line for one reference.
    fn one(&self, lines: &mut Vec<Fact>, label: &str, reference: Option<&Reference>) {
        if let Some(reference) = reference {
            lines.push(field(label, &self.refer(reference)));
        }
    }

    /// Adds a line for several references.
    fn many(&self, lines: &mut Vec<Fact>, label: &str, references: &[Reference]) {
        if references.is_empty() {
            return;
        }
        let mut listed: Vec<String> =
            references.iter().take(MOST_REFERENCES).map(|r| self.refer(r)).collect();
        if references.len() > MOST_REFERENCES {
            listed.push(format!("and {} more", references.len() - MOST_REFERENCES));
        }
        lines.push(field(label, &listed.join(", ")));
    }

    /// Adds lines for the calls that threads are in.
    fn calls(&self, lines: &mut Vec<Fact>, calls: &[OpenCall]) {
        for call in calls.iter().take(MOST_REFERENCES) {
            let place = self.place(call.place.as_ref(), call.address);
            lines.push(field("in a call", &format!("{}{place}, thread {}", call.function, call.tid)));
        }
        lines.extend(left_out(calls.len(), MOST_REFERENCES, "calls"));
    }

    /// Adds lines for an info argument and its contents at that time.
    fn given(&self, lines: &mut Vec<Fact>, info: Option<&Reference>, hints: &[(String, String)]) {
        self.one(lines, "info", info);
        for (key, value) in hints.iter().take(MOST_REFERENCES) {
            lines.push(field("  as passed", &format!("{key} = {value}")));
        }
        lines.extend(left_out(hints.len(), MOST_REFERENCES, "pairs"));
    }

    fn attributes(&self, lines: &mut Vec<Fact>, attributes: &[Attribute]) {
        for attribute in attributes.iter().take(MOST_REFERENCES) {
            let key = attribute.name.clone().unwrap_or_else(|| self.key(attribute));
            let copied = if attribute.copied { " (copied)" } else { "" };
            lines.push(field("attribute", &format!("{key} = {}{copied}", attribute.value)));
        }
        lines.extend(left_out(attributes.len(), MOST_REFERENCES, "attributes"));
    }

    /// Formats an attribute's key: the number, and the more telling place that created it.
    fn key(&self, attribute: &Attribute) -> String {
        // Keys are C `int`s.
        let number = attribute.keyval as i32;
        let key = self.reader.by_uid::<Keyval>(attribute.keyval_uid).ok().flatten();
        let created = key.and_then(|key| key.common.created);
        let place = created.map(|made| self.place(made.place.as_ref(), made.address));
        let made = place.map_or_else(String::new, |place| format!(", made{place}"));
        format!("key {number} ({number:#x}{made})")
    }

    /// Names a function of the program, with its address.
    fn function(&self, address: Hex) -> String {
        format!("{} ({address})", self.function_name(address))
    }

    /// Adds lines for a function of the program; predefined objects have none.
    fn user_function(&self, function: Hex, fortran: bool, lines: &mut Vec<Fact>) {
        if function.0 != 0 {
            lines.push(field("function", &self.function(function)));
            lines.push(field("language", if fortran { "Fortran" } else { "C" }));
        }
    }

    /// Returns the function's name without the address, which differs between processes.
    fn function_name(&self, address: Hex) -> String {
        function_at(&self.process.modules, address.0)
    }
}

/// Returns the state in a word.
pub fn state(standing: Lifetime) -> &'static str {
    match standing {
        Lifetime::Live => "live",
        Lifetime::Marked => "marked for freeing",
        Lifetime::Freed => "freed",
        Lifetime::Ended => "ended",
        Lifetime::Null => "null",
    }
}

/// The type of the handles in C, for a heading.
trait Heading {
    fn c_type_or_name(&self) -> &'static str;
}

impl Heading for Kind {
    fn c_type_or_name(&self) -> &'static str {
        if *self == Kind::Keyval { "attribute key" } else { self.c_type() }
    }
}
