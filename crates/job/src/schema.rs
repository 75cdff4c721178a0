//! The forms of the JSON, as JSON Schema. Types that write themselves in their own way have theirs here; the others derive it.

use crate::objects::{Hex, Kind};
use crate::{Members, RankSet};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;

/// The form of what a type is written as.
///
/// # Errors
/// None that is known.
pub fn of<T: JsonSchema>() -> serde_json::Result<String> {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    serde_json::to_string_pretty(&generator.into_root_schema_for::<T>())
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
        "description": "A handle or an address: 64 bits in base 16.",
        "type": "string",
        "pattern": "^0x[0-9a-f]+$",
    });
    Kind json_schema!({
        "description": "A kind of MPI object.",
        "type": "string",
        "enum": Kind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>(),
    });
    Members json_schema!({
        "description": "Ranks as in a RankSet, those of worlds but the first behind its number: [0-2], 1.[0-1].",
        "type": "string",
    });
    RankSet json_schema!({
        "description": "Ranks, neighbouring ones together: 3 or [0-2,5].",
        "type": "string",
        "pattern": "^([0-9]+|\\[([0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*)?\\])$",
    });
}
