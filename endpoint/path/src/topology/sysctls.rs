//! The sysctls that are set in the network namespaces of hosts and routers. Pure.

use netwarp_core::addresses::Family;
use netwarp_transport::stack_of;
use netwarp_wire::job::{Job, Nat, Reconnect, Recovery, Resume, Transport};

use super::BuildStep;

/// Returns the settings that hosts and routers have in common.
pub(super) fn shared_sysctls(family: Family) -> Vec<BuildStep> {
    let of_ipv6 = match family {
        // Duplicate address detection and multicast listener reports would consume loss draws. A kernel without IPv6
        // sends none.
        Family::Ipv4 => {
            vec![BuildStep::Sysctl { key: "net/ipv6/conf/all/disable_ipv6", value: "1".to_owned(), optional: true }]
        }
        // A host's distribution may have switched IPv6 off. Nothing but the job's own packets may consume loss draws:
        // there are no link-local addresses (addr_gen_mode 1, none), and so no router solicitations; nobody advertises
        // a router.
        Family::Ipv6 => vec![
            sysctl("net/ipv6/conf/all/disable_ipv6", "0"),
            sysctl("net/ipv6/conf/default/disable_ipv6", "0"),
            sysctl("net/ipv6/conf/default/addr_gen_mode", "1"),
            sysctl("net/ipv6/conf/default/accept_ra", "0"),
            sysctl("net/ipv6/conf/default/router_solicitations", "0"),
            sysctl("net/ipv6/conf/default/dad_transmits", "0"),
        ],
    };
    let of_both = [
        // A path may be asymmetric. Zero is the kernel's default, but a native host's distribution may differ, and
        // the stricter of the two applies.
        sysctl("net/ipv4/conf/all/rp_filter", "0"),
        sysctl("net/ipv4/conf/default/rp_filter", "0"),
    ];
    of_ipv6.into_iter().chain(of_both).collect()
}

/// Returns the settings of all hosts. Everything else, such as ECN, has the kernel's default unless the job says
/// otherwise ([`tcp_sysctls`]).
pub(super) fn host_sysctls(buffer_bytes: u64) -> [BuildStep; 4] {
    // Minimum and default are the kernel's own (net/ipv4/tcp.c); the job sets only the limit of auto-tuning.
    let triple = |default: u64| format!("{} {} {buffer_bytes}", buffer_bytes.min(4096), buffer_bytes.min(default));
    [
        BuildStep::Sysctl { key: "net/ipv4/tcp_rmem", value: triple(131_072), optional: false },
        BuildStep::Sysctl { key: "net/ipv4/tcp_wmem", value: triple(16_384), optional: false },
        // A later connection of a run must not start from metrics that an earlier one learned.
        sysctl("net/ipv4/tcp_no_metrics_save", "1"),
        // SCTP cookies are signed with a key of the listening endpoint, and accept(2) moves an association to a new
        // one (net/sctp/socket.c, sctp_sock_migrate). A COOKIE ECHO repeated because its answer was lost then fails
        // the check (net/sctp/sm_statefuns.c, sctp_sf_do_5_2_4_dupcook), and the client never connects.
        BuildStep::Sysctl { key: "net/sctp/cookie_hmac_alg", value: "none".to_owned(), optional: true },
    ]
}

/// The most routers that packets with the kernel's default hop limit, 64, can pass: each router decrements it, and
/// drops a packet that has 1 left.
const ROUTERS_OF_USUAL_HOP_LIMIT: usize = 63;

/// Returns the setting that raises the hop limit of hosts to its maximum, if the default is too small for the job's
/// network. IPv6 devices take over the value when they are created, so it must be set before.
pub(super) fn hop_limit(job: &Job, family: Family) -> Option<BuildStep> {
    let ends = job.workloads.iter().filter_map(|each| each.ends.as_ref());
    let key = match family {
        Family::Ipv4 => "net/ipv4/ip_default_ttl",
        Family::Ipv6 => "net/ipv6/conf/default/hop_limit",
    };
    let routers = ends.map(|ends| ends.links.len().saturating_sub(1)).max()?;
    (routers > ROUTERS_OF_USUAL_HOP_LIMIT).then(|| sysctl(key, "255"))
}

