"""Simulates flows and transfers in ns-3: reads one JSON object per line, and writes one answer to
each.

This program runs alone: it needs ns-3's Python bindings and nothing of netwarp. Importing the
bindings compiles for some ten CPU seconds, so one process simulates all runs that it is asked for.
"""

import importlib
import json
import sys
from importlib.metadata import version
from typing import Any

START_S = 1.0
"""Time in s at which the run begins, and with it the clients; servers listen from 0 on."""
QUIET_S = 10.0
"""Time in s for which a simulation continues after the last message was sent, or the last byte
arrived. Packets that are still queued arrive within it; those that FlowMonitor has not seen by then
are lost."""


HELPERS = """
#include <algorithm>
#include <sstream>
#include <vector>
namespace netwarp {
struct Transfer { uint64_t left_bytes; double first_s; double done_s; };
std::vector<Transfer> transfers;
int left;
double others_end_s;
void OnReceived(uint32_t number, ns3::Ptr<const ns3::Packet> packet, const ns3::Address&) {
    Transfer& transfer = transfers[number];
    double now_s = ns3::Simulator::Now().GetSeconds();
    if (transfer.first_s < 0) { transfer.first_s = now_s; }
    transfer.left_bytes -= packet->GetSize();
    if (transfer.left_bytes == 0) {
        transfer.done_s = now_s;
        if (--left == 0) {
            ns3::Simulator::Stop(ns3::Seconds(std::max(0.0, others_end_s - now_s) + QUIET));
        }
    }
}
// Has the simulation end after the transfers that are watched, and not before `end_s`.
void Begin(double end_s) {
    transfers.clear();
    left = 0;
    others_end_s = end_s;
}
void Watch(ns3::Ptr<ns3::Application> sink, uint64_t size_bytes) {
    uint32_t number = transfers.size();
    transfers.push_back({size_bytes, -1, -1});
    ++left;
    sink->TraceConnectWithoutContext("Rx", ns3::MakeBoundCallback(&OnReceived, number));
}
double FirstAt(uint32_t number) { return transfers[number].first_s; }
double DoneAt(uint32_t number) { return transfers[number].done_s; }
// Python's view of the map of flows ends the process: the sums leave C++ as JSON.
std::string Flows(ns3::Ptr<ns3::FlowMonitor> monitor, ns3::Ptr<ns3::FlowClassifier> classifier) {
    auto known = ns3::DynamicCast<ns3::Ipv4FlowClassifier>(classifier);
    std::ostringstream text;
    text << "[";
    for (const auto& [id, flow] : monitor->GetFlowStats()) {
        text << (text.tellp() > 1 ? "," : "")
             << "{\\"to\\":" << known->FindFlow(id).destinationPort
             << ",\\"from\\":" << known->FindFlow(id).sourcePort
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
    """Read requests and write FlowMonitor's results for each, in the order of the requests."""
    ns = importlib.import_module("ns").ns  # the import that takes long
    ns.cppyy.cppdef(HELPERS.replace("QUIET", str(QUIET_S)))
    _print_json({"ready": version("ns3")})
    for line in sys.stdin:
        _print_json(simulate(ns, json.loads(line)))


def _print_json(answer: Any) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def simulate(ns: Any, asked: dict[str, Any]) -> list[dict[str, Any]]:
    """Simulate the flows that a request describes, and return FlowMonitor's sums of each, with
    times in nanoseconds.
    """
    ns.Config.Reset()
    ns.RngSeedManager.SetSeed(asked["seed"])
    ns.RngSeedManager.SetRun(1)
    ns.RngSeedManager.ResetNextStreamIndex()  # streams are numbered through the life of a process
    configure(ns, asked)
    nodes, addresses = (_csma if asked["defaults"] else _routed)(ns, asked)
    helpers = ns.cppyy.gbl.netwarp
    lasts_s = [_lasts_s(flow) for flow in asked["flows"] if not flow["is_stream"]]
    helpers.Begin(START_S + max(lasts_s, default=0.0))
    hosts = ns.NodeContainer()
    for flow in asked["flows"]:
        _applications(ns, asked, flow, nodes, addresses)
    for name in sorted({flow[end] for flow in asked["flows"] for end in ("client", "server")}):
        hosts.Add(nodes[name])
    helper = ns.FlowMonitorHelper()
    monitor = helper.Install(hosts)
    if len(lasts_s) < len(asked["flows"]):
        ns.Simulator.Stop(ns.Seconds(START_S + asked["limit_s"]))
    else:
        ns.Simulator.Stop(ns.Seconds(START_S + max(lasts_s) + QUIET_S))
    ns.Simulator.Run()
    found = _flow_sums(ns, asked, json.loads(str(helpers.Flows(monitor, helper.GetClassifier()))))
    ns.Simulator.Destroy()
    return found


