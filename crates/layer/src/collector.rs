//! Handing the image to `mpiscope run`: one message with the memory file over an abstract Unix socket.
#![allow(unsafe_code)]

use std::ffi::c_void;

/// Version of the message.
const VERSION: u32 = 1;

/// Sends `file` to the socket called `name`. False if there is nobody.
pub fn send(name: &[u8], file: i32, pid: u32) -> bool {
    // SAFETY: all zero is a valid address.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    // The first byte stays zero: the name is abstract.
    let room = address.sun_path.iter_mut().skip(1);
    if name.len() >= 107 {
        return false;
    }
    for (to, from) in room.zip(name) {
        *to = *from as libc::c_char;
    }
    let len = size_of::<libc::sa_family_t>() + 1 + name.len();
    // SAFETY: a new socket, used and closed here.
    unsafe {
        let socket = libc::socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0);
        if socket < 0 {
            return false;
        }
        let connected = libc::connect(socket, (&raw const address).cast(), len as libc::socklen_t) == 0;
        let sent = connected && send_file(socket, file, pid);
        libc::close(socket);
        sent
    }
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
