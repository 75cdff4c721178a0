//! Objects that several ranks share, joined.

use super::look::{Found, Look, Shown};
use mpiscope_job::RankSet;
use mpiscope_job::objects::Kind;

/// One object, wherever it is.
pub struct Same<'a> {
    /// The ranks that have it.
    pub ranks: RankSet,
    /// Each process's view of it.
    pub views: Vec<(&'a Look, &'a Shown)>,
}

/// What tells an object from others of the job; `None` for what belongs to one process alone.
fn key(shown: &Shown) -> Option<(Kind, u64, Option<&str>)> {
    let common = shown.object.common();
    if common.predefined {
        return common.name.as_deref().map(|name| (common.kind, 0, Some(name)));
    }
    (common.identity.0 != 0).then_some((common.kind, common.identity.0, None))
}

/// Groups in the order of the first rank's objects.
pub fn groups(found: &Found) -> Vec<Same<'_>> {
    let mut groups: Vec<Same<'_>> = Vec::new();
    let mut known = std::collections::HashMap::new();
    for look in &found.looks {
        for shown in &look.objects {
            // Two objects of one process are never the same, whatever they claim.
            let place = key(shown).map(|key| (key, look.process.world.as_str()));
            let at = place.and_then(|place| known.get(&place).copied());
            let at = at.filter(|at: &usize| {
                groups.get(*at).is_some_and(|g| g.views.iter().all(|(l, _)| !std::ptr::eq(*l, look)))
            });
            match at.and_then(|at| groups.get_mut(at)) {
                Some(group) => {
                    group.ranks.0.extend(look.process.rank);
                    group.views.push((look, shown));
                }
                None => {
                    if let Some(place) = place {
                        known.insert(place, groups.len());
                    }
                    let ranks = look.process.rank.into_iter().collect();
                    groups.push(Same { ranks, views: vec![(look, shown)] });
                }
            }
        }
    }
    groups
}
