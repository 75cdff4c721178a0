//! The direction in which a function's bytes moved.

use mpi_abi::Moves;

/// Bytes that a process moved, by direction.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Moved {
    /// Out of the process: messages, and data written to windows and files.
    pub sent: u64,
    /// Into the process: messages, and data read from windows and files.
    pub received: u64,
    /// By collectives, which do both.
    pub collective: u64,
}

impl Moved {
    /// Bytes moved by the calls of one function: `bytes` in total, of which `received` were received or
    /// fetched.
    #[must_use]
    pub fn of(moves: Moves, bytes: u64, received: u64) -> Self {
        let (sent, received) = match moves {
            Moves::COLLECTIVE => return Self { collective: bytes, ..Self::default() },
            Moves::SEND | Moves::PUT | Moves::WRITE => (bytes, 0),
            Moves::RECEIVE | Moves::GET | Moves::READ => (0, bytes),
            // An older image: assume that as much comes back as goes out.
            Moves::FETCH if received == 0 => (bytes - bytes / 2, bytes / 2),
            // Exchanges, and starts of requests of either kind.
            _ => (bytes.saturating_sub(received), received.min(bytes)),
        };
        Self { sent, received, collective: 0 }
    }

    /// The sum of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            sent: self.sent.saturating_add(other.sent),
            received: self.received.saturating_add(other.received),
            collective: self.collective.saturating_add(other.collective),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_byte_is_lost_or_counted_twice_for_any_way_of_moving_data() {
        for moves in 0..=u8::MAX {
            let moved = Moved::of(Moves(moves), 101, 40);
            assert_eq!(moved.sent + moved.received + moved.collective, 101, "{moves}");
        }
    }

    #[test]
    fn a_fetch_without_combining_only_receives() {
        assert_eq!(Moved::of(Moves::FETCH, 16, 16), Moved { sent: 0, received: 16, collective: 0 });
        assert_eq!(Moved::of(Moves::FETCH, 24, 16), Moved { sent: 8, received: 16, collective: 0 });
        assert_eq!(Moved::of(Moves::FETCH, 16, 0), Moved { sent: 8, received: 8, collective: 0 });
    }

    #[test]
    fn an_exchange_sends_the_bytes_that_it_did_not_receive() {
        let moved = Moved::of(Moves::EXCHANGE, 100, 40);
        assert_eq!(moved, Moved { sent: 60, received: 40, collective: 0 });
        assert_eq!(Moved::of(Moves::EXCHANGE, 10, u64::MAX).sent, 0);
    }
}
