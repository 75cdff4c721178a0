//! Objects created and not freed, grouped by the place that created them, and the number of objects of each
//! kind.
//!
//! Only the head of each record is read, so even a million objects are cheap.

use crate::jobs::worlds::Members;
use crate::model::locate::{Locate, place};
use crate::model::objects::{Kind, Lifetime, Reader};
use crate::model::process::Process;
use mpiscope_image::derive::live;
use mpiscope_image::objects::{Flag, Head, Life};
use mpiscope_image::traffic::Request;
use mpiscope_image::{Error, Image, Source};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// Maximum number of records read per kind.
const MOST_RECORDS: u64 = 1 << 24;
/// Maximum number of places distinguished in one process. Objects from further places are counted together.
const MOST_SITES: usize = 1 << 12;

/// Number of objects of one kind in a process.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Count {
    /// Created by the program and not freed.
    pub live: u64,
    /// Freed by the program but still held by MPI.
    pub marked: u64,
    /// Freed but still recorded.
    pub freed: u64,
    /// Predefined objects the program has used.
    pub predefined: u64,
}

/// A place in one process that created objects which were not freed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// Kind of the objects.
    pub kind: Kind,
    /// The function that created them.
    pub function: String,
    /// `file:line`, or function (otherwise module) and offset.
    pub place: String,
    /// Whether they are requests whose operation was started and that the program did not complete.
    pub active: bool,
    /// Whether this is only the last of the places that may have created them: the library returns one handle for
    /// requests of several places.
    pub last: bool,
    /// For active requests: where another request was stored in the variable holding the handle.
    pub overwritten: Option<String>,
    /// Number of objects.
    pub count: u64,
}

/// The same place across all ranks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Leak {
    /// Kind of the objects.
    pub kind: Kind,
    /// The function that created them.
    pub function: String,
    /// `file:line`, or function (otherwise module) and offset.
    pub place: String,
    /// Number of objects on all ranks together.
    pub count: u64,
    /// Whether they are requests whose operation was started and that the program did not complete.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub active: bool,
    /// Whether function and place are only the last that created one of these requests: the library returns one handle
    /// for the requests of several places.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub last: bool,
    /// For active requests: where another request was stored in the variable holding the handle. Reported by
    /// the findings.
    #[serde(skip)]
    pub overwritten: Option<String>,
    /// Ranks that created them.
    pub ranks: Members,
}

/// `4 communicators, MPI_Comm_dup at solver.c:12 (ranks [0-3])`; `2 requests, last made by MPI_Isend at …`.
impl fmt::Display for Leak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = noun(self.kind, self.count);
        let rank = if self.ranks.is_empty() { String::new() } else { format!(" ({})", self.ranks.named()) };
        let last = if self.last { "last made by " } else { "" };
        write!(f, "{} {word}, {last}{} at {}{rank}", self.count, self.function, self.place)
    }
}

/// Returns the kind as a word: `communicator`, `communicators`.
pub fn noun(kind: Kind, count: u64) -> String {
    let word = kind.noun();
    format!("{word}{}", if count == 1 { "" } else { "s" })
}

/// Calls `each` with the index, head and object count of each record of a kind.
fn heads<S: Source>(
    image: &Image<S>,
    kind: Kind,
    mut each: impl FnMut(u64, &Head, u64),
) -> Result<(), Error> {
    let table = image.table::<Head>(kind.section())?;
    for index in 0..table.len().min(MOST_RECORDS) {
        // A table that continues in another section may leave unused space behind.
        let Ok(head) = image.get::<Head>(&table, index) else { continue };
        let head = head.value;
        let count = match kind == Kind::Request && live::is_shared(&head) {
            true => image.get::<Request>(&table, index).map_or(0, |r| live::requests(&r.value)),
            false => 1,
        };
        each(index, &head, count);
    }
    Ok(())
}

