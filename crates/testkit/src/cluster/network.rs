//! The network of a cluster: a bridge on the head, and a link to it on every other host.

use super::Host;
use std::process::Command;

/// The link of every host. All have the same name, because some transports must be configured with
/// one.
pub const LINK: &str = "eth0";

/// The hardware address of the head. A bridge without one takes it from a port, and another one when that port's
/// host is gone; the other hosts would then talk to an address that no longer exists.
const HEAD: &str = "02:4d:50:49:00:01";

/// The address of the host with this number.
pub fn address(number: usize) -> String {
    format!("10.77.0.{}", number + 1)
}

/// The contents of the cluster's `/etc/hosts`.
pub fn names(names: &[&str]) -> String {
    let lines = names.iter().enumerate().map(|(number, name)| format!("{} {name}\n", address(number)));
    std::iter::once("127.0.0.1 localhost\n".to_owned()).chain(lines).collect()
}

/// Connects the hosts.
pub fn connect(hosts: &[Host]) -> anyhow::Result<()> {
    let Some((head, others)) = hosts.split_first() else { return Ok(()) };
    run(head.command("ip").args(["link", "add", LINK, "address", HEAD, "type", "bridge"]))?;
    for (number, host) in others.iter().enumerate() {
        let port = format!("port{number}");
        let (here, there) = (host.first.to_string(), head.first.to_string());
        let mut link = Command::new("ip");
        link.args([
            "link", "add", LINK, "netns", &here, "type", "veth", "peer", "name", &port, "netns", &there,
        ]);
        run(&mut link)?;
        run(head.command("ip").args(["link", "set", &port, "master", LINK]))?;
        run(head.command("ip").args(["link", "set", &port, "up"]))?;
    }
    for host in hosts {
        let address = format!("{}/24", host.address);
        run(host.command("ip").args(["addr", "add", &address, "dev", LINK]))?;
        // Without an IPv6 address, which would not be usable at first.
        run(host.command("ip").args(["link", "set", LINK, "addrgenmode", "none"]))?;
        run(host.command("ip").args(["link", "set", LINK, "up"]))?;
    }
    Ok(())
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    let output = command.output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "{command:?}: {}", said.trim());
    Ok(())
}
