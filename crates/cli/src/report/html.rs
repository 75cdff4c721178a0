//! placeholder
use super::{Section, Source};
pub fn page(_: &Source, _: &[Section]) -> String {
    String::new()
}
