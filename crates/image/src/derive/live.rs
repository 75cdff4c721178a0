//! Which objects count as the program's, and as live.

use crate::objects::{Flag, Head, Life};
use crate::traffic::Request;

/// Whether a call of the program created the object: it is neither predefined nor the library's own.
#[inline]
pub fn is_of_program(head: &Head) -> bool {
    head.flags.get() & Flag::PREDEFINED.0 == 0 && head.made_by.get() != 0
}

/// Whether the object was created by the program and has not been freed.
pub fn is_live(head: &Head) -> bool {
    Life(head.life.get()) == Life::LIVE && is_of_program(head)
}

/// Whether the program, or still MPI, holds the object.
pub fn is_held(head: &Head) -> bool {
    [Life::LIVE, Life::MARKED].contains(&Life(head.life.get()))
}

/// Whether a request's operation was started, and has neither completed nor been found complete.
pub fn is_under_way(head: &Head) -> bool {
    head.flags.get() & (Flag::ACTIVE.0 | Flag::COMPLETE.0) == Flag::ACTIVE.0
}

/// Whether the record represents all requests with a handle that the library returns repeatedly.
pub fn is_shared(head: &Head) -> bool {
    head.flags.get() & Flag::SHARED_HANDLE.0 != 0
}

/// Number of requests that a record represents.
pub fn requests(request: &Request) -> u64 {
    if is_shared(&request.head) { u64::from(request.outstanding.get()) } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_is_under_way_from_its_start_to_its_completion() {
        let head = Head::default();
        let under_way = |flags: u32| {
            head.flags.set(flags);
            is_under_way(&head)
        };
        assert!(!under_way(Flag::PERSISTENT.0), "not started");
        assert!(under_way(Flag::PERSISTENT.0 | Flag::ACTIVE.0));
        assert!(!under_way(Flag::ACTIVE.0 | Flag::COMPLETE.0));
        assert!(!is_held(&head));
        head.life.set(Life::MARKED.0);
        assert!(is_held(&head) && !is_live(&head));
    }

    #[test]
    fn predefined_freed_and_library_objects_are_not_live() {
        let head = Head::default();
        head.life.set(Life::LIVE.0);
        assert!(!is_live(&head), "it was not created by a call of the program");
        head.made_by.set(3);
        assert!(is_live(&head));
        head.flags.set(Flag::PREDEFINED.0);
        assert!(!is_live(&head));
        head.flags.set(0);
        head.life.set(Life::MARKED.0);
        assert!(!is_live(&head) && is_of_program(&head));
    }
}
