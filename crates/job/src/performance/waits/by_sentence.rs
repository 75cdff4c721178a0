//! Waits as text shows them: a sentence names the call, the rank waited for and what it did, but not the kind of
//! the wait, so waits that differ only in that share a sentence.

use super::{Began, Kind, Lost};
use std::collections::HashMap;

/// Returns the waits in descending order of time, those with the same sentence joined.
pub fn joined(list: &[Lost]) -> Vec<Lost> {
    let mut sentences: Vec<Lost> = Vec::new();
    let mut places: HashMap<_, usize> = HashMap::new();
    for lost in list {
        let in_order = lost.kind != Kind::WRONG_ORDER;
        let culprit = lost.culprit.to_string();
        let sentence = (&lost.function, &lost.line, culprit, &lost.meanwhile, in_order);
        let place = *places.entry(sentence).or_insert(sentences.len());
        match sentences.get_mut(place) {
            Some(known) => join(known, lost),
            None => sentences.push(lost.clone()),
        }
    }
    sentences.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    sentences
}

fn join(known: &mut Lost, other: &Lost) {
    let estimated = |lost: &Lost| lost.estimated_s.unwrap_or(lost.seconds);
    let both = known.estimated_s.or(other.estimated_s).map(|_| estimated(known) + estimated(other));
    known.estimated_s = both;
    known.seconds += other.seconds;
    known.share = (known.share + other.share).min(1.0);
    known.times = known.times.saturating_add(other.times);
    known.ranks.join(other.ranks.clone());
    for Began { culprit, doing, seconds } in &other.began {
        match known.began.iter_mut().find(|began| began.culprit == *culprit && began.doing == *doing) {
            Some(began) => began.seconds += seconds,
            None => {
                known.began.push(Began { culprit: culprit.clone(), doing: doing.clone(), seconds: *seconds })
            }
        }
    }
    known.began.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::worlds::Members;

    fn members(ranks: &[u32]) -> Members {
        ranks.iter().map(|rank| (0, Some(*rank))).collect()
    }

    fn lost(kind: Kind, ranks: &[u32], seconds: f64, culprit: u32) -> Lost {
        let began = Began { culprit: members(&[7]), doing: "computing".into(), seconds: seconds / 2.0 };
        Lost {
            kind,
            ranks: members(ranks),
            function: "MPI_Waitall".into(),
            line: Some("a.c:5".into()),
            seconds,
            estimated_s: None,
            share: seconds / 10.0,
            times: 1,
            culprit: members(&[culprit]),
            meanwhile: "computing".into(),
            began: vec![began],
        }
    }

    #[test]
    fn waits_that_differ_only_in_kind_share_a_sentence() {
        let all = [
            lost(Kind::LATE_SENDER, &[1, 3], 0.3, 2),
            lost(Kind::LATE_SENDER, &[0], 0.28, 1),
            lost(Kind::LATE_RECEIVER, &[0], 0.2, 1),
            lost(Kind::WRONG_ORDER, &[0], 0.1, 1),
        ];
        let told: Vec<String> = joined(&all).iter().map(ToString::to_string).collect();
        let rest = "in MPI_Waitall at a.c:5 waiting for rank";
        let [first, second, third] = told.as_slice() else { panic!("{told:#?}") };
        assert_eq!(
            *first,
            format!(
                "rank 0 lost 480 ms (5 %) {rest} 1, which was computing; 240 ms of it began with rank 7, computing"
            )
        );
        assert!(second.starts_with(&format!("ranks [1,3] lost 300 ms (3 %) {rest} 2")), "{second}");
        assert!(third.contains("100 ms") && third.contains("had already arrived"), "{third}");
    }

    #[test]
    fn an_estimate_of_one_includes_what_was_seen_of_the_other() {
        let mut estimated = lost(Kind::LATE_SENDER, &[0], 0.1, 1);
        estimated.estimated_s = Some(0.5);
        let all = [lost(Kind::LATE_RECEIVER, &[0], 0.2, 1), estimated];
        let told = joined(&all);
        assert!(matches!(told[0].estimated_s, Some(all) if (all - 0.7).abs() < 1e-9), "{told:?}");
        assert_eq!(told[0].times, 2);
    }
}
