//! One line for each object of a kind; objects shared by several processes are merged.
//!
//! Objects are read one at a time and only as many are kept as can be shown. Two objects of one process never
//! share a line, so nothing new can appear once a process has [`MOST`] of them.

use super::collect::{Inspection, Look, Shown};
use super::counts;
use super::describe::{self, Summary};
use super::shared::{Alike, Fold, Groups, Likeness, Place};
use crate::render::{Block, Table, or_dash};
use mpiscope_job::base::identity;
use mpiscope_job::jobs::worlds::Members;
use mpiscope_job::model::objects::{Hex, Kind, Lifetime, Outline};
use std::cell::RefCell;

/// Maximum number of lines shown; JSON has all objects.
const MOST: usize = 1000;

pub fn page(found: &mut Inspection, kind: Kind, freed: bool) -> Vec<Block> {
    let rows = collect(found, kind, freed);
    let mut page: Vec<Block> = counts::head(found, freed).into_iter().map(Block::Line).collect();
    if rows.is_empty() {
        if found.looks.iter().any(|look| look.blind.is_none()) {
            let freed = if freed { "" } else { " that has not been freed" };
            page.push(format!("  no {kind}{freed}, apart from unused predefined ones").into());
        }
        return page;
    }
    let (listed, hidden): (Vec<Row>, Vec<Row>) =
        rows.into_iter().partition(|row| !hidden(row.predefined, kind));
    let (mut folded, hidden) = (Fold::with_room_for(MOST), hidden.len());
    listed.into_iter().for_each(|row| folded.add(row));
    let Fold { groups: rows, cut, .. } = folded;
    if cut {
        page.push(format!("more than {MOST} lines: --json has all; --rank 0 shows one rank").into());
    }
    if rows.is_empty() {
        page.push(format!("  no {kind} beyond the predefined ones").into());
    } else {
        let mut table = Table::new(&["HANDLE", "RANK", "STATE", "WHAT"]);
        rows.iter().for_each(|row| table.push(row.cells()));
        page.push(table.into());
    }
    if rows.iter().any(|row| row.handle.is_none() && row.identity == 0) {
        page.push("handles differ where it says so: --rank N shows those of one rank".into());
    }
    if hidden > 0 {
        let are = if hidden == 1 { "predefined one is" } else { "predefined ones are" };
        page.push(format!("{hidden} {are} not listed; show one by its name: --handle MPI_...").into());
    }
    page
}

/// Collects the objects as far as there is space, merging those shared by several processes.
fn collect(found: &mut Inspection, kind: Kind, freed: bool) -> Vec<Row> {
    let mut list = List { kind, groups: Groups::default(), rows: Vec::new(), shown: 0, full: false };
    let mut blind = Vec::new();
    for (number, look) in found.looks.iter().enumerate().filter(|(_, look)| look.blind.is_none()) {
        if let Err(e) = list.add_all(found, number, look, freed) {
            blind.push((number, e.to_string()));
        }
    }
    for (number, why) in blind {
        if let Some(look) = found.looks.get_mut(number) {
            look.blind = Some(why);
        }
    }
    list.rows
}

struct List {
    kind: Kind,
    groups: Groups,
    /// The rows, by group number.
    rows: Vec<Row>,
    /// Number of rows of the current process.
    shown: usize,
    /// Whether there is no space for new rows.
    full: bool,
}

impl List {
    fn add_all(
        &mut self,
        found: &Inspection,
        number: usize,
        look: &Look,
        freed: bool,
    ) -> Result<(), mpiscope_job::Error> {
        self.shown = 0;
        let kind = self.kind;
        let list = RefCell::new(self);
        found.each(look, kind, freed, &mut |head| list.borrow().may_take(head), &mut |object| {
            list.borrow_mut().add(number, look, &object);
        })
    }

    /// Whether there may be space for an object.
    fn may_take(&self, outline: &Outline<'_>) -> bool {
        outline.predefined || !self.full || self.groups.may_know(self.kind, outline.identity)
    }

    fn add(&mut self, number: usize, look: &Look, shown: &Shown) {
        let common = shown.object.common();
        let place = self.groups.place(common, number, look.world);
        let row = Row::new(look, shown);
        match place {
            Place::New if self.full => return,
            Place::New => self.rows.push(row),
            Place::Known(known) => {
                if let Some(known) = self.rows.get_mut(known) {
                    known.join(row);
                }
            }
        }
        self.groups.put(&place, common, number, look.world);
        self.shown += usize::from(!hidden(common.predefined, self.kind));
        self.full |= self.shown > MOST;
    }
}

/// Whether an object is only counted. A library has about a hundred predefined datatypes and operations,
/// which say nothing about the program.
fn hidden(predefined: bool, kind: Kind) -> bool {
    predefined && kind != Kind::Communicator
}

/// A line of the list.
struct Row {
    /// `None` if it differs.
    handle: Option<Hex>,
    /// Zero if there is none or it differs.
    identity: u64,
    members: Members,
    /// `None` if it differs.
    state: Option<Lifetime>,
    summary: Summary,
    /// Whether other processes' summaries differ.
    more: bool,
    predefined: bool,
    /// The key for comparing objects of one process each.
    likeness: Option<Likeness>,
}

impl Row {
    fn new(look: &Look, shown: &Shown) -> Self {
        let common = shown.object.common();
        Self {
            handle: Some(common.handle),
            identity: common.identity.0,
            members: [(look.world, look.process.rank)].into_iter().collect(),
            state: Some(common.standing),
            summary: shown.summary.clone(),
            more: false,
            predefined: common.predefined,
            likeness: Some(Likeness::of(shown)),
        }
    }

    /// Merges another process's view of the same object.
    fn join(&mut self, other: Self) {
        self.state = self.state.filter(|state| Some(*state) == other.state);
        self.more |= self.summary != other.summary;
        self.likeness = None;
        self.fold(other);
    }

    fn cells(&self) -> Vec<String> {
        let handle = match (self.handle, self.identity) {
            (Some(handle), _) => handle.to_string(),
            (None, 0) => "differs".to_owned(),
            (None, identity) => identity::short(identity),
        };
        let state = self.state.map_or("differs", describe::state).to_owned();
        let more = if self.more { " ..." } else { "" };
        vec![handle, or_dash(Some(self.members.to_string())), state, format!("{}{more}", self.what())]
    }

    /// What the object is, with the identity by which other commands name it unless the first column shows it.
    fn what(&self) -> String {
        let is_named_so = self.handle.is_some() && self.identity != 0 && self.summary.is_called_by_identity();
        match is_named_so {
            true => format!("{}: {}", identity::short(self.identity), self.summary),
            false => self.summary.to_string(),
        }
    }
}

impl Alike for Row {
    fn likeness(&self) -> Option<Likeness> {
        self.likeness.clone()
    }

    fn members(&self) -> &Members {
        &self.members
    }

    fn fold(&mut self, other: Self) {
        self.handle = self.handle.filter(|handle| Some(*handle) == other.handle);
        self.identity = if self.identity == other.identity { self.identity } else { 0 };
        self.members.join(other.members);
    }
}
