//! Host names.

use std::net::IpAddr;

/// Whether two names denote one host: they are equal, or one is the other with its domain appended.
pub(crate) fn same_host(one: &str, other: &str) -> bool {
    let with_domain = |long: &str, short: &str| {
        !short.is_empty() && long.len() > short.len() && long.as_bytes().get(short.len()) == Some(&b'.')
            && long.get(..short.len()).is_some_and(|head| head.eq_ignore_ascii_case(short))
            // Addresses contain dots as well, and names may consist of digits.
            && long.parse::<IpAddr>().is_err()
    };
    one.eq_ignore_ascii_case(other) || with_domain(one, other) || with_domain(other, one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_the_same_with_and_without_its_domain_but_an_address_is_not_a_prefix() {
        assert!(same_host("node7", "NODE7") && same_host("node7.site.org", "node7"));
        assert!(same_host("1234.site.org", "1234") && same_host("7", "7.cluster"));
        assert!(!same_host("node7", "node70") && !same_host("10.0.0.1", "10") && !same_host("", "a"));
    }
}
