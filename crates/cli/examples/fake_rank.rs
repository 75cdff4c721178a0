//! A program that looks to `mpiscope run` like a rank under the layer: it takes or creates an image, sends it
//! to the collector, and ends in the way given by its argument. Used by tests; does not use MPI.
#![allow(unsafe_code)]
#![allow(missing_docs)]

use mpiscope_image::layout::State;
use mpiscope_job::test_image::{TestImage, memory_file};
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// The handles of `MPI_COMM_WORLD` and `MPI_DOUBLE` in MPICH's ABI.
const WORLD: u64 = 0x4400_0000;
const DOUBLE: u64 = 0x4c00_080b;
/// Longer than any test waits for a verdict on a loaded machine: the tests end these ranks.
const LONG: Duration = Duration::from_secs(90);
/// Between two calls of a rank that works.
const PAUSE: Duration = Duration::from_millis(50);

fn main() {
    let how = std::env::args().nth(1).unwrap_or_default();
    println!("output of the program");
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<i32>().ok());
    if how == "silent" {
        return;
    }
    let rank = number("FAKE_RANK").or(number("PMI_RANK")).unwrap_or(0) as u32;
    let size = number("FAKE_SIZE").or(number("PMI_SIZE")).unwrap_or(1) as u32;
    let job = std::env::var("MPISCOPE_JOB").unwrap_or_else(|_| "none".into());
    let fd = match number("MPISCOPE_IMAGE_FD") {
        // SAFETY: the descriptor was given to this process for this purpose.
        Some(fd) => unsafe { OwnedFd::from_raw_fd(fd) },
        None => memory_file(&job),
    };
    let sample = TestImage::on(fd, &job, rank, size);
    if let Ok(name) = std::env::var("MPISCOPE_COLLECTOR") {
        send(&name, &sample.fd);
    }
    sample.called("MPI_Allreduce", 10 + u64::from(rank), 1_000_000 * u64::from(rank + 1), 80);
    sample.called("MPI_Send", 5, 20_000, 4096);
    std::thread::sleep(Duration::from_millis(30));
    // Waits until this file exists.
    while std::env::var_os("FAKE_WAIT").is_some_and(|path| !std::path::Path::new(&path).exists()) {
        std::thread::sleep(Duration::from_millis(10));
    }
    end(&how, &sample);
}

fn end(how: &str, sample: &TestImage) {
    match how.split_once('=').unwrap_or((how, "0")) {
        ("finalize", code) => {
            sample.state(State::FINALIZED);
            std::process::exit(code.parse().unwrap_or(0));
        }
        ("abort", code) => {
            sample.abort(code.parse().unwrap_or(1));
            std::process::exit(code.parse().unwrap_or(1));
        }
        ("recv", _) => {
            sample.enters("MPI_Recv", [WORLD, DOUBLE, 100], -2, 7);
            std::thread::sleep(Duration::from_secs(30));
        }
        // In a barrier on a communicator with this identity; the handle differs between ranks.
        ("barrier", identity) => {
            let handle = 0x8400_0000 + u64::from(std::process::id() % 1000);
            sample.shares_comm(handle, "", 2, identity.parse().unwrap_or(0));
            sample.enters("MPI_Barrier", [handle, DOUBLE, 0], 0, 0);
            std::thread::sleep(Duration::from_secs(30));
        }
        // In the first collective on a communicator shared by all such ranks.
        ("collective", name) => {
            let comm = sample.shares_comm(0x8400_0001, "", 2, 77);
            sample.enters_collective(name, (0x8400_0001, comm), 1, 0);
            std::thread::sleep(LONG);
        }
        // Completes calls for longer than any test looks.
        ("works", _) => {
            for _ in 0..LONG.as_millis() / PAUSE.as_millis() {
                sample.enters("MPI_Recv", [WORLD, DOUBLE, 100], -2, 7);
                sample.leaves();
                std::thread::sleep(PAUSE);
            }
        }
        ("kill", signal) => {
            sample.enters("MPI_Recv", [WORLD, DOUBLE, 100], -2, 7);
            std::thread::sleep(Duration::from_millis(50));
            die(signal);
        }
        // In MPI_Finalize, with a communicator that was not freed.
        ("kill-finalizing", signal) => {
            let left = sample.has_comm(0x8400_0002, "left", 1);
            left.head.made_by.set(sample.number("MPI_Comm_dup") as u16 + 1);
            left.head.made_from.set(0x1234);
            sample.enters("MPI_Finalize", [0; 3], 0, 0);
            die(signal);
        }
        // Between two calls.
        ("kill-later", signal) => {
            sample.enters("MPI_Recv", [WORLD, DOUBLE, 100], -2, 7);
            sample.leaves();
            die(signal);
        }
        _ => {}
    }
}

fn die(signal: &str) {
    let signal = signal.parse().unwrap_or(libc::SIGKILL);
    // SAFETY: ends this process; the default action is needed because Rust installs its own SIGSEGV handler.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

/// Sends the image as the layer does.
fn send(name: &str, image: &OwnedFd) {
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
    let Ok(socket) = UnixStream::connect(name) else { return };
    let mut bytes = b"MPSC".to_vec();
    for word in [1, std::process::id(), 0] {
        bytes.extend(word.to_ne_bytes());
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let fds = [image.as_fd()];
    control.push(SendAncillaryMessage::ScmRights(&fds));
    let _sent = rustix::net::sendmsg(&socket, &[IoSlice::new(&bytes)], &mut control, SendFlags::NOSIGNAL);
}
