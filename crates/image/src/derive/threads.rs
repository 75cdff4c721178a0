//! Threads: which one is the main thread, which are inside MPI, and which one made the last call.

use super::Polling;
use crate::layout::{Call, Thread};

/// The data read of a thread, from its record or a copy of it.
#[derive(Debug, Clone, Copy)]
pub struct ThreadView<'a> {
    /// Index of the record.
    pub index: u64,
    /// The kernel's ID; zero if the thread has ended.
    pub tid: u32,
    /// Ticks spent in outermost calls that have ended.
    pub mpi_ticks: u64,
    /// When the thread made its first call, in ticks; zero if unknown.
    pub attached: u64,
    /// Total lifetime, from their first calls on, of former threads with this record, in ticks.
    pub lived: u64,
    /// See [`Polling`].
    pub polling: Polling,
    /// The call that the thread is in, or was in last; `None` before the first.
    pub call: Option<&'a Call>,
}

impl<'a> ThreadView<'a> {
    /// Creates a view of a record.
    pub fn of(index: u64, thread: &'a Thread) -> Self {
        let call = Some(&thread.call).filter(|call| call.open().is_some() || call.ended().is_some());
        Self {
            index,
            tid: thread.tid.get(),
            mpi_ticks: thread.mpi_ticks.get(),
            attached: thread.attached.get(),
            lived: thread.lived.get(),
            polling: Polling::of(thread, thread.polling_paused.get()),
            call,
        }
    }

    /// The call that the thread is in.
    pub fn open(&self) -> Option<&'a Call> {
        self.call.filter(|call| call.open().is_some())
    }

    /// The call that returned last, if the thread is outside of MPI.
    pub fn last(&self) -> Option<&'a Call> {
        self.call.filter(|call| call.ended().is_some())
    }
}

/// The main thread: the one that called `MPI_Init`, otherwise the first that called MPI. `recorded` is
/// [`Process::main_thread`](crate::layout::Process::main_thread).
pub fn main<'a>(recorded: u64, threads: impl Iterator<Item = ThreadView<'a>>) -> Option<ThreadView<'a>> {
    let mut first = None;
    for thread in threads {
        if thread.index == recorded {
            return Some(thread);
        }
        first = first.or(Some(thread));
    }
    first
}

/// The thread whose call returned last, if no thread is inside MPI: its call is the last one of the rank.
/// Without times, which are needed to tell, the main thread.
pub fn last<'a>(
    recorded: u64,
    threads: impl Iterator<Item = ThreadView<'a>> + Clone,
) -> Option<ThreadView<'a>> {
    if threads.clone().any(|thread| thread.open().is_some()) {
        return None;
    }
    let main = main(recorded, threads.clone()).filter(|thread| thread.last().is_some());
    let since = |thread: &ThreadView<'_>| thread.last().map_or(0, |call| call.since.get());
    let latest = threads.filter(|thread| thread.last().is_some()).max_by_key(since);
    match (main, latest) {
        (Some(main), Some(latest)) if since(&latest) <= since(&main) => Some(main),
        (main, latest) => latest.or(main),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(function: u32, open: bool, since: u64) -> Call {
        let call = Call::default();
        if open {
            call.begin(function)
        } else {
            call.end(function)
        }
        call.since.set(since);
        call
    }

    fn view(index: u64, call: Option<&Call>) -> ThreadView<'_> {
        let (polling, tid) = (Polling::default(), 7);
        ThreadView { index, tid, mpi_ticks: 0, attached: 0, lived: 0, polling, call }
    }

    #[test]
    fn the_main_thread_is_the_recorded_one_or_else_the_first() {
        let threads = [view(0, None), view(1, None)];
        let of = |recorded| main(recorded, threads.iter().copied()).map(|thread| thread.index);
        assert_eq!((of(1), of(u64::MAX)), (Some(1), Some(0)));
        assert!(main(0, std::iter::empty()).is_none());
    }

    #[test]
    fn the_last_call_is_the_latest_to_return_and_there_is_none_while_a_thread_is_inside() {
        let (early, late, open) = (call(1, false, 10), call(2, false, 20), call(3, true, 5));
        let of = |calls: &[&Call]| {
            let threads: Vec<_> = (0..).zip(calls).map(|(i, call)| view(i, Some(call))).collect();
            last(0, threads.iter().copied()).map(|thread| thread.index)
        };
        assert_eq!(of(&[&early, &late]), Some(1));
        assert_eq!(of(&[&late, &early]), Some(0));
        assert_eq!(of(&[&early, &open]), None);
        let (one, other) = (call(1, false, 0), call(2, false, 0));
        assert_eq!(of(&[&one, &other]), Some(0), "without times, that of the main thread");
    }

    #[test]
    fn a_thread_without_calls_has_no_last_call() {
        let one = call(1, false, 10);
        let threads = [view(0, None), view(1, Some(&one))];
        assert_eq!(last(0, threads.into_iter()).map(|thread| thread.index), Some(1));
    }
}
