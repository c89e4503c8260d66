"""Simulates flows and transfers in ns-3: reads one JSON object a line, and writes one.

This program runs alone: it needs ns-3's Python bindings and nothing of netwarp. Importing the
bindings compiles for some ten CPU seconds, so one process simulates all runs that it is asked for.
"""

import importlib
import json
import sys
from importlib.metadata import version
from typing import Any

PORT = 4433
START_S = 1.0
"""Time in s at which the client begins; servers listen from 0."""
FAST_BIT_S = 1_000_000_000_000
"""Rate in bit/s of links whose transmission time should be negligible."""
QUIET_S = 10.0
"""Seconds that a simulation goes on after the last message was sent, or the last byte arrived.
Queued packets arrive within this time; those that FlowMonitor has not seen by then are lost.
"""


HELPERS = """
#include <sstream>
namespace netwarp {
uint64_t left_bytes;
double first_s;
double done_s;
void OnReceived(ns3::Ptr<const ns3::Packet> packet, const ns3::Address&) {
    if (first_s < 0) { first_s = ns3::Simulator::Now().GetSeconds(); }
    left_bytes -= packet->GetSize();
    if (left_bytes == 0) {
        done_s = ns3::Simulator::Now().GetSeconds();
        ns3::Simulator::Stop(ns3::Seconds(QUIET));
    }
}
void Watch(ns3::Ptr<ns3::Application> sink, uint64_t size_bytes) {
    left_bytes = size_bytes;
    first_s = done_s = -1;
    sink->TraceConnectWithoutContext("Rx", ns3::MakeCallback(&OnReceived));
}
// Python's view of the map of flows ends the process: the sums leave C++ as JSON.
std::string Flows(ns3::Ptr<ns3::FlowMonitor> monitor, ns3::Ptr<ns3::FlowClassifier> classifier) {
    auto known = ns3::DynamicCast<ns3::Ipv4FlowClassifier>(classifier);
    std::ostringstream text;
    text << "[";
    for (const auto& [id, flow] : monitor->GetFlowStats()) {
        text << (text.tellp() > 1 ? "," : "")
             << "{\\"port\\":" << known->FindFlow(id).destinationPort
             << ",\\"sent\\":" << flow.txPackets
             << ",\\"sent_bytes\\":" << flow.txBytes
             << ",\\"first_sent_ns\\":" << flow.timeFirstTxPacket.GetNanoSeconds()
             << ",\\"last_sent_ns\\":" << flow.timeLastTxPacket.GetNanoSeconds()
             << ",\\"received\\":" << flow.rxPackets
             << ",\\"received_bytes\\":" << flow.rxBytes
             << ",\\"first_received_ns\\":" << flow.timeFirstRxPacket.GetNanoSeconds()
             << ",\\"last_received_ns\\":" << flow.timeLastRxPacket.GetNanoSeconds()
             << ",\\"delay_sum_ns\\":" << flow.delaySum.GetNanoSeconds()
             << ",\\"jitter_sum_ns\\":" << flow.jitterSum.GetNanoSeconds() << "}";
    }
    text << "]";
    return text.str();
}
}
"""


def main() -> None:
    """Answer each request with FlowMonitor's results, in the order of the requests."""
    ns = importlib.import_module("ns").ns  # the import that takes long
    ns.cppyy.cppdef(HELPERS.replace("QUIET", str(QUIET_S)))
    _say({"ready": version("ns3")})
    for line in sys.stdin:
        _say(simulate(ns, json.loads(line)))


