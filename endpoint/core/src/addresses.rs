//! The addresses of a run's hosts, where the path between them is its own.

use std::net::Ipv4Addr;

/// Returns the client's address on a path.
pub fn client_address(path: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, path, 1, 1)
}

/// Returns the server's address on a path.
pub fn server_address(path: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, path, 2, 1)
}

/// Returns the router's address on a path, on the client's side.
pub fn router_address(path: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, path, 1, 254)
}
