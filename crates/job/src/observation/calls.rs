//! What an open call needs in order to return, derived from its arguments by the columns of the function
//! table.

use super::Communicator;
use super::arguments::Given;
use super::communicators::Communicators;
use super::epochs;
use super::requests::Requests;
use super::special::Special;
use super::{Action, Call, Collective, Context, Message, NOTHING_ACTIVE, Need, Receive, history};
use crate::model::objects::{Kind, Object};
use crate::model::process::ThreadFacts;
use crate::model::rank::Rank;
use mpi_abi::{Completes, Flags, ObjectKind, Partners, Waits};
use mpiscope_image::Function;
use mpiscope_image::derive::polling::Several;
use mpiscope_image::layout::State;
use mpiscope_image::{Source, layout};

/// The number used for `MPI_Finalize`, which is collective over the world and not counted.
const FINALIZE: u64 = 0;

/// Reads open calls.
pub struct Reader<'a, 'i, S> {
    pub rank: &'a Rank<'i, S>,
    pub communicators: &'a Communicators,
    pub requests: &'a Requests,
    pub special: Special,
    pub context: &'a dyn Context,
}

/// A call together with what is known about its function.
struct Open<'a> {
    thread: &'a ThreadFacts,
    record: &'a layout::Call,
    function: &'a Function,
    /// The function that waits for what this one starts or polls for; usually itself.
    asked: &'a Function,
    /// Whether it is repeated in a polling loop.
    polls: bool,
}

impl<S: Source> Reader<'_, '_, S> {
    /// Returns the call a thread is in or, if it is polling, the call it repeats.
    pub fn call(&self, thread: &ThreadFacts) -> Option<Call> {
        let process = self.rank.process();
        let pausing = || process.asking_since(thread).filter(|_| self.context.pauses(thread.tid));
        let polling = process.polling_since(thread).or_else(pausing);
        let polling = polling.filter(|_| self.polls_in_vain(thread));
        let record = match (&thread.call, polling) {
            (Some(call), _) => call,
            (None, Some(_)) => thread.last.as_ref()?,
            (None, None) => return None,
        };
        let name = self.rank.process().called(record);
        let since = polling.unwrap_or(thread.since);
        // Between two polls there is no binding's frame to look through. The line of the first poll that asked
        // for the same is known, but a loop may ask for several things at several lines.
        let from = record.return_address.get();
        let known = polling.is_some() && thread.polled_from != 0 && process.in_binding(from);
        let from = if known { thread.polled_from } else { from };
        let mut call = Call {
            place: self.rank.place(from),
            age_s: if since == 0 { None } else { self.context.age(self.rank.process(), since) },
            polling: polling.is_some(),
            polled_before_s: process.clock.seconds(thread.longest_run),
            ..Call::default()
        };
        // A record that changed while being read says nothing about needs: the call may return at any moment.
        // A polling loop changes all the time but always back to the same.
        if let Some(function) =
            self.rank.process().facts(record).filter(|_| !thread.torn || polling.is_some())
        {
            let completes = function.properties.completes;
            let over = self.context.is_over() && completes != Completes::NONE;
            let given = Given {
                rank: self.rank,
                communicators: self.communicators,
                special: self.special,
                record,
                function,
                completes: if over { Self::given(thread, record, completes).0 } else { Vec::new() },
            };
            call.wrong = given.wrong();
            let polls = function.properties.flags.has(Flags::POLLING);
            match polls {
                // A single polling call returns by itself. What a loop polls for is known once it has gone
                // round.
                true if polling.is_none() => {}
                // Polling waits for the same thing as the blocking function.
                true => {
                    let blocking = self.rank.process().functions.named(&function.operation);
                    let asked = blocking.unwrap_or(function);
                    self.fill(&mut call, &Open { thread, record, function, asked, polls });
                }
                false => {
                    let polls = call.polling;
                    self.fill(&mut call, &Open { thread, record, function, asked: function, polls });
                }
            }
        }
        call.function = name;
        Some(call)
    }

    /// Sets what the call needs.
    fn fill(&self, call: &mut Call, open: &Open<'_>) {
        (call.needs, call.any) = self.needs(open);
        if call.polling && open.thread.asks != Several::ONE {
            self.polls_in_turn(call, open.asked, open.thread.asks);
        }
        if call.polling
            && call.needs.is_empty()
            && self.has_no_active_request(open.thread, open.record, open.asked)
        {
            call.needs.push(Need::Own { what: NOTHING_ACTIVE.to_owned(), kind: Action::Request });
        }
    }

