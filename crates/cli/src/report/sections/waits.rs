//! Which ranks waited for which.

use super::more;
use crate::render::{Block, duration};
use mpiscope_job::performance::report::JobReport;
use mpiscope_job::performance::waits::{Cause, Sampled, Waits};

/// Number of waits shown.
const MOST: usize = 12;
/// Share of the job's time below which waits are only counted.
const LEAST: f64 = 0.005;

/// Returns the section's blocks: one sentence per wait, by decreasing time.
pub fn blocks(report: &JobReport) -> Vec<Block> {
    let found = &report.waits;
    let sampled =
        found.sampled.as_ref().map_or_else(Vec::new, |all| sampled(all, found.messages, report.thread_s));
    if found.list.is_empty() {
        return sampled;
    }
    let sentences = found.by_sentence();
    let large = sentences.iter().filter(|lost| lost.share >= LEAST);
    let mut blocks = causes(found);
    let before = blocks.len();
    blocks.extend(large.take(MOST).map(|lost| Block::Line(format!("  {lost}"))));
    match (blocks.len() - before, sentences.len()) {
        (0, all) => {
            let least = LEAST * 100.0;
            let what =
                if all == 1 { "1 kind of wait,".to_owned() } else { format!("{all} kinds of waits, each") };
            blocks.push(Block::Line(format!("  {what} below {least} % of the time")));
        }
        (shown, all) => blocks.extend(more(shown, all, ["wait", "waits"])),
    }
    let seen = known(found.seen_share, !found.messages && !sampled.is_empty());
    let collectives = match found.looks {
        0 | 1 => String::new(),
        looks => {
            format!("; {} of {} collectives, in {looks} samples", found.collectives_seen, found.collectives)
        }
    };
    let messages = match (found.messages, found.messages_received) {
        (true, 0) => String::new(),
        (true, all) => format!("; {} of {all} messages", found.messages_seen),
        (false, _) => {
            "; messages were not recorded individually (`mpiscope run --check` does that): this covers collectives \
             and locks".to_owned()
        }
    };
    let locks = match found.locks {
        0 => String::new(),
        all => format!("; {} of {all} locks of windows", found.locks_seen),
    };
    let clocks = match (found.one_clock, found.clocks_error_s) {
        (true, None) => String::new(),
        (true, Some(error)) => format!(
            "; between hosts only the last collectives of each communicator, by clocks that may be off by {}",
            duration(error)
        ),
        (false, _) => "; ranks of different hosts were not compared".to_owned(),
    };
    blocks.push(Block::Line(format!(
        "  waits of {} in all; {seen}{collectives}{messages}{locks}{clocks}",
        duration(found.seconds)
    )));
    if let Some(all) = found.estimated {
        blocks.push(Block::Line(format!(
            "  over the whole run about {} (estimated from what was seen, with an error of at most about {})",
            duration(all.seconds),
            duration(all.error_s)
        )));
    }
    blocks.extend(sampled);
    blocks
}

/// Reports how much of the time in calls that can wait has been attributed, and what is known of the rest.
fn known(share: f64, sampled: bool) -> String {
    let percent = share * 100.0;
    if percent >= 99.5 {
        return "100 % of the time in calls that can wait was analyzed".to_owned();
    }
    let rest = if sampled {
        "; calls for messages were sampled, see below"
    } else {
        ": how much of the rest was waiting is unknown"
    };
    format!("only {percent:.0} % of the time in calls that can wait was analyzed{rest}")
}

/// Waits found by sampling.
fn sampled(found: &Sampled, messages: bool, thread_s: f64) -> Vec<Block> {
    let sentences = found.by_sentence();
    let large = || sentences.iter().filter(|lost| lost.share >= LEAST);
    let unsure = (found.unsure_s > LEAST * thread_s).then(|| {
        let (all, looks) = (duration(found.unsure_s), found.looks);
        Block::Line(format!(
            "  another {all} of waits, found in {looks} samples, may be chance: only the efficiencies count them"
        ))
    });
    if large().next().is_none() {
        return unsure.into_iter().collect();
    }
    let (of, exact) = if messages {
        ("", "")
    } else {
        ("messages, probes, ", "; `mpiscope run --check` records each message")
    };
    let head = format!(
        "  waits of {} in all, from {} samples of what ranks waited for: {of}epochs of windows, persistent \
         collectives and those with another world (with an error of at most about {}{exact}):",
        duration(found.seconds),
        found.looks,
        duration(found.error_s)
    );
    let mut blocks = vec![Block::Line(head)];
    blocks.extend(large().take(MOST).map(|lost| Block::Line(format!("  {lost}"))));
    blocks.extend(more(blocks.len() - 1, large().count(), ["wait", "waits"]));
    blocks.extend(unsure);
    blocks
}

/// Number of causes shown.
const MOST_CAUSES: usize = 5;

/// Explains where the waiting began, if not with the ranks that were waited for directly.
fn causes(found: &Waits) -> Vec<Block> {
    let large = || found.causes.iter().filter(|cause| cause.share >= LEAST);
    if !large().any(Cause::is_handed_on) {
        return Vec::new();
    }
    let mut blocks = vec![Block::Caption("  where the waiting began:".to_owned())];
    blocks.extend(large().take(MOST_CAUSES).map(|cause| Block::Line(format!("  {cause}"))));
    blocks.extend(more(blocks.len() - 1, large().count(), ["cause", "causes"]));
    blocks.push(Block::Caption("  who waited for whom:".to_owned()));
    blocks
}

#[cfg(test)]
mod tests {
    use super::known;

    #[test]
    fn a_partial_analysis_is_reported_as_partial() {
        let alone = |share| known(share, false);
        assert_eq!(alone(0.996), "100 % of the time in calls that can wait was analyzed");
        assert!(alone(0.994).starts_with("only 99 %"));
        assert!(alone(0.08).starts_with("only 8 % of the time") && alone(0.08).contains("of the rest"));
    }

    #[test]
    fn what_was_sampled_is_not_said_to_be_unknown() {
        let text = known(0.3, true);
        assert!(text.ends_with("; calls for messages were sampled, see below"), "{text}");
    }
}
