use netwarp_wire::golden;
use netwarp_wire::job::{Direction, Path, TransportKind};

use super::*;
use std::collections::BTreeSet;
use std::net::IpAddr;

const ROUTER: Node = Node(2);

fn steps(job: &Job) -> Vec<BuildStep> {
    Topology::of(job).steps(job)
}

fn bottleneck(path: u16, direction: Direction) -> Device {
    Device::of(Node(ROUTER.0 + path), u32::from(direction == Direction::Up))
}

#[test]
fn steps_of_the_golden_job() {
    let text: String = steps(&golden::job("bulk-quic")).iter().map(|step| format!("{step:?}\n")).collect();
    assert_eq!(text, include_str!("../../../../tests/golden/topology-bulk-quic.txt"));
}

#[test]
fn ipv6_has_the_same_network_and_sends_nothing_of_its_own() {
    let (four, six) = (steps(&golden::job("bulk-tls-resumed")), steps(&golden::job("bulk-tls-ipv6")));
    let addresses = |steps: &[BuildStep]| -> Vec<String> {
        let address =
            |step: &BuildStep| if let BuildStep::Address(_, address) = step { Some(address.to_string()) } else { None };
        steps.iter().filter_map(address).collect()
    };
    assert_eq!(addresses(&four), ["10.0.1.1", "10.0.2.1", "10.0.1.254", "10.0.2.254"]);
    assert_eq!(addresses(&six), ["2001:db8:0:1::1", "2001:db8:0:2::1", "2001:db8:0:1::fe", "2001:db8:0:2::fe"]);
    let ups = |steps: &[BuildStep]| {
        let (loud, silent) =
            (|step: &&_| matches!(step, BuildStep::Up(_)), |step: &&_| matches!(step, BuildStep::UpSilently(_)));
        (steps.iter().filter(loud).count(), steps.iter().filter(silent).count())
    };
    assert_eq!((ups(&four), ups(&six)), ((4, 0), (0, 4)));
    let route =
        six.iter().find_map(|step| if let BuildStep::Route(route) = step { Some(*route) } else { None }).unwrap();
    assert_eq!((route.network.to_string(), route.prefix_bits), ("2001:db8:0:2::".to_owned(), 64));
    assert_eq!(route.gateway.to_string(), "2001:db8:0:1::fe");
    let netems = |steps: Vec<BuildStep>| -> Vec<BuildStep> {
        steps.into_iter().filter(|step| matches!(step, BuildStep::Netem { .. })).collect()
    };
    assert_eq!(netems(four), netems(six));
}

#[test]
fn with_both_versions_each_link_has_addresses_neighbours_and_routes_of_both() {
    let six = golden::job("bulk-tls-ipv6");
    let mut both = six.clone();
    both.paths.iter_mut().for_each(|path| path.dual = true);
    let (six, both) = (steps(&six), steps(&both));
    let added: Vec<_> = both.iter().filter(|step| !six.contains(step)).collect();
    let addresses: Vec<_> = added
        .iter()
        .filter_map(|step| if let BuildStep::Address(_, address) = step { Some(address.to_string()) } else { None })
        .collect();
    assert_eq!(addresses, ["10.0.1.1", "10.0.2.1", "10.0.1.254", "10.0.2.254"]);
    let routes: Vec<_> = added
        .iter()
        .filter_map(|step| if let BuildStep::Route(route) = step { Some(*route) } else { None })
        .map(|route| (route.network.to_string(), route.prefix_bits, route.gateway.to_string()))
        .collect();
    let expected = [("10.0.2.0", 24, "10.0.1.254"), ("10.0.1.0", 24, "10.0.2.254")];
    assert_eq!(routes, expected.map(|(network, bits, gateway)| (network.to_owned(), bits, gateway.to_owned())));
    let neighbours = added.iter().filter(|step| matches!(step, BuildStep::Neighbour { .. })).count();
    let forwards = added.iter().filter(|step| **step == &sysctl("net/ipv4/ip_forward", "1")).count();
    assert_eq!((neighbours, forwards, added.len()), (4, 1, 4 + 2 + 4 + 1));
    assert!(six.iter().all(|step| both.contains(step)));
}

#[test]
fn impairment_is_on_the_router_and_each_direction_where_it_leaves() {
    let job = golden::job("bulk-quic");
    let netems: Vec<(Device, Impairments)> = steps(&job)
        .into_iter()
        .filter_map(|step| match step {
            BuildStep::Netem { device, impairments } => Some((device, impairments)),
            _ => None,
        })
        .collect();
    let path = &job.paths[0];
    assert_eq!(
        netems,
        [(bottleneck(0, Direction::Down), path.down.clone()), (bottleneck(0, Direction::Up), path.up.clone())]
    );
}

