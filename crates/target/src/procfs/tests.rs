#![allow(unsafe_code)]

use super::*;
use std::os::fd::FromRawFd;
use std::os::unix::fs::FileExt;

#[test]
fn our_own_facts_are_those_that_the_library_knows() {
    let pid = std::process::id();
    let own = status(pid).unwrap();
    assert_eq!(own.parent, std::os::unix::process::parent_id());
    assert_eq!(own.namespace_pids.first(), Some(&pid));
    assert!(!own.has_ended() && own.start_ticks > 0);
    assert!(list_own().unwrap().contains(&pid));
    assert_eq!(command_line(pid).unwrap(), std::env::args_os().collect::<Vec<_>>());
    assert_eq!(executable(pid).unwrap(), std::env::current_exe().unwrap());
    assert!(in_namespace_of_reader(pid, "pid").unwrap());
    assert!(!hostname().unwrap().is_empty());
}

#[test]
fn a_name_with_brackets_and_blanks_does_not_shift_the_fields() {
    let stat = "7 (a) R (b c) S 3 7 7 0 -1 4194560 1 0 0 0 1 2 0 0 20 0 1 0 12345 99 1";
    let parsed = parse(stat, "Name:\tx\nUid:\t1\t2\t3\t4\nNSpid:\t7\t1\n").unwrap();
    assert_eq!((parsed.name.as_str(), parsed.state, parsed.parent), ("a) R (b c", 'S', 3));
    assert_eq!((parsed.start_ticks, parsed.user), (12345, 2));
    assert_eq!(parsed.namespace_pids, [7, 1]);
    assert_eq!(parsed.started_after_boot(), Duration::from_millis(123_450));
    assert_eq!(parse("7 (a S 3", "Uid:\t1\t2"), None);
}

#[test]
fn a_memfd_is_found_by_the_prefix_of_its_name_and_opened_from_outside() {
    // SAFETY: the name is NUL-ended; the result is checked and owned by nobody else.
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
fn a_process_that_does_not_exist_is_said_to_be_none() {
    // Linux gives no number above 2^22.
    let pid = 1 << 23;
    assert!(matches!(status(pid), Err(Error::NoProcess { .. })));
    assert!(matches!(memfds(pid, ""), Err(Error::NoProcess { .. })));
    assert!(matches!(open_fd(pid, 0), Err(Error::NoProcess { .. })));
    assert!(matches!(command_line(pid), Err(Error::NoProcess { .. })));
}
