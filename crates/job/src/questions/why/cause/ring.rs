//! Processes that wait for each other in a ring.

use super::{Case, MOST_LINKS, Reason};
use crate::observation::{AWAITS_LOCK, AWAITS_THREAD};
use crate::questions::why::blocked::Blocked;
use crate::questions::why::snapshot::{Call, Collective, Need, Process, ProcessIndex};
use crate::questions::why::verdict::Kind;
use crate::questions::why::words::place;
use crate::questions::why::{collectives, cycle};

/// Maximum number of rings shown in a sentence.
const MOST_RINGS: usize = 3;
/// Maximum number of ring members for which a sentence spells out each wait.
const MOST_SPELLED: usize = 3;
/// Maximum number of ring members that are compared with the other members of their communicators.
const MOST_COMPARED: usize = 16;

/// Advice if persistent messages were not started.
const START_FIRST: &str =
    "start these requests (MPI_Start, MPI_Startall) before waiting for the messages of other ranks";

/// The kinds of waits between the members of a ring.
#[derive(Default)]
struct Links {
    receives: bool,
    sends: bool,
    collectives: bool,
    others: bool,
}

impl Links {
    fn add(&mut self, need: &Need) {
        match need {
            Need::Message(_) => self.receives = true,
            Need::Receiver(_) => self.sends = true,
            Need::Collective(_) => self.collectives = true,
            Need::Action { .. } | Need::Outside { .. } => self.others = true,
        }
    }

    /// Returns advice.
    fn advice(&self) -> &'static str {
        match (self.receives, self.sends, self.collectives, self.others) {
            (true, false, false, false) => {
                "break the ring: let one of them send before it receives, or use MPI_Sendrecv or non-blocking calls"
            }
            (false, true, false, false) => {
                "break the ring: let one of them receive before it sends, or use MPI_Sendrecv or non-blocking calls"
            }
            (true, true, false, false) => {
                "compare the order of sends and receives on these ranks, or use non-blocking calls"
            }
            (false, false, true, false) => {
                "enter the collectives of different communicators, and start persistent ones, in the same order on \
                 all ranks, and skip none"
            }
            (_, _, true, false) => {
                "compare what these ranks do before the collective: a message is missing there, or one of them enters it too early"
            }
            _ => "look at what each of these ranks waits for, and in which order",
        }
    }
}

