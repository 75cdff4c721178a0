//! A connection that requires the secret of the job to make and to read: Noise NNpsk0 (X25519,
//! ChaCha20-Poly1305, BLAKE2s), implemented by the crate `snow`. Each side proves knowledge of the secret
//! before the other trusts any data. Recorded traffic cannot be decrypted later, as the keys are new for
//! every connection; messages cannot be inserted, dropped or replayed.

use rustix::rand::{GetRandomFlags, getrandom};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";
const PROLOGUE: &[u8] = b"mpiscope hosts 1";
/// How long the peer may take to authenticate.
pub const HANDSHAKE: Duration = Duration::from_secs(5);
/// Maximum length of a Noise message, and of its plain text.
const LONGEST: usize = 65_535;
const PLAIN: usize = LONGEST - 16;

/// The secret shared by both sides.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret([u8; 32]);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    /// Generates a new secret.
    ///
    /// # Errors
    /// If the kernel has no random numbers.
    pub fn new() -> io::Result<Self> {
        let mut bytes = [0; 32];
        let got = getrandom(&mut bytes, GetRandomFlags::empty())?;
        if got == bytes.len() { Ok(Self(bytes)) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    /// Returns the text form used in the environment.
    pub fn text(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Parses the text form.
    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.is_ascii() {
            return None;
        }
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
        }
        Some(Self(bytes))
    }
}

/// An authenticated, encrypted connection.
pub struct Sealed {
    socket: TcpStream,
    keys: snow::TransportState,
    /// Decrypted data, of which `taken` bytes have been consumed.
    plain: Vec<u8>,
    taken: usize,
}

/// The role in the handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The host that sends; it initiates.
    Host,
    Gatherer,
}

impl Sealed {
    /// Runs the handshake, in which both sides prove that they know the secret.
    ///
    /// # Errors
    /// `PermissionDenied` if the peer does not know it; other errors if it is gone or takes too long.
    pub fn make(socket: TcpStream, secret: &Secret, side: Side) -> io::Result<Self> {
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(HANDSHAKE))?;
        socket.set_write_timeout(Some(HANDSHAKE))?;
        let builder = || snow::Builder::new(PATTERN.parse()?).psk(0, &secret.0)?.prologue(PROLOGUE);
        let builder = builder().map_err(stranger)?;
        let mut buffer = vec![0; LONGEST];
        let mut nothing = [0; 64];
        let until = Instant::now() + HANDSHAKE;
        let mut handshake = match side {
            Side::Host => builder.build_initiator(),
            Side::Gatherer => builder.build_responder(),
        }
        .map_err(stranger)?;
        while !handshake.is_handshake_finished() {
            if handshake.is_my_turn() {
                let n = handshake.write_message(&[], &mut buffer).map_err(stranger)?;
                put(&socket, buffer.get(..n).unwrap_or_default())?;
            } else {
                // An unauthenticated peer gets no more time than the handshake.
                let message = take(Until(&socket, until), 256)?;
                handshake.read_message(&message, &mut nothing).map_err(stranger)?;
            }
        }
        socket.set_read_timeout(Some(HANDSHAKE))?;
        let keys = handshake.into_transport_mode().map_err(stranger)?;
        Ok(Self { socket, keys, plain: Vec::new(), taken: 0 })
    }

    /// Sets the timeout for reading and writing.
    ///
    /// # Errors
    /// If the socket rejects it.
    pub fn patience(&self, limit: Duration) -> io::Result<()> {
        self.socket.set_read_timeout(Some(limit))?;
        self.socket.set_write_timeout(Some(limit))
    }

    /// Returns the address of the other side.
    pub fn peer(&self) -> Option<SocketAddr> {
        self.socket.peer_addr().ok()
    }
}

fn stranger(_: snow::Error) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, "the other side does not know the secret of the job")
}

fn put(mut socket: &TcpStream, message: &[u8]) -> io::Result<()> {
    let len = u16::try_from(message.len()).map_err(io::Error::other)?;
    socket.write_all(&[&len.to_be_bytes(), message].concat())
}

/// Reads with an overall deadline, however small the pieces are.
struct Until<'a>(&'a TcpStream, Instant);

impl Read for Until<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.1.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.0.set_read_timeout(Some(left))?;
        self.0.read(into)
    }
}

