//! Number of live objects of each kind that the program made.

use crate::base::image;
use mpi_abi::ObjectKind;
use mpiscope_image::derive::live;
use mpiscope_image::layout::SectionKind;
use mpiscope_image::objects::Head;
use mpiscope_image::traffic::Request;
use mpit::WatchList;
use std::sync::atomic::{AtomicU64, Ordering};

/// Indexed by the numbers of the kinds for tools, which begin at 0.
static LIVE: [AtomicU64; ObjectKind::ALL.len()] = [const { AtomicU64::new(0) }; ObjectKind::ALL.len()];
/// The listeners to changes.
pub static WATCH: WatchList = WatchList::new();

fn place(kind: SectionKind) -> Option<usize> {
    kind.object_kind().map(|kind| usize::from(kind.0) - 1)
}

/// Returns the kinds in the order of their numbers.
pub fn kinds() -> [ObjectKind; ObjectKind::ALL.len()] {
    std::array::from_fn(|at| ObjectKind(at as u8 + 1))
}

fn change(kind: SectionKind, head: &Head, by: u64) {
    if !live::is_of_program(head) {
        return;
    }
    let Some(at) = place(kind) else { return };
    if let Some(live) = LIVE.get(at) {
        let now = live.fetch_add(by, Ordering::Relaxed).wrapping_add(by);
        WATCH.note(0, at as u32, now);
    }
}

/// Returns the number of a kind for tools; `None` if its objects are parts of others.
pub fn number(kind: SectionKind) -> Option<i32> {
    place(kind).map(|at| at as i32)
}

/// Returns the number of live objects of the kind with this number.
pub fn count(number: usize) -> Option<u64> {
    if Some(number) == place(SectionKind::REQUESTS) {
        return Some(requests());
    }
    LIVE.get(number).map(|live| live.load(Ordering::Acquire))
}

/// Returns the number of live objects of a kind other than requests.
pub fn of(kind: SectionKind) -> u64 {
    place(kind).and_then(|at| LIVE.get(at)).map_or(0, |live| live.load(Ordering::Relaxed))
}

/// The program made an object.
#[inline]
pub fn made(kind: SectionKind, head: &Head) {
    change(kind, head, 1);
}

/// An object of the program is gone.
#[inline]
pub fn gone(kind: SectionKind, head: &Head) {
    change(kind, head, u64::MAX);
}

/// Returns the number of live requests. They come and go too often to be counted each time, so this visits
/// all records.
fn requests() -> u64 {
    let Some(writer) = image::writer() else { return 0 };
    let all = (0..).map_while(|index| writer.record::<Request>(SectionKind::REQUESTS, index));
    all.filter(|request| live::is_live(&request.head)).map(live::requests).sum()
}
