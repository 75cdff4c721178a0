#![allow(unsafe_code)]

use super::*;
use std::os::fd::FromRawFd;
use std::os::unix::fs::FileExt;

#[test]
fn facts_of_this_process_equal_those_from_the_c_library() {
    let pid = std::process::id();
    let own = stat(pid).unwrap();
    assert_eq!(own.parent, std::os::unix::process::parent_id());
    assert_eq!(status_lines(pid).unwrap().namespace_pids().first(), Some(&pid));
    assert!(!own.has_ended() && own.start_ticks > 0);
    assert!(list().unwrap().contains(&pid));
    assert_eq!(command_line(pid).unwrap(), std::env::args_os().collect::<Vec<_>>());
    assert_eq!(executable(pid).unwrap(), std::env::current_exe().unwrap());
    assert!(threads(pid).unwrap().contains(&pid));
    assert!(in_namespace_of_reader(pid, "pid").unwrap());
    assert!(!hostname().unwrap().is_empty());
    let started_with = environment(pid).unwrap();
    assert_eq!(started_with.get("PATH"), std::env::var_os("PATH").as_deref());
}

#[test]
fn a_memfd_is_found_by_the_prefix_of_its_name_and_opened_from_outside() {
    // SAFETY: the name is NUL-terminated; the result is checked and has no other owner.
    let file = unsafe {
        let fd = libc::memfd_create(c"target-test:image".as_ptr(), libc::MFD_CLOEXEC);
        assert!(fd >= 0);
        File::from_raw_fd(fd)
    };
    file.write_all_at(b"bytes", 0).unwrap();
    let pid = std::process::id();
    let found = memfds(pid, "target-test:").unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].name, "target-test:image");
    assert_eq!(found[0].inode, file.metadata().unwrap().ino());
    let mut bytes = [0; 5];
    open_fd(pid, found[0].fd).unwrap().read_exact_at(&mut bytes, 0).unwrap();
    assert_eq!(&bytes, b"bytes");
    assert_eq!(memfds(pid, "other-prefix:").unwrap(), []);
}

#[test]
fn a_process_that_does_not_exist_is_reported_as_missing() {
    // Linux assigns no pid above 2^22.
    let pid = 1 << 23;
    assert!(matches!(stat(pid), Err(Error::NoProcess { .. })));
    assert!(matches!(status_lines(pid), Err(Error::NoProcess { .. })));
    assert!(matches!(user(pid), Err(Error::NoProcess { .. })));
    assert!(matches!(environment(pid), Err(Error::NoProcess { .. })));
    assert!(!exists(pid) && exists(std::process::id()));
    assert!(matches!(memfds(pid, ""), Err(Error::NoProcess { .. })));
    assert!(matches!(open_fd(pid, 0), Err(Error::NoProcess { .. })));
    assert!(matches!(command_line(pid), Err(Error::NoProcess { .. })));
}
