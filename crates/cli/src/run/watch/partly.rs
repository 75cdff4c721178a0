//! Some ranks can never go on, and others do: a server that goes round and round, or the rest of an ensemble.
//!
//! Such a job never stands still as a whole. That it hangs in part is said only where that is certain, and of what was the same
//! `--hang-after` seconds before. It is looked at only where all its ranks are on this host: others are not asked all the time.

use super::APART;
use super::reporter::Reporter;
use crate::render::duration;
use mpiscope_job::questions::why::Verdict;
use std::time::{Duration, Instant};

/// How much longer than a look the pause after it is.
const SPARING: u32 = 10;

/// What was seen of a job that goes on.
pub struct Partly {
    after: Duration,
    /// When it was looked at last, or the watch began.
    looked: Instant,
    /// How long that took.
    cost: Duration,
    /// What was found then.
    seen: Option<String>,
}

impl Partly {
    pub fn new(after: Duration) -> Self {
        Self { after, looked: Instant::now(), cost: Duration::ZERO, seen: None }
    }

    /// Looks at the job if that was long ago, and says what was the same then.
    pub fn look(&mut self, reporter: &Reporter) {
        let since = self.looked.elapsed();
        if since < self.after.max(self.cost * SPARING) {
            return;
        }
        let began = Instant::now();
        let found = reporter.twice(APART, false);
        self.cost = began.elapsed().saturating_sub(APART);
        self.looked = began;
        let hangs = found.as_ref().map(|found| &found.verdict).filter(|verdict| hangs(verdict));
        let now = hangs.map(|verdict| verdict.verdict.clone());
        if let Some(verdict) = hangs.filter(|_| now == self.seen) {
            let when = format!(
                "{} have completed no MPI call for {}, and can do so no more",
                verdict.stuck.named(),
                duration(since.as_secs_f64())
            );
            reporter.tell(found, &when);
        }
        self.seen = now;
    }
}

/// Somebody can never go on, whatever the others do.
fn hangs(verdict: &Verdict) -> bool {
    verdict.certain && verdict.problem && !verdict.stuck.is_empty()
}