    fn needs(&self, open: &Open<'_>) -> (Vec<Need>, bool) {
        let properties = open.asked.properties;
        let one = |need: Option<Need>| (need.into_iter().collect(), false);
        match properties.waits {
            Waits::RECEIVE => (self.receive(open).into_iter().chain(self.exchange(open)).collect(), false),
            Waits::SEND if properties.partners == Partners::PEER => one(self.send(open)),
            Waits::SEND if properties.partners == Partners::OPERATIONS => {
                let on_one = open.function.fields.object == Some(ObjectKind::COMM);
                one(Some(Need::Buffered { comm: on_one.then(|| self.comm(open)).filter(|comm| *comm != 0) }))
            }
            Waits::REQUESTS => self.completion(open, properties.completes),
            Waits::COLLECTIVE if properties.partners == Partners::CONNECTED => one(self.all_connected(open)),
            Waits::COLLECTIVE => {
                (self.collective(open).into_iter().chain(self.met_by_tag(open)).collect(), false)
            }
            Waits::CONNECTION => {
                // The members first, then the other job: the members are known.
                (self.collective(open).into_iter().chain([self.partner(open)]).collect(), false)
            }
            Waits::SYNCHRONIZATION if properties.partners.are_all_members() => (self.collective(open), false),
            Waits::SYNCHRONIZATION => (vec![self.synchronization(open)], false),
            Waits::FILE => one(Some(outside("a file operation to end", Action::File))),
            _ => (Vec::new(), false),
        }
    }

    /// A loop that polls for several things in turn, only the latest of which is known, waits for any one of
    /// all the things it may poll for.
    fn polls_in_turn(&self, call: &mut Call, asked: &Function, asks: Several) {
        let completes = asked.properties.waits == Waits::REQUESTS;
        let unlike = asks != Several::ALIKE;
        if completes || unlike {
            let others = self.requests.needs.values().flatten();
            let others: Vec<Need> = others.filter(|need| !call.needs.contains(need)).cloned().collect();
            call.needs.extend(others);
        }
        if !completes || unlike {
            let size = self.rank.process().size;
            let is_widest = |comm: &&Communicator| {
                comm.remote.is_some() || (comm.members.is_none() && Some(comm.size) == size)
            };
            let widest = self.communicators.list.iter().filter(is_widest);
            call.needs.extend(widest.map(|comm| {
                let comm = comm.identity;
                Need::Message(Receive {
                    comm,
                    from: None,
                    tag: None,
                    room: None,
                    element: None,
                    place: None,
                    order: u64::MAX,
                    overwritten: None,
                })
            }));
        }
        call.any = true;
    }

    fn comm(&self, open: &Open<'_>) -> u64 {
        self.communicators.identity(open.record.object.get())
    }

    fn receive(&self, open: &Open<'_>) -> Option<Need> {
        let (rank, tag) = match (open.function.fields.receive, open.record.extra.as_slice()) {
            (true, [source, tag, ..]) => (source.get(), tag.get()),
            _ => (open.record.peer.get(), open.record.tag.get()),
        };
        let from = self.special.rank(rank.cast_signed())?;
        let tag = self.special.tag(tag.cast_signed());
        // In a call that also sends, the record's datatype is that of the send; a probe has none.
        let receives = open.function.fields.datatype && !open.function.fields.receive;
        let size = |count, datatype| self.rank.objects().bytes_of(count, datatype, 0);
        let room = receives.then(|| size(open.record.count.get(), open.record.datatype.get())).flatten();
        let element = receives.then(|| self.rank.objects().element_of(open.record.datatype.get())).flatten();
        // A message that a probe has matched has already arrived.
        open.function.fields.tag.then(|| {
            let (comm, order) = (self.comm(open), u64::MAX);
            Need::Message(Receive { comm, from, tag, room, element, place: None, order, overwritten: None })
        })
    }

    /// The send half of a combined send and receive.
    fn exchange(&self, open: &Open<'_>) -> Option<Need> {
        if open.function.fields.receive { self.send(open) } else { None }
    }

    fn send(&self, open: &Open<'_>) -> Option<Need> {
        let peer = self.special.rank(open.record.peer.get().cast_signed())??;
        let tag = i32::try_from(open.record.tag.get().cast_signed()).ok()?;
        Some(Need::Receiver(Message { comm: self.comm(open), peer, tag, bytes: 0, place: None }))
    }

