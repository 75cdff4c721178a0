//! Members of a communicator that are in different collectives under one number.

use super::{Case, Reason};
use crate::questions::why::collectives::{self, Mismatch};
use crate::questions::why::snapshot::{Collective, ProcessIndex};
use crate::questions::why::verdict::{Culprit, Kind};
use crate::questions::why::words::verb;

impl Case<'_> {
    pub(super) fn mismatch(&self) -> Option<Reason> {
        let stands = |mismatch: &Mismatch<'_>| {
            let inside = mismatch.groups.iter().flat_map(|(_, ranks)| ranks);
            inside.into_iter().any(|rank| !self.acts.get(*rank as usize).copied().unwrap_or(true))
        };
        let mismatches = collectives::mismatches(self.snapshot);
        let mismatch = mismatches.iter().find(|mismatch| stands(mismatch))?;
        let (common, _) = mismatch.groups.first()?;
        let groups: Vec<String> = mismatch
            .groups
            .iter()
            .map(|(collective, ranks)| self.group(mismatch.difference, collective, ranks))
            .collect();
        let verdict = format!(
            "collective mismatch ({}) on {}, collective {}: {}",
            mismatch.difference,
            self.words.comm(common.comm),
            common.number,
            groups.join(", ")
        );
        let next = "every member of a communicator must make the same collective calls in the same order: \
                    compare the lines above";
        let mut reason = Reason::new(Kind::COLLECTIVE_MISMATCH, verdict, next);
        for (_, ranks) in mismatch.groups.iter().skip(1) {
            let Some(one) = ranks.first() else { continue };
            let ranks = self.words.members(ranks.iter().copied());
            reason.culprits.push(Culprit { ranks, ..self.culprit(*one) });
        }
        Some(reason)
    }

    /// `ranks [0,2-3] are in MPI_Allreduce at a.c:12`; who has left it was in it.
    fn group(&self, difference: &str, collective: &Collective, ranks: &[ProcessIndex]) -> String {
        let members = self.words.members(ranks.iter().copied());
        let signature = &collective.signature;
        let detail = match difference {
            "root" => signature.root.map(|root| format!(" with root {root}")),
            "operation" => signature.op.as_ref().map(|op| format!(" with {op}")),
            "size" => signature.bytes.map(|bytes| match &collective.data {
                Some(data) => format!(" with {data} ({bytes} bytes)"),
                None => format!(" with {bytes} bytes"),
            }),
            "type signature" => collective.data.as_ref().map(|data| format!(" with {data}")),
            _ => None,
        };
        let process = ranks.first().and_then(|one| self.process(*one));
        let same = |other: &Collective| (other.comm, other.number) == (collective.comm, collective.number);
        let inside = process.is_some_and(|process| collectives::open(process).any(same));
        let call = process.and_then(|process| process.calls().next()).filter(|_| inside);
        let place = collective.place.as_ref().or_else(|| call.and_then(|call| call.place.as_ref()));
        let place = place.map(|place| format!(" at {place}"));
        let is = match inside {
            true => verb(&members, "is", "are"),
            false => verb(&members, "was", "were"),
        };
        let (who, detail, place) = (
            crate::questions::why::words::ranks(&members),
            detail.unwrap_or_default(),
            place.unwrap_or_default(),
        );
        format!("{who} {is} in {}{detail}{place}", signature.function)
    }
}
