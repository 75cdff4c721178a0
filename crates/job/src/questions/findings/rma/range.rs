//! Operations outside the memory of their target.

use super::uses::{Use, Uses};
use super::{Finding, Kind};
use crate::observation::OneSided;
use crate::observation::one_sided::Does;
use crate::questions::findings::alike::Alike;
use crate::questions::why::Words;

/// Returns one finding per line.
pub(super) fn outside(uses: &Uses<'_>, words: &Words<'_>) -> Vec<Finding> {
    let mut found = Alike::new();
    for one in &uses.all {
        let Some(what) = wrong(uses, one) else { continue };
        let call = &one.call.call;
        found.add((call.function.as_str(), call.place.as_deref()), words.members([one.origin]), 1, || {
            sentence(one, &what, uses, words)
        });
    }
    found.findings(Kind::RMA_RANGE, |(_, place)| *place)
}

/// Describes what is wrong with the place of an operation, if anything.
fn wrong(uses: &Uses<'_>, one: &Use<'_>) -> Option<String> {
    if one.memory.dynamic {
        let known = uses.seen.get(&one.target)?.known?;
        let same_clock = same_host(uses, one);
        return (!attached(known, one, same_clock)?).then(|| "which is not attached".to_owned());
    }
    let size = i128::from(one.memory.size);
    (one.first < 0 || one.end > size).then(|| format!("which has {size} bytes"))
}

fn same_host(uses: &Uses<'_>, one: &Use<'_>) -> bool {
    let host = |process| uses.seen.get(&process).map(|process| process.seen.host.as_str());
    host(one.origin) == host(one.target)
}

/// Whether all bytes of an operation may have been attached to a dynamic window; `None` if that is not known.
fn attached(known: &OneSided, one: &Use<'_>, same_clock: bool) -> Option<bool> {
    if known.wrapped {
        return None;
    }
    let mut pieces: Vec<(i128, i128)> = Vec::new();
    for (place, call) in known.calls.iter().enumerate().filter(|(_, call)| call.window == one.call.window) {
        let Does::Attaches { at, size } = call.does else { continue };
        let later = known.calls.get(place..).unwrap_or_default();
        let ends = |end: &&crate::observation::one_sided::OneSidedCall| {
            end.window == call.window && end.does == Does::Detaches { at }
        };
        let until_ns = later.iter().find(ends).map_or(u64::MAX, |end| end.until_ns);
        let timed = same_clock && call.from_ns != 0 && one.call.from_ns != 0;
        if !timed || call.from_ns < one.until_ns && one.call.from_ns < until_ns {
            pieces.push((i128::from(at), i128::from(at) + i128::from(size)));
        }
    }
    pieces.sort_unstable();
    let mut reached = one.first;
    for (start, end) in pieces {
        if start <= reached {
            reached = reached.max(end);
        }
    }
    Some(reached >= one.end)
}

fn sentence(one: &Use<'_>, what: &str, uses: &Uses<'_>, words: &Words<'_>) -> String {
    let last = one.end - 1;
    let bytes = match one.memory.dynamic {
        true => format!("bytes {:#x} to {last:#x}", one.first),
        false if one.first == last => format!("byte {last}"),
        false => format!("bytes {} to {last}", one.first),
    };
    format!(
        "{} accesses {bytes} of the memory of rank {} in {}, {what}",
        one.call.call,
        words.rank(one.target),
        super::conflicts::window(uses, one)
    )
}
