//! Which bytes of which process's memory each operation used, and from when until when.

use crate::observation::one_sided::{
    Access, AccessEpoch, Completed, Does, Members, Memory, OneSidedCall, completions,
};
use crate::observation::{Observation, OneSided};
use crate::questions::why::{Joined, ProcessIndex};
use std::collections::HashMap;

/// An operation.
pub(super) struct Use<'a> {
    /// The process that called it.
    pub origin: ProcessIndex,
    /// Whose memory it accesses.
    pub target: ProcessIndex,
    pub call: &'a OneSidedCall,
    pub access: &'a Access,
    /// The target's memory.
    pub memory: &'a Memory,
    /// First byte in that memory, or its address.
    pub first: i128,
    /// Byte after the last one.
    pub end: i128,
    /// Its position among the origin's calls.
    pub place: usize,
    /// When it was complete at the target, as far as is known.
    pub done: usize,
    /// The calls that completed all operations on the target.
    pub completed: Completed,
    /// When it was complete at the latest, as far as its origin knew; `u64::MAX` if it was not.
    pub until_ns: u64,
    /// The epoch of the target in which it was made.
    pub exposed: Exposed,
}

/// Identifies an epoch of the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Exposed {
    /// Between two fences.
    Fence(u64),
    /// From this post on, by its number.
    Post(usize),
    /// At any time: under locks.
    Always,
    /// Not known, or excluded by a lock.
    Otherwise,
}

/// All operations of a job.
pub(super) struct Uses<'a> {
    pub all: Vec<Use<'a>>,
    /// Processes, by number.
    pub seen: HashMap<ProcessIndex, Process<'a>>,
    /// Whether all processes of all worlds were observed.
    pub whole: bool,
}

/// A process.
pub(super) struct Process<'a> {
    world: usize,
    rank: Option<u32>,
    pub seen: &'a Observation,
    pub known: Option<&'a OneSided>,
}

impl<'a> Uses<'a> {
    pub(super) fn of(joined: &Joined<'a>) -> Self {
        let seen: HashMap<ProcessIndex, Process<'a>> = joined
            .processes()
            .map(|(me, world, rank, seen)| {
                (me, Process { world, rank, seen, known: seen.one_sided.as_deref() })
            })
            .collect();
        let mut sizes: HashMap<usize, u32> = HashMap::new();
        for process in seen.values() {
            *sizes.entry(process.world).or_default() += 1;
        }
        let whole = seen.values().all(|process| process.seen.size == sizes.get(&process.world).copied());
        let mut all = Vec::new();
        let mut origins: Vec<_> = seen.keys().copied().collect();
        origins.sort_unstable();
        for origin in origins {
            Reader::of(joined, &seen, origin).read(&mut all);
        }
        Self { all, seen, whole }
    }
}

/// Follows the calls of one process.
struct Reader<'r, 'a> {
    joined: &'r Joined<'a>,
    seen: &'r HashMap<ProcessIndex, Process<'a>>,
    origin: ProcessIndex,
    /// The groups of all starts so far, by window.
    starts: HashMap<u64, Vec<&'a Members>>,
    /// Process and memory, by window and rank.
    memories: HashMap<(u64, u32), Option<(ProcessIndex, &'a Memory)>>,
    /// Posts that belong to starts, by window, target and number of starts.
    posts: HashMap<(u64, ProcessIndex, usize), Option<usize>>,
}

impl<'r, 'a> Reader<'r, 'a> {
    fn of(
        joined: &'r Joined<'a>,
        seen: &'r HashMap<ProcessIndex, Process<'a>>,
        origin: ProcessIndex,
    ) -> Self {
        let (starts, memories, posts) = (HashMap::new(), HashMap::new(), HashMap::new());
        Self { joined, seen, origin, starts, memories, posts }
    }

    fn read(mut self, all: &mut Vec<Use<'a>>) {
        let Some(known) = self.seen.get(&self.origin).and_then(|process| process.known) else { return };
        let completions = completions(&known.calls);
        for (place, (call, completed)) in known.calls.iter().zip(completions).enumerate() {
            match &call.does {
                Does::Starts(group) => self.starts.entry(call.window).or_default().push(group),
                Does::Access(access) => all.extend(self.one(known, place, (call, access), completed)),
                _ => {}
            }
        }
    }