impl Case<'_> {
    /// A ring without any process in a collective explains more than a message from another rank that happens
    /// to be there.
    pub(super) fn ring_of_messages(&self, found: &Blocked) -> Option<Reason> {
        let in_none = |rank: &ProcessIndex| {
            self.process(*rank).is_some_and(|process| collectives::open(process).next().is_none())
        };
        self.ring(found).filter(|reason| reason.cycle.iter().all(in_none))
    }

    pub(super) fn ring(&self, found: &Blocked) -> Option<Reason> {
        let mut rings = cycle::rings(self.snapshot, found, MOST_RINGS + 1);
        let more = if rings.len() > MOST_RINGS { ", and more such rings" } else { "" };
        rings.truncate(MOST_RINGS);
        let said: Vec<String> = rings.iter().map(|ring| self.links(ring)).collect();
        let each = match rings.as_slice() {
            [ring] => self.each_link(ring),
            _ => String::new(),
        };
        let odd = match rings.as_slice() {
            [ring] => self.odd_ones(ring),
            _ => None,
        };
        let (odd, compared) = odd.unzip();
        let compared = compared.filter(|compared| !compared.is_empty());
        let compared = compared.map_or_else(String::new, |compared| format!("; {compared}"));
        let idle = rings.first().filter(|_| rings.len() == 1).and_then(|ring| self.not_started_in(ring));
        let next = match (&idle, rings.first()) {
            (Some(_), _) => START_FIRST,
            (None, ring) => ring.map_or("", |ring| self.advice(ring)),
        };
        let idle = idle.map_or_else(String::new, |idle| format!("; {idle}"));
        let verdict = format!("deadlock: {}{more}{each}{compared}{idle}", said.join(", and "));
        let mut reason = Reason::new(Kind::DEADLOCK, verdict, next);
        match odd {
            Some(odd) => reason.culprits.extend(self.culprits(odd)),
            None => reason.culprits.extend(self.culprits(rings.iter().flatten().copied())),
        }
        reason.cycle = rings.into_iter().next()?;
        Some(reason)
    }

    /// A ring one of whose members, or another rank, is known to have gone another way than the others.
    pub(super) fn ring_with_an_odd_one(&self, found: &Blocked) -> Option<Reason> {
        let ring = cycle::cycle(self.snapshot, found);
        let (odd, compared) = self.odd_ones(&ring).filter(|(_, compared)| !compared.is_empty())?;
        let verdict = format!("{}{}; {compared}", self.links(&ring), self.each_link(&ring));
        let reason = Reason::new(Kind::DEADLOCK, verdict, self.advice(&ring));
        Some(Reason { culprits: self.culprits(odd), cycle: ring, ..reason })
    }

    /// Formats `0 -> 2 -> 0 (2 ranks wait for each other)`.
    pub(super) fn links(&self, ring: &[ProcessIndex]) -> String {
        let mut links: Vec<String> =
            ring.iter().take(MOST_LINKS).map(|rank| self.words.rank(*rank)).collect();
        if ring.len() > MOST_LINKS {
            links.push(format!("... {} more ...", ring.len() - MOST_LINKS));
        }
        links.extend(ring.first().map(|first| self.words.rank(*first)));
        let what = match ring.len() {
            1 => "rank waits for itself",
            _ => "ranks wait for each other",
        };
        let crossed = self.crossed(ring).map_or_else(String::new, |crossed| format!(": {crossed}"));
        format!("{} ({} {what}){crossed}", links.join(" -> "), ring.len())
    }

    /// For a short ring, describes what each member waits for, which is where the mistake is.
    fn each_link(&self, ring: &[ProcessIndex]) -> String {
        if !(2..=MOST_SPELLED).contains(&ring.len()) || self.crossed(ring).is_some() {
            return String::new();
        }
        let links: Option<Vec<String>> = pairs(ring).map(|(from, to)| self.link(from, to)).collect();
        links.map_or_else(String::new, |links| format!(": {}", links.join("; ")))
    }

    /// Formats `rank 0 is in MPI_Recv at a.c:12, waiting for a message from rank 1 with tag 7 on WORLD`.
    fn link(&self, from: ProcessIndex, to: ProcessIndex) -> Option<String> {
        let need = self.needs(from, to).next()?;
        if let Need::Collective(collective) = need {
            let inside = self.words.within(collective, &[from]);
            return Some(format!("{inside}, which rank {} has not entered", self.words.rank(to)));
        }
        let needs_it = |call: &&Call| call.wait.needs().iter().any(|one| std::ptr::eq(one, need));
        let call = self.process(from)?.calls().find(needs_it)?;
        let (who, inside) = (self.words.rank(from), place(call));
        let taken = match need {
            Need::Message(receive) => self.taken_before(from, receive),
            _ => None,
        };
        let taken = taken.map_or_else(String::new, |taken| format!(" (one went to {})", taken.by()));
        Some(format!("rank {who} is {inside}, waiting for {}{taken}", self.words.need(need)))
    }

    /// For a ring of collectives on several communicators, or of persistent ones on one, tells which members
    /// are in which; `None` if the ring involves any other waits.
    fn crossed(&self, ring: &[ProcessIndex]) -> Option<String> {
        let mut inside: Vec<(&Collective, Vec<ProcessIndex>)> = Vec::new();
        for (from, to) in pairs(ring) {
            let mut needs = self.needs(from, to);
            let Some(Need::Collective(collective)) = needs.next() else { return None };
            if !needs.all(|need| matches!(need, Need::Collective(_))) {
                return None;
            }
            let same = |known: &Collective| {
                (known.comm, known.number) == (collective.comm, collective.number)
                    && known.place == collective.place
            };
            match inside.iter_mut().find(|(known, _)| same(known)) {
                Some((_, members)) => members.push(from),
                None => inside.push((collective, vec![from])),
            }
        }
        let (first, _) = inside.first()?;
        let number = |collective: &Collective| (collective.comm, collectives::parts(collective.number).0);
        if inside.iter().all(|(collective, _)| number(collective) == number(first)) {
            return None;
        }
        let more = inside.len().saturating_sub(MOST_LINKS);
        let mut parts: Vec<String> = inside
            .iter()
            .take(MOST_LINKS)
            .map(|(collective, of)| self.words.within(collective, of))
            .collect();
        parts.extend((more > 0).then(|| format!("and so on for {more} more")));
        let each = if ring.len() == 2 { "the other has" } else { "another of them has" };
        Some(format!("crossed collectives: {}; each is in one that {each} not entered", parts.join(", ")))
    }

    /// Returns the ranks that do something else than the others, and how this shows.
    fn odd_ones(&self, ring: &[ProcessIndex]) -> Option<(Vec<ProcessIndex>, String)> {
        let awaited = self.awaited_one(ring).map(|odd| (odd, String::new()));
        let compared = || self.apart(ring).or_else(|| self.one_too_many(ring));
        let one = awaited.or_else(|| if ring.len() <= MOST_COMPARED { compared() } else { None });
        let out_of_step = || self.out_of_step(self.only_collective(ring)?);
        one.map(|(odd, how)| (vec![odd], how)).or_else(out_of_step)
    }

    /// The collective that members of a ring wait in, if it is one and others wait for messages.
    fn only_collective(&self, ring: &[ProcessIndex]) -> Option<&Collective> {
        let links: Vec<Option<&Collective>> = pairs(ring)
            .map(|(from, to)| match self.needs(from, to).next()? {
                Need::Collective(collective) => Some(&**collective),
                _ => None,
            })
            .collect();
        let mut inside = links.iter().flatten();
        let first = *inside.next()?;
        let one = inside.all(|other| (other.comm, other.number) == (first.comm, first.number));
        (one && links.contains(&None)).then_some(first)
    }

    /// The only member that makes one receive too many.
    fn one_too_many(&self, ring: &[ProcessIndex]) -> Option<(ProcessIndex, String)> {
        let mut odd = pairs(ring).filter_map(|(waits, by)| {
            let even = self.needs(waits, by).find_map(|need| match need {
                Need::Message(receive) => self.even(waits, receive),
                _ => None,
            })?;
            Some((waits, self.sent_evenly(&even, waits)))
        });
        let one = odd.next()?;
        odd.next().is_none().then_some(one)
    }

    /// The only member of a communicator that has left the line at which all others are.
    fn apart(&self, ring: &[ProcessIndex]) -> Option<(ProcessIndex, String)> {
        let mut odd = pairs(ring).filter_map(|(from, to)| {
            let comm = match self.needs(from, to).next()? {
                Need::Message(receive) => receive.matches.comm,
                Need::Receiver(message) => message.comm,
                Need::Collective(_) | Need::Action { .. } | Need::Outside { .. } => return None,
            };
            let at = |one: ProcessIndex| self.process(one)?.calls().next()?.place.as_deref();
            let line = at(from)?;
            let left = at(to).is_some_and(|place| place != line)
                && self.process(to)?.message_calls().any(|calls| &*calls.place == line);
            let members = &self.snapshot.communicators.get(comm as usize)?.members;
            let mut others = members.iter().filter(|one| **one != to);
            let there = left && members.len() > 2 && others.all(|one| at(*one) == Some(line));
            let others = || self.words.ranks(members.iter().copied().filter(|one| *one != to));
            let said = || format!("{} are at {line}, which rank {} has left", others(), self.words.rank(to));
            there.then(|| (to, said()))
        });
        let one = odd.next()?;
        odd.next().is_none().then_some(one)
    }

    /// In a ring of collectives, the only member that all others of at least three are waiting for.
    fn awaited_one(&self, ring: &[ProcessIndex]) -> Option<ProcessIndex> {
        self.crossed(ring)?;
        let mut odd = pairs(ring).filter_map(|(from, to)| match self.needs(from, to).next()? {
            Need::Collective(collective) => {
                let all = self.snapshot.communicators.get(collective.comm as usize)?.members.len();
                let missing = collectives::missing(self.snapshot, collective.comm, collective.number);
                (all > 2 && missing == [to]).then_some(to)
            }
            _ => None,
        });
        let one = odd.next()?;
        odd.next().is_none().then_some(one)
    }

    /// Returns what a member of a ring needs from the next.
    fn needs(&self, from: ProcessIndex, to: ProcessIndex) -> impl Iterator<Item = &Need> {
        let needs =
            self.process(from).into_iter().flat_map(Process::calls).flat_map(|call| call.wait.needs());
        needs.filter(move |need| match need {
            Need::Message(receive) => self.snapshot.sender(from, receive) == Some(to),
            Need::Receiver(message) => message.to == to,
            Need::Collective(collective) => {
                let process = self.process(to);
                process.is_some_and(|to| !collectives::has_entered(to, collective.comm, collective.number))
            }
            Need::Action { by, .. } => self.snapshot.party(*by).contains(&to),
            Need::Outside { .. } => false,
        })
    }

    fn advice(&self, ring: &[ProcessIndex]) -> &'static str {
        if ring.len() == 1 {
            return "a rank that sends to itself must post the receive first, without waiting for it (MPI_Irecv, MPI_Sendrecv)";
        }
        let does = |rank: &ProcessIndex, doing: &str| {
            let threads = self.process(*rank).into_iter().flat_map(|process| &process.threads);
            threads.into_iter().any(|thread| !thread.ended && *thread.idle.doing == *doing)
        };
        if ring.iter().any(|rank| does(rank, AWAITS_LOCK)) {
            return "do not hold a lock across a call that waits: the thread that waits for the lock cannot do what \
                    that call waits for";
        }
        if ring.iter().all(|rank| does(rank, AWAITS_THREAD)) {
            return "another thread of these ranks waits for the one that is in MPI, and so cannot do what that one \
                    waits for: neither hold a lock nor join a thread across a call that waits";
        }
        let mut links = Links::default();
        for (from, to) in pairs(ring) {
            self.needs(from, to).for_each(|need| links.add(need));
        }
        let exchanges = |rank: &ProcessIndex| {
            let call = self.process(*rank).and_then(|process| process.calls().next());
            call.is_some_and(|call| call.function.starts_with("MPI_Sendrecv"))
        };
        match links.receives && ring.iter().all(exchanges) {
            true => {
                "compare the ranks that these calls send to and receive from: one does not send to the rank that waits for it"
            }
            false => links.advice(),
        }
    }
}

/// Returns each member of a ring with the next one, which it waits for.
fn pairs(ring: &[ProcessIndex]) -> impl Iterator<Item = (ProcessIndex, ProcessIndex)> {
    ring.iter().copied().zip(ring.iter().copied().cycle().skip(1))
}
