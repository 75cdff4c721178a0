//! A communicator as messages refer to it.

use mpiscope_image::objects::Comm;

/// What a message needs to know of its communicator. All zero: nothing is known of it.
#[derive(Clone, Copy, Default)]
pub struct Channel {
    /// See `Head::uid`.
    pub uid: u64,
    /// See `Head::identity`.
    pub identity: u64,
    /// Where its [`Peer`](mpiscope_image::traffic::Peer) records begin, from the start of the image; zero for none.
    pub peers: u64,
    /// The record.
    pub comm: Option<&'static Comm>,
}
