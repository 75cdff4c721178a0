//! A process that listens where it should not: at paths, or at abstract names given with `@`. Prints `ready`,
//! and then what it receives: bytes and file descriptors. Used by tests.
#![allow(missing_docs)]

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

fn main() {
    let listeners: Vec<UnixListener> = std::env::args().skip(1).map(|name| listen(&name)).collect();
    println!("ready");
    let threads = listeners.into_iter().map(|listener| {
        std::thread::spawn(move || listener.incoming().flatten().for_each(|socket| take(&socket)))
    });
    threads.collect::<Vec<_>>().into_iter().for_each(|thread| drop(thread.join()));
}

fn listen(name: &str) -> UnixListener {
    let listener = match name.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name).and_then(|at| UnixListener::bind_addr(&at)),
        None => UnixListener::bind(name),
    };
    if !name.starts_with('@') {
        let everybody = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(name, everybody).unwrap_or_else(|why| panic!("{name}: {why}"));
    }
    listener.unwrap_or_else(|why| panic!("{name}: {why}"))
}

fn take(socket: &UnixStream) {
    let (mut bytes, mut space) = ([0; 64], [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))]);
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let read = recvmsg(socket, &mut [IoSliceMut::new(&mut bytes)], &mut control, RecvFlags::CMSG_CLOEXEC);
    let bytes = read.map_or(0, |read| read.bytes);
    let files = control.drain().map(|message| match message {
        RecvAncillaryMessage::ScmRights(files) => files.count(),
        _ => 0,
    });
    println!("came: {bytes} bytes, {} descriptors", files.sum::<usize>());
}
