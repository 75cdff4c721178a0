//! A scrape endpoint: serves one request at a time, and only the metrics.

use crate::render::complain;
use anyhow::{Result, anyhow};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use tiny_http::{Header, Method, Response, Server};

const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Parses an address, or a port on the loopback interface.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    let port = text.parse::<u16>().map(|port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    port.or_else(|_| text.parse())
        .map_err(|_| "write a port, or an address and a port such as 127.0.0.1:9400".to_owned())
}

/// Serves requests until the process is killed.
pub fn serve(address: SocketAddr, mut text: impl FnMut() -> Result<String>) -> Result<ExitCode> {
    let server = Server::http(address).map_err(|why| anyhow!("--listen {address}: {why}"))?;
    if !address.ip().is_loopback() {
        complain(
            "metrics",
            &format!(
                "{address}: anyone who can connect to this address can read the command lines and figures of jobs"
            ),
        );
    }
    complain("metrics", &format!("serving http://{}/metrics", server.server_addr()));
    loop {
        let request = server.recv()?;
        let path = request.url().split('?').next().unwrap_or_default();
        let response = match (request.method(), path) {
            (Method::Get | Method::Head, "/metrics") => match text() {
                Ok(text) => Response::from_string(text).with_header(content_type()?),
                Err(why) => Response::from_string(format!("{why:#}\n")).with_status_code(500),
            },
            (Method::Get | Method::Head, _) => Response::from_string("see /metrics\n").with_status_code(404),
            _ => Response::from_string("only GET\n").with_status_code(405),
        };
        // The client may have gone.
        let _gone = request.respond(response);
    }
}

fn content_type() -> Result<Header> {
    Header::from_bytes("Content-Type", TYPE).map_err(|()| anyhow!("invalid header"))
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
}