/// Returns the settings for the time-outs of a router's NAT mappings that the job sets: of UDP mappings, answered or
/// not, and of established TCP connections (`nf_conntrack-sysctl.rst`).
pub(super) fn mapping_time_outs(nat: &Nat) -> Vec<BuildStep> {
    let Some(timeout_s) = nat.timeout_s else { return Vec::new() };
    [
        "net/netfilter/nf_conntrack_udp_timeout",
        "net/netfilter/nf_conntrack_udp_timeout_stream",
        "net/netfilter/nf_conntrack_tcp_timeout_established",
    ]
    .map(|key| sysctl(key, &timeout_s.to_string()))
    .to_vec()
}

/// Returns the setting of hosts for MPTCP connections that open subflows during a transfer; `None` if the job has none.
/// The kernel grows the receive buffers of subflows only together with the connection's (`net/mptcp/protocol.c`,
/// `mptcp_rcv_space_adjust`). A subflow that joins later would keep the default of `tcp_rmem`, a window of 80 KB. So
/// the default is raised to the job's limit.
pub(super) fn joining_subflows(job: &Job) -> Option<BuildStep> {
    let late = stack_of(job.only().transport.kind).has_subflows() && job.timeline.has_handovers();
    let buffer_bytes = job.only().transport.buffer_bytes;
    let value = format!("{} {buffer_bytes} {buffer_bytes}", buffer_bytes.min(4096));
    late.then(|| sysctl("net/ipv4/tcp_rmem", &value))
}

/// Returns the settings of hosts for SCTP's dynamic address reconfiguration (RFC 5061). By default the kernel requires
/// chunk authentication for it (RFC 4895), which is not used here.
pub(super) fn address_reconfiguration(transport: &Transport) -> Vec<BuildStep> {
    if !stack_of(transport.kind).reconfigures_addresses() || transport.reconnect != Reconnect::Migrate {
        return Vec::new();
    }
    ["net/sctp/addip_enable", "net/sctp/addip_noauth_enable"].map(|key| sysctl(key, "1")).to_vec()
}

/// Returns the setting of hosts that allows TCP Fast Open for clients (1) and servers (2), if the job uses it.
pub(super) fn fast_open(transport: &Transport) -> Option<BuildStep> {
    let wanted = stack_of(transport.kind).has_fast_open() && transport.resume == Resume::ZeroRtt;
    wanted.then(|| sysctl("net/ipv4/tcp_fastopen", "3"))
}

/// Returns the settings that make hosts offer ECN or not, if the job says which. A TCP that does not offer it still
/// accepts it (`tcp_ecn` 2, the kernel's default). 3 offers AccECN (RFC 9768).
pub(super) fn ecn(transport: &Transport) -> Vec<BuildStep> {
    let Some(offered) = transport.ecn else { return Vec::new() };
    let (tcp, sctp) = match (offered, transport.tcp.accurate_ecn) {
        (true, true) => ("3", "1"),
        (true, false) => ("1", "1"),
        (false, _) => ("2", "0"),
    };
    let of_sctp = BuildStep::Sysctl { key: "net/sctp/ecn_enable", value: sctp.to_owned(), optional: true };
    vec![sysctl("net/ipv4/tcp_ecn", tcp), of_sctp]
}

/// Returns the sysctls of the hosts that switch off the features that the job's TCP lacks. Each belongs to a namespace
/// (`net/ipv4/sysctl_net_ipv4.c`) and applies to later connections; the transport reads back which features a
/// connection has.
pub(super) fn tcp_sysctls(transport: &Transport) -> Vec<BuildStep> {
    if !stack_of(transport.kind).uses_tcp() {
        return Vec::new();
    }
    let tcp = &transport.tcp;
    let mut off = Vec::new();
    if !tcp.sack {
        // DSACK uses SACK blocks, so it is off without SACK; it is switched off for those who read the setting.
        off.extend(["net/ipv4/tcp_sack", "net/ipv4/tcp_dsack"]);
    }
    if !tcp.timestamps {
        off.push("net/ipv4/tcp_timestamps");
    }
    if !tcp.window_scaling {
        off.push("net/ipv4/tcp_window_scaling");
    }
    if tcp.recovery == Recovery::Classic {
        off.extend([
            // RACK (RFC 8985). Since Linux 6.17 the setting has no effect: TCP uses RACK with SACK, and three duplicate
            // acknowledgements without it. So such a job has no SACK.
            "net/ipv4/tcp_recovery",
            // Early retransmit (RFC 5827) in older kernels; tail loss probes (RFC 8985, 7) in all.
            "net/ipv4/tcp_early_retrans",
            // Detection of spurious time-outs (F-RTO, RFC 5682).
            "net/ipv4/tcp_frto",
        ]);
    }
    let shortest = tcp.tcp_rto_min_ns.map(|least| sysctl("net/ipv4/tcp_rto_min_us", &(least / 1000).to_string()));
    let probing = tcp.mtu_probing.then(|| sysctl("net/ipv4/tcp_mtu_probing", "1"));
    off.into_iter().map(|key| sysctl(key, "0")).chain(shortest).chain(probing).collect()
}

