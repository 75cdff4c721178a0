//! Limits how many tests run at once. A job whose ranks spin while they wait fills a small machine; one that
//! sleeps leaves room for others.

use std::sync::{Condvar, Mutex, PoisonError};

/// The share of the machine that a test takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share(usize);

impl Share {
    /// Two such tests run at once: while one waits for its launcher, the other can run.
    pub const HALF: Self = Self(2);
    /// Four such tests run at once; for jobs whose ranks sleep while they wait.
    pub const QUARTER: Self = Self(1);
}

/// The room for tests in this process.
#[derive(Debug)]
pub struct Room {
    free: Mutex<usize>,
    left: Condvar,
}

/// A share that is released when dropped.
#[derive(Debug)]
pub struct Taken<'a>(&'a Room, Share);

impl Room {
    /// Creates a room that is completely free.
    #[must_use]
    pub const fn new() -> Self {
        Self { free: Mutex::new(4), left: Condvar::new() }
    }

    /// Waits for a share.
    pub fn take(&self, share: Share) -> Taken<'_> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = self.left.wait_while(free, |free| *free < share.0);
        *wait.unwrap_or_else(PoisonError::into_inner) -= share.0;
        Taken(self, share)
    }
}

impl Default for Room {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += self.1.0;
        self.0.left.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::thread;
    use std::time::Duration;

    #[test]
    fn a_test_that_needs_half_waits_for_two_quarters() {
        let room = Room::new();
        let half = room.take(Share::HALF);
        let (first, second) = (room.take(Share::QUARTER), room.take(Share::QUARTER));
        thread::scope(|scope| {
            let (sender, receiver) = channel();
            let room = &room;
            scope.spawn(move || {
                let _half = room.take(Share::HALF);
                sender.send(()).unwrap();
            });
            drop(first);
            let waits = receiver.recv_timeout(Duration::from_millis(50));
            assert_eq!(waits, Err(RecvTimeoutError::Timeout));
            drop(second);
            receiver.recv().unwrap();
        });
        drop(half);
    }
}
