//! Ranks that share fewer processors than there are ranks: they wait for each other even without messages.

use super::Part;
use crate::base::rankset::RankSet;
use crate::jobs::worlds::Members;
use crate::performance::report::document::Crowd;
use std::collections::BTreeMap;

/// Ranks on one host whose processors and lifetimes overlap, directly or through others: programs that run in
/// succession under one `mpiscope run` do not compete for processors.
#[derive(Default)]
struct Group {
    ranks: Members,
    cpus: RankSet,
    alive: (u64, u64),
}

impl Group {
    fn overlaps(&self, other: &Self) -> bool {
        let together = self.alive.0 < other.alive.1 && other.alive.0 < self.alive.1;
        together && !self.cpus.0.is_disjoint(&other.cpus.0)
    }
}

/// Returns all groups with more ranks than processors.
pub fn crowded(parts: &[Part<'_>]) -> Vec<Crowd> {
    let mut hosts: BTreeMap<&str, Vec<Group>> = BTreeMap::new();
    for part in parts {
        let Some(placement) = &part.facts.placement else { continue };
        let cpus = placement.allowed();
        if cpus.0.is_empty() {
            continue;
        }
        let groups = hosts.entry(part.host).or_default();
        let ranks = [(part.world, part.rank)].into_iter().collect();
        let mut own = Group { ranks, cpus, alive: part.alive };
        let others: Vec<Group> = groups.extract_if(.., |group| group.overlaps(&own)).collect();
        for other in others {
            own.ranks.join(other.ranks);
            own.cpus.0.extend(other.cpus.0);
            own.alive = (own.alive.0.min(other.alive.0), own.alive.1.max(other.alive.1));
        }
        groups.push(own);
    }
    let crowd =
        |host: &str, group: Group| Crowd { host: host.to_owned(), ranks: group.ranks, cpus: group.cpus };
    let all =
        hosts.into_iter().flat_map(|(host, groups)| groups.into_iter().map(move |group| crowd(host, group)));
    all.filter(|crowd| crowd.ranks.len() > crowd.cpus.0.len()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::placement::Placement;
    use crate::performance::report::facts::Facts;

    #[test]
    fn ranks_that_share_a_core_are_named_but_others_are_not() {
        let facts = |cpus: &str| {
            let placement = Placement { cpus: cpus.to_owned(), ..Placement::default() };
            Facts { placement: Some(placement), ..Facts::default() }
        };
        let own = [
            ("a", "[0]"),
            ("a", "[1]"),
            ("a", "[5]"),
            ("a", "[5]"),
            ("b", "[5]"),
            ("b", "[6-9]"),
            ("b", "[9]"),
            // One after the other.
            ("c", "[7]"),
            ("c", "[7]"),
        ];
        let facts: Vec<(&str, Facts)> = own.into_iter().map(|(host, cpus)| (host, facts(cpus))).collect();
        let part = |(rank, (host, facts)): (usize, &'static (&str, Facts))| Part {
            world: 0,
            rank: Some(rank as u32),
            host,
            facts,
            alive: if *host == "c" { (10 * rank as u64, 10 * rank as u64 + 10) } else { (0, u64::MAX) },
        };
        let parts: Vec<Part<'_>> = facts.leak().iter().enumerate().map(part).collect();
        let found = crowded(&parts);
        let lines: Vec<String> =
            found.iter().map(|c| format!("{} {} on {}", c.host, c.ranks, c.cpus)).collect();
        assert_eq!(lines, ["a [2-3] on 5"]);
    }
}
