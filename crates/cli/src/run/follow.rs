//! Follows the ranks of this host while they run: looks at their images from outside, as often as a hundredth of one processor allows.
//!
//! The ranks are neither stopped nor slowed, and do nothing for it. What a look costs is measured, and the next one waits ninety-nine
//! times as long. Who waits for whose message is looked at more rarely, since it takes longer, by the same rule.

use mpiscope_job::monitor::{Follow, Followed};
use rustix::time::{ClockId, clock_gettime};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Of one processor's time, looks of each sort take one part in so many.
const PARTS: u32 = 100;
/// Between two looks, however little they cost.
const LEAST: Duration = Duration::from_millis(10);

/// What has been seen until now, for any thread.
#[derive(Debug, Clone, Default)]
pub struct Seen(Arc<Mutex<Follow>>);

impl Seen {
    /// The same, as it is now: with one more look.
    pub fn now(&self) -> Followed {
        locked(&self.0).followed()
    }
}

/// Looks until it is dropped.
#[derive(Debug)]
pub struct Following {
    images: Sender<OwnedFd>,
    seen: Seen,
}

impl Following {
    /// Begins; none if there can be no thread for it.
    pub fn begin() -> Option<Self> {
        let (images, new) = channel();
        let seen = Seen::default();
        let shared = seen.clone();
        thread::Builder::new().name("follow".into()).spawn(move || go(&new, &shared)).ok()?;
        Some(Self { images, seen })
    }

    /// One more process.
    pub fn add(&self, image: OwnedFd) {
        // The thread lasts as long as we do; if it panicked it has said so.
        let _gone = self.images.send(image);
    }

    /// What has been seen until now.
    pub fn seen(&self) -> Seen {
        self.seen.clone()
    }
}

fn locked(follow: &Mutex<Follow>) -> MutexGuard<'_, Follow> {
    follow.lock().unwrap_or_else(PoisonError::into_inner)
}

fn go(new: &Receiver<OwnedFd>, Seen(follow): &Seen) {
    // Nobody is there yet.
    let Ok(first) = new.recv() else { return };
    locked(follow).add(first);
    let (mut pause, mut sample_at) = (LEAST, Instant::now() + LEAST);
    loop {
        let until = Instant::now() + pause;
        loop {
            match new.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(image) => locked(follow).add(image),
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
        pause = pause_after(|| locked(follow).look());
        if Instant::now() >= sample_at {
            let pause = pause_after(|| locked(follow).sample());
            sample_at = Instant::now() + pause;
        }
    }
}

/// How long to wait after something, so that it takes its part of the time.
fn pause_after(act: impl FnOnce()) -> Duration {
    let before = spent();
    act();
    (spent().saturating_sub(before) * (PARTS - 1)).max(LEAST)
}

/// The processor time of this thread.
fn spent() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}
