//! How an image gets from a process to the collector.
//!
//! The transport is a stream socket (its place is described in [`super::rendezvous`]). The first message is
//! 16 bytes with the image's memory file attached. The magic identifies the sender:
//!
//! | magic | words | sender |
//! | --- | --- | --- |
//! | `MPSC` | version, pid, 0 | the layer, which then closes the connection |
//! | `MPSW` | version, rank, ranks on this host | a wrapper, which keeps the connection while its program runs |
//! | `MPSP` | pid, 0, 0 | the wrapper: the program runs |
//! | `MPSE` | 0 for exit or 1 for a signal, number, 0 | the wrapper: the program has ended |
//!
//! The others come without an image. `MPSO` and `MPSM` (version, and the lower and upper half of a key) come
//! from a process that is about to create an intercommunicator: `MPSO` if it spawns or accepts, `MPSM` if it
//! was spawned or connects ([`super::hosts::relay`]). `MPSQ` (version, 0, 0) asks what has been seen of the job
//! ([`super::question`]). `MPSI` (version, 0, 0) comes from a nested `mpiscope run`, which collects and
//! reports what it starts itself.

use rustix::io::{Errno, IoSlice, IoSliceMut};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags,
};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// Version of the messages.
pub const VERSION: u32 = 1;
/// Bytes of a message.
pub const LEN: usize = 16;

/// The sender or the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind(pub [u8; 4]);

#[allow(missing_docs)]
impl Kind {
    pub const LAYER: Self = Self(*b"MPSC");
    pub const WRAPPER: Self = Self(*b"MPSW");
    pub const STARTED: Self = Self(*b"MPSP");
    pub const ENDED: Self = Self(*b"MPSE");
    pub const QUESTION: Self = Self(*b"MPSQ");
    pub const OFFERS: Self = Self(*b"MPSO");
    pub const COMES: Self = Self(*b"MPSM");
    pub const INNER: Self = Self(*b"MPSI");
}

/// A message: its kind and three words in the byte order of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// The magic, in the first four bytes.
    pub kind: Kind,
    /// See the module documentation.
    pub words: [u32; 3],
}

impl Message {
    /// Returns the bytes on the socket.
    pub fn bytes(&self) -> [u8; LEN] {
        let [a, b, c] = self.words.map(u32::to_ne_bytes);
        let mut bytes = [0; LEN];
        for (to, from) in bytes.iter_mut().zip([self.kind.0, a, b, c].concat()) {
            *to = from;
        }
        bytes
    }

    /// Decodes a message from the bytes on the socket.
    pub fn parse(bytes: &[u8; LEN]) -> Self {
        let word = |i: usize| [bytes[i], bytes[i + 1], bytes[i + 2], bytes[i + 3]];
        Self { kind: Kind(word(0)), words: [4, 8, 12].map(|i| u32::from_ne_bytes(word(i))) }
    }
}

/// Sends a message. The first message on a connection carries the image.
pub fn send(socket: &UnixStream, message: &Message, image: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let fds = image.map(|fd| [fd]);
    if let Some(fds) = &fds {
        control.push(SendAncillaryMessage::ScmRights(fds));
    }
    let bytes = message.bytes();
    let sent = rustix::net::sendmsg(socket, &[IoSlice::new(&bytes)], &mut control, SendFlags::NOSIGNAL)?;
    if sent == LEN { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}

/// Reopens the file for reading only: its recipient must not be able to write to a rank's image.
///
/// # Errors
/// If there is no `/proc`.
pub fn read_only(image: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    Ok(std::fs::File::open(format!("/proc/self/fd/{}", image.as_raw_fd()))?.into())
}

/// The result of [`receive`].
#[derive(Debug)]
pub enum Received {
    /// A message, possibly with an image.
    Message(Message, Option<OwnedFd>),
    /// Nothing yet: the socket is non-blocking or its timeout expired.
    Nothing,
    /// The peer has closed the connection.
    Closed,
    /// The peer sent something invalid.
    Nonsense,
}

/// Receives the next message.
pub fn receive(socket: &UnixStream) -> Received {
    let mut bytes = [0; LEN];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let read = rustix::net::recvmsg(
        socket.as_fd(),
        &mut [IoSliceMut::new(&mut bytes)],
        &mut control,
        RecvFlags::CMSG_CLOEXEC,
    );
    let mut images = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(fds) => Some(fds),
        _ => None,
    });
    let image = images.next().and_then(|mut fds| fds.next());
    match read {
        Ok(read) if read.bytes == LEN => Received::Message(Message::parse(&bytes), image),
        Err(Errno::AGAIN | Errno::INTR) => Received::Nothing,
        Ok(read) if read.bytes == 0 => Received::Closed,
        Err(_) => Received::Closed,
        _ => Received::Nonsense,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, fstat, memfd_create};

    #[test]
    fn a_message_and_its_image_arrive_as_they_were_sent() {
        let (a, b) = UnixStream::pair().unwrap();
        let image = memfd_create("x", MemfdFlags::CLOEXEC).unwrap();
        let message = Message { kind: Kind::WRAPPER, words: [VERSION, 3, u32::MAX] };
        send(&a, &message, Some(image.as_fd())).unwrap();
        let Received::Message(received, Some(fd)) = receive(&b) else { panic!("no message with image") };
        assert_eq!(received, message);
        assert_eq!(fstat(&fd).unwrap().st_ino, fstat(&image).unwrap().st_ino);
        drop(a);
        assert!(matches!(receive(&b), Received::Closed));
    }

    #[test]
    fn half_a_message_is_invalid_and_an_empty_socket_yields_nothing() {
        let (a, b) = UnixStream::pair().unwrap();
        b.set_nonblocking(true).unwrap();
        assert!(matches!(receive(&b), Received::Nothing));
        io::Write::write_all(&mut &a, b"MPSC").unwrap();
        assert!(matches!(receive(&b), Received::Nonsense));
    }

    #[test]
    fn the_layers_message_has_the_agreed_bytes() {
        let message = Message { kind: Kind::LAYER, words: [1, 0x01020304, 0] };
        let wanted =
            [b"MPSC".to_vec(), 1u32.to_ne_bytes().into(), 0x01020304u32.to_ne_bytes().into(), vec![0; 4]];
        assert_eq!(message.bytes().to_vec(), wanted.concat());
    }
}