    /// Returns the known requests that a call completes, and whether these are all.
    fn given(thread: &ThreadFacts, record: &layout::Call, completes: Completes) -> (Vec<u64>, bool) {
        if completes == Completes::ONE {
            return (vec![record.request.get()], true);
        }
        let count = record.count.get();
        let most = usize::try_from(count).unwrap_or(usize::MAX);
        let handles: Vec<u64> = thread.waited.iter().copied().take(most).collect();
        let all = count <= handles.len() as u64;
        (handles, all)
    }

    /// Whether the loop polls in vain: a loop over a blocking call repeats only if there is nothing to wait for.
    fn polls_in_vain(&self, thread: &ThreadFacts) -> bool {
        let Some(record) = thread.call.as_ref().or(thread.last.as_ref()) else { return true };
        let function = self.rank.process().facts(record);
        let asks = |function: &Function| function.properties.flags.has(Flags::POLLING);
        function.is_none_or(|function| asks(function) || self.has_no_active_request(thread, record, function))
    }

    /// Whether the call completes requests but was given none that is active.
    fn has_no_active_request(
        &self,
        thread: &ThreadFacts,
        record: &layout::Call,
        function: &Function,
    ) -> bool {
        let (handles, all) = Self::given(thread, record, function.properties.completes);
        let null = |handle| self.rank.objects().predefined().name(Kind::Request, handle).is_some();
        let is_idle = |handle: &u64| *handle == 0 || self.requests.idle.contains(handle) || null(*handle);
        function.properties.waits == Waits::REQUESTS && all && handles.iter().all(is_idle)
    }

    /// `MPI_Wait` and related calls.
    fn completion(&self, open: &Open<'_>, completes: Completes) -> (Vec<Need>, bool) {
        let any = completes == Completes::ANY || completes == Completes::SOME;
        let (handles, listed) = Self::given(open.thread, open.record, completes);
        let mut needs = Vec::new();
        for handle in handles.iter().filter(|handle| **handle != 0) {
            match self.requests.needs.get(handle) {
                Some(found) => needs.extend(found.iter().cloned()),
                None if open.polls && self.requests.idle.contains(handle) => {}
                // Complete: enough if any one suffices, and not missing if all are needed.
                None if any => return (Vec::new(), true),
                None => {}
            }
        }
        // Unlisted requests may be complete, so a wait for any cannot be judged; a wait for all simply omits
        // them.
        if any && !listed {
            needs.push(outside("one of many requests to complete", Action::Unknown));
        }
        (needs, any)
    }

    fn all_connected(&self, open: &Open<'_>) -> Option<Need> {
        if self.rank.process().state == State::STARTED {
            return Some(Need::Start);
        }
        let world = self.communicators.list.iter().find(|comm| {
            comm.members.is_none() && comm.remote.is_none() && Some(comm.size) == self.rank.process().size
        })?;
        let finalizes = open.function.name == "MPI_Finalize";
        finalizes.then(|| {
            Need::Collective(Box::new(Collective {
                comm: world.identity,
                number: FINALIZE,
                function: open.function.name.clone(),
                ..Collective::default()
            }))
        })
    }

    fn collective(&self, open: &Open<'_>) -> Vec<Need> {
        let fields = open.function.fields;
        let [.., op, number] = &open.record.extra;
        let on = self.collective_on(open);
        // Data moves once all have entered.
        let file = (fields.object == Some(ObjectKind::FILE))
            .then(|| outside("a file operation to end", Action::File));
        if fields.other == Some(ObjectKind::GROUP) || fields.object == Some(ObjectKind::GROUP) {
            return Vec::new();
        }
        let partners = open.asked.properties.partners;
        let numbered = on != 0 && number.get() != 0;
        let sources = || self.communicators.get(open.record.object.get())?.sources.clone();
        if numbered
            && partners == Partners::NEIGHBORS
            && let Some(of) = sources()
        {
            let (number, function) = (number.get(), open.asked.base.clone());
            let collective = Collective { comm: on, number, function, ..Collective::default() };
            return vec![Need::Neighbors { collective: Box::new(collective), of }];
        }
        if !(numbered && partners.are_all_members()) {
            let what = format!("the other members of {}", self.object(open));
            let kind = match fields.object {
                Some(ObjectKind::FILE) => Action::File,
                Some(ObjectKind::WIN) => Action::Rma,
                _ => Action::Unknown,
            };
            return vec![Need::Outside { what, kind }];
        }
        let op = op.get();
        let collective = Collective {
            comm: on,
            number: number.get(),
            function: open.asked.base.clone(),
            root: fields.root().then(|| open.record.peer.get().cast_signed()).filter(|root| *root >= 0),
            op: (fields.op && op != 0).then(|| history::operation(self.rank, op)),
            ..Collective::default()
        };
        [Need::Collective(Box::new(collective))].into_iter().chain(file).collect()
    }

