//! The memory behind [`scratch`](super::scratch).

use super::channel::Channel;
use super::data::Data;
use mpiscope_image::history::Entered;
use mpiscope_image::traffic::{Message, Request};
use std::cell::UnsafeCell;
use std::ops::Deref;

/// Large enough and sufficiently aligned for the status of every ABI.
pub type StatusMemory = [u64; 6];

/// Number of nesting levels that are tracked.
const LEVELS: usize = 4;

/// A request passed to a call: its handle may be gone when the call returns.
#[derive(Clone, Copy)]
pub enum Item {
    /// To be looked up after the call, by its handle; zero if there is nothing to look up.
    Handle(u64),
    /// The record, looked up before the call, and its uid then.
    Record(&'static Request, u64),
}

impl Default for Item {
    fn default() -> Self {
        Self::Handle(0)
    }
}

/// The requests of a call: memory that only grows, and the length in use.
#[derive(Default)]
pub struct Items {
    memory: Vec<Item>,
    used: usize,
}

impl Items {
    /// Returns room for `count` items, to be overwritten: it contains leftovers of earlier calls.
    #[inline(always)]
    pub fn fresh(&mut self, count: usize) -> &mut [Item] {
        if count > self.memory.len() {
            self.grow(count);
        }
        self.used = count;
        self.memory.get_mut(..count).unwrap_or_default()
    }

    #[cold]
    fn grow(&mut self, count: usize) {
        self.memory.resize(count, Item::default());
    }

    /// Removes all items.
    #[inline(always)]
    pub fn clear(&mut self) {
        self.used = 0;
    }
}

impl Deref for Items {
    type Target = [Item];

    #[inline(always)]
    fn deref(&self) -> &[Item] {
        self.memory.get(..self.used).unwrap_or_default()
    }
}

/// The scratch of one level.
#[derive(Default)]
pub struct Scratch {
    /// The request of a call that has one.
    pub single: Item,
    /// Whether that is the null request, which `MPI_Test` reports as complete at once.
    pub tests_nothing: bool,
    /// Requests of a call that looks all of them up before the library runs.
    pub items: Items,
    /// Handles of the requests of a call that looks up afterward which of them are complete.
    pub handles: Vec<u64>,
    /// Statuses that were lent to the call.
    pub statuses: Vec<u64>,
    /// A single status.
    pub status: StatusMemory,
    /// The send of a blocking call: its ring position plus one, and whether it was counted at all.
    pub entry: u64,
    #[allow(missing_docs)]
    pub sending: bool,
    #[allow(missing_docs)]
    pub send_bytes: u64,
    /// The receive of a blocking call: position among the receives posted; zero for none.
    pub order: u64,
    /// What that receive was given, while messages are recorded.
    pub into: Data,
    /// The communicator of a blocking call.
    pub channel: Channel,
    /// The message of a matched receive.
    pub message: Option<&'static Message>,
    /// The history entry of a collective call on a window or file.
    pub entered: Option<&'static Entered>,
    /// Number of the operation of a blocking call or a collective.
    pub operation: u64,
    /// Number of the call that has it: both halves of a send and receive are one operation.
    pub(super) begun: u64,
}

/// The scratches of a thread.
#[derive(Default)]
pub struct Stack(pub(super) [UnsafeCell<Scratch>; LEVELS]);
