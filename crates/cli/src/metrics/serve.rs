//! A scrape endpoint: serves only the metrics, one request for each connection.
//!
//! A client that is slow, or silent, or does not read its answer keeps nobody else waiting: each connection has its
//! own thread, its number and time are limited, and so is the size of a request.

use crate::render::complain;
use anyhow::{Context, Result};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PLAIN: &str = "text/plain; charset=utf-8";
/// Connections served at once; further ones are closed.
const MOST_CLIENTS: usize = 32;
/// How long a client may take for its request, and for reading the answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Maximum size of a request.
const LARGEST: usize = 16 << 10;

/// Parses an address, or a port on the loopback interface.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    let port = text.parse::<u16>().map(|port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    port.or_else(|_| text.parse())
        .map_err(|_| "write a port, or an address and a port such as 127.0.0.1:9400".to_owned())
}

/// Serves requests until the process is killed.
pub fn serve(address: SocketAddr, text: impl FnMut() -> Result<String> + Send) -> Result<ExitCode> {
    let listener = TcpListener::bind(address).with_context(|| format!("--listen {address}"))?;
    if !address.ip().is_loopback() {
        complain(
            "metrics",
            &format!(
                "{address}: anyone who can connect to this address can read the command lines and figures of jobs"
            ),
        );
    }
    complain("metrics", &format!("serving http://{}/metrics", listener.local_addr()?));
    accept(&listener, &Mutex::new(text))
}

fn accept(listener: &TcpListener, text: &Mutex<impl FnMut() -> Result<String> + Send>) -> ! {
    let clients = AtomicUsize::new(0);
    let clients = &clients;
    thread::scope(|scope| {
        loop {
            let Ok((stream, _)) = listener.accept() else {
                // Out of file descriptors, for example: some become free when clients leave.
                thread::sleep(Duration::from_millis(100));
                continue;
            };
            if clients.load(Ordering::Relaxed) >= MOST_CLIENTS {
                continue;
            }
            clients.fetch_add(1, Ordering::Relaxed);
            let served = thread::Builder::new().spawn_scoped(scope, move || {
                // The client may have gone.
                let _gone = answer(stream, text);
                clients.fetch_sub(1, Ordering::Relaxed);
            });
            if served.is_err() {
                clients.fetch_sub(1, Ordering::Relaxed);
            }
        }
    })
}

fn answer(mut stream: TcpStream, text: &Mutex<impl FnMut() -> Result<String>>) -> io::Result<()> {
    let asked = request(&mut stream)?;
    let (status, kind, body) = match asked.as_ref().map(|(method, path)| (method.as_str(), path.as_str())) {
        None => ("400 Bad Request", PLAIN, "not a request of HTTP\n".to_owned()),
        Some(("GET" | "HEAD", "/metrics")) => {
            let mut text = text.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            match text() {
                Ok(text) => ("200 OK", TYPE, text),
                Err(why) => ("500 Internal Server Error", PLAIN, format!("{why:#}\n")),
            }
        }
        Some(("GET" | "HEAD", _)) => ("404 Not Found", PLAIN, "see /metrics\n".to_owned()),
        Some(_) => ("405 Method Not Allowed", PLAIN, "only GET\n".to_owned()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nAllow: GET, HEAD\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let body = if asked.is_some_and(|(method, _)| method == "HEAD") { "" } else { &body };
    write_within(&mut stream, &[head.as_bytes(), body.as_bytes()].concat())?;
    stream.shutdown(Shutdown::Write)?;
    // Closing a connection with unread input may discard the answer.
    stream.set_read_timeout(Some(Duration::from_millis(200)))?;
    let mut rest = [0; LARGEST];
    let _rest = stream.read(&mut rest)?;
    Ok(())
}

/// Reads a request up to the empty line. Returns its method and path; `None` if it is not one.
fn request(stream: &mut TcpStream) -> io::Result<Option<(String, String)>> {
    let (until, mut seen, mut part) = (Instant::now() + PATIENCE, Vec::new(), [0; 1024]);
    while !seen.windows(4).any(|end| end == b"\r\n\r\n") && !seen.windows(2).any(|end| end == b"\n\n") {
        stream.set_read_timeout(Some(left(until)?))?;
        let count = stream.read(&mut part)?;
        seen.extend_from_slice(part.get(..count).unwrap_or_default());
        if count == 0 || seen.len() > LARGEST {
            return Ok(None);
        }
    }
    let line = seen.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_ascii_whitespace();
    let (Some(method), Some(target), Some(version)) = (words.next(), words.next(), words.next()) else {
        return Ok(None);
    };
    let path = target.split('?').next().unwrap_or_default();
    Ok(version.starts_with("HTTP/").then(|| (method.to_owned(), path.to_owned())))
}

/// Like `write_all`, with a limit for the whole.
fn write_within(stream: &mut TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    let until = Instant::now() + PATIENCE;
    while !bytes.is_empty() {
        stream.set_write_timeout(Some(left(until)?))?;
        match stream.write(bytes)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            count => bytes = bytes.get(count..).unwrap_or_default(),
        }
    }
    Ok(())
}

/// Returns the time left.
fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_means_the_loopback_interface() {
        assert_eq!(address("9400"), Ok("127.0.0.1:9400".parse().unwrap()));
        assert_eq!(address("[::1]:9400"), Ok("[::1]:9400".parse().unwrap()));
        assert!(address("anywhere").is_err() && address("99999").is_err());
    }

    fn server() -> SocketAddr {
        let listener = TcpListener::bind(address("0").unwrap()).unwrap();
        let at = listener.local_addr().unwrap();
        thread::spawn(move || accept(&listener, &Mutex::new(|| Ok("x 1\n# EOF\n".to_owned()))));
        at
    }

    fn connect(at: SocketAddr, request: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(at).unwrap();
        stream.write_all(request).unwrap();
        stream
    }

    fn asked(at: SocketAddr, request: &[u8]) -> String {
        let (mut stream, mut text) = (connect(at, request), String::new());
        stream.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn only_the_metrics_are_served() {
        let at = server();
        let ok = asked(at, b"GET /metrics?a=b HTTP/1.1\r\nHost: a\r\n\r\n");
        assert!(ok.starts_with("HTTP/1.1 200 ") && ok.ends_with("\r\n\r\nx 1\n# EOF\n"), "{ok}");
        assert!(ok.contains(&format!("\r\nContent-Type: {TYPE}\r\nContent-Length: 10\r\n")), "{ok}");
        let head = asked(at, b"HEAD /metrics HTTP/1.0\r\n\r\n");
        assert!(head.starts_with("HTTP/1.1 200 ") && head.ends_with("\r\n\r\n"), "{head}");
        assert!(asked(at, b"GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
        assert!(asked(at, b"POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
        assert!(asked(at, b"\x00\xff\xfe\r\n\r\n").starts_with("HTTP/1.1 400 "));
    }

    #[test]
    fn clients_that_are_slow_or_do_not_read_keep_nobody_waiting() {
        let at = server();
        let began = Instant::now();
        let silent: Vec<_> = (0..8).map(|_| connect(at, b"GET /metrics HTTP/1.1\r\nHost: ")).collect();
        let flooding = connect(at, &b"GET /metrics HTTP/1.1\r\n\r\n".repeat(200));
        assert!(asked(at, b"GET /metrics HTTP/1.1\r\n\r\n").ends_with("# EOF\n"));
        assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
        drop((silent, flooding));
    }
}
