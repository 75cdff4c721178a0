//! Finds the objects that use another one: an error handler or an info.

use super::common::Common;
use super::kind::Kind;
use super::reader::Reader;
use super::reference::Reference;
use mpiscope_image::Source;

/// Returns objects whose records name this one: by uid, or by handle while it has no uid.
pub fn of<S: Source>(
    reader: &Reader<'_, S>,
    common: &Common,
    places: &[(Kind, usize, usize)],
) -> Vec<Reference> {
    let null = common.standing == super::common::Lifetime::Null;
    let all = places.iter().flat_map(|(kind, handle, uid)| {
        // A predefined object may be named by its handle alone, whether or not it has a record.
        let by_handle = if common.predefined && !null {
            reader.referring(*kind, *handle, common.handle.0)
        } else {
            Vec::new()
        };
        let by_uid = if common.uid == 0 { Vec::new() } else { reader.referring(*kind, *uid, common.uid) };
        by_handle.into_iter().chain(by_uid)
    });
    let mut found: Vec<Reference> = Vec::new();
    for user in all {
        if !found.contains(&user) {
            found.push(user);
        }
    }
    found
}
