//! Which objects count as the program's, and as live.

use crate::objects::{Flag, Head, Life};
use crate::traffic::Request;

/// Whether a call of the program made the object: neither predefined, nor the library's own.
#[inline]
pub fn is_of_program(head: &Head) -> bool {
    head.flags.get() & Flag::PREDEFINED.0 == 0 && head.made_by.get() != 0
}

/// Whether the object was made by the program and not freed.
pub fn is_live(head: &Head) -> bool {
    Life(head.life.get()) == Life::LIVE && is_of_program(head)
}

/// Whether one record stands for all requests with a handle that the library gives out again and again.
pub fn is_shared(head: &Head) -> bool {
    head.flags.get() & Flag::SHARED_HANDLE.0 != 0
}

/// How many requests a record stands for.
pub fn requests(request: &Request) -> u64 {
    if is_shared(&request.head) { u64::from(request.outstanding.get()) } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_predefined_freed_or_the_librarys_is_not_live() {
        let head = Head::default();
        head.life.set(Life::LIVE.0);
        assert!(!is_live(&head), "no call of the program made it");
        head.made_by.set(3);
        assert!(is_live(&head));
        head.flags.set(Flag::PREDEFINED.0);
        assert!(!is_live(&head));
        head.flags.set(0);
        head.life.set(Life::MARKED.0);
        assert!(!is_live(&head) && is_of_program(&head));
    }
}