#[test]
fn only_a_netem_that_does_nothing_can_be_left_out() {
    let mut job = golden::job("bulk-quic");
    let whole = steps(&job);
    assert_eq!(without_idle_netem(whole.clone()), whole);
    job.paths[0].down = Impairments::nothing();
    let left: Vec<BuildStep> = without_idle_netem(steps(&job));
    assert_eq!(left.len(), whole.len() - 1);
    assert!(
        left.iter()
            .any(|step| matches!(step, BuildStep::Netem { device, .. } if *device == bottleneck(0, Direction::Up)))
    );
}

#[test]
fn packets_lost_by_number_are_counted_from_nought_at_the_bottleneck() {
    let lost: Vec<(Device, Numbers)> = steps(&golden::job("bulk-quic-numbered"))
        .into_iter()
        .filter_map(|step| match step {
            BuildStep::LoseByNumber { device, numbers } => Some((device, numbers)),
            _ => None,
        })
        .collect();
    let listed = Numbers { modulus: u32::MAX, lost: vec![4, 8, 19] };
    let periodic = Numbers { modulus: 100, lost: vec![99] };
    assert_eq!(lost, [(bottleneck(0, Direction::Down), listed), (bottleneck(0, Direction::Up), periodic)]);
}

#[test]
fn cold_neighbours_are_asked_for_on_their_path_alone() {
    let mut job = golden::job("bulk-quic");
    job.paths.push(Path { neighbours: Neighbours::Cold, ..job.paths[0].clone() });
    let (mut known, mut asked) = (Vec::new(), Vec::new());
    for step in steps(&job) {
        match step {
            BuildStep::Neighbour { device, .. } => known.push(device),
            BuildStep::NeighbourQueue { device, packets: 3 } => asked.push(device),
            _ => {}
        }
    }
    let of_path = |path| {
        let routers = [Direction::Down, Direction::Up].map(|direction| bottleneck(path, direction));
        BTreeSet::from([Device::of(CLIENT, path.into()), Device::of(SERVER, path.into()), routers[0], routers[1]])
    };
    assert_eq!(known.into_iter().collect::<BTreeSet<_>>(), of_path(0));
    assert_eq!(asked.into_iter().collect::<BTreeSet<_>>(), of_path(1));
}

#[test]
fn several_paths_share_no_device_and_no_mac() {
    let mut job = golden::job("bulk-quic");
    job.paths.push(job.paths[0].clone());
    let devices: Vec<Device> = steps(&job)
        .into_iter()
        .filter_map(|step| match step {
            BuildStep::Up(device) => Some(device),
            _ => None,
        })
        .collect();
    assert_eq!(devices.len(), 8);
    assert_eq!(devices.iter().collect::<BTreeSet<_>>().len(), 8);
    assert_eq!(devices.iter().map(|device| device.mac()).collect::<BTreeSet<_>>().len(), 8);
}

#[test]
fn hosts_get_the_tcp_of_the_job_and_routers_do_not() {
    let mut job = golden::job("bulk-quic");
    job.only_mut().transport.kind = TransportKind::Tcp;
    job.only_mut().transport.tcp.timestamps = false;
    let mut created = None;
    let mut written_in = Vec::new();
    for step in steps(&job) {
        match step {
            BuildStep::Create(node, _) => created = Some(node),
            BuildStep::Sysctl { key: "net/ipv4/tcp_timestamps", .. } => written_in.extend(created),
            _ => {}
        }
    }
    assert_eq!(written_in, [CLIENT, SERVER]);
}

#[test]
fn mptcp_has_room_for_a_subflow_a_path_and_the_server_announces() {
    let mut job = golden::job("bulk-quic");
    job.only_mut().transport.kind = TransportKind::Mptcp;
    job.paths = vec![job.paths[0].clone(); 3];
    let subflows: Vec<BuildStep> =
        steps(&job).into_iter().filter(|step| matches!(step, BuildStep::Subflows { .. })).collect();
    let announced = vec![IpAddr::from([10, 1, 2, 1]), IpAddr::from([10, 2, 2, 1])];
    assert_eq!(
        subflows,
        [
            BuildStep::Subflows { host: CLIENT, more: 2, announced: vec![] },
            BuildStep::Subflows { host: SERVER, more: 2, announced },
        ]
    );
}
