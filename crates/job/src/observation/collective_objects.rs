//! Windows and files as objects of collective calls: like communicators, they have members and a number of
//! calls.

use super::communicators::Communicators;
use super::{Communicator, Creation};
use crate::model::objects::file;
use crate::model::rank::Rank;
use mpi_abi::ObjectKind;
use mpiscope_image::layout::SectionKind;
use mpiscope_image::objects::{File, Head, Life, Window};
use mpiscope_image::{Record, Source};

/// Maximum number of records read per kind.
const MOST: u64 = 1 << 12;

/// Reads the windows and files of a process, including freed ones still recorded: a process that has left a
/// call must not appear to have skipped it while others are still inside.
pub fn read<S: Source>(rank: &Rank<'_, S>, communicators: &Communicators) -> Vec<Communicator> {
    let windows = records::<S, Window>(rank, SectionKind::WINDOWS)
        .map(|window| (ObjectKind::WIN, window.head.clone(), window.collectives.get()));
    let windows =
        windows.filter_map(|(kind, head, collectives)| one(rank, communicators, kind, &head, collectives));
    let files = records::<S, File>(rank, SectionKind::FILES).filter_map(|file| {
        let seen = one(rank, communicators, ObjectKind::FILE, &file.head, file.collectives.get())?;
        Some(Communicator { creation: Some(opened(rank, &file)), ..seen })
    });
    windows.chain(files).collect()
}

/// All members must open a file with the same access mode (MPI 5.0, section "Opening a File").
fn opened<S: Source>(rank: &Rank<'_, S>, file: &File) -> Creation {
    let names = file::mode(rank.process().abi, file.amode.get());
    Creation {
        function: "MPI_File_open".to_owned(),
        argument: "access mode".to_owned(),
        passed: if names.is_empty() { format!("{:#x}", file.amode.get()) } else { names.join(" | ") },
        place: rank.place(file.head.made_from.get()),
    }
}

fn records<S: Source, R: Record>(rank: &Rank<'_, S>, section: SectionKind) -> impl Iterator<Item = R> {
    let image = rank.image();
    let table = image.table::<R>(section).unwrap_or_default();
    (0..table.len().min(MOST)).filter_map(move |index| Some(image.get::<R>(&table, index).ok()?.value))
}

fn one<S: Source>(
    rank: &Rank<'_, S>,
    communicators: &Communicators,
    kind: ObjectKind,
    head: &Head,
    collectives: u64,
) -> Option<Communicator> {
    let life = Life(head.life.get());
    let identity = head.identity.get();
    // The communicator may have been freed long ago.
    let parent = communicators.with_uid(head.parent.get()).filter(|comm| comm.remote.is_none())?;
    if life == Life::EMPTY || identity == 0 {
        return None;
    }
    Some(Communicator {
        identity,
        name: rank.object(kind, head.handle.get()),
        rank: parent.rank,
        members: parent.members.clone(),
        size: parent.size,
        collectives,
        freed: life == Life::FREED,
        ..Communicator::default()
    })
}
