//! Connections from clients without the job's secret: they get no answer, and the report mentions
//! them.

use std::collections::BTreeMap;
use std::net::IpAddr;

/// Maximum number of addresses stored; connections from further addresses are only counted.
const MOST_ADDRESSES: usize = 64;
/// Maximum number of addresses named in the report.
const MOST_NAMED: usize = 4;

/// Number of refused connections by address.
#[derive(Debug, Default)]
pub struct Refused {
    from: BTreeMap<IpAddr, usize>,
    /// Connections from other addresses.
    others: usize,
}

impl Refused {
    /// Counts one more.
    pub fn add(&mut self, from: Option<IpAddr>) {
        // A dual-stack socket shows IPv4 addresses in IPv6-mapped form.
        let known = from.map(|from| from.to_canonical());
        match known {
            Some(from) if self.from.len() < MOST_ADDRESSES || self.from.contains_key(&from) => {
                let count = self.from.entry(from).or_default();
                *count = count.saturating_add(1);
            }
            _ => self.others = self.others.saturating_add(1),
        }
    }

    /// Makes the sentence for the report, if any connections were refused.
    pub fn said(&self) -> Option<String> {
        let count = self.from.values().sum::<usize>().saturating_add(self.others);
        if count == 0 {
            return None;
        }
        let what = if count == 1 { "1 connection".to_owned() } else { format!("{count} connections") };
        let mut named: Vec<String> = self.from.keys().take(MOST_NAMED).map(IpAddr::to_string).collect();
        if self.from.len() > MOST_NAMED || self.others > 0 {
            named.push("others".to_owned());
        }
        let was = if count == 1 { "was" } else { "were" };
        Some(format!(
            "{what} that did not prove knowledge of the job's secret {was} refused, from {}",
            named.join(", ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn address(last: u8) -> Option<IpAddr> {
        Some(Ipv4Addr::new(10, 0, 0, last).into())
    }

    #[test]
    fn refused_connections_are_counted_and_named_by_address() {
        let mut refused = Refused::default();
        assert_eq!(refused.said(), None);
        refused.add(address(7));
        let once = "1 connection that did not prove knowledge of the job's secret was refused, from 10.0.0.7";
        assert_eq!(refused.said().as_deref(), Some(once));
        refused.add(Some(Ipv4Addr::new(10, 0, 0, 7).to_ipv6_mapped().into()));
        let twice =
            "2 connections that did not prove knowledge of the job's secret were refused, from 10.0.0.7";
        assert_eq!(refused.said().as_deref(), Some(twice));
    }

    #[test]
    fn any_number_of_refused_connections_takes_bounded_memory_and_is_counted() {
        let mut refused = Refused::default();
        (0..=255).for_each(|last| refused.add(address(last)));
        refused.add(None);
        assert_eq!(refused.from.len(), MOST_ADDRESSES);
        let said = refused.said().unwrap();
        assert!(said.starts_with("257 connections") && said.ends_with("10.0.0.3, others"), "{said}");
    }
}