fn take(mut socket: impl Read, longest: usize) -> io::Result<Vec<u8>> {
    let mut len = [0; 2];
    socket.read_exact(&mut len)?;
    let len = usize::from(u16::from_be_bytes(len));
    if len > longest {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut message = vec![0; len];
    socket.read_exact(&mut message)?;
    Ok(message)
}

impl Write for Sealed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = bytes.get(..bytes.len().min(PLAIN)).unwrap_or_default();
        let mut buffer = vec![0; piece.len() + 16];
        let n = self.keys.write_message(piece, &mut buffer).map_err(stranger)?;
        put(&self.socket, buffer.get(..n).unwrap_or_default())?;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Sealed {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.taken >= self.plain.len() {
            let message = take(&self.socket, LONGEST)?;
            self.plain.resize(message.len(), 0);
            let n = self.keys.read_message(&message, &mut self.plain).map_err(stranger)?;
            self.plain.truncate(n);
            self.taken = 0;
        }
        let rest = self.plain.get(self.taken..).unwrap_or_default();
        let n = rest.len().min(into.len());
        into.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        self.taken += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let there = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (there, listener.accept().unwrap().0)
    }

    fn both(one: &Secret, other: &Secret) -> (io::Result<Sealed>, io::Result<Sealed>) {
        let ((there, here), one) = (pair(), one.clone());
        let host = thread::spawn(move || Sealed::make(there, &one, Side::Host));
        let gatherer = Sealed::make(here, other, Side::Gatherer);
        (host.join().unwrap(), gatherer)
    }

    #[test]
    fn messages_of_any_length_are_read_as_written() {
        let secret = Secret::new().unwrap();
        let (host, gatherer) = both(&secret, &secret);
        let (mut host, mut gatherer) = (host.unwrap(), gatherer.unwrap());
        let long: Vec<u8> = (0..200_000u32).map(|n| n as u8).collect();
        let copy = long.clone();
        let writer = thread::spawn(move || host.write_all(&copy).map(|()| host));
        let mut read = vec![0; long.len()];
        gatherer.read_exact(&mut read).unwrap();
        assert!(read == long);
        let mut host = writer.join().unwrap().unwrap();
        gatherer.write_all(b"done").unwrap();
        let mut word = [0; 4];
        host.read_exact(&mut word).unwrap();
        assert_eq!(&word, b"done");
    }

    #[test]
    fn a_peer_without_the_secret_is_rejected_by_either_side() {
        let (host, gatherer) = both(&Secret::new().unwrap(), &Secret::new().unwrap());
        assert_eq!(gatherer.err().map(|why| why.kind()), Some(io::ErrorKind::PermissionDenied));
        assert!(host.is_err());
    }

    #[test]
    fn an_unauthenticated_sender_is_dropped_as_soon_as_a_silent_one() {
        let (mut there, here) = pair();
        there.write_all(&[0, 8, 1, 2, 3]).unwrap();
        let ended = take(Until(&here, Instant::now()), 256);
        assert_eq!(ended.err().map(|why| why.kind()), Some(io::ErrorKind::TimedOut));
        there.write_all(&[4, 5, 6, 7, 8]).unwrap();
        let heard = take(Until(&here, Instant::now() + HANDSHAKE), 256).unwrap();
        assert_eq!(heard, [1, 2, 3, 4, 5, 6, 7, 8]);
    }

    #[test]
    fn messages_are_encrypted_and_tampering_is_detected() {
        let secret = Secret::new().unwrap();
        let ((there, middle_in), (middle_out, here)) = (pair(), pair());
        let other = secret.clone();
        let host = thread::spawn(move || {
            let mut host = Sealed::make(there, &other, Side::Host)?;
            host.write_all(b"all ranks are well")?;
            Ok::<_, io::Error>(host)
        });
        let gatherer = thread::spawn(move || {
            let mut gatherer = Sealed::make(here, &secret, Side::Gatherer)?;
            let mut text = [0; 18];
            gatherer.read_exact(&mut text)
        });
        // Forwards the handshake, then the message with one bit flipped.
        put(&middle_out, &take(&middle_in, LONGEST).unwrap()).unwrap();
        put(&middle_in, &take(&middle_out, LONGEST).unwrap()).unwrap();
        let mut message = take(&middle_in, LONGEST).unwrap();
        assert!(!message.windows(4).any(|word| word == b"rank"), "it can be read");
        message[3] ^= 1;
        put(&middle_out, &message).unwrap();
        assert!(gatherer.join().unwrap().is_err());
        drop(host.join().unwrap());
    }

    #[test]
    fn a_secret_is_parsed_from_its_text_and_anything_else_is_rejected() {
        let secret = Secret::new().unwrap();
        assert_eq!(Secret::parse(&secret.text()), Some(secret.clone()));
        assert_ne!(Secret::new().unwrap(), secret);
        for text in ["", "00", &"g".repeat(64), &"é".repeat(32), &"0".repeat(65)] {
            assert_eq!(Secret::parse(text), None);
        }
        assert_eq!(format!("{secret:?}"), "Secret");
    }
}
