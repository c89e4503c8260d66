//! The addresses of a run's hosts, where the path between them is its own.

use std::net::Ipv4Addr;

/// The client's address on a path.
pub fn client_address(path: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, path, 1, 1)
}

/// The server's address on a path.
pub fn server_address(path: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, path, 2, 1)
}

/// The router's address on a path, towards the client.
pub fn router_address(path: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, path, 1, 254)
}
