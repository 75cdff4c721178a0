//! Collectives by communicator: how many each member entered, and what the last ones were.

use crate::jobs::worlds::{Members, Worlds};
use crate::observation::{Collective, Communicator, Observation};
use crate::performance::report::document::{Collectives, Recent};
use std::collections::BTreeMap;

/// By communicator, most collectives first.
pub(super) fn collectives(observations: &[Observation], worlds: &Worlds) -> Vec<Collectives> {
    let mut found: BTreeMap<u64, Collectives> = BTreeMap::new();
    for seen in observations {
        let world = worlds.number(&seen.world);
        let used = seen.communicators.iter().filter(|comm| comm.identity != 0 && comm.size > 1);
        for comm in used {
            let known = found.entry(comm.identity).or_insert_with(|| Collectives::of(comm));
            known.enters(comm.collectives, world, seen.rank);
            let history = seen.history.iter().find(|history| history.comm == comm.identity);
            for (_, made) in history.iter().flat_map(|history| history.iter()) {
                known.add(made, world, seen.rank);
            }
        }
    }
    let mut found: Vec<Collectives> = found.into_values().filter(|comm| comm.entered > 0).collect();
    for comm in &mut found {
        if comm.least == comm.entered {
            comm.behind = Members::default();
        }
        comm.last.sort_by(|a, b| b.count.cmp(&a.count).then(a.place.cmp(&b.place)));
    }
    found.sort_by(|a, b| b.entered.cmp(&a.entered).then(a.communicator.cmp(&b.communicator)));
    found
}

impl Collectives {
    fn of(comm: &Communicator) -> Self {
        Self {
            communicator: comm.name.clone(),
            identity: format!("{:#x}", comm.identity),
            size: comm.size,
            entered: 0,
            least: u64::MAX,
            behind: Members::default(),
            last: Vec::new(),
        }
    }

    fn enters(&mut self, entered: u64, world: usize, rank: Option<u32>) {
        self.entered = self.entered.max(entered);
        if entered < self.least {
            (self.least, self.behind) = (entered, Members::default());
        }
        if entered == self.least {
            self.behind.add(world, rank);
        }
    }

    fn add(&mut self, made: &Collective, world: usize, rank: Option<u32>) {
        let function = made.called();
        let same = |known: &&mut Recent| {
            known.function == function && known.data == made.data && known.place == made.place
        };
        if let Some(known) = self.last.iter_mut().find(same) {
            known.count = known.count.saturating_add(1);
            known.ranks.add(world, rank);
            return;
        }
        self.last.push(Recent {
            function,
            data: made.data.clone(),
            bytes: made.bytes,
            place: made.place.clone(),
            count: 1,
            ranks: [(world, rank)].into_iter().collect(),
        });
    }
}
