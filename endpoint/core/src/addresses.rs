//! The addresses of a run's hosts, if the run has built the path between them itself.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use netwarp_wire::job::{Job, Path};

/// The address family of a run: IPv4 or IPv6. In a run with both, the one that the endpoint's own connections use:
/// IPv6, which RFC 6724 prefers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// IPv4: networks are /24s of 10.0.0.0/8.
    Ipv4,
    /// IPv6: networks are /64s of 2001:db8::/32, the prefix for documentation (RFC 3849).
    Ipv6,
}

impl Family {
    /// Returns the family of a job's addresses, which is the same on all its paths.
    pub fn of(job: &Job) -> Self {
        job.paths.first().map_or(Self::Ipv4, Self::of_path)
    }

    /// Returns the family of a path's addresses.
    pub fn of_path(path: &Path) -> Self {
        if path.ipv6 { Self::Ipv6 } else { Self::Ipv4 }
    }

    /// Returns the address families of a path; the one that the endpoint's own connections use comes first.
    pub fn all_of(path: &Path) -> &'static [Self] {
        match (path.ipv6, path.dual) {
            (false, _) => &[Self::Ipv4],
            (true, false) => &[Self::Ipv6],
            (true, true) => &[Self::Ipv6, Self::Ipv4],
        }
    }

    /// Returns the address of host number `host` in the network with these two numbers; host number 0 gives the address
    /// of the network itself.
    pub fn address(self, [first, second]: [u8; 2], host: u8) -> IpAddr {
        match self {
            Self::Ipv4 => Ipv4Addr::new(10, first, second, host).into(),
            Self::Ipv6 => Ipv6Addr::new(0x2001, 0xdb8, first.into(), second.into(), 0, 0, 0, host.into()).into(),
        }
    }

    /// Returns the client's address on a path.
    pub fn client(self, path: u8) -> IpAddr {
        self.address([path, 1], 1)
    }

    /// Returns the server's address on a path.
    pub fn server(self, path: u8) -> IpAddr {
        self.address([path, 2], 1)
    }

    /// Returns the router's address on a path, on the client's side.
    pub fn router(self, path: u8) -> IpAddr {
        self.address([path, 1], ROUTER)
    }
}

/// The host number of a path's router, in both networks that it connects.
pub const ROUTER: u8 = 254;

/// Returns the prefix length, in bits, of a run's networks of this address family.
pub fn prefix_bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 24 } else { 64 }
}

/// Returns the IPv4 address with the same network and host numbers as an IPv6 address of the run. In a run with both
/// families, a host, router or network has both.
pub fn ipv4_beside(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) if address.is_unspecified() => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(address) => {
            let [_, _, first, second, _, _, _, host] = address.segments().map(|word| word.to_be_bytes()[1]);
            Family::Ipv4.address([first, second], host)
        }
    }
}

/// Returns the unspecified address (0.0.0.0 or ::) of the same family as another address.
pub fn unspecified(like: IpAddr) -> IpAddr {
    match like {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_families_number_networks_and_hosts_alike() {
        let written =
            |family: Family| [family.client(1), family.server(0), family.router(0)].map(|each| each.to_string());
        assert_eq!(written(Family::Ipv4), ["10.1.1.1", "10.0.2.1", "10.0.1.254"]);
        assert_eq!(written(Family::Ipv6), ["2001:db8:1:1::1", "2001:db8:0:2::1", "2001:db8:0:1::fe"]);
        for (first, second, host) in [(0, 2, 1), (1, 255, ROUTER), (127, 9, 0)] {
            let [four, six] = [Family::Ipv4, Family::Ipv6].map(|family| family.address([first, second], host));
            assert_eq!(ipv4_beside(six), four);
        }
        assert_eq!(ipv4_beside(Ipv6Addr::UNSPECIFIED.into()), unspecified(Family::Ipv4.client(0)));
    }
}