pub(super) fn sysctl(key: &'static str, value: &str) -> BuildStep {
    BuildStep::Sysctl { key, value: value.to_owned(), optional: false }
}

#[cfg(test)]
mod tests {
    use netwarp_wire::golden;
    use netwarp_wire::job::{TcpOptions, TransportKind};

    use super::*;

    /// Returns the keys that a job's TCP options write.
    fn switched_off(change: impl FnOnce(&mut Transport)) -> Vec<&'static str> {
        let mut job = golden::job("bulk-quic");
        change(&mut job.only_mut().transport);
        let steps = tcp_sysctls(&job.only().transport).into_iter();
        steps
            .map(|step| match step {
                BuildStep::Sysctl { key, value, optional: false } if value == "0" => key,
                other => panic!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn only_what_deviates_from_the_kernels_tcp_is_written() {
        assert_eq!(switched_off(|transport| transport.kind = TransportKind::Tcp), Vec::<&str>::new());
        let old = TcpOptions {
            sack: false,
            timestamps: false,
            window_scaling: false,
            recovery: Recovery::Classic,
            accurate_ecn: false,
            tcp_rto_min_ns: None,
            tso_packets: None,
            hystart: None,
            mtu_probing: false,
        };
        for kind in [TransportKind::Tcp, TransportKind::Tls, TransportKind::Mptcp] {
            let written = switched_off(|transport| (transport.kind, transport.tcp) = (kind, old.clone()));
            let names: Vec<&str> = written.iter().filter_map(|key| key.strip_prefix("net/ipv4/tcp_")).collect();
            let expected = ["sack", "dsack", "timestamps", "window_scaling", "recovery", "early_retrans", "frto"];
            assert_eq!(names, expected);
        }
        assert_eq!(switched_off(|transport| transport.tcp = old), Vec::<&str>::new(), "QUIC has no use for them");
    }

    #[test]
    fn the_shortest_time_out_is_written_in_microseconds() {
        let mut transport = golden::job("bulk-quic").only().transport.clone();
        (transport.kind, transport.tcp.tcp_rto_min_ns) = (TransportKind::Tcp, Some(10_000_000));
        assert_eq!(tcp_sysctls(&transport), [sysctl("net/ipv4/tcp_rto_min_us", "10000")]);
    }

    #[test]
    fn probing_for_a_black_hole_is_asked_of_tcp_alone() {
        let mut transport = golden::job("bulk-quic").only().transport.clone();
        transport.tcp.mtu_probing = true;
        assert_eq!(tcp_sysctls(&transport), []);
        transport.kind = TransportKind::Tls;
        assert_eq!(tcp_sysctls(&transport), [sysctl("net/ipv4/tcp_mtu_probing", "1")]);
    }

    #[test]
    fn addresses_are_reconfigured_where_sctp_migrates_and_nowhere_else() {
        let mut transport = golden::job("bulk-quic").only().transport.clone();
        assert_eq!(address_reconfiguration(&transport), []);
        transport.kind = TransportKind::Sctp;
        assert_eq!(address_reconfiguration(&transport), []);
        transport.reconnect = Reconnect::Migrate;
        let addip = sysctl("net/sctp/addip_enable", "1");
        assert!(address_reconfiguration(&transport).contains(&addip));
    }

    #[test]
    fn a_subflow_that_joins_after_a_move_gets_the_whole_buffer() {
        let mut job = golden::job("stream-handovers");
        assert_eq!(joining_subflows(&job), None);
        let transport = &mut job.only_mut().transport;
        (transport.kind, transport.buffer_bytes) = (TransportKind::Mptcp, 4_000_000);
        assert_eq!(joining_subflows(&job), Some(sysctl("net/ipv4/tcp_rmem", "4096 4000000 4000000")));
        job.timeline.events.clear();
        assert_eq!(joining_subflows(&job), None);
    }

    #[test]
    fn a_small_buffer_bounds_the_defaults_too() {
        let values: Vec<String> = host_sysctls(8192)
            .into_iter()
            .filter_map(|step| match step {
                BuildStep::Sysctl { key, value, .. } if key.ends_with("mem") => Some(value),
                _ => None,
            })
            .collect();
        assert_eq!(values, ["4096 8192 8192", "4096 8192 8192"]);
    }
}
