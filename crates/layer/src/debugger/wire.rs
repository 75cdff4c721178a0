//! Messages between instances of this library: on the program's communicators, with a reserved tag, inside a
//! hooked call (so that they are not counted), and with bounded waits.
//!
//! They are sent only while the program cannot have used the communicator for anything else: before
//! `MPI_Init` or the call that created it has returned. If the other side does not answer (it may run without
//! this library), the receive is cancelled and the call continues.
#![allow(unsafe_code)]

use crate::interpose::real;
use mpi_abi::{Abi, Handle, f};
use std::ffi::{c_int, c_void};
use std::time::{Duration, Instant};

/// The tag. Below 32767, the lowest upper bound that the standard allows.
const TAG: c_int = 32_749;

/// A message in progress.
pub struct Pending<A: Abi> {
    request: A::Handle,
    memory: Vec<u8>,
    sends: bool,
    done: bool,
    /// Rank of the sender, once a receive has completed.
    pub source: c_int,
}

impl<A: Abi> Pending<A> {
    /// Starts a send.
    pub fn send(comm: A::Handle, to: c_int, bytes: Vec<u8>) -> Option<Self> {
        Self::start(f::MPI_Isend, comm, to, bytes, true)
    }

    /// Starts to receive exactly `len` bytes.
    pub fn receive(comm: A::Handle, from: c_int, len: usize) -> Option<Self> {
        Self::start(f::MPI_Irecv, comm, from, vec![0; len], false)
    }

    fn start(
        function: mpi_abi::FunctionId,
        comm: A::Handle,
        peer: c_int,
        mut memory: Vec<u8>,
        sends: bool,
    ) -> Option<Self> {
        type Start<H> = unsafe extern "C" fn(*mut c_void, c_int, H, c_int, c_int, H, *mut H) -> c_int;
        let byte = real::predefined::<A>("MPI_BYTE")?;
        let mut request = A::Handle::from_raw(0);
        let len = c_int::try_from(memory.len()).ok()?;
        // SAFETY: MPI_Isend and MPI_Irecv have this type; the memory stays in place until the request has
        // completed, or is leaked (see `drop`).
        let result = unsafe {
            let start: Start<A::Handle> = real::function(function)?;
            start(memory.as_mut_ptr().cast(), len, byte, peer, TAG, comm, &mut request)
        };
        (result == A::SUCCESS).then_some(Self { request, memory, sends, done: false, source: peer })
    }

    fn test(&mut self) -> bool {
        type Test<H> = unsafe extern "C" fn(*mut H, *mut c_int, *mut c_void) -> c_int;
        if self.done {
            return true;
        }
        // Larger than the status of any ABI.
        let mut status = [0u64; 16];
        let mut flag = 0;
        // SAFETY: the type of MPI_Test; all three arguments point to our memory.
        let result = unsafe {
            let Some(test) = real::function::<Test<A::Handle>>(f::MPI_Test) else { return false };
            test(&mut self.request, &mut flag, status.as_mut_ptr().cast())
        };
        self.done = result == A::SUCCESS && flag != 0;
        if self.done && !self.sends {
            let bytes: Vec<u8> = status.iter().flat_map(|w| w.to_ne_bytes()).collect();
            let source = bytes.get(A::STATUS_SOURCE..A::STATUS_SOURCE + 4).and_then(|b| b.try_into().ok());
            self.source = source.map_or(self.source, c_int::from_ne_bytes);
        }
        self.done
    }

    /// The received bytes, once they have arrived.
    pub fn bytes(&self) -> Option<&[u8]> {
        (self.done && !self.sends).then_some(&self.memory)
    }
}

impl<A: Abi> Drop for Pending<A> {
    fn drop(&mut self) {
        type Cancel<H> = unsafe extern "C" fn(*mut H) -> c_int;
        type Wait<H> = unsafe extern "C" fn(*mut H, *mut c_void) -> c_int;
        if self.done {
            return;
        }
        if !self.sends {
            let mut status = [0u64; 16];
            // SAFETY: the types of MPI_Cancel and MPI_Wait. A cancelled receive completes at once.
            unsafe {
                if let (Some(cancel), Some(wait)) = (
                    real::function::<Cancel<A::Handle>>(f::MPI_Cancel),
                    real::function::<Wait<A::Handle>>(f::MPI_Wait),
                ) {
                    cancel(&mut self.request);
                    wait(&mut self.request, status.as_mut_ptr().cast());
                    return;
                }
            }
        }
        // The library may still read from it.
        std::mem::forget(std::mem::take(&mut self.memory));
    }
}

/// Drives messages until all have completed or the time is up. Returns whether all have completed.
pub fn finish<A: Abi>(messages: &mut [Pending<A>], limit: Duration) -> bool {
    drive(messages, limit, |open, _| open == 0)
}

/// Drives messages until one has completed or the time is up. Returns whether one has.
pub fn first<A: Abi>(messages: &mut [Pending<A>], limit: Duration) -> bool {
    drive(messages, limit, |open, all| open < all || all == 0)
}

fn drive<A: Abi>(
    messages: &mut [Pending<A>],
    limit: Duration,
    enough: impl Fn(usize, usize) -> bool,
) -> bool {
    let begin = Instant::now();
    let mut pause = Duration::from_micros(1);
    loop {
        // Always test all of them: each test may drive the library's progress.
        let open = messages.iter_mut().filter_map(|message| (!message.test()).then_some(())).count();
        if enough(open, messages.len()) {
            return true;
        }
        if begin.elapsed() > limit {
            return false;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(1));
    }
}

/// Sends `bytes` to `to`. Returns false if they are not received in time.
pub fn send<A: Abi>(comm: A::Handle, to: c_int, bytes: Vec<u8>, limit: Duration) -> bool {
    Pending::<A>::send(comm, to, bytes).is_some_and(|p| finish(&mut [p], limit))
}

/// Receives `len` bytes from `from`.
pub fn receive<A: Abi>(comm: A::Handle, from: c_int, len: usize, limit: Duration) -> Option<Vec<u8>> {
    let mut message = [Pending::<A>::receive(comm, from, len)?];
    finish(&mut message, limit);
    let [message] = message;
    message.bytes().map(<[u8]>::to_vec)
}
