//! Validates the JSON output of a verb against the published schema that it names.

use crate::paths;
use anyhow::{Context, Result, anyhow, ensure};
use boon::{Compiler, Schemas};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

/// Validates a value against the schema named in its field `schema`.
///
/// # Errors
/// If it names none, if its schema is not in `share/`, or if it does not match, including by a field that is
/// not in the schema.
pub fn check(value: &Value) -> Result<()> {
    let name = value.get("schema").and_then(Value::as_str).context("it does not name its schema")?;
    let file = paths::workspace().join(format!("share/{}.schema.json", name.replace('/', ".")));
    let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    let mut form: Value = serde_json::from_str(&text)?;
    validate(&mut form, value).with_context(|| name.to_owned())
}

fn validate(form: &mut Value, value: &Value) -> Result<()> {
    let mut joined = BTreeSet::new();
    find_joined(form, &mut joined);
    close(form, &joined, "#", false);
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    let failed = |error: boon::CompileError| anyhow!("{error:#}");
    compiler.add_resource("form.json", form.clone()).map_err(failed)?;
    let index = compiler.compile("form.json", &mut schemas).map_err(failed)?;
    let found = schemas.validate(value, index);
    ensure!(found.is_ok(), "{:#}", found.err().map(|error| error.to_string()).unwrap_or_default());
    Ok(())
}

/// Keywords whose subschemas describe the same object as the keywords next to them.
const PARTS: [&str; 3] = ["oneOf", "anyOf", "allOf"];

/// Finds the schemas that are parts of others: those named by a `$ref` next to `properties`, or in [`PARTS`]
/// next to them.
fn find_joined(form: &Value, joined: &mut BTreeSet<String>) {
    match form {
        Value::Object(fields) => {
            if fields.contains_key("properties") {
                let parts = PARTS.iter().filter_map(|name| fields.get(*name)?.as_array()).flatten();
                let named = parts.chain([form]).filter_map(|part| part.get("$ref")?.as_str());
                joined.extend(named.map(str::to_owned));
            }
            fields.values().for_each(|inner| find_joined(inner, joined));
        }
        Value::Array(all) => all.iter().for_each(|inner| find_joined(inner, joined)),
        _ => {}
    }
}

/// Forbids every field that is not in the schema. Published schemas allow them, since fields may be added.
fn close(form: &mut Value, joined: &BTreeSet<String>, at: &str, part: bool) {
    match form {
        Value::Object(fields) => {
            let whole = fields.contains_key("properties") && !part && !joined.contains(at);
            for (name, inner) in fields.iter_mut() {
                // Each of these describes only a part of the object.
                let part = PARTS.contains(&name.as_str()) && whole;
                close(inner, joined, &format!("{at}/{name}"), part);
            }
            if whole && !fields.contains_key("additionalProperties") {
                fields.insert("unevaluatedProperties".into(), Value::Bool(false));
            }
        }
        Value::Array(all) => all.iter_mut().for_each(|inner| close(inner, joined, at, part)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn form() -> Value {
        json!({
            "type": "object",
            "properties": { "a": { "type": "integer" }, "b": { "$ref": "#/$defs/B" } },
            "required": ["a"],
            "$defs": {
                "B": { "type": "object", "properties": { "c": { "type": "string" } }, "$ref": "#/$defs/C" },
                "C": { "type": "object", "properties": { "d": { "type": "boolean" } } },
            },
        })
    }

    #[test]
    fn a_matching_value_passes_and_a_missing_wrong_or_unknown_field_fails() {
        let is = |value: Value| validate(&mut form(), &value);
        is(json!({ "a": 1, "b": { "c": "x", "d": true } })).unwrap();
        is(json!({ "a": 1 })).unwrap();
        for wrong in [
            json!({ "b": { "c": "x" } }),
            json!({ "a": "1" }),
            json!({ "a": 1, "more": 2 }),
            json!({ "a": 1, "b": { "c": "x", "more": 2 } }),
            json!({ "a": 1, "b": { "d": 5 } }),
        ] {
            assert!(is(wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_value_without_a_known_schema_is_rejected() {
        assert!(check(&json!({})).is_err());
        assert!(check(&json!({ "schema": "mpiscope.nothing/1" })).is_err());
    }
}