/// Counts the objects of a kind.
///
/// # Errors
/// If the table is damaged or cannot be read.
pub fn count<S: Source>(reader: &Reader<'_, S>, kind: Kind) -> Result<Count, Error> {
    let mut count = Count::default();
    heads(reader.image(), kind, |_, head, n| match Life(head.life.get()) {
        Life::LIVE if live::is_live(head) => count.live = count.live.saturating_add(n),
        Life::LIVE => count.predefined += 1,
        Life::EMPTY => {}
        _ if reader.standing(head) == Lifetime::Marked => count.marked += 1,
        _ => count.freed += 1,
    })?;
    Ok(count)
}

/// Whether a request's operation was started and the program has not completed it. What has a shared handle is
/// such a request too, although the library has completed it.
fn is_active(head: &Head) -> bool {
    live::is_under_way(head) && head.flags.get() & Flag::CANCELLED.0 == 0 || live::is_shared(head)
}

/// Returns the return address of the call that stored another request in the variable of an active one; zero
/// if none.
fn overwritten_from<S: Source>(image: &Image<S>, index: u64) -> u64 {
    let Ok(table) = image.table::<Head>(Kind::Request.section()) else { return 0 };
    let read = image.get::<Request>(&table, index).ok();
    let overwritten = read.filter(|read| is_active(&read.value.head) && read.value.is(Flag::OVERWRITTEN));
    overwritten.map_or(0, |read| read.value.completed_from.get())
}

/// A place that created objects which are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct PlaceKey {
    kind: Kind,
    function: u32,
    address: u64,
    active: bool,
    last: bool,
    /// Return address of the call that overwrote them; zero if none.
    over: u64,
}

/// Number of objects created by each place.
struct Places {
    most: usize,
    places: BTreeMap<PlaceKey, u64>,
    /// Objects created by places beyond the maximum, by kind and whether they are active.
    further: BTreeMap<(Kind, bool), u64>,
}

impl Places {
    fn new(most: usize) -> Self {
        Self { most, places: BTreeMap::new(), further: BTreeMap::new() }
    }

    fn add(&mut self, key: PlaceKey, objects: u64) {
        let PlaceKey { kind, active, .. } = key;
        let count = match self.places.len() < self.most || self.places.contains_key(&key) {
            true => self.places.entry(key).or_default(),
            false => self.further.entry((kind, active)).or_default(),
        };
        *count = count.saturating_add(objects);
    }
}

/// Returns the places whose objects are not freed at present, most objects first. At the end of a program
/// these are leaks.
///
/// # Errors
/// If a table is damaged or cannot be read.
pub fn sites<S: Source>(
    image: &Image<S>,
    process: &Process,
    locate: &dyn Locate,
) -> Result<Vec<Site>, Error> {
    let mut found = Places::new(MOST_SITES);
    for kind in Kind::ALL {
        heads(image, *kind, |index, head, n| {
            let active = *kind == Kind::Request && is_active(head);
            let last = *kind == Kind::Request && live::is_shared(head);
            let lost = active && !last && head.flags.get() & Flag::OVERWRITTEN.0 != 0;
            let over = if lost { overwritten_from(image, index) } else { 0 };
            if live::is_live(head) && n > 0 {
                let (function, address) = (head.made_by.get().into(), head.made_from.get());
                found.add(PlaceKey { kind: *kind, function, address, active, last, over }, n);
            }
        })?;
    }
    let further = found.further.into_iter().map(|((kind, active), count)| Site {
        kind,
        function: "several functions".into(),
        place: format!("places beyond the first {MOST_SITES}"),
        active,
        last: false,
        overwritten: None,
        count,
    });
    let sites = found.places.into_iter().map(|(key, count)| Site {
        kind: key.kind,
        function: process.function((key.function as usize).wrapping_sub(1)),
        place: place(&process.modules, locate, key.address).unwrap_or_else(|| "an unknown place".into()),
        active: key.active,
        last: key.last,
        overwritten: place(&process.modules, locate, key.over).filter(|_| key.over != 0),
        count,
    });
    let mut sites: Vec<Site> = sites.chain(further).collect();
    sites.sort_by_key(|site| std::cmp::Reverse(site.count));
    Ok(sites)
}

