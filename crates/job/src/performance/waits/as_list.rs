//! The form in which one host sends another a map whose keys are not strings: as a list.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Serializes a map as the list of its entries.
pub fn serialize<'a, K, V, M, S>(map: &'a M, serializer: S) -> Result<S::Ok, S::Error>
where
    &'a M: IntoIterator<Item = (&'a K, &'a V)>,
    K: Serialize + 'a,
    V: Serialize + 'a,
    S: Serializer,
{
    serializer.collect_seq(map)
}

/// Makes a map from such a list. Entries beyond the first `MOST` are ignored: other hosts send any number.
pub fn at_most<'de, const MOST: usize, K, V, M, D>(deserializer: D) -> Result<M, D::Error>
where
    M: FromIterator<(K, V)>,
    K: Deserialize<'de>,
    V: Deserialize<'de>,
    D: Deserializer<'de>,
{
    Ok(Vec::deserialize(deserializer)?.into_iter().take(MOST).collect())
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};
    use std::collections::BTreeMap;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Few(
        #[serde(serialize_with = "super::serialize", deserialize_with = "super::at_most::<2, _, _, _, _>")]
        BTreeMap<(u32, char), f64>,
    );

    #[test]
    fn a_map_arrives_as_it_was_sent_but_no_more_of_it_than_is_remembered() {
        let of = |number: u32| Few((0..number).map(|key| ((key, 'x'), 0.5)).collect());
        let sent = |few: &Few| serde_json::to_string(few).unwrap_or_default();
        assert_eq!(sent(&of(1)), r#"[[[0,"x"],0.5]]"#);
        for (number, arrives) in [(0, 0), (2, 2), (3, 2)] {
            assert_eq!(serde_json::from_str::<Few>(&sent(&of(number))).ok(), Some(of(arrives)));
        }
    }
}
