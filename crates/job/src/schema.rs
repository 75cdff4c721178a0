//! JSON Schemas of the JSON output. Types with a hand-written serialization have their schema here; all
//! others derive it.

use crate::model::objects::{Hex, Kind};
use crate::{Members, RankSet};
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;
use std::borrow::Cow;

/// Returns the schema of a type's serialized form.
///
/// # Errors
/// None are known.
pub fn of<T: JsonSchema>() -> serde_json::Result<String> {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let generator = settings.with_transform(RecursiveTransform(without_links)).into_generator();
    serde_json::to_string_pretty(&generator.into_root_schema_for::<T>())
}

/// Doc comments contain links to other items, which have no target in a schema.
fn without_links(schema: &mut Schema) {
    let Some(Value::String(said)) = schema.get_mut("description") else { return };
    let mut parts = said.split("[`");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once("`]").unwrap_or((part, ""));
        let target = rest.strip_prefix('(').and_then(|target| target.split_once(')'));
        plain += &format!("`{name}`{}", target.map_or(rest, |(_, rest)| rest));
    }
    *said = plain;
}

macro_rules! as_text {
    ($($type:ident $schema:expr;)*) => {$(
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    )*};
}

as_text! {
    Hex json_schema!({
        "description": "A handle or an address: 64 bits in hexadecimal.",
        "type": "string",
        "pattern": "^0x[0-9a-f]+$",
    });
    Kind json_schema!({
        "description": "A kind of MPI object.",
        "type": "string",
        "enum": Kind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>(),
    });
    Members json_schema!({
        "description": "Ranks as in a RankSet; those of a world other than the first follow its number: [0-2], 1.[0-1].",
        "type": "string",
    });
    RankSet json_schema!({
        "description": "Ranks, with consecutive ones as a range: 3 or [0-2,5].",
        "type": "string",
        "pattern": "^([0-9]+|\\[([0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*)?\\])$",
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_have_text_in_place_of_links_to_code() {
        let mut schema =
            json_schema!({ "description": "By [`Worlds`](crate::Worlds), as [`Kind`] [0] does." });
        without_links(&mut schema);
        assert_eq!(schema.get("description").unwrap(), "By `Worlds`, as `Kind` [0] does.");
    }
}
