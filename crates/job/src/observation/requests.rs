//! The active requests of a process, expressed as what they need in order to complete.

use super::communicators::Communicators;
use super::special::Special;
use super::{Action, Collective, Message, Need, NotStarted, Partitioned, Receive, history, partitioned};
use crate::model::rank::Rank;
use mpi_abi::ObjectKind;
use mpiscope_image::Function;
use mpiscope_image::Source;
use mpiscope_image::derive::live;
use mpiscope_image::layout::SectionKind;
use mpiscope_image::objects::{Flag, Life, serial_of};
use mpiscope_image::traffic::{self, Request, RequestKind};
use std::collections::{HashMap, HashSet};

/// Maximum number of request records read.
const MOST_RECORDS: u64 = 1 << 22;

/// Maximum number of inactive persistent requests kept.
const MOST_NOT_STARTED: usize = 256;

/// Active requests.
#[derive(Debug, Default)]
pub struct Requests {
    /// Needs by request handle; empty for a request that the program has not started.
    pub needs: HashMap<u64, Vec<Need>>,
    /// Handles of persistent requests that are not under way.
    pub idle: HashSet<u64>,
    /// Posted receives, oldest first.
    pub posted: Vec<Receive>,
    /// Messages matched by a probe and not yet received, each as the receive it is destined for.
    pub matched: Vec<Receive>,
    /// Collectives that have been started.
    pub collectives: Vec<Collective>,
    /// Partitioned messages, including inactive ones.
    pub partitioned: Vec<Partitioned>,
    /// Inactive persistent messages.
    pub not_started: NotStarted,
}

/// Reads requests.
pub struct Reader<'a, 'i, S> {
    pub rank: &'a Rank<'i, S>,
    pub communicators: &'a Communicators,
    pub special: Special,
}

impl<S: Source> Reader<'_, '_, S> {
    /// Reads all active requests.
    pub fn read(&self) -> Requests {
        let image = self.rank.image();
        let mut found = Requests::default();
        let Ok(table) = image.table::<Request>(SectionKind::REQUESTS) else { return found };
        for index in 0..table.len().min(MOST_RECORDS) {
            let Ok(record) = image.get::<Request>(&table, index) else { continue };
            let request = record.value;
            let life = Life(request.head.life.get());
            let known = live::is_held(&request.head);
            if known && !request.is(Flag::SHARED_HANDLE) {
                let bytes = |count| {
                    self.rank.objects().bytes_of(count, request.datatype.get(), request.datatype_uid.get())
                };
                let place = || self.place(&request);
                found.partitioned.extend(partitioned::of(&request, self.special, bytes, place));
            }
            if life == Life::LIVE && request.is(Flag::PERSISTENT) && !request.is(Flag::ACTIVE) {
                found.idle.insert(request.head.handle.get());
                self.add_not_started(&request, &mut found.not_started);
            }
            let active = live::is_under_way(&request.head);
            if !known || !active || request.is(Flag::SHARED_HANDLE) {
                continue;
            }
            if request.is(Flag::CANCELLED) {
                let what = "an operation that it cancelled to end".to_owned();
                let need = Need::Outside { what, kind: Action::Unknown };
                found.needs.insert(request.head.handle.get(), vec![need]);
            } else {
                self.add(&request, &mut found);
            }
        }
        found.posted.sort_by_key(|receive| receive.order);
        self.add_matched(&mut found);
        found
    }

    fn add_not_started(&self, request: &Request, found: &mut NotStarted) {
        let kind = RequestKind(request.kind.get());
        if kind.is_partitioned() || found.sends.len() + found.receives.len() >= MOST_NOT_STARTED {
            return;
        }
        for need in self.needs(request) {
            match need {
                Need::Message(receive) => found.receives.push(receive),
                Need::Receiver(message) => found.sends.push(message),
                _ => {}
            }
        }
    }

    /// Adds messages that a probe has matched and that no receive has been issued for.
    fn add_matched(&self, found: &mut Requests) {
        let image = self.rank.image();
        let Ok(table) = image.table::<traffic::Message>(SectionKind::MESSAGES) else { return };
        for index in 0..table.len().min(MOST_RECORDS) {
            let Ok(record) = image.get::<traffic::Message>(&table, index) else { continue };
            let message = record.value;
            if Life(message.head.life.get()) == Life::LIVE {
                let (source, tag) = (message.source.get(), message.tag.get());
                let place = self.rank.place(message.head.made_from.get()).map(String::into_boxed_str);
                let taken = taken(message.comm_identity.get(), source, tag, message.order.get());
                found.matched.push(Receive { place, ..taken });
            }
        }
    }

    fn add(&self, request: &Request, found: &mut Requests) {
        if RequestKind(request.kind.get()) == RequestKind::MRECV {
            let comm = request.comm_identity.get();
            found.matched.push(taken(comm, request.peer.get(), request.tag.get(), request.order.get()));
        }
        let needs = self.needs(request);
        for need in &needs {
            match need {
                Need::Message(receive) => found.posted.push(receive.clone()),
                Need::Collective(collective) => found.collectives.push((**collective).clone()),
                Need::Receiver(_)
                | Need::Start
                | Need::Neighbors { .. }
                | Need::Buffered { .. }
                | Need::Match { .. }
                | Need::Partitioned { .. }
                | Need::Action { .. }
                | Need::Epoch { .. }
                | Need::Lock { .. }
                | Need::Own { .. }
                | Need::Outside { .. } => {}
            }
        }
        // No call can wait for a request that was freed while active.
        if Life(request.head.life.get()) == Life::LIVE {
            found.needs.insert(request.head.handle.get(), needs);
        }
    }

