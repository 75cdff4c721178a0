//! A communicator as messages refer to it.

use mpiscope_image::objects::Comm;

/// What messages need of their communicator. All zero if it is unknown.
#[derive(Clone, Copy, Default)]
pub struct Channel {
    /// See `Head::uid`.
    pub uid: u64,
    /// See `Head::identity`.
    pub identity: u64,
    /// Offset in the image of its [`Peer`](mpiscope_image::traffic::Peer) records; zero if it has none.
    pub peers: u64,
    /// The record.
    pub comm: Option<&'static Comm>,
}
