//! Handing the image to `mpiscope run`: one message with the memory file over an abstract Unix socket.
#![allow(unsafe_code)]

use crate::abstract_socket::Socket;
use std::ffi::c_void;

/// Version of the message.
const VERSION: u32 = 1;

/// Sends `file` to the socket called `name`. False if there is nobody.
pub fn send(name: &[u8], file: i32, pid: u32) -> bool {
    let Some(socket) = Socket::new(0) else { return false };
    // SAFETY: our own socket.
    socket.connect(name) && unsafe { send_file(socket.descriptor(), file, pid) }
}

/// One message: 16 bytes, and the file as ancillary data.
unsafe fn send_file(socket: i32, file: i32, pid: u32) -> bool {
    let mut body = [0u8; 16];
    for (to, from) in
        body.iter_mut().zip(b"MPSC".iter().copied().chain(VERSION.to_ne_bytes()).chain(pid.to_ne_bytes()))
    {
        *to = from;
    }
    let mut control = [0u64; 8];
    let mut part = libc::iovec { iov_base: body.as_mut_ptr().cast::<c_void>(), iov_len: body.len() };
    // SAFETY: all zero is a valid message; its parts live until the call returns; the control buffer is aligned and
    // large enough for one descriptor.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(size_of::<i32>() as u32) as _;
        let head = libc::CMSG_FIRSTHDR(&message);
        if head.is_null() {
            return false;
        }
        (*head).cmsg_level = libc::SOL_SOCKET;
        (*head).cmsg_type = libc::SCM_RIGHTS;
        (*head).cmsg_len = libc::CMSG_LEN(size_of::<i32>() as u32) as _;
        libc::CMSG_DATA(head).cast::<i32>().write_unaligned(file);
        libc::sendmsg(socket, &message, libc::MSG_NOSIGNAL) == body.len() as isize
    }
}
