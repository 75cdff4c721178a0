//! Collectives that two threads of a process called at once.

use super::alike::Alike;
use super::{Finding, Kind, Whose};
use crate::observation::{Observation, concurrent};

/// Returns one finding for each two lines and communicator.
pub(super) fn collectives(observations: &[Observation], whose: &Whose) -> Vec<Finding> {
    let mut found = Alike::new();
    for seen in observations {
        for one in concurrent::recorded(seen) {
            found.add(one, whose.who(seen), 1, || one.said());
        }
    }
    found.findings(Kind::CONCURRENT_COLLECTIVES, |one| one.other.1)
}