    /// Returns the identity of the communicator, window or file that a collective call is made on; zero if
    /// unknown.
    fn collective_on(&self, open: &Open<'_>) -> u64 {
        let handle = open.record.object.get();
        match open.function.fields.object {
            Some(ObjectKind::COMM) => self.communicators.identity(handle),
            Some(kind @ (ObjectKind::WIN | ObjectKind::FILE)) => {
                self.rank.reference(kind, handle).map_or(0, |object| object.identity.0)
            }
            _ => 0,
        }
    }

    /// The need of a call whose participants find each other by a tag on a communicator.
    fn met_by_tag(&self, open: &Open<'_>) -> Option<Need> {
        let [second, leader, _, text] = &open.record.extra;
        let group = |comm: &Communicator, rank: u64| match &comm.members {
            Some(members) => usize::try_from(rank).ok().and_then(|rank| members.get(rank)).copied(),
            None => u32::try_from(rank).ok().filter(|rank| *rank < comm.size),
        };
        let function = open.function.base.clone();
        if open.function.fields.object == Some(ObjectKind::GROUP) {
            let found = self.members(open.record.object.get()).map(|with| {
                // There is no communicator yet, and the tag is a string.
                let tag = text.get().cast_signed();
                Need::Match { function, comm: 0, tag, with, kind: Action::Member }
            });
            return found.or_else(|| {
                Some(outside(&format!("the other members of {}", self.object(open)), Action::Unknown))
            });
        }
        let (comm, with, kind) = match open.function.fields.other? {
            ObjectKind::GROUP => (self.comm(open), self.members(second.get())?, Action::Member),
            ObjectKind::COMM => {
                let local = self.communicators.get(open.record.object.get())?;
                if u64::from(local.rank) != leader.get() {
                    let (comm, rank) = (local.identity, leader.get().cast_signed());
                    let what = "find the leader of the other group".to_owned();
                    return Some(Need::Action { comm, rank, what, kind: Action::Partner });
                }
                let between = self.communicators.get(second.get())?;
                (between.identity, vec![group(between, open.record.peer.get())?], Action::Partner)
            }
            _ => return None,
        };
        let tag = open.record.tag.get().cast_signed();
        Some(Need::Match { function, comm, tag, with, kind })
    }

    /// Returns the members of a group as ranks in the world.
    fn members(&self, group: u64) -> Option<Vec<u32>> {
        let Ok(Object::Group(group)) = self.rank.objects().object(Kind::Group, group) else { return None };
        Some(group.members?.into_iter().filter_map(|rank| u32::try_from(rank).ok()).collect())
    }

    fn partner(&self, open: &Open<'_>) -> Need {
        let what = match open.function.base.as_str() {
            "MPI_Comm_accept" => "a client that connects",
            "MPI_Comm_connect" => "a server that accepts",
            "MPI_Comm_join" => "the process at the other end of the socket",
            _ => return outside("the processes that are spawned to call MPI_Init", Action::Start),
        };
        outside(what, Action::Partner)
    }

    fn synchronization(&self, open: &Open<'_>) -> Need {
        if open.asked.properties.partners == Partners::TARGET
            && let Some(Some(target)) = self.special.rank(open.record.peer.get().cast_signed())
            && let Some(window) = self.rank.reference(ObjectKind::WIN, open.record.object.get())
        {
            let asks = epochs::asks_for_lock(open.function);
            return Need::Lock { window: window.identity.0, target, name: window.label(), asks };
        }
        let access = match open.asked.base.as_str() {
            "MPI_Win_start" | "MPI_Win_complete" => Some(true),
            "MPI_Win_wait" => Some(false),
            _ => None,
        };
        let window = self.rank.reference(ObjectKind::WIN, open.record.object.get());
        match (access, window) {
            (Some(access), Some(window)) => {
                Need::Epoch { window: window.identity.0, access, name: window.label() }
            }
            _ => outside(&format!("one-sided synchronization on {}", self.object(open)), Action::Rma),
        }
    }

    fn object(&self, open: &Open<'_>) -> String {
        let kind = open.function.fields.object.unwrap_or(ObjectKind::COMM);
        self.rank.object(kind, open.record.object.get())
    }
}

fn outside(what: &str, kind: Action) -> Need {
    Need::Outside { what: what.to_owned(), kind }
}
