//! The kernel's MPTCP path manager, through its generic netlink family (`include/uapi/linux/mptcp_pm.h`).

use std::net::IpAddr;

use super::generic::ask_family;
use super::message::{Attributes, Request};
use super::route::octets;
use super::{NetlinkError, Socket};
use crate::topology::Endpoint;

const MPTCP_PM_VER: u8 = 1;
const MPTCP_PM_CMD_ADD_ADDR: u8 = 1;
const MPTCP_PM_CMD_DEL_ADDR: u8 = 2;
const MPTCP_PM_CMD_SET_LIMITS: u8 = 5;

const MPTCP_PM_ENDPOINT_ADDR: u16 = 1;
const MPTCP_PM_ATTR_RCV_ADD_ADDRS: u16 = 2;
const MPTCP_PM_ATTR_SUBFLOWS: u16 = 3;

const MPTCP_PM_ADDR_ATTR_FAMILY: u16 = 1;
const MPTCP_PM_ADDR_ATTR_ID: u16 = 2;
const MPTCP_PM_ADDR_ATTR_ADDR4: u16 = 3;
const MPTCP_PM_ADDR_ATTR_ADDR6: u16 = 4;
const MPTCP_PM_ADDR_ATTR_FLAGS: u16 = 6;
const MPTCP_PM_ADDR_FLAG_SIGNAL: u32 = 1;
const MPTCP_PM_ADDR_FLAG_SUBFLOW: u32 = 2;

/// Allows MPTCP connections in the socket's network namespace `more_subflows` subflows besides their first, and
/// announces the addresses `announced` to their peers.
pub(crate) fn manage_paths(socket: &mut Socket, more_subflows: u32, announced: &[IpAddr]) -> Result<(), NetlinkError> {
    let family = ask_family(socket, "mptcp_pm", "CONFIG_MPTCP")?;
    let mut requests = vec![set_limits(family, more_subflows)];
    requests.extend(announced.iter().map(|&address| announce(family, address)));
    socket.transact(&requests).map(drop)
}

/// Makes all connections of the socket's network namespace, including existing ones, open a subflow from the endpoint's
/// address.
pub(crate) fn add_endpoint(socket: &mut Socket, endpoint: Endpoint) -> Result<(), NetlinkError> {
    let family = ask_family(socket, "mptcp_pm", "CONFIG_MPTCP")?;
    let attempt = format!("have MPTCP use {}", endpoint.address);
    socket.transact(&[endpoint_request(attempt, family, MPTCP_PM_CMD_ADD_ADDR, endpoint)]).map(drop)
}

/// Makes all connections of the socket's network namespace close their subflows from the endpoint's address, and tell
/// their peers.
pub(crate) fn remove_endpoint(socket: &mut Socket, endpoint: Endpoint) -> Result<(), NetlinkError> {
    let family = ask_family(socket, "mptcp_pm", "CONFIG_MPTCP")?;
    let attempt = format!("have MPTCP give up {}", endpoint.address);
    socket.transact(&[endpoint_request(attempt, family, MPTCP_PM_CMD_DEL_ADDR, endpoint)]).map(drop)
}

fn endpoint_request(attempt: String, family: u16, command: u8, endpoint: Endpoint) -> Request {
    let (family_of_address, kind) = family_and_kind(endpoint.address);
    let attributes = Attributes::new()
        .put(MPTCP_PM_ADDR_ATTR_FAMILY, &family_of_address)
        .put(MPTCP_PM_ADDR_ATTR_ID, &[endpoint.id])
        .put(kind, &octets(endpoint.address))
        .put_u32(MPTCP_PM_ADDR_ATTR_FLAGS, MPTCP_PM_ADDR_FLAG_SUBFLOW);
    let body = Attributes::new().nest(MPTCP_PM_ENDPOINT_ADDR, attributes);
    Request::new(attempt, family, 0, &[command, MPTCP_PM_VER, 0, 0], &body)
}

fn set_limits(family: u16, more_subflows: u32) -> Request {
    let attempt = format!("let MPTCP connections have {more_subflows} more subflows");
    let limits = Attributes::new().put_u32(MPTCP_PM_ATTR_RCV_ADD_ADDRS, more_subflows);
    let limits = limits.put_u32(MPTCP_PM_ATTR_SUBFLOWS, more_subflows);
    Request::new(attempt, family, 0, &[MPTCP_PM_CMD_SET_LIMITS, MPTCP_PM_VER, 0, 0], &limits)
}

fn announce(family: u16, address: IpAddr) -> Request {
    let (family_of_address, kind) = family_and_kind(address);
    let endpoint = Attributes::new()
        .put(MPTCP_PM_ADDR_ATTR_FAMILY, &family_of_address)
        .put(kind, &octets(address))
        .put_u32(MPTCP_PM_ADDR_ATTR_FLAGS, MPTCP_PM_ADDR_FLAG_SIGNAL);
    let attempt = format!("have MPTCP announce {address}");
    let body = Attributes::new().nest(MPTCP_PM_ENDPOINT_ADDR, endpoint);
    Request::new(attempt, family, 0, &[MPTCP_PM_CMD_ADD_ADDR, MPTCP_PM_VER, 0, 0], &body)
}

/// Returns the number of an address's family, and the type of the attribute for addresses of this family.
fn family_and_kind(address: IpAddr) -> ([u8; 2], u16) {
    let (family, kind) = match address {
        IpAddr::V4(_) => (libc::AF_INET, MPTCP_PM_ADDR_ATTR_ADDR4),
        IpAddr::V6(_) => (libc::AF_INET6, MPTCP_PM_ADDR_ATTR_ADDR6),
    };
    ((family as u16).to_ne_bytes(), kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected bytes were written by hand from `mptcp_pm.h`, little endian.
    #[test]
    fn an_endpoint_comes_and_goes_byte_by_byte() {
        let endpoint = Endpoint { id: 2, address: IpAddr::from([10, 1, 1, 1]) };
        for (command, header) in [(MPTCP_PM_CMD_ADD_ADDR, "01010000"), (MPTCP_PM_CMD_DEL_ADDR, "02010000")] {
            let hex = endpoint_request(String::new(), 0x1d, command, endpoint).hex();
            let netlink = "38000000 1d00 0500 01000000 00000000";
            let body = "24000180 06000100 02000000 05000200 02000000 08000300 0a010101 08000600 02000000";
            assert_eq!(hex, [netlink, header, body].concat().replace(' ', ""));
        }
    }

    /// The expected bytes were written by hand from `mptcp_pm.h`, little endian.
    #[test]
    fn an_announcement_byte_by_byte() {
        let hex = announce(0x1d, IpAddr::from([10, 1, 2, 1])).hex();
        let header = "30000000 1d00 0500 01000000 00000000";
        let body = "01010000 1c000180 06000100 02000000 08000300 0a010201 08000600 01000000";
        assert_eq!(hex, [header, body].concat().replace(' ', ""));
        let hex = announce(0x1d, "2001:db8:1:2::1".parse().unwrap()).hex();
        let header = "3c000000 1d00 0500 01000000 00000000";
        let address = "14000400 20010db8 00010002 00000000 00000001";
        let body = ["01010000 28000180 06000100 0a000000", address, "08000600 01000000"];
        assert_eq!(hex, [header, &body.concat()].concat().replace(' ', ""));
    }
}
