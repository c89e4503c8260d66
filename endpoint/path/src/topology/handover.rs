//! A client that moves between paths, as a host does between access points. Pure.
//!
//! The server has one address, that of the first path, and every path's router knows the way to it:
//!
//! ```text
//!             10.i.1.1 ── 10.i.1.254 router i 10.i.2.254 ── (no address)
//!     client                                                              server 10.0.2.1
//!             10.0.1.1 ── 10.0.1.254 router 0 10.0.2.254 ── 10.0.2.1
//! ```
//!
//! The server answers a client's address by the path it belongs to. The client's main route is by the path it attached to
//! last; what still leaves from an address on another path, in the overlap of two, travels by that one: a rule sends it to a
//! table with the one route.
//!
//! No device ever goes down: the kernel would notice late (`linkwatch_schedule_work` waits up to a second) and throw away
//! what its qdisc holds.

use std::net::Ipv4Addr;

use netwarp_core::addresses::client_address;
use netwarp_transport::stack_of;
use netwarp_wire::job::{Direction, Job};

use super::{BuildStep, Endpoint, Route, bottleneck, cables, client_device, network, numbered};
use crate::topology::Namespace;

/// The client's routes of path 0 when it sends from its address there; other paths' follow.
const FIRST_TABLE: u8 = 100;

/// Subflows that a connection may have besides its first, `MPTCP_PM_ADDR_MAX` of the kernel: a server that has not been told
/// that an address is gone keeps its subflow until time-outs tell it.
pub(crate) const SUBFLOWS: u32 = 8;

/// The network that the server's one address is in.
fn server_network() -> Ipv4Addr {
    network(0, 2)
}

/// The steps that set up both hosts' ends of a path before the run.
pub(crate) fn configure_hosts(path: u8, job: &Job) -> Vec<BuildStep> {
    let [near, far] = cables(path);
    let rule = BuildStep::Rule { host: Namespace::Client, source: client_address(path), table: FIRST_TABLE + path };
    let mut steps = vec![near.host_offloads(), BuildStep::Up(near.host), rule];
    if numbered(&job.paths).any(|(index, description)| index == path && description.attached) {
        steps.extend(attach(path, job));
    }
    steps.push(far.host_offloads());
    if path == 0 {
        steps.push(BuildStep::Address(far.host, far.host_address()));
    }
    let route = far.route_to(near.network).with_window(job.only().transport.initial_window_packets);
    steps.extend([
        BuildStep::Up(far.host),
        far.host_neighbour(),
        BuildStep::Route(Route { gateway_is_local: path == 0, ..route }),
    ]);
    steps
}

/// The way to the server for a path's router that is not in its network.
pub(crate) fn route_to_server(path: u8) -> Option<BuildStep> {
    let [_, far] = cables(path);
    let route = Route::new(bottleneck(path, Direction::Up), server_network(), far.host_address());
    (path != 0).then_some(BuildStep::Route(route))
}

/// The steps by which the client gets its address on a path, and prefers that path from now on.
pub(crate) fn attach(path: u8, job: &Job) -> Vec<BuildStep> {
    let [near, _] = cables(path);
    let route = near.route_to(server_network()).with_window(job.only().transport.initial_window_packets);
    let mut steps = vec![
        BuildStep::Address(near.host, near.host_address()),
        near.host_neighbour(),
        BuildStep::Route(Route { table: FIRST_TABLE + path, ..route }),
        BuildStep::Route(route),
    ];
    if stack_of(job.only().transport.kind).has_subflows() {
        steps.push(BuildStep::AddEndpoint(Namespace::Client, endpoint(path)));
    }
    steps
}

/// The steps by which the client loses its address on a path, and with it the routes that go by it.
pub(crate) fn detach(path: u8, job: &Job) -> Vec<BuildStep> {
    let mut steps = vec![BuildStep::RemoveAddress(client_device(path), client_address(path))];
    if stack_of(job.only().transport.kind).has_subflows() {
        steps.push(BuildStep::RemoveEndpoint(Namespace::Client, endpoint(path)));
    }
    steps
}

