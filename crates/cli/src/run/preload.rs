//! The value of `LD_PRELOAD`: the layer, followed by the user's own preloads.
//!
//! The dynamic linker separates names by spaces and colons and has no way to quote them. A layer whose path
//! contains these is named through a link to its folder, made in the user's private folder; the layer finds
//! its plug-ins next to itself through the link as well. The link stays: it is the same for every job.

use super::rendezvous::Folder;
use anyhow::{Context, Result};
use std::ffi::{OsStr, OsString};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// File name of the layer.
pub const LAYER: &str = "libmpiscope.so";

/// Characters that separate names.
const SEPARATORS: [u8; 4] = *b" :\t\n";

/// Returns a path to the layer that can be preloaded.
///
/// # Errors
/// If no link to it can be made.
pub fn nameable(layer: &Path) -> Result<PathBuf> {
    if can_be_named(layer) {
        return Ok(layer.to_owned());
    }
    let linked = Folder::first(|folder| {
        let linked = link(layer, folder.path())?;
        let itself =
            || io::Error::new(ErrorKind::InvalidInput, format!("{} contains some itself", linked.display()));
        can_be_named(&linked).then_some(&linked).ok_or_else(itself).cloned()
    });
    let advice = || {
        format!(
            "{}: LD_PRELOAD cannot contain a path with spaces or colons, and no link to it can be created; copy \
             {LAYER} to another place and set MPISCOPE_LAYER to its path",
            layer.display()
        )
    };
    Ok(linked.with_context(advice)?.0)
}

fn can_be_named(path: &Path) -> bool {
    !path.as_os_str().as_bytes().iter().any(|byte| SEPARATORS.contains(byte))
}

/// Returns the path of the layer through a link in `folder`.
fn link(layer: &Path, folder: &Path) -> io::Result<PathBuf> {
    let layer = fs::canonicalize(layer)?;
    let (Some(home), Some(name)) = (layer.parent(), layer.file_name()) else {
        return Err(ErrorKind::InvalidInput.into());
    };
    let mut hasher = DefaultHasher::new();
    home.hash(&mut hasher);
    let link = folder.join(format!("layer-{:016x}", hasher.finish()));
    match symlink(home, &link) {
        Err(why) if why.kind() != ErrorKind::AlreadyExists => return Err(why),
        _ => {}
    }
    // A hash collision is practically impossible, but would put two different layers into one job.
    if fs::read_link(&link)? != home {
        return Err(io::Error::other(format!("{} points elsewhere", link.display())));
    }
    Ok(link.join(name))
}

/// Lists the layer first, then the user's preloads.
pub fn list(layer: &OsStr, users: &OsStr) -> OsString {
    let mut list = layer.to_owned();
    let text = users.to_string_lossy();
    for other in text.split([' ', ':']).filter(|p| !p.is_empty() && *p != layer.to_string_lossy()) {
        list.push(":");
        list.push(other);
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layer_comes_first_and_once_and_the_users_libraries_are_kept() {
        let list = |users: &str| list("/l/libmpiscope.so".as_ref(), users.as_ref());
        assert_eq!(list(""), "/l/libmpiscope.so");
        assert_eq!(list("/a.so /b.so"), "/l/libmpiscope.so:/a.so:/b.so");
        assert_eq!(list("/a.so:/l/libmpiscope.so"), "/l/libmpiscope.so:/a.so");
    }

    #[test]
    fn a_path_with_spaces_is_named_through_a_link_to_its_directory() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("my files: new");
        fs::create_dir(&home).unwrap();
        let layer = home.join("libmpiscope.so");
        fs::write(&layer, "layer").unwrap();
        fs::write(home.join("plug-in"), "plug-in").unwrap();
        let one = link(&layer, dir.path()).unwrap();
        assert!(can_be_named(&one) && !can_be_named(&layer));
        assert_eq!(fs::read(&one).unwrap(), b"layer");
        assert_eq!(fs::read(one.with_file_name("plug-in")).unwrap(), b"plug-in");
        assert_eq!(link(&layer, dir.path()).unwrap(), one, "the second job uses the same link");
        fs::remove_file(one.parent().unwrap()).unwrap();
        symlink("/elsewhere", one.parent().unwrap()).unwrap();
        assert!(link(&layer, dir.path()).is_err(), "a link that leads elsewhere is not followed");
    }
}
