//! Programs that ran in succession under one `mpiscope run`, like those of a script.

use super::observed::Observed;
use crate::jobs::worlds::{Members, Worlds};
use std::collections::BTreeMap;

/// Start and end of a world on one host, by that host's clock.
type Life = (u64, u64);

/// Returns a note that some worlds started after the first one had ended everywhere, and their ranks: times
/// in the report cover all of them.
pub fn note(observed: &[Observed], worlds: &Worlds) -> Option<(String, Members)> {
    let mut lives: BTreeMap<usize, (Members, BTreeMap<&str, Life>)> = BTreeMap::new();
    for one in observed.iter().filter(|one| one.process.called_mpi()) {
        let process = &one.process;
        let number = worlds.number(&process.world);
        let end = process.finalized_ns.or(one.ended_ns).unwrap_or(u64::MAX);
        let (members, hosts) = lives.entry(number).or_default();
        members.add(number, process.rank);
        let life = hosts.entry(&process.host).or_insert((u64::MAX, 0));
        *life = (life.0.min(process.begin_ns), life.1.max(end));
    }
    let (_, first) = lives.pop_first()?.1;
    let after = |hosts: &BTreeMap<&str, Life>| {
        let mut shared =
            hosts.iter().filter_map(|(host, life)| Some((first.get(host)?.1, life.0))).peekable();
        shared.peek().is_some() && shared.all(|(ended, began)| ended <= began)
    };
    let mut later = Members::default();
    lives.into_values().filter(|(_, hosts)| after(hosts)).for_each(|(members, _)| later.join(members));
    let text = "they began after the first program had ended: wall time and efficiencies cover all programs together";
    (!later.is_empty()).then(|| (text.to_owned(), later))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::process::Process;
    use crate::performance::report::of_job::unseen;
    use mpiscope_image::layout::State;

    fn ran(host: &str, world: &str, rank: u32, (from, until): Life) -> Observed {
        let mut process = Process::untouched();
        (process.pid, process.state) = (1, State::FINALIZED);
        (process.host, process.world, process.rank) = (host.to_owned(), world.to_owned(), Some(rank));
        (process.begin_ns, process.finalized_ns) = (from, Some(until));
        unseen(process, 1)
    }

    fn together(mut some: Vec<Observed>, others: Vec<Observed>) -> Vec<Observed> {
        some.extend(others);
        some
    }

    fn noted(observed: &[Observed]) -> Option<String> {
        let worlds = Worlds::of(observed.iter().map(|one| &one.process));
        note(observed, &worlds).map(|(_, members)| members.to_string())
    }

    #[test]
    fn programs_run_one_after_the_other_are_distinguished_from_spawned_worlds() {
        let pair =
            |world: &str, life: Life| (0..2).map(|rank| ran("a", world, rank, life)).collect::<Vec<_>>();
        let (first, second) = (pair("x", (10, 20)), pair("y", (25, 40)));
        assert_eq!(noted(&first), None);
        assert_eq!(noted(&together(first, second)).as_deref(), Some("1.[0-1]"));
        let (parents, children) = (pair("x", (10, 50)), pair("y", (25, 40)));
        assert_eq!(noted(&together(parents, children)), None);
        // Clocks of different hosts are not compared.
        let elsewhere = vec![ran("b", "y", 0, (100, 200))];
        assert_eq!(noted(&together(pair("x", (10, 20)), elsewhere)), None);
    }
}
