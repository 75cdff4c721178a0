//! Messages and requests of a single-process world, without any C.

use std::collections::{HashMap, VecDeque};

/// The handle of every request that is complete when it is started (MPICH: `0x6c000000` and following).
pub const COMPLETED: i32 = 0x6c00_0001;
/// `MPI_REQUEST_NULL`
pub const NULL: i32 = 0x2c00_0000;
const FIRST: i32 = 0x5800_0100;
const ANY_TAG: i32 = -1;

/// A message that has not been received yet.
#[derive(Debug, PartialEq, Eq)]
pub struct Message {
    /// The tag it was sent with.
    pub tag: i32,
    /// The contents.
    pub bytes: Vec<u8>,
}

/// A posted receive, with the destination as an address that only the caller may dereference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receive {
    /// Address of the buffer.
    pub buffer: usize,
    /// Its size in bytes.
    pub size: usize,
    /// The tag, or any.
    pub tag: i32,
}

/// State of the library.
#[derive(Debug, Default)]
pub struct Engine {
    messages: VecDeque<Message>,
    receives: HashMap<i32, Receive>,
    started: i32,
}

impl Engine {
    /// Keeps a message until it is received.
    pub fn send(&mut self, message: Message) {
        self.messages.push_back(message);
    }

    /// Takes the oldest message with that tag.
    pub fn take(&mut self, tag: i32) -> Option<Message> {
        let matches = |message: &Message| tag == ANY_TAG || message.tag == tag;
        let index = self.messages.iter().position(matches)?;
        self.messages.remove(index)
    }

    /// Posts a receive and returns its handle.
    pub fn post(&mut self, receive: Receive) -> i32 {
        self.started += 1;
        let handle = FIRST + self.started;
        self.receives.insert(handle, receive);
        handle
    }

    /// Completes a posted receive if its message has arrived, and removes the request.
    pub fn complete(&mut self, handle: i32) -> Option<(Receive, Message)> {
        let receive = *self.receives.get(&handle)?;
        let message = self.take(receive.tag)?;
        self.receives.remove(&handle);
        Some((receive, message))
    }

    /// Whether the request exists and is not complete.
    pub fn is_open(&self, handle: i32) -> bool {
        self.receives.contains_key(&handle)
    }

    /// Discards a request.
    pub fn forget(&mut self, handle: i32) {
        self.receives.remove(&handle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(tag: i32, byte: u8) -> Message {
        Message { tag, bytes: vec![byte] }
    }

    #[test]
    fn messages_of_one_tag_do_not_overtake() {
        let mut engine = Engine::default();
        engine.send(message(1, 10));
        engine.send(message(2, 20));
        engine.send(message(1, 11));
        assert_eq!(engine.take(2), Some(message(2, 20)));
        assert_eq!(engine.take(ANY_TAG), Some(message(1, 10)));
        assert_eq!(engine.take(1), Some(message(1, 11)));
        assert_eq!(engine.take(1), None);
    }

    #[test]
    fn a_posted_receive_is_open_until_its_message_arrives() {
        let mut engine = Engine::default();
        let receive = Receive { buffer: 64, size: 4, tag: 5 };
        let handle = engine.post(receive);
        assert_eq!(engine.complete(handle), None);
        assert!(engine.is_open(handle));
        engine.send(message(5, 1));
        assert_eq!(engine.complete(handle), Some((receive, message(5, 1))));
        assert!(!engine.is_open(handle));
    }
}
