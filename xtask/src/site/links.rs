//! Links of pages, including those out of the documentation and broken ones.

use std::path::{Component, Path, PathBuf};

/// The link and picture targets of a page that are our files, without `#` fragments.
pub fn targets(page: &str) -> impl Iterator<Item = &str> {
    let all = page.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let ours = all.filter(|link| !link.contains("://") && !link.contains(' '));
    ours.filter_map(|link| link.split('#').next()).filter(|link| !link.is_empty())
}

/// The path that a link of a page leads to, relative to the same folder as the page.
pub fn leads(page: &str, link: &str) -> PathBuf {
    let mut path = PathBuf::new();
    for part in Path::new(page).parent().unwrap_or(Path::new("")).join(link).components() {
        match part {
            Component::ParentDir if path.file_name().is_some() => {
                path.pop();
            }
            Component::CurDir => {}
            other => path.push(other),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_and_followed() {
        let page = "[a](b.md#c) ![d](pictures/e.svg) [f](https://g/h) [i](#j) [k](../l/m.c)";
        assert_eq!(targets(page).collect::<Vec<_>>(), ["b.md", "pictures/e.svg", "../l/m.c"]);
        assert_eq!(leads("reference/x.md", "../hangs.md"), Path::new("hangs.md"));
        assert_eq!(leads("tools.md", "../examples/a.c"), Path::new("../examples/a.c"));
    }
}