    fn one(
        &mut self,
        known: &'a OneSided,
        place: usize,
        (call, access): (&'a OneSidedCall, &'a Access),
        completed: Completed,
    ) -> Option<Use<'a>> {
        let (target, memory) = self.memory(call.window, access.target)?;
        let unit = if memory.dynamic { 1 } else { memory.unit };
        // A dynamic window's displacements are addresses.
        let start = match memory.dynamic {
            true => i128::from(access.disp.cast_unsigned()),
            false => i128::from(access.disp) * i128::from(unit),
        };
        let done = match access.kind.fetches() {
            // When the program waited for its request is not known.
            true if access.request => place,
            // It has been performed once its result is there.
            true => completed.here,
            false => completed.there,
        };
        let until_ns = known.calls.get(done).map_or(u64::MAX, |call| call.until_ns);
        Some(Use {
            origin: self.origin,
            target,
            call,
            access,
            memory,
            first: start + i128::from(access.low),
            end: start + i128::from(access.high),
            place,
            done,
            completed,
            until_ns,
            exposed: match access.epoch {
                AccessEpoch::Fence(number) => Exposed::Fence(number),
                AccessEpoch::Shared => Exposed::Always,
                AccessEpoch::Started => {
                    let starts = self.starts.get(&call.window).map_or(0, Vec::len);
                    let key = (call.window, target, starts);
                    let post = match self.posts.get(&key) {
                        Some(post) => *post,
                        None => self.post(known, call.window, target),
                    };
                    self.posts.insert(key, post);
                    post.map_or(Exposed::Otherwise, Exposed::Post)
                }
                AccessEpoch::Exclusive | AccessEpoch::Unknown => Exposed::Otherwise,
            },
        })
    }

    fn memory(&mut self, window: u64, rank: u32) -> Option<(ProcessIndex, &'a Memory)> {
        let (joined, seen, origin) = (self.joined, self.seen, self.origin);
        *self.memories.entry((window, rank)).or_insert_with(|| {
            let target = joined.partner(origin, window, rank)?;
            let known = seen.get(&target)?.known?;
            Some((target, known.memories.iter().find(|memory| memory.window == window)?))
        })
    }

    /// Returns the number of the target's post that belongs to the origin's last start: the first start for a
    /// target belongs to the target's first post for the origin, and so on.
    fn post(&self, known: &OneSided, window: u64, target: ProcessIndex) -> Option<usize> {
        let (me, it) = (self.seen.get(&self.origin)?, self.seen.get(&target)?);
        let theirs = it.known?;
        if known.wrapped || theirs.wrapped || me.world != it.world {
            return None;
        }
        let starts = self.starts.get(&window)?;
        let mut number = 0_usize;
        for group in starts {
            number += usize::from(has(group, it.rank?)?);
        }
        if !has(starts.last()?, it.rank?)? {
            return None;
        }
        let posts = theirs.calls.iter().filter(|call| call.window == window);
        let groups = posts.filter_map(|call| match &call.does {
            Does::Posts(group) => Some(group),
            _ => None,
        });
        for (post, group) in groups.enumerate() {
            number -= usize::from(has(group, me.rank?)?);
            if number == 0 {
                return Some(post);
            }
        }
        None
    }
}

fn has(group: &Members, rank: u32) -> Option<bool> {
    match group {
        Members::World => Some(true),
        Members::Ranks(ranks) => Some(ranks.contains(&rank)),
        Members::Unknown => None,
    }
}

impl Use<'_> {
    /// Whether it accesses all bytes from the first to the last.
    fn is_dense(&self) -> bool {
        i128::from(self.access.bytes) >= self.end - self.first
    }

    /// Whether it certainly accesses a byte.
    fn covers(&self, byte: i128) -> bool {
        let inside = self.first <= byte && byte < self.end;
        inside && (self.is_dense() || byte == self.first || byte == self.end - 1)
    }

    /// Whether it certainly accesses one of these bytes.
    pub(super) fn touches(&self, first: i128, end: i128) -> bool {
        let overlaps = self.first < end && first < self.end;
        let contains = |byte: i128| first <= byte && byte < end;
        overlaps && (self.is_dense() || contains(self.first) || contains(self.end - 1))
    }

    /// Returns a byte that both certainly access.
    pub(super) fn shared_with(&self, other: &Self) -> Option<i128> {
        let ends = [self.first, other.first, self.end - 1, other.end - 1];
        ends.into_iter().find(|byte| self.covers(*byte) && other.covers(*byte))
    }
}
