//! `libmpiscope_queues.so`: the plug-in through which a debugger shows the message queues.
//!
//! A library's own plug-in reads the library's data structures through its debug information: it shows
//! nothing for stripped libraries or for transports that keep their queues elsewhere. This plug-in reads the
//! image that `libmpiscope.so` keeps in the process: active requests, open blocking calls, messages matched
//! by a probe. It therefore needs no debug information and shows the same for every library. It cannot see
//! what only the library knows, namely messages that have arrived but were not requested yet, and reports
//! that (`mqs_no_information`).
//!
//! A debugger sees a consistent snapshot: [`queues`] takes one when the communicator list is updated, and the
//! iterators walk through it.

mod entry;
mod queues;

pub use entry::*;