def _lasts_s(flow: dict[str, Any]) -> float:
    """Return the time at which all messages of a flow have been sent, in s after the run's
    beginning.
    """
    return float(flow["start_s"] + flow["messages"] * flow["interval_ns"] / 1e9)


def configure(ns: Any, asked: dict[str, Any]) -> None:
    """Set ns-3's TCP to Linux's parameters. If the request asks for ns-3's defaults, only the
    buffers, the congestion control and the segment size are set.

    Loss recovery remains ns-3's own.
    """
    buffers = {} if asked["buffer_bytes"] is None else {
        "ns3::TcpSocket::SndBufSize": asked["buffer_bytes"],
        "ns3::TcpSocket::RcvBufSize": asked["buffer_bytes"],
    }  # fmt: skip
    tcp = asked["tcp"] or {"numbers": {}}
    for key, value in {**buffers, **tcp["numbers"]}.items():
        ns.Config.SetDefault(key, ns.UintegerValue(value))
    if not asked["request_jitter"]:
        never = ns.StringValue("ns3::ConstantRandomVariable[Constant=0.0]")
        ns.Config.SetDefault("ns3::ArpL3Protocol::RequestJitter", never)
    if not asked["tcp"]:
        return
    types = {"ns3::TcpL4Protocol::SocketType": tcp["congestion"]}
    if not asked["defaults"]:
        types["ns3::TcpL4Protocol::RecoveryType"] = "ns3::TcpPrrRecovery"
    for key, name in types.items():
        ns.Config.SetDefault(key, ns.TypeIdValue(ns.TypeId.LookupByName(name)))
    if asked["defaults"]:
        return
    times = {"ns3::TcpSocketBase::MinRto": 200, "ns3::TcpSocket::DelAckTimeout": 40}
    for key, value in times.items():
        ns.Config.SetDefault(key, ns.TimeValue(ns.MilliSeconds(value)))
    ns.Config.SetDefault("ns3::TcpSocketBase::Sack", ns.BooleanValue(tcp["sack"]))


