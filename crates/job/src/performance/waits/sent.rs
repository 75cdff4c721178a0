//! The form in which one host sends waits to another: a map whose keys are not strings, as a list.

use super::Kind;
use super::alike::{Alike, Of, Who};
use super::merge::{self, Amount, Amounts, Waited};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::sync::Arc;

type Sent = (String, Option<u32>);

#[derive(Serialize, Deserialize)]
struct Line {
    kind: Kind,
    function: String,
    line: Option<String>,
    culprit: Sent,
    meanwhile: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    of: Option<Of>,
    /// With nanoseconds, and seconds including an estimate.
    ranks: Vec<(Sent, u64, f64)>,
    times: u64,
    #[serde(default)]
    squares: f64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    origins: Vec<(Sent, String, u64)>,
}

fn sent((world, rank): &Who) -> Sent {
    (world.to_string(), *rank)
}

fn heard((world, rank): Sent) -> Who {
    (Arc::from(world), rank)
}

pub fn serialize<S: Serializer>(all: &Amounts, serializer: S) -> Result<S::Ok, S::Error> {
    let line = |(key, amount): (&Alike, &Amount)| Line {
        kind: key.kind,
        function: key.function.clone(),
        line: key.line.clone(),
        culprit: sent(&key.culprit),
        meanwhile: key.meanwhile.clone(),
        of: key.of.clone(),
        ranks: amount.ranks.iter().map(|(who, waited)| (sent(who), waited.ns, waited.estimated_s)).collect(),
        times: amount.times,
        squares: amount.squares,
        origins: amount
            .origins
            .iter()
            .map(|((who, doing), ns)| (sent(who), doing.to_string(), *ns))
            .collect(),
    };
    serializer.collect_seq(all.iter().map(line))
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Amounts, D::Error> {
    let mut all = Amounts::new();
    for line in Vec::<Line>::deserialize(deserializer)? {
        let Line { kind, function, line, culprit, meanwhile, of, ranks, times, squares, origins } = line;
        let key = Alike { kind, function, line, culprit: heard(culprit), meanwhile, of };
        let rank = |(who, ns, estimated_s)| (heard(who), Waited { ns, estimated_s });
        let ranks = ranks.into_iter().map(rank).collect();
        let origin = |(who, doing, ns): (Sent, String, u64)| ((heard(who), doing.into()), ns);
        let origins = origins.into_iter().map(origin).collect();
        merge::add(&mut all, key, Amount { ranks, times, squares, origins });
    }
    Ok(all)
}
