//! JSON that a verb has printed, held against the form that is published under the name that it gives itself.

use crate::paths;
use anyhow::{Context, Result, anyhow, ensure};
use boon::{Compiler, Schemas};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

/// Holds a value against the form whose name it has in `schema`.
///
/// # Errors
/// When it has none, when its form is not in `share/`, or when it is not of that form, also by a field that the form does not have.
pub fn check(value: &Value) -> Result<()> {
    let name = value.get("schema").and_then(Value::as_str).context("it does not name its form")?;
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

/// Keywords whose forms describe the same object as what stands beside them.
const PARTS: [&str; 3] = ["oneOf", "anyOf", "allOf"];

/// Forms that are parts of others: what `$ref` names that stands beside `properties`, or in [`PARTS`] beside them.
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

/// Forbids every field that a form does not name. Published forms allow them, since fields may be added.
fn close(form: &mut Value, joined: &BTreeSet<String>, at: &str, part: bool) {
    match form {
        Value::Object(fields) => {
            let whole = fields.contains_key("properties") && !part && !joined.contains(at);
            for (name, inner) in fields.iter_mut() {
                // What is said there of an object is one of several parts of it.
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
    fn what_is_of_the_form_passes_and_a_missing_wrong_or_unknown_field_does_not() {
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
    fn what_names_no_form_or_an_unknown_one_is_refused() {
        assert!(check(&json!({})).is_err());
        assert!(check(&json!({ "schema": "mpiscope.nothing/1" })).is_err());
    }
}
