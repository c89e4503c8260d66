//! A client that moves between paths, as a host moves between access points. Pure.
//!
//! The server has one address, that of the first path, and every path's router has a route to it:
//!
//! ```text
//!             10.i.1.1 ── 10.i.1.254 router i 10.i.2.254 ── (no address)
//!     client                                                              server 10.0.2.1
//!             10.0.1.1 ── 10.0.1.254 router 0 10.0.2.254 ── 10.0.2.1
//! ```
//!
//! The server's answers take the path to which the client's address belongs. The client's default route is by the path
//! to which it attached last. While it is attached to two paths, packets from its address on the other path still take
//! that path: a rule routes them by a separate table.
//!
//! No device is ever set down: the kernel would notice late (`linkwatch_schedule_work` waits up to a second), and would
//! drop the packets in its qdisc.

use std::net::IpAddr;

use netwarp_transport::stack_of;
use netwarp_wire::job::Job;

use super::{BuildStep, Endpoint, Link, Presence, Route, Topology};

/// The number of the routing table for packets from the client's address on path 0. The tables of other paths have the
/// next numbers.
const FIRST_TABLE: u8 = 100;

/// The number of subflows that an MPTCP connection may have in addition to its first (`MPTCP_PM_ADDR_MAX` of the
/// kernel). A server that is not told that an address is gone keeps the subflow until it times out.
pub(crate) const SUBFLOWS: u32 = 8;

/// Changes a path's two links (client's and server's) for a client that moves, and for a server with a single address,
/// in the network `server`.
pub(super) fn rearrange(path: u8, [near, far]: &mut [Link<'_>; 2], server: IpAddr) {
    let client = &mut near.ends[0];
    client.presence = Presence::Attached;
    let to_server = client.routes.iter().map(|route| Route { network: server, ..*route });
    client.routes = to_server.flat_map(|route| [Route { table: FIRST_TABLE + path, ..route }, route]).collect();
    if path != 0 {
        let [host, router] = &mut far.ends;
        host.presence = Presence::Never;
        host.routes.iter_mut().for_each(|route| route.gateway_is_local = false);
        router.routes.push(Route::new(router.device, server, host.address));
    }
}

/// Returns the steps that prepare the client's end of a path for handovers, and attach the client if it is attached to
/// this path at the start.
pub(super) fn prepare(link: &Link<'_>, job: &Job) -> Vec<BuildStep> {
    let client = &link.ends[0];
    let own_table = client.routes.iter().map(|route| route.table).find(|table| *table != Route::MAIN);
    let rule = |table| BuildStep::Rule { host: client.device.node, source: client.address, table };
    let mut steps: Vec<BuildStep> = own_table.map(rule).into_iter().collect();
    if link.path.attached {
        steps.extend(attach(link, job));
    }
    steps
}

impl Topology<'_> {
    /// Returns the steps by which the client gets its address on a path, and prefers that path from now on.
    pub(crate) fn attach(&self, path: u16, job: &Job) -> Vec<BuildStep> {
        self.client_link(path).map(|link| attach(link, job)).unwrap_or_default()
    }

    /// Returns the steps by which the client loses its address on a path, and with it the routes of that address.
    pub(crate) fn detach(&self, path: u16, job: &Job) -> Vec<BuildStep> {
        let Some(link) = self.client_link(path) else { return Vec::new() };
        let client = &link.ends[0];
        let mut steps = vec![BuildStep::RemoveAddress(client.device, client.address)];
        if stack_of(job.only().transport.kind).has_subflows() {
            steps.push(BuildStep::RemoveEndpoint(client.device.node, endpoint(link)));
        }
        steps
    }

    fn client_link(&self, path: u16) -> Option<&Link<'_>> {
        self.links.iter().find(|link| link.number == path)
    }
}

fn attach(link: &Link<'_>, job: &Job) -> Vec<BuildStep> {
    let client = &link.ends[0];
    let mut steps = vec![BuildStep::Address(client.device, client.address)];
    steps.extend(link.neighbours_of(0));
    steps.extend(client.routes.iter().copied().map(BuildStep::Route));
    if stack_of(job.only().transport.kind).has_subflows() {
        steps.push(BuildStep::AddEndpoint(client.device.node, endpoint(link)));
    }
    steps
}