/// Joins the places of several ranks (world number, rank), most objects first.
pub fn join<'a>(ranks: impl Iterator<Item = ((usize, Option<u32>), &'a [Site])>) -> Vec<Leak> {
    type Place<'a> = (Kind, &'a str, &'a str, (bool, bool), Option<&'a str>);
    let mut found: BTreeMap<Place<'a>, (u64, Members)> = BTreeMap::new();
    for ((world, rank), sites) in ranks {
        for site in sites {
            let over = site.overwritten.as_deref();
            let how = (site.active, site.last);
            let entry = found.entry((site.kind, &site.function, &site.place, how, over)).or_default();
            entry.0 = entry.0.saturating_add(site.count);
            entry.1.add(world, rank);
        }
    }
    let leak =
        |((kind, function, place, (active, last), over), (count, ranks)): (Place<'a>, (u64, Members))| Leak {
            kind,
            function: function.to_owned(),
            place: place.to_owned(),
            count,
            active,
            last,
            overwritten: over.map(str::to_owned),
            ranks,
        };
    let mut leaks: Vec<Leak> = found.into_iter().map(leak).collect();
    leaks.sort_by_key(|leak| std::cmp::Reverse(leak.count));
    leaks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(kind: Kind, place: &str, count: u64) -> Site {
        Site {
            kind,
            function: "MPI_X".into(),
            place: place.into(),
            active: false,
            last: false,
            overwritten: None,
            count,
        }
    }

    #[test]
    fn the_same_place_on_several_ranks_is_one_leak_and_the_largest_comes_first() {
        let (a, b) = (site(Kind::Communicator, "a.c:1", 2), site(Kind::Info, "a.c:9", 7));
        let ranks = [vec![a.clone(), b], vec![], vec![a]];
        let leaks = join((0..).zip(&ranks).map(|(rank, sites)| ((0, Some(rank)), sites.as_slice())));
        let lines: Vec<String> = leaks.iter().map(Leak::to_string).collect();
        let wanted =
            ["7 info objects, MPI_X at a.c:9 (rank 0)", "4 communicators, MPI_X at a.c:1 (ranks [0,2])"];
        assert_eq!(lines, wanted);
    }

    #[test]
    fn active_requests_are_counted_apart_from_those_that_were_not_started() {
        let idle = site(Kind::Request, "a.c:5", 1);
        let active = Site { active: true, count: 2, ..idle.clone() };
        let leaks = join([((0, Some(0)), [idle, active].as_slice())].into_iter());
        let counts: Vec<_> = leaks.iter().map(|leak| (leak.active, leak.count)).collect();
        assert_eq!(counts, [(true, 2), (false, 1)]);
    }

    #[test]
    fn requests_with_a_shared_handle_are_said_to_be_last_made_by_a_place() {
        let shared = Site { active: true, last: true, ..site(Kind::Request, "a.c:5", 2) };
        let leaks = join([((0, Some(0)), [shared].as_slice())].into_iter());
        assert_eq!(leaks[0].to_string(), "2 requests, last made by MPI_X at a.c:5 (rank 0)");
        assert!(serde_json::to_string(&leaks[0]).unwrap().contains(r#""last":true"#));
    }

    #[test]
    fn objects_created_at_further_places_are_counted() {
        let mut places = Places::new(2);
        let key = |address| PlaceKey {
            kind: Kind::Info,
            function: 1,
            address,
            active: false,
            last: false,
            over: 0,
        };
        for from in [1, 2, 3, 1, 4] {
            places.add(key(from), 5);
        }
        assert_eq!(places.places.into_iter().collect::<Vec<_>>(), [(key(1), 10), (key(2), 5)]);
        assert_eq!(places.further.into_iter().collect::<Vec<_>>(), [((Kind::Info, false), 10)]);
    }

    #[test]
    fn one_object_is_not_described_in_the_plural() {
        let sites = [site(Kind::Window, "a.c:1", 1)];
        let leaks = join(std::iter::once(((0, None), sites.as_slice())));
        assert_eq!(leaks[0].to_string(), "1 window, MPI_X at a.c:1");
    }
}
