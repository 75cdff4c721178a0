//! `libmpiscope_queues.so`: the plug-in through which a debugger shows the message queues.
//!
//! Every library's own plug-in reads the library's structures, by its debug information: stripped libraries show nothing,
//! and so do transports that keep their queues elsewhere. This one reads the image that `libmpiscope.so` keeps in the
//! process: requests that are active, blocking calls that are open, messages that a probe has matched. So it needs no debug
//! information and shows the same for every library. What the library alone knows, the messages that have arrived and that
//! nobody has asked for, it cannot see, and says so (`mqs_no_information`).
//!
//! The debugger's pictures of one moment: [`queues`] takes one when the communicator list is updated, and the iterators
//! walk through it.

mod entry;
mod queues;

pub use entry::*;
