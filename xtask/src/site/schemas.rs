//! A page for each JSON format, with tables of its fields.

use std::fs;

use anyhow::{Context, Result};
use mpiscope_testkit::paths;
use serde_json::{Map, Value};

use super::{Page, cell};

pub fn pages() -> Result<Vec<Page>> {
    let share = paths::workspace().join("share");
    let files = fs::read_dir(&share)?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> =
        files.filter_map(|name| Some(name.strip_suffix(".schema.json")?.to_owned())).collect();
    names.sort();
    let page = |name: &String| {
        let text = fs::read_to_string(share.join(format!("{name}.schema.json")))?;
        page(name, &serde_json::from_str(&text)?)
    };
    names.iter().map(page).collect()
}

fn page(name: &str, schema: &Value) -> Result<Page> {
    let (form, number) = name.rsplit_once('.').context("a schema without a number")?;
    let title = format!("{form}/{number}");
    let mut text = format!("# {title}\n\n{}", object(schema));
    for (name, definition) in schema.get("$defs").and_then(Value::as_object).into_iter().flatten() {
        text += &format!("\n## {name}\n\n{}", object(definition));
    }
    Ok(Page { path: format!("reference/{name}.md"), title, text })
}

/// The description of a format, and its fields.
fn object(form: &Value) -> String {
    let mut text = said(form).map(|said| format!("{said}\n\n")).unwrap_or_default();
    match form.get("properties").and_then(Value::as_object) {
        Some(fields) => text += &table(form, fields),
        None => text += &format!("{}\n", type_of(form)),
    }
    if let Some(parts) =
        form.get("properties").and(alternatives(form).or_else(|| form.get("$ref").map(reference)))
    {
        text += &format!("\nAnd the fields of {parts}.\n");
    }
    text
}

fn said(form: &Value) -> Option<String> {
    Some(cell(form.get("description")?.as_str()?))
}

fn table(form: &Value, fields: &Map<String, Value>) -> String {
    let required = form.get("required").and_then(Value::as_array);
    let mut text = "| field | type | meaning |\n| --- | --- | --- |\n".to_owned();
    for (name, field) in fields {
        let always = required.is_some_and(|all| all.iter().any(|one| one == name));
        let optional = if always { "" } else { ", optional" };
        text +=
            &format!("| `{name}` | {}{optional} | {} |\n", type_of(field), said(field).unwrap_or_default());
    }
    text
}

/// The type of a field in words.
fn type_of(form: &Value) -> String {
    if let Some(one) = form.get("const") {
        return format!("`{one}`");
    }
    if let Some(all) = form.get("enum").and_then(Value::as_array) {
        return all.iter().map(|one| format!("`{one}`")).collect::<Vec<_>>().join(", ");
    }
    if let Some(to) = form.get("$ref") {
        return reference(to);
    }
    if let Some(parts) = alternatives(form) {
        return parts;
    }
    match form.get("type") {
        Some(Value::String(one)) => plain(one, form),
        Some(Value::Array(several)) => {
            let names = several.iter().filter_map(Value::as_str).map(|one| plain(one, form));
            names.collect::<Vec<_>>().join(" or ")
        }
        _ => "anything".to_owned(),
    }
}

fn alternatives(form: &Value) -> Option<String> {
    let all = ["oneOf", "anyOf", "allOf"].iter().find_map(|name| form.get(*name)?.as_array())?;
    Some(all.iter().map(alternative).collect::<Vec<_>>().join(" or "))
}

/// One of several alternatives: a word with its meaning, fields, or a format.
fn alternative(form: &Value) -> String {
    let Some(fields) = form.get("properties").and_then(Value::as_object) else {
        let meaning = said(form).map(|said| format!(" ({})", said.trim_end_matches('.')));
        return type_of(form) + &meaning.unwrap_or_default();
    };
    let fields: Vec<String> =
        fields.iter().map(|(name, field)| format!("`{name}`: {}", type_of(field))).collect();
    let rest = form.get("$ref").map(|to| format!(" with the fields of {}", reference(to)));
    fields.join(", ") + &rest.unwrap_or_default()
}

fn plain(name: &str, form: &Value) -> String {
    let inner = |key: &str| form.get(key).filter(|inner| inner.is_object()).map(type_of);
    match name {
        "array" => match form.get("prefixItems").and_then(Value::as_array) {
            Some(all) => format!("list of {}", all.iter().map(type_of).collect::<Vec<_>>().join(", ")),
            None => format!("list of {}", inner("items").unwrap_or_else(|| "anything".into())),
        },
        "object" => {
            inner("additionalProperties").map_or("object".into(), |values| format!("names with {values}"))
        }
        other => other.to_owned(),
    }
}

fn reference(to: &Value) -> String {
    let name = to.as_str().unwrap_or_default().trim_start_matches("#/$defs/");
    format!("[{name}](#{})", name.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_published_schema_has_a_page_with_each_of_its_fields() {
        let all = pages().unwrap();
        assert!(all.len() > 10, "only {} forms", all.len());
        for page in all {
            let file = page.path.trim_start_matches("reference/").trim_end_matches(".md").to_owned();
            let file = paths::workspace().join(format!("share/{file}.schema.json"));
            let schema: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
            let forms =
                schema["$defs"].as_object().into_iter().flatten().map(|(_, form)| form).chain([&schema]);
            for (name, _) in forms.filter_map(|form| form["properties"].as_object()).flatten() {
                assert!(page.text.contains(&format!("| `{name}` |")), "{}: {name}", page.path);
            }
        }
    }

    #[test]
    fn types_are_reported_in_words() {
        let text = |form: Value| type_of(&form);
        assert_eq!(text(json!({ "type": ["integer", "null"] })), "integer or null");
        assert_eq!(
            text(json!({ "type": "array", "items": { "$ref": "#/$defs/Rank" } })),
            "list of [Rank](#rank)"
        );
        assert_eq!(
            text(json!({ "anyOf": [{ "$ref": "#/$defs/A" }, { "type": "null" }] })),
            "[A](#a) or null"
        );
        assert_eq!(
            text(json!({ "type": "object", "additionalProperties": { "type": "string" } })),
            "names with string"
        );
        assert_eq!(text(json!({ "const": "call" })), "`\"call\"`");
    }
}
