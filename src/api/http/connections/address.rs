//! The address of a client, as far as addresses distinguish clients.

use std::net::IpAddr;

/// An IPv4 address, or the first 64 bits of an IPv6 address: a host of IPv6 has the whole network of these bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(u64);

impl Address {
    pub fn of(address: IpAddr) -> Address {
        match address.to_canonical() {
            // No host of IPv6 has a network with such a number, but for loopback.
            IpAddr::V4(address) => Address(address.to_bits().into()),
            IpAddr::V6(address) => Address((address.to_bits() >> 64) as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_network_of_ipv6_are_one_client() {
        let of = |text: &str| Address::of(text.parse().expect("an address"));
        assert_eq!(of("2001:db8:0:1::1"), of("2001:db8:0:1:ffff::2"));
        assert_ne!(of("2001:db8:0:1::1"), of("2001:db8:0:2::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        assert_ne!(of("192.0.2.2"), of("192.0.2.1"));
        assert_ne!(of("::1"), of("127.0.0.1"));
    }
}
