//! The identity and stage of a process, read from its image.

use super::{Entry, ProcessLocation};
use crate::sources::image_source::open_fd;
use mpiscope_image::derive::members;
use mpiscope_image::layout::{Process, SectionKind, State};
use mpiscope_image::{Image, Source};
use std::os::fd::OwnedFd;

/// How far a process has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastStage {
    /// It never called MPI.
    Silent,
    /// `MPI_Init` has not returned.
    Starting,
    /// Between `MPI_Init` and the end of `MPI_Finalize`.
    Running,
    /// `MPI_Finalize` has returned.
    Finalized,
    /// It called `MPI_Abort`.
    Aborted,
}

impl LastStage {
    /// Reads the stage from an image; `None` if it cannot be read.
    pub fn of<S: Source>(image: &Image<S>) -> Option<Self> {
        Some(match State(image.header().ok()?.state.get()) {
            State::UNCLAIMED => Self::Silent,
            State::STARTED => Self::Starting,
            State::FINALIZED => Self::Finalized,
            State::ABORTED => Self::Aborted,
            _ => Self::Running,
        })
    }
}

/// The identity of a process, read from its image.
#[derive(Debug, Clone)]
pub struct WhoIs {
    /// How far it has come.
    pub stage: LastStage,
    /// Number of processes in its world.
    pub size: u32,
    /// The process. Before `MPI_Init` returns, its world has no name: it would be the launcher's, which may
    /// differ between hosts.
    pub entry: Entry,
}

impl WhoIs {
    /// Reads the identity; `None` if this is not an image.
    pub fn of<S: Source>(image: &Image<S>) -> Option<Self> {
        let stage = LastStage::of(image)?;
        let table = image.table::<Process>(SectionKind::PROCESS).ok()?;
        let facts = image.get::<Process>(&table, 0).ok()?.value;
        let size = facts.size.get();
        let entry = Entry {
            world: if stage == LastStage::Starting { String::new() } else { facts.world.text().into_owned() },
            rank: members::own_rank(&facts),
            place: ProcessLocation { host: facts.host.text().into_owned(), pid: facts.pid.get() },
            executable: facts.executable.text().into_owned().into(),
            spawned: None,
            gone: false,
            silent: false,
        };
        Some(Self { stage, size, entry })
    }

    /// Reads the identity from the image with this descriptor.
    pub fn of_descriptor(fd: OwnedFd) -> Option<Self> {
        Self::of(&open_fd(fd, "image").ok()?)
    }
}
