//! The page about the objects with one handle or name.

use super::collect::Inspection;
use super::describe::fact::field;
use super::shared::Same;
use super::{counts, merge, shared};
use mpiscope_job::Members;
use mpiscope_job::model::objects::Object;
use std::collections::{BTreeMap, BTreeSet};

/// Returns the lines about all requested objects.
pub fn lines(found: &Inspection) -> Vec<String> {
    let groups = shared::alike(shared::groups(found));
    let mut lines = Vec::new();
    for group in &groups {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.extend(merge::lines(group, found.looks.len()));
        lines.extend(hosts(found, group));
    }
    let missing = missing(found);
    lines.extend(counts::blind(found));
    lines.extend(counts::losses(found, !missing.is_empty()));
    lines.extend(missing);
    lines
}

/// Lists ranks without such an object.
fn missing(found: &Inspection) -> Vec<String> {
    let mut reasons: BTreeMap<&str, Members> = BTreeMap::new();
    for look in &found.looks {
        if let Some(why) = &look.missing {
            reasons.entry(why).or_default().add(look.world, look.process.rank);
        }
    }
    reasons.iter().map(|(why, ranks)| format!("{}: {why}", ranks.named())).collect()
}

/// Lists the hosts of the members, as far as their processes were read.
fn hosts(found: &Inspection, group: &Same<'_>) -> Vec<String> {
    let places: BTreeMap<(usize, u32), &str> = found
        .looks
        .iter()
        .filter_map(|look| Some(((look.world, look.process.rank?), look.process.host.as_str())))
        .collect();
    let mut hosts: BTreeMap<&str, Members> = BTreeMap::new();
    let mut unseen = Members::default();
    let mut worlds = BTreeSet::new();
    for (look, shown) in &group.views {
        let Object::Communicator(comm) = &shown.object else { return Vec::new() };
        // All processes of one world list the same members.
        if !worlds.insert(look.world) {
            continue;
        }
        let members = comm.members.iter().chain(&comm.remote).flatten();
        for member in members.filter_map(|m| u32::try_from(*m).ok()) {
            match places.get(&(look.world, member)) {
                Some(host) => hosts.entry(host).or_default().add(look.world, Some(member)),
                None => unseen.add(look.world, Some(member)),
            }
        }
    }
    let mut listed: Vec<String> = hosts.iter().map(|(host, ranks)| format!("{host} {ranks}")).collect();
    if !unseen.is_empty() {
        listed.push(format!("not read: {unseen}"));
    }
    if listed.is_empty() { Vec::new() } else { vec![field("hosts", &listed.join(", ")).text()] }
}
