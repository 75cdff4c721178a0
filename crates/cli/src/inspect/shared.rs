//! Merges objects that several processes share.

use super::collect::{Inspection, Look, Shown};
use super::describe::Summary;
use mpiscope_job::jobs::worlds::Members;
use mpiscope_job::model::objects::{Common, Kind, Lifetime};
use std::collections::HashMap;

/// The key that identifies an object within the job.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    /// An identity, which all processes that share the object compute alike, in any world.
    Identity(Kind, u64),
    /// A predefined object. The number is its world, or zero if the object is the same everywhere.
    Name(Kind, String, usize),
}

/// Returns the key; `None` for objects private to one process.
fn key(common: &Common, world: usize) -> Option<Key> {
    if common.predefined {
        let name = common.name.clone()?;
        let world = if name == "MPI_COMM_WORLD" { world } else { 0 };
        return Some(Key::Name(common.kind, name, world));
    }
    (common.identity.0 != 0).then_some(Key::Identity(common.kind, common.identity.0))
}

/// Whether other processes may share the object.
pub fn may_be_shared(common: &Common) -> bool {
    key(common, 0).is_some()
}

/// The group that an object belongs to.
pub enum Place {
    /// A new group.
    New,
    /// The group with this number.
    Known(usize),
}

/// Groups objects; processes must be added one after the other.
#[derive(Debug, Default)]
pub struct Groups {
    known: HashMap<Key, usize>,
    /// The process that was last added to each group.
    last: Vec<usize>,
}

impl Groups {
    /// Whether an object with this identity may belong to an existing group.
    pub fn may_know(&self, kind: Kind, identity: u64) -> bool {
        identity != 0 && self.known.contains_key(&Key::Identity(kind, identity))
    }

    /// Finds the group of an object of process `look` in world `world`. Two objects of one process are never
    /// the same, even if their identities are equal.
    pub fn place(&self, common: &Common, look: usize, world: usize) -> Place {
        let known = key(common, world).and_then(|key| self.known.get(&key).copied());
        match known.filter(|known| self.last.get(*known).is_some_and(|last| *last != look)) {
            Some(known) => Place::Known(known),
            None => Place::New,
        }
    }

    /// Adds the object to its group.
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

/// One object on all its ranks, or similar objects of one process each.
pub struct Same<'a> {
    /// Whether it is a single object.
    pub one: bool,
    /// The ranks that have it.
    pub members: Members,
    /// Each process's view of it.
    pub views: Vec<(&'a Look, &'a Shown)>,
}

/// Groups all objects, in the order of the first process's objects.
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

/// Merges similar objects of one process each.
pub fn alike(groups: Vec<Same<'_>>) -> Vec<Same<'_>> {
    let mut folded = Fold::with_room_for(usize::MAX);
    groups.into_iter().for_each(|group| folded.add(group));
    folded.groups
}

/// The key for comparing objects of one process each. It uses values, not their text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Likeness {
    state: Lifetime,
    summary: Summary,
}

impl Likeness {
    /// Returns the key of an object.
    pub fn of(shown: &Shown) -> Self {
        Self { state: shown.object.common().standing, summary: shown.summary.clone() }
    }
}

/// An object, or several similar ones of one process each.
pub trait Alike {
    /// Returns the key for comparison; `None` for an object shared by several processes, whose views may
    /// differ.
    fn likeness(&self) -> Option<Likeness>;
    /// Returns the ranks that have it.
    fn members(&self) -> &Members;
    /// Adds a similar object of another process.
    fn fold(&mut self, other: Self);
}

/// Merges similar objects of one process each, for lists, descriptions and JSON.
#[derive(Debug)]
pub struct Fold<T> {
    /// The groups, in the order of their first objects.
    pub groups: Vec<T>,
    alike: HashMap<Likeness, Slot>,
    most: usize,
    /// Whether some objects did not fit.
    pub cut: bool,
}

/// Similar groups (several if a process has several similar objects), and the position for the next object of
/// the same process.
#[derive(Debug, Default)]
struct Slot {
    groups: Vec<usize>,
    of: Members,
    next: usize,
}

impl<T: Alike> Fold<T> {
    /// Creates a fold with space for `most` groups.
    pub fn with_room_for(most: usize) -> Self {
        Self { groups: Vec::new(), alike: HashMap::new(), most, cut: false }
    }

    /// Adds an object. The objects of one process must be added consecutively.
    pub fn add(&mut self, group: T) {
        let likeness = group.likeness().filter(|_| !group.members().is_empty());
        // When full, only existing groups count, so that memory stays bounded.
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