    fn needs(&self, request: &Request) -> Vec<Need> {
        let kind = RequestKind(request.kind.get());
        let comm = request.comm_identity.get();
        let signed = |word: u32| i64::from(word.cast_signed());
        let (peer, tag) = (signed(request.peer.get()), signed(request.tag.get()));
        let receive = || {
            let from = self.special.rank(peer)?;
            let place = self.place(request);
            let tag = self.special.tag(tag);
            let (count, datatype) = (request.count.get(), request.datatype.get());
            let room = self.rank.objects().bytes_of(count, datatype, request.datatype_uid.get());
            let element = self.rank.objects().element_of(datatype);
            let overwritten = request.is(Flag::OVERWRITTEN).then(|| request.completed_from.get());
            let overwritten = overwritten.and_then(|at| self.rank.place(at)).map(String::into_boxed_str);
            Some(Need::Message(Receive {
                comm,
                from,
                tag,
                room,
                element,
                place: place.map(String::into_boxed_str),
                order: request.order.get(),
                overwritten,
            }))
        };
        let send = |to: i64, tag: i64| {
            let peer = self.special.rank(to)??;
            let tag = i32::try_from(tag).ok()?;
            Some(Need::Receiver(Message {
                comm,
                peer,
                tag,
                bytes: request.bytes.get(),
                place: self.place(request),
            }))
        };
        match kind {
            RequestKind::PSEND | RequestKind::PRECV => self.partitioned(request, peer).into_iter().collect(),
            RequestKind::SENDRECV => {
                let sent = send(signed(request.dest.get()), signed(request.send_tag.get()));
                receive().into_iter().chain(sent).collect()
            }
            // The message has already been matched and is on its way.
            RequestKind::MRECV => Vec::new(),
            kind if kind.sends() => send(peer, tag).into_iter().collect(),
            kind if kind.receives() => receive().into_iter().collect(),
            RequestKind::COLLECTIVE => vec![Need::Collective(Box::new(self.collective(request)))],
            RequestKind::GENERALIZED => vec![self.generalized(request)],
            kind => self.on_file(request, kind).into_iter().chain([outside(kind)]).collect(),
        }
    }

    fn partitioned(&self, request: &Request, peer: i64) -> Option<Need> {
        Some(Need::Partitioned {
            comm: request.comm_identity.get(),
            peer: self.special.rank(peer)??,
            tag: request.tag.get().cast_signed(),
            sends: RequestKind(request.kind.get()) == RequestKind::PSEND,
            made: serial_of(request.head.uid.get()),
            starts: request.starts.get(),
        })
    }

    /// The program must complete it, from any thread that may call MPI, even one that has not done so yet.
    fn generalized(&self, request: &Request) -> Need {
        let at = self.place(request).map_or_else(String::new, |at| format!(" at {at}"));
        let what = format!("call MPI_Grequest_complete for the request that it made{at}");
        if !self.rank.process().other_threads_may_call() {
            return Need::Own { what, kind: Action::Request };
        }
        Need::Outside { what: format!("its program to {what}"), kind: Action::Unknown }
    }

    fn made_by(&self, request: &Request) -> Option<&Function> {
        let made_by = u32::from(request.head.made_by.get()).checked_sub(1);
        made_by.and_then(|number| self.rank.process().functions.get(number))
    }

    /// An operation on a file that all members of the file must start.
    fn on_file(&self, request: &Request, kind: RequestKind) -> Option<Need> {
        let all = |function: &&Function| function.properties.partners.are_all_members();
        let function = self.made_by(request).filter(|_| kind.is_file()).filter(all)?;
        let file = self.rank.reference(ObjectKind::FILE, request.object.get())?;
        let collective = Collective {
            comm: file.identity.0,
            number: request.order.get(),
            function: function.base.clone(),
            place: self.place(request),
            ..Collective::default()
        };
        Some(Need::Collective(Box::new(collective)))
            .filter(|_| file.identity.0 != 0 && request.order.get() != 0)
    }

    fn collective(&self, request: &Request) -> Collective {
        let made_by = self.made_by(request);
        let function = made_by.map_or_else(String::new, |function| function.base.clone());
        let fields = made_by.map(|function| function.fields).unwrap_or_default();
        let op = request.entry.get();
        Collective {
            comm: self.communicators.identity(request.object.get()),
            number: request.order.get(),
            starts: if request.is(Flag::PERSISTENT) { request.starts.get() as u16 } else { 0 },
            function,
            root: fields
                .root()
                .then(|| i64::from(request.peer.get().cast_signed()))
                .filter(|root| *root >= 0),
            op: (fields.op && op != 0).then(|| history::operation(self.rank, op)),
            place: self.place(request),
            ..Collective::default()
        }
    }

    fn place(&self, request: &Request) -> Option<String> {
        let started = request.is(Flag::PERSISTENT) && request.starts.get() != 0;
        let from = if started { &request.started_from } else { &request.head.made_from }.get();
        (from != 0).then(|| self.rank.place(from)).flatten()
    }
}

/// Returns a message matched by a probe as the receive it is destined for.
fn taken(comm: u64, source: u32, tag: u32, order: u64) -> Receive {
    let place = Receive { comm, order, ..Receive::default() };
    Receive { from: Some(source), tag: Some(tag.cast_signed()), ..place }
}

fn outside(kind: RequestKind) -> Need {
    let (what, kind) = match kind {
        RequestKind::RMA => ("a one-sided operation to complete", Action::Rma),
        kind if kind.is_file() => ("a file operation to complete", Action::File),
        _ => ("a request of unknown kind", Action::Unknown),
    };
    Need::Outside { what: what.to_owned(), kind }
}