/// Returns the client's address on a path, as an endpoint of MPTCP's path manager. Ids begin at 1: the kernel uses 0
/// for a connection's first address.
fn endpoint(link: &Link<'_>) -> Endpoint {
    Endpoint { id: link.number.to_le_bytes()[0] + 1, address: link.ends[0].address }
}

#[cfg(test)]
mod tests {
    use netwarp_wire::golden;
    use netwarp_wire::job::TransportKind;

    use super::*;
    use crate::topology::{CLIENT, Device, Node, SERVER};

    fn routes_of(steps: Vec<BuildStep>) -> Vec<Route> {
        let route = |step| if let BuildStep::Route(route) = step { Some(route) } else { None };
        steps.into_iter().filter_map(route).collect()
    }

    fn steps() -> Vec<BuildStep> {
        steps_of(&golden::job("stream-handovers"))
    }

    fn steps_of(job: &Job) -> Vec<BuildStep> {
        Topology::of(job).steps(job)
    }

    #[test]
    fn the_server_has_one_address_and_the_client_that_of_the_path_it_is_on() {
        let hosts = steps().into_iter().filter_map(|step| match step {
            BuildStep::Address(device, address) if [CLIENT, SERVER].contains(&device.node) => Some((device, address)),
            _ => None,
        });
        let client = (Device::of(CLIENT, 0), IpAddr::from([10, 0, 1, 1]));
        assert_eq!(hosts.collect::<Vec<_>>(), [client, (Device::of(SERVER, 0), IpAddr::from([10, 0, 2, 1]))]);
    }

    #[test]
    fn every_router_knows_the_way_to_the_server_and_the_server_the_way_back() {
        let mut routes = routes_of(steps()).into_iter();
        let to_server = IpAddr::from([10, 0, 2, 0]);
        let by_router = routes.find(|route| route.device.node == Node(3)).expect("router 1 has a route");
        assert_eq!((by_router.network, by_router.gateway), (to_server, IpAddr::from([10, 1, 2, 1])));
        let back: Vec<Route> = routes_of(steps()).into_iter().filter(|route| route.device.node == SERVER).collect();
        let networks: Vec<IpAddr> = back.iter().map(|route| route.network).collect();
        assert_eq!(networks, [IpAddr::from([10, 0, 1, 0]), IpAddr::from([10, 1, 1, 0])]);
        assert_eq!([back[0].gateway_is_local, back[1].gateway_is_local], [true, false]);
    }

    #[test]
    fn an_address_keeps_to_its_path_while_the_main_route_follows_the_move() {
        let job = golden::job("stream-handovers");
        let steps = Topology::of(&job).attach(1, &job);
        let routes: Vec<_> = routes_of(steps.clone()).iter().map(|route| (route.table, route.gateway)).collect();
        let gateway = IpAddr::from([10, 1, 1, 254]);
        assert_eq!(routes, [(101, gateway), (Route::MAIN, gateway)]);
        // The kernel forgot the neighbour when the device lost its last address.
        assert!(steps.iter().any(|step| matches!(step, BuildStep::Neighbour { address, .. } if *address == gateway)));
        assert_eq!(
            Topology::of(&job).detach(1, &job),
            [BuildStep::RemoveAddress(Device::of(CLIENT, 1), IpAddr::from([10, 1, 1, 1]))]
        );
    }

    #[test]
    fn mptcp_is_told_of_each_address_when_it_is_there_and_when_it_is_not() {
        let mut job = golden::job("stream-handovers");
        job.only_mut().transport.kind = TransportKind::Mptcp;
        let endpoint = Endpoint { id: 2, address: IpAddr::from([10, 1, 1, 1]) };
        assert_eq!(Topology::of(&job).attach(1, &job).last(), Some(&BuildStep::AddEndpoint(CLIENT, endpoint)));
        assert_eq!(Topology::of(&job).detach(1, &job).last(), Some(&BuildStep::RemoveEndpoint(CLIENT, endpoint)));
        let announced = steps_of(&job).into_iter().find_map(|step| match step {
            BuildStep::Subflows { host: SERVER, more, announced } => Some((more, announced)),
            _ => None,
        });
        assert_eq!(announced, Some((SUBFLOWS, vec![])));
    }
}