/// The client's address on a path, as MPTCP's path manager knows it. A number of 0 is the kernel's for a connection's
/// first address.
fn endpoint(path: u8) -> Endpoint {
    Endpoint { id: path + 1, address: client_address(path) }
}

#[cfg(test)]
mod tests {
    use netwarp_wire::golden;
    use netwarp_wire::job::TransportKind;

    use super::*;
    use crate::topology::server_device;

    fn routes_of(steps: Vec<BuildStep>) -> Vec<Route> {
        let route = |step| if let BuildStep::Route(route) = step { Some(route) } else { None };
        steps.into_iter().filter_map(route).collect()
    }

    fn steps() -> Vec<BuildStep> {
        super::super::steps(&golden::job("stream-handovers"))
    }

    #[test]
    fn the_server_has_one_address_and_the_client_that_of_the_path_it_is_on() {
        let hosts = steps().into_iter().filter_map(|step| match step {
            BuildStep::Address(device, address)
                if matches!(device.namespace, Namespace::Client | Namespace::Server) =>
            {
                Some((device, address))
            }
            _ => None,
        });
        let client = (client_device(0), Ipv4Addr::new(10, 0, 1, 1));
        assert_eq!(hosts.collect::<Vec<_>>(), [client, (server_device(0), Ipv4Addr::new(10, 0, 2, 1))]);
    }

    #[test]
    fn every_router_knows_the_way_to_the_server_and_the_server_the_way_back() {
        let mut routes = routes_of(steps()).into_iter();
        let to_server = Ipv4Addr::new(10, 0, 2, 0);
        let by_router =
            routes.find(|route| route.device.namespace == Namespace::Router(1)).expect("router 1 has a route");
        assert_eq!((by_router.network, by_router.gateway), (to_server, Ipv4Addr::new(10, 1, 2, 1)));
        let back: Vec<Route> =
            routes_of(steps()).into_iter().filter(|route| route.device.namespace == Namespace::Server).collect();
        let networks: Vec<Ipv4Addr> = back.iter().map(|route| route.network).collect();
        assert_eq!(networks, [Ipv4Addr::new(10, 0, 1, 0), Ipv4Addr::new(10, 1, 1, 0)]);
        assert_eq!([back[0].gateway_is_local, back[1].gateway_is_local], [true, false]);
    }

    #[test]
    fn an_address_keeps_to_its_path_while_the_main_route_follows_the_move() {
        let steps = attach(1, &golden::job("stream-handovers"));
        let routes: Vec<_> = routes_of(steps.clone()).iter().map(|route| (route.table, route.gateway)).collect();
        let gateway = Ipv4Addr::new(10, 1, 1, 254);
        assert_eq!(routes, [(101, gateway), (Route::MAIN, gateway)]);
        // The kernel forgot the neighbour when the device lost its last address.
        assert!(steps.iter().any(|step| matches!(step, BuildStep::Neighbour { address, .. } if *address == gateway)));
        assert_eq!(
            detach(1, &golden::job("stream-handovers")),
            [BuildStep::RemoveAddress(client_device(1), Ipv4Addr::new(10, 1, 1, 1))]
        );
    }

    #[test]
    fn mptcp_is_told_of_each_address_when_it_is_there_and_when_it_is_not() {
        let mut job = golden::job("stream-handovers");
        job.only_mut().transport.kind = TransportKind::Mptcp;
        let endpoint = Endpoint { id: 2, address: Ipv4Addr::new(10, 1, 1, 1) };
        assert_eq!(attach(1, &job).last(), Some(&BuildStep::AddEndpoint(Namespace::Client, endpoint)));
        assert_eq!(detach(1, &job).last(), Some(&BuildStep::RemoveEndpoint(Namespace::Client, endpoint)));
        let announced = super::super::steps(&job).into_iter().find_map(|step| match step {
            BuildStep::Subflows { host: Namespace::Server, more, announced } => Some((more, announced)),
            _ => None,
        });
        assert_eq!(announced, Some((SUBFLOWS, vec![])));
    }
}