def _csma(ns: Any, asked: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Connect two hosts by a CSMA link with ns-3's own queues.

    Returns:
        the nodes, and their addresses, by the names of the hosts.
    """
    (flow,) = asked["flows"]
    names = [flow["client"], flow["server"]]
    nodes = ns.NodeContainer()
    nodes.Create(len(names))
    link = ns.CsmaHelper()
    link.SetChannelAttribute("DataRate", ns.StringValue(f"{asked['rate_bit_s']}bps"))
    link.SetChannelAttribute("Delay", ns.TimeValue(ns.NanoSeconds(asked["delay_ns"])))
    link.SetDeviceAttribute("Mtu", ns.UintegerValue(asked["mtu_bytes"]))
    devices = link.Install(nodes)
    ns.InternetStackHelper().Install(nodes)
    addresses = ns.Ipv4AddressHelper()
    addresses.SetBase(ns.Ipv4Address("10.0.1.0"), ns.Ipv4Mask("255.255.255.0"))
    assigned = addresses.Assign(devices)
    if asked["neighbours"] == "warm":
        ns.NeighborCacheHelper().PopulateNeighborCache()
    return (
        {name: nodes.Get(index) for index, name in enumerate(names)},
        {name: assigned.GetAddress(index) for index, name in enumerate(names)},
    )


def _routed(ns: Any, asked: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Connect hosts and routers by point-to-point links.

    Returns:
        the nodes by name, and one address of each.
    """
    created = ns.NodeContainer()
    created.Create(len(asked["nodes"]))
    nodes = {name: created.Get(index) for index, name in enumerate(asked["nodes"])}
    connected = [_point_to_point(ns, nodes, link) for link in asked["links"]]
    ns.InternetStackHelper().Install(created)
    addresses = ns.Ipv4AddressHelper()
    found: dict[str, Any] = {}
    for number, (link, devices) in enumerate(zip(asked["links"], connected, strict=True), 1):
        network = f"10.{number >> 8}.{number & 255}.0"
        addresses.SetBase(ns.Ipv4Address(network), ns.Ipv4Mask("255.255.255.0"))
        assigned = addresses.Assign(devices)
        for index, name in enumerate(link["ends"]):
            found[name] = assigned.GetAddress(index)
        # Assigning addresses installs a queueing discipline in front of the device's own queue;
        # remove it.
        ns.TrafficControlHelper().Uninstall(devices)
    ns.Ipv4GlobalRoutingHelper.PopulateRoutingTables()
    return nodes, found


def _point_to_point(ns: Any, nodes: dict[str, Any], asked: dict[str, Any]) -> Any:
    """Connect two nodes. Each end has its own rate and queue, and may lose packets that arrive."""
    link = ns.PointToPointHelper()
    link.SetChannelAttribute("Delay", ns.TimeValue(ns.NanoSeconds(asked["delay_ns"])))
    devices = link.Install(*(nodes[name] for name in asked["ends"]))
    for index, (rate_bit_s, packets, loss) in enumerate(
        zip(asked["rates_bit_s"], asked["queues_packets"], asked["losses"], strict=True)
    ):
        device = devices.Get(index)
        device.SetAttribute("DataRate", ns.StringValue(f"{rate_bit_s}bps"))
        device.SetAttribute("Mtu", ns.UintegerValue(asked["mtu_bytes"]))
        device.GetQueue().SetMaxSize(ns.QueueSize(f"{packets}p"))
        if loss:
            losses = ns.CreateObject[ns.RateErrorModel]()
            losses.SetUnit(ns.RateErrorModel.ERROR_UNIT_PACKET)
            losses.SetRate(loss)
            device.SetAttribute("ReceiveErrorModel", ns.PointerValue(losses))
    return devices


def _applications(
    ns: Any,
    asked: dict[str, Any],
    flow: dict[str, Any],
    nodes: dict[str, Any],
    addresses: dict[str, Any],
) -> None:
    """Install ns-3's applications that send and receive a flow on its two hosts."""
    client, server = nodes[flow["client"]], nodes[flow["server"]]
    address, port = addresses[flow["server"]], flow["port"]
    start = ns.Seconds(START_S + flow["start_s"])
    if not flow["is_stream"]:
        ns.UdpServerHelper(port).Install(server).Start(ns.Seconds(0))
        sender = ns.UdpClientHelper(address.ConvertTo(), port)
        sender.SetAttribute("MaxPackets", ns.UintegerValue(flow["messages"]))
        sender.SetAttribute("Interval", ns.TimeValue(ns.NanoSeconds(flow["interval_ns"])))
        sender.SetAttribute("PacketSize", ns.UintegerValue(flow["message_bytes"]))
        sender.Install(client).Start(start)
        return
    endpoint = ns.InetSocketAddress(address, port).ConvertTo()
    sinks = ns.PacketSinkHelper("ns3::TcpSocketFactory", endpoint).Install(server)
    sinks.Start(ns.Seconds(0))
    ns.cppyy.gbl.netwarp.Watch(sinks.Get(0), flow["size_bytes"])
    source = ns.BulkSendHelper("ns3::TcpSocketFactory", endpoint)
    source.SetAttribute("MaxBytes", ns.UintegerValue(flow["size_bytes"]))
    if not asked["defaults"]:
        source.SetAttribute("SendSize", ns.UintegerValue(64 << 10))
    source.Install(client).Start(start)


def _flow_sums(
    ns: Any, asked: dict[str, Any], monitored: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return FlowMonitor's sums for each flow to its server's port, with times relative to the
    run's beginning.

    A client that opens a connection counts as connected when the first packet of the reverse flow
    arrives; `connected_ns` is 0 if there is no reverse flow.
    """
    start_ns = round(START_S * 1e9)
    there = {each.pop("to"): each for each in monitored}
    back = {each.pop("from"): each for each in monitored}
    helpers = ns.cppyy.gbl.netwarp
    streams = 0
    answers = []
    for flow in asked["flows"]:
        found = there[flow["port"]]
        for name in found:
            if name.startswith(("first_", "last_")):
                found[name] -= start_ns
        reverse = back.get(flow["port"])
        found["connected_ns"] = reverse["first_received_ns"] - start_ns if reverse else 0
        if flow["is_stream"]:
            for name, at in (("first_s", helpers.FirstAt), ("done_s", helpers.DoneAt)):
                at_s = float(at(streams))
                found[name] = None if at_s < 0 else at_s - START_S
            streams += 1
        answers.append(found)
    return answers


if __name__ == "__main__":
    main()