def _say(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def simulate(ns: Any, asked: dict[str, Any]) -> dict[str, Any]:
    """Simulate the transfer that a request describes, and return FlowMonitor's sums; times are in
    nanoseconds.
    """
    ns.Config.Reset()
    ns.RngSeedManager.SetSeed(asked["seed"])
    ns.RngSeedManager.SetRun(1)
    configure(ns, asked)
    hosts, address = (_csma if asked["defaults"] else _routed)(ns, asked)
    sink = _applications(ns, asked, hosts, address)
    helper = ns.FlowMonitorHelper()
    monitor = helper.Install(hosts)
    if asked["is_stream"]:
        ns.cppyy.gbl.netwarp.Watch(sink, asked["size_bytes"])
        ns.Simulator.Stop(ns.Seconds(START_S + asked["limit_s"]))
    else:
        lasts_s = asked["messages"] * asked["interval_ns"] / 1e9
        ns.Simulator.Stop(ns.Seconds(START_S + lasts_s + QUIET_S))
    ns.Simulator.Run()
    found = _flow(ns, monitor, helper)
    if asked["is_stream"]:
        for name in ("first_s", "done_s"):
            at_s = float(getattr(ns.cppyy.gbl.netwarp, name))
            found[name] = None if at_s < 0 else at_s - START_S
    ns.Simulator.Destroy()
    return found


def configure(ns: Any, asked: dict[str, Any]) -> None:
    """Set ns-3's TCP to Linux's parameters. If the request asks for ns-3's defaults, only the
    congestion control and the segment size are set.

    Loss recovery remains ns-3's own.
    """
    buffers = {} if asked["buffer_bytes"] is None else {
        "ns3::TcpSocket::SndBufSize": asked["buffer_bytes"],
        "ns3::TcpSocket::RcvBufSize": asked["buffer_bytes"],
    }  # fmt: skip
    for key, value in {**buffers, **asked["tcp_numbers"]}.items():
        ns.Config.SetDefault(key, ns.UintegerValue(value))
    if not asked["request_jitter"]:
        never = ns.StringValue("ns3::ConstantRandomVariable[Constant=0.0]")
        ns.Config.SetDefault("ns3::ArpL3Protocol::RequestJitter", never)
    if not asked["is_stream"]:
        return
    types = {"ns3::TcpL4Protocol::SocketType": asked["congestion"]}
    if not asked["defaults"]:
        types["ns3::TcpL4Protocol::RecoveryType"] = "ns3::TcpPrrRecovery"
    for key, name in types.items():
        ns.Config.SetDefault(key, ns.TypeIdValue(ns.TypeId.LookupByName(name)))
    if asked["defaults"]:
        return
    times = {"ns3::TcpSocketBase::MinRto": 200, "ns3::TcpSocket::DelAckTimeout": 40}
    for key, value in times.items():
        ns.Config.SetDefault(key, ns.TimeValue(ns.MilliSeconds(value)))
    ns.Config.SetDefault("ns3::TcpSocketBase::Sack", ns.BooleanValue(asked["sack"]))


def _csma(ns: Any, asked: dict[str, Any]) -> tuple[Any, Any]:
    """Connect two hosts by a CSMA link with ns-3's own queues."""
    nodes = ns.NodeContainer()
    nodes.Create(2)
    link = ns.CsmaHelper()
    link.SetChannelAttribute("DataRate", ns.StringValue(f"{asked['rate_bit_s']}bps"))
    link.SetChannelAttribute("Delay", ns.TimeValue(ns.NanoSeconds(asked["delay_up_ns"])))
    link.SetDeviceAttribute("Mtu", ns.UintegerValue(asked["mtu_bytes"]))
    devices = link.Install(nodes)
    ns.InternetStackHelper().Install(nodes)
    addresses = ns.Ipv4AddressHelper()
    addresses.SetBase(ns.Ipv4Address("10.0.1.0"), ns.Ipv4Mask("255.255.255.0"))
    assigned = addresses.Assign(devices)
    if asked["neighbours"] == "warm":
        ns.NeighborCacheHelper().PopulateNeighborCache()
    return nodes, assigned.GetAddress(1)


def _routed(ns: Any, asked: dict[str, Any]) -> tuple[Any, Any]:
    """Connect client, router and server; the router sends in each direction with that direction's
    rate and queue.
    """
    nodes = ns.NodeContainer()
    nodes.Create(3)
    client, router, server = (nodes.Get(index) for index in range(3))
    near = _point_to_point(ns, client, router, asked, "down")
    far = _point_to_point(ns, server, router, asked, "up")
    if asked["loss_up"]:
        losses = ns.CreateObject[ns.RateErrorModel]()
        losses.SetUnit(ns.RateErrorModel.ERROR_UNIT_PACKET)
        losses.SetRate(asked["loss_up"])
        far.Get(0).SetAttribute("ReceiveErrorModel", ns.PointerValue(losses))
    ns.InternetStackHelper().Install(nodes)
    addresses = ns.Ipv4AddressHelper()
    found = []
    for devices, network in ((near, "10.0.1.0"), (far, "10.0.2.0")):
        addresses.SetBase(ns.Ipv4Address(network), ns.Ipv4Mask("255.255.255.0"))
        found.append(addresses.Assign(devices))
        # Assigning addresses installs a queueing discipline in front of the device's own queue;
        # remove it.
        ns.TrafficControlHelper().Uninstall(devices)
    ns.Ipv4GlobalRoutingHelper.PopulateRoutingTables()
    hosts = ns.NodeContainer()
    hosts.Add(client)
    hosts.Add(server)
    return hosts, found[1].GetAddress(0)


def _point_to_point(ns: Any, host: Any, router: Any, asked: dict[str, Any], towards: str) -> Any:
    """Connect a host to the router by a link that limits packets from the router to the host, and
    does not limit the other direction.

    A channel has one delay for both directions, so half of the path's round-trip time is on each
    link. The host's end adds no transmission time, as it sends at the fast rate.
    """
    link = ns.PointToPointHelper()
    link.SetChannelAttribute("Delay", ns.TimeValue(ns.NanoSeconds(asked["channel_delay_ns"])))
    devices = link.Install(host, router)
    for index, (rate, packets) in enumerate(
        ((FAST_BIT_S, 10_000_000), (asked["rate_bit_s"], asked[f"queue_packets_{towards}"]))
    ):
        device = devices.Get(index)
        device.SetAttribute("DataRate", ns.StringValue(f"{rate}bps"))
        device.SetAttribute("Mtu", ns.UintegerValue(asked["mtu_bytes"]))
        device.GetQueue().SetMaxSize(ns.QueueSize(f"{packets}p"))
    return devices


def _applications(ns: Any, asked: dict[str, Any], hosts: Any, address: Any) -> Any:
    """Install the ns-3 applications that send and receive on the two hosts."""
    client, server = hosts.Get(0), hosts.Get(1)
    if not asked["is_stream"]:
        ns.UdpServerHelper(PORT).Install(server).Start(ns.Seconds(0))
        sender = ns.UdpClientHelper(address.ConvertTo(), PORT)
        sender.SetAttribute("MaxPackets", ns.UintegerValue(asked["messages"]))
        sender.SetAttribute("Interval", ns.TimeValue(ns.NanoSeconds(asked["interval_ns"])))
        sender.SetAttribute("PacketSize", ns.UintegerValue(asked["message_bytes"]))
        sender.Install(client).Start(ns.Seconds(START_S))
        return None
    endpoint = ns.InetSocketAddress(address, PORT).ConvertTo()
    sinks = ns.PacketSinkHelper("ns3::TcpSocketFactory", endpoint).Install(server)
    sinks.Start(ns.Seconds(0))
    source = ns.BulkSendHelper("ns3::TcpSocketFactory", endpoint)
    source.SetAttribute("MaxBytes", ns.UintegerValue(asked["size_bytes"]))
    if not asked["defaults"]:
        source.SetAttribute("SendSize", ns.UintegerValue(64 << 10))
    source.Install(client).Start(ns.Seconds(START_S))
    return sinks.Get(0)


def _flow(ns: Any, monitor: Any, helper: Any) -> dict[str, Any]:
    """Return FlowMonitor's sums for the flow to the server's port; times count from the client's
    beginning.

    `connected_ns` is the arrival of the first packet of the reverse flow; 0 if there is none.
    """
    start_ns = round(START_S * 1e9)
    flows = json.loads(str(ns.cppyy.gbl.netwarp.Flows(monitor, helper.GetClassifier())))
    ours = {each.pop("port") == PORT: each for each in flows}
    found: dict[str, Any] = ours[True]
    for name in found:
        if name.startswith(("first_", "last_")):
            found[name] -= start_ns
    answers = ours.get(False)
    found["connected_ns"] = answers["first_received_ns"] - start_ns if answers else 0
    return found


if __name__ == "__main__":
    main()
