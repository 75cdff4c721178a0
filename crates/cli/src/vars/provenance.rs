//! Where the value of a library's control variable comes from.
//!
//! Few libraries report this. A set environment variable proves nothing: a library may know it by another
//! name (Intel MPI uses its own names in addition to MPICH's), or may show a variable that it never sets from
//! it. So the value decides: it is compared with the library's value in an environment without any settings,
//! and with the text of the environment variable.

use super::item::Item;
use std::ffi::OsString;

/// Whether this is a library variable for which the library does not report where its value comes from.
pub fn is_open(item: &Item) -> bool {
    item.kind == "cvar" && item.values.iter().any(|held| held.from == "other")
}

/// Determines the origin of all such values; `plain` are the same variables in an environment without
/// settings.
pub fn settle(items: &mut [Item], plain: &[Item], environment: &[(OsString, OsString)]) {
    for item in items.iter_mut().filter(|item| is_open(item)) {
        let same = plain.iter().find(|other| other.kind == item.kind && other.name == item.name);
        let default = same.and_then(|same| same.values.first()).map(|held| held.value.as_str());
        let text = environment.iter().find(|(name, _)| *name == *item.environment);
        let text = text.and_then(|(_, text)| text.to_str());
        for held in &mut item.values {
            let was_set = text.is_some_and(|text| means(text, &held.value));
            let is_set = was_set || default != Some(&held.value);
            held.from = if is_set { "environment" } else { "default" }.to_owned();
        }
    }
}

/// Whether a library that reads this text would get this value.
fn means(text: &str, value: &str) -> bool {
    let text = text.trim();
    let switch = match text.to_ascii_lowercase().as_str() {
        "yes" | "on" | "true" | "enable" | "enabled" => Some("1"),
        "no" | "off" | "false" | "disable" | "disabled" => Some("0"),
        _ => None,
    };
    let as_number = |text: &str| text.parse::<f64>().ok();
    text == value
        || switch == Some(value)
        || as_number(text).is_some_and(|number| Some(number) == as_number(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vars::item::Held;

    fn variable(environment: &str, value: &str, from: &str) -> Item {
        let held = Held { value: value.into(), from: from.into(), ..Held::default() };
        Item {
            kind: "cvar".into(),
            name: "MPIR_CVAR_X".into(),
            environment: environment.into(),
            values: vec![held],
            ..Item::default()
        }
    }

    /// Returns the verdict on a variable with this default and value, and this text in the environment, if
    /// any.
    fn judged(default: &str, value: &str, said: Option<&str>) -> String {
        let mut items = [variable("I_MPI_X", value, "other")];
        let plain = [variable("MPIR_CVAR_X", default, "other")];
        let environment = said.map(|text| ("I_MPI_X".into(), text.into())).into_iter().collect::<Vec<_>>();
        settle(&mut items, &plain, &environment);
        items[0].values[0].from.clone()
    }

    #[test]
    fn a_value_not_taken_from_the_environment_is_the_default() {
        assert_eq!(judged("tile", "tile", Some("device")), "default");
        assert_eq!(judged("", "", Some("5")), "default");
        assert_eq!(judged("8", "8", None), "default");
    }

    #[test]
    fn a_value_that_differs_or_equals_the_environment_comes_from_the_environment() {
        assert_eq!(judged("-1", "3", Some("3")), "environment");
        assert_eq!(judged("-1", "4", None), "environment");
        assert_eq!(judged("32", "32", Some(" 32 ")), "environment");
        assert_eq!(judged("1", "1", Some("Yes")), "environment");
    }

    #[test]
    fn the_librarys_own_source_is_kept() {
        let mut items = [variable("OMPI_MCA_X", "a", "environment")];
        assert!(!is_open(&items[0]));
        settle(&mut items, &[], &Vec::new());
        assert_eq!(items[0].values[0].from, "environment");
    }
}
