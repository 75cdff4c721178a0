//! What the records of one process contain other than its calls, for the sections of a report.

use crate::jobs::other_worlds::{Spawned, Which};
use crate::jobs::placement::Placement;
use crate::model::abort;
use crate::model::objects::{Kind, Object};
use crate::model::rank::Rank;
use crate::performance::sites::{self, RankSites};
use mpiscope_image::Source;
use mpiscope_image::layout::SectionKind;
use mpiscope_image::traffic::Traffic;

/// Maximum number of files listed per process.
const MOST_FILES: usize = 1 << 12;

/// What the records of one process contain other than its calls.
#[derive(Debug, Default, Clone)]
pub struct Facts {
    /// Number of messages by size class, sent and received.
    pub sizes: Vec<[u64; 2]>,
    /// Number of messages received whose size is unknown.
    pub unsized_messages: u64,
    /// Current and maximum numbers of messages.
    pub levels: Levels,
    /// Files, including closed ones.
    pub files: Vec<Used>,
    /// The program's call sites.
    pub call_sites: RankSites,
    /// By thread, in the order of the process's threads: place of the open call, otherwise of the last one
    /// that returned.
    pub places: Vec<Option<String>>,
    /// Source line of its call of `MPI_Abort`.
    pub abort_place: Option<String>,
    /// The processes it has spawned, as far as known.
    pub spawned: Vec<Spawned>,
    /// Size of the image in bytes.
    pub image: u64,
    /// Facts reported by its host's system; `None` for a process that had ended.
    pub placement: Option<Placement>,
}

/// Current numbers of messages, and their maxima.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Levels {
    /// Operations started but not known to be complete.
    pub pending: u64,
    /// Their maximum.
    pub pending_high: u64,
    /// Receives posted and not complete.
    pub posted: u64,
    /// Their maximum.
    pub posted_high: u64,
    /// Messages matched by a probe and not received.
    pub matched: u64,
}

/// One opening of a file by one process.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Used {
    pub path: String,
    pub reads: u64,
    pub read_bytes: u64,
    pub writes: u64,
    pub written_bytes: u64,
    pub seconds: f64,
}

impl Facts {
    /// Reads the facts; damaged or unrecorded ones are empty.
    pub fn read<S: Source>(rank: &Rank<'_, S>, placement: Option<Placement>) -> Self {
        let call_sites = sites::of_rank(rank).unwrap_or_default();
        let spawned = Spawned::of(rank.image(), &rank.process().world, Which::All);
        let places = rank.process().threads.iter().map(|thread| rank.place(thread.return_address)).collect();
        let abort_place = abort::place(rank);
        Self {
            files: files(rank),
            call_sites,
            places,
            abort_place,
            spawned,
            ..Self::snapshot(rank, placement)
        }
    }

    /// Reads all but files, call sites, places of calls and spawned processes.
    pub fn snapshot<S: Source>(rank: &Rank<'_, S>, placement: Option<Placement>) -> Self {
        let image = rank.image();
        let totals = image.all::<Traffic>(SectionKind::TRAFFIC).unwrap_or_default();
        let traffic = totals.first().map(|snapshot| &snapshot.value);
        Self {
            sizes: traffic.map(sizes).unwrap_or_default(),
            unsized_messages: traffic.map_or(0, |traffic| traffic.received_unsized.get()),
            levels: traffic.map(levels).unwrap_or_default(),
            files: Vec::new(),
            call_sites: RankSites::default(),
            places: Vec::new(),
            abort_place: None,
            spawned: Vec::new(),
            image: image.source().len(),
            placement,
        }
    }
}

fn sizes(traffic: &Traffic) -> Vec<[u64; 2]> {
    let classes = traffic.sent_sizes.iter().zip(&traffic.received_sizes);
    classes.map(|(sent, received)| [sent.get(), received.get()]).collect()
}

fn levels(traffic: &Traffic) -> Levels {
    Levels {
        pending: traffic.pending.get(),
        pending_high: traffic.pending_high.get(),
        posted: traffic.posted.get(),
        posted_high: traffic.posted_high.get(),
        matched: traffic.matched.get(),
    }
}

fn files<S: Source>(rank: &Rank<'_, S>) -> Vec<Used> {
    let mut found = Vec::new();
    let _damaged = rank.objects().visit(Kind::File, &mut |_| true, &mut |object| {
        let Object::File(file) = object else { return };
        let Some(path) = file.path.filter(|_| !file.common.predefined && found.len() < MOST_FILES) else {
            return;
        };
        let access = file.access;
        found.push(Used {
            path,
            reads: access.reads,
            read_bytes: access.read_bytes,
            writes: access.writes,
            written_bytes: access.written_bytes,
            seconds: access.seconds.unwrap_or_default(),
        });
    });
    found
}
