//! Objects that several processes share, joined.

use super::collect::{Inspection, Look, Shown};
use super::describe::Summary;
use mpiscope_job::jobs::worlds::Members;
use mpiscope_job::model::objects::{Common, Kind, Lifetime};
use std::collections::HashMap;

/// What tells an object from others of the job.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    /// Computed alike by all who have it, of whichever world they are.
    Identity(Kind, u64),
    /// Predefined; the number is that of the world whose it is, zero for what is everywhere the same.
    Name(Kind, String, usize),
}

/// The key; `None` for what belongs to one process alone.
fn key(common: &Common, world: usize) -> Option<Key> {
    if common.predefined {
        let name = common.name.clone()?;
        let world = if name == "MPI_COMM_WORLD" { world } else { 0 };
        return Some(Key::Name(common.kind, name, world));
    }
    (common.identity.0 != 0).then_some(Key::Identity(common.kind, common.identity.0))
}

/// Whether other processes may have the object too.
pub fn may_be_shared(common: &Common) -> bool {
    key(common, 0).is_some()
}

/// Where an object belongs.
pub enum Place {
    /// To a new group.
    New,
    /// To the group with this number.
    Known(usize),
}

/// Finds the groups of objects of one process after the other.
#[derive(Debug, Default)]
pub struct Groups {
    known: HashMap<Key, usize>,
    /// The process that was added to each group last.
    last: Vec<usize>,
}

impl Groups {
    /// Whether an object with this identity may belong to a group that is there.
    pub fn may_know(&self, kind: Kind, identity: u64) -> bool {
        identity != 0 && self.known.contains_key(&Key::Identity(kind, identity))
    }

    /// The group of an object of process `look`, which is of world `world`. Two objects of one process are never the same,
    /// whatever they claim.
    pub fn place(&self, common: &Common, look: usize, world: usize) -> Place {
        let known = key(common, world).and_then(|key| self.known.get(&key).copied());
        match known.filter(|known| self.last.get(*known).is_some_and(|last| *last != look)) {
            Some(known) => Place::Known(known),
            None => Place::New,
        }
    }

    /// Puts it there.
    pub fn put(&mut self, place: &Place, common: &Common, look: usize, world: usize) {
        match place {
            Place::Known(known) => {
                if let Some(last) = self.last.get_mut(*known) {
                    *last = look;
                }
            }
            Place::New => {
                if let Some(key) = key(common, world) {
                    self.known.insert(key, self.last.len());
                }
                self.last.push(look);
            }
        }
    }
}

/// One object, wherever it is; or objects of one process each that look alike.
pub struct Same<'a> {
    /// It is one.
    pub one: bool,
    /// Who has it.
    pub members: Members,
    /// Each process's view of it.
    pub views: Vec<(&'a Look, &'a Shown)>,
}

/// Groups in the order of the first process's objects.
pub fn groups(found: &Inspection) -> Vec<Same<'_>> {
    let mut same: Vec<Same<'_>> = Vec::new();
    let mut groups = Groups::default();
    for (number, look) in found.looks.iter().enumerate() {
        for shown in &look.objects {
            let common = shown.object.common();
            let place = groups.place(common, number, look.world);
            groups.put(&place, common, number, look.world);
            if let Place::New = place {
                same.push(Same { one: true, members: Members::default(), views: Vec::new() });
            }
            let at = match place {
                Place::Known(known) => same.get_mut(known),
                Place::New => same.last_mut(),
            };
            if let Some(group) = at {
                group.members.add(look.world, look.process.rank);
                group.views.push((look, shown));
            }
        }
    }
    same
}

impl Alike for Same<'_> {
    fn likeness(&self) -> Option<Likeness> {
        let [(_, shown)] = self.views.as_slice() else { return None };
        Some(Likeness::of(shown))
    }

    fn members(&self) -> &Members {
        &self.members
    }

    fn fold(&mut self, other: Self) {
        self.one = false;
        self.members.join(other.members);
        self.views.extend(other.views);
    }
}

/// Those of one process each that look alike are joined.
pub fn alike(groups: Vec<Same<'_>>) -> Vec<Same<'_>> {
    let mut folded = Fold::with_room_for(usize::MAX);
    groups.into_iter().for_each(|group| folded.add(group));
    folded.groups
}

/// What is compared of objects that one process each has: values, not their text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Likeness {
    state: Lifetime,
    summary: Summary,
}

impl Likeness {
    /// Of an object.
    pub fn of(shown: &Shown) -> Self {
        Self { state: shown.object.common().standing, summary: shown.summary.clone() }
    }
}

/// An object, or several of one process each that look alike.
pub trait Alike {
    /// By what it is found alike; nothing if several processes have it, who may say different things.
    fn likeness(&self) -> Option<Likeness>;
    /// Who has it.
    fn members(&self) -> &Members;
    /// Adds one that looks alike, of another process.
    fn fold(&mut self, other: Self);
}

/// Joins objects of one process each that look alike: for lists, descriptions and JSON.
#[derive(Debug)]
pub struct Fold<T> {
    /// In the order in which the first of each came.
    pub groups: Vec<T>,
    alike: HashMap<Likeness, Slot>,
    most: usize,
    /// Not all had room.
    pub cut: bool,
}

/// Groups that look alike, for those who have several of them, and where the next object of the same process belongs.
#[derive(Debug, Default)]
struct Slot {
    groups: Vec<usize>,
    of: Members,
    next: usize,
}

impl<T: Alike> Fold<T> {
    /// With room for so many groups.
    pub fn with_room_for(most: usize) -> Self {
        Self { groups: Vec::new(), alike: HashMap::new(), most, cut: false }
    }

    /// Adds one. Those of one process come after each other.
    pub fn add(&mut self, group: T) {
        let likeness = group.likeness().filter(|_| !group.members().is_empty());
        // Without room for another group only those that are there count: what is remembered stays bounded.
        let full = self.groups.len() >= self.most;
        let mut slot = likeness.and_then(|likeness| match full {
            true => self.alike.get_mut(&likeness),
            false => Some(self.alike.entry(likeness).or_default()),
        });
        if let Some(slot) = &mut slot {
            if slot.of != *group.members() {
                (slot.of, slot.next) = (group.members().clone(), 0);
            }
            while let Some(known) = slot.groups.get(slot.next).and_then(|place| self.groups.get_mut(*place)) {
                slot.next += 1;
                if !known.members().meets(group.members()) {
                    return known.fold(group);
                }
            }
        }
        if full {
            self.cut = true;
            return;
        }
        if let Some(slot) = slot {
            slot.groups.push(self.groups.len());
            slot.next = slot.groups.len();
        }
        self.groups.push(group);
    }
}
