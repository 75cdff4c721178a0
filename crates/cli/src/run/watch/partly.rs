//! Jobs in which some ranks can never proceed while others do: a server that keeps polling, or the rest of an
//! ensemble.
//!
//! Such a job never stalls as a whole. A partial hang is reported only if it is certain and was already found
//! `--hang-after` seconds earlier. It is looked for only while some rank has made no progress for that long,
//! and the looks take at most a tenth of one processor on the host of this process.

use super::APART;
use super::reporter::Reporter;
use crate::render::duration;
use mpiscope_job::Members;
use mpiscope_job::questions::why::{Kind, Verdict};
use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// The pause after a look is this many times its processor time. On a busy machine the look itself may take
/// much longer, which costs nobody anything.
const SPARING: u32 = 10;

/// What was seen of a job that makes progress.
pub struct Partly {
    after: Duration,
    /// When the last look, or the watch, began.
    looked: Instant,
    /// The processor time that the last look took.
    cost: Duration,
    /// The least time until the next look. If hosts are not connected, it grows while nothing is found.
    pause: Duration,
    /// The kind of the verdict of the last look, and the ranks that can never proceed.
    seen: Option<(Kind, Members)>,
}

impl Partly {
    pub fn new(after: Duration) -> Self {
        Self { after, looked: Instant::now(), cost: Duration::ZERO, pause: after, seen: None }
    }

    /// Looks at the job if a rank has `stalled` for long and the last look was long enough ago, and reports a
    /// verdict that has not changed since.
    pub fn look(&mut self, reporter: &Reporter, stalled: Duration) {
        let since = self.looked.elapsed();
        if stalled < self.after {
            self.pause = self.after;
            return;
        }
        if since < self.pause.max(self.cost * SPARING) {
            return;
        }
        let (began, used) = (Instant::now(), processor_time());
        let found = reporter.twice(APART, false);
        self.cost = processor_time().saturating_sub(used);
        self.looked = began;
        let hangs = found.as_ref().map(|found| &found.verdict).filter(|verdict| hangs(verdict));
        // The words may change from look to look: they also tell what the other ranks do.
        let now = hangs.map(|verdict| (verdict.kind, verdict.stuck.clone()));
        if let Some(verdict) = hangs.filter(|_| now == self.seen) {
            let when = format!(
                "{} have completed no MPI call for {}, and never can",
                verdict.stuck.named(),
                duration(since.as_secs_f64())
            );
            reporter.tell(found, &when);
        }
        let is_new = now.is_some() && now != self.seen;
        self.pause = match is_new || reporter.scope.has_all() {
            true => self.after,
            false => self.pause.mul_f64(reporter.scope.sparing()),
        };
        self.seen = now;
    }
}

/// Returns the processor time that this process has used: a look reads several ranks at once.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// Whether some rank can never proceed, whatever the others do.
fn hangs(verdict: &Verdict) -> bool {
    verdict.certain && verdict.problem && !verdict.stuck.is_empty()
}
