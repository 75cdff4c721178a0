//! Objects that several processes share, joined.

use super::collect::{Inspection, Look, Shown};
use mpiscope_job::objects::{Common, Kind};
use mpiscope_job::worlds::Members;
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

/// Those of one process each that say the same in one line are joined.
pub fn alike(groups: Vec<Same<'_>>) -> Vec<Same<'_>> {
    let mut joined: Vec<Same<'_>> = Vec::new();
    for group in groups {
        let alike = private(&group).and_then(|own| {
            let same = |known: &&mut Same<'_>| {
                !known.members.meets(&group.members)
                    && private(known).is_some_and(|other| other.0 == own.0 && other.1 == own.1)
            };
            joined.iter_mut().find(same)
        });
        match alike {
            Some(known) if !group.members.is_empty() => {
                known.one = false;
                known.members.join(group.members);
                known.views.extend(group.views);
            }
            _ => joined.push(group),
        }
    }
    joined
}

/// Kind and line of what belongs to one process alone.
fn private<'a>(group: &Same<'a>) -> Option<(Kind, &'a str)> {
    let (_, shown) = group.views.first()?;
    let common = shown.object.common();
    (!may_be_shared(common)).then_some((common.kind, shown.brief.as_str()))
}
