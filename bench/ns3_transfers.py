"""Carries transfers out in ns-3, set up to be like Linux: a JSON object a line in, one out.

Runs in a virtual environment of its own, which has the package `ns3` from PyPI and nothing of
netwarp. Importing it compiles bindings for some ten CPU seconds, so one process does all jobs, and
only the simulation itself is measured.

ns-3's defaults are not Linux's: segments of 536 bytes, a smallest time-out of 1 s, receivers that
wait 200 ms with an acknowledgement. What Linux has is given here; loss recovery stays ns-3's own.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from typing import Any

# Above twice the bandwidth-delay product. ns-3 searches its list of SACK blocks from the start, so
# larger ones cost more time than the whole of the rest.
BUFFER_BYTES = 4 << 20
MSS_BYTES = 1448
FRAME_BYTES = 1502  # point-to-point: 2 bytes of PPP, 20 of IP, 32 of TCP with timestamps

WATCHER = """
namespace netwarp {
uint64_t left_bytes;
double done_s;
void OnReceived(ns3::Ptr<const ns3::Packet> packet, const ns3::Address&) {
    left_bytes -= packet->GetSize();
    if (left_bytes == 0) {
        done_s = ns3::Simulator::Now().GetSeconds();
        ns3::Simulator::Stop();
    }
}
void Watch(ns3::Ptr<ns3::Application> sink, uint64_t size_bytes) {
    left_bytes = size_bytes;
    done_s = -1;
    sink->TraceConnectWithoutContext("Rx", ns3::MakeCallback(&OnReceived));
}
}
"""


def main() -> None:
    """Answer each job with its times, in the order of the jobs."""
    ns = importlib.import_module("ns").ns  # the slow part
    ns.cppyy.cppdef(WATCHER)
    like_linux(ns)
    # What is called for the first time is compiled first, for five CPU seconds.
    transfer(ns, size_bytes=100_000, rate_bit_s=10_000_000, rtt_s=0.01, loss=0.01, seed=1)
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        print(json.dumps(transfer(ns, **json.loads(line))), flush=True)


def like_linux(ns: Any) -> None:
    """Give TCP what Linux has where ns-3's defaults differ."""
    milliseconds = {
        "ns3::TcpSocketBase::MinRto": 200,
        "ns3::TcpSocket::DelAckTimeout": 40,
    }
    numbers = {
        "ns3::TcpSocket::SegmentSize": MSS_BYTES,
        "ns3::TcpSocket::InitialCwnd": 10,
        "ns3::TcpSocket::SndBufSize": BUFFER_BYTES,
        "ns3::TcpSocket::RcvBufSize": BUFFER_BYTES,
    }
    types = {
        "ns3::TcpL4Protocol::SocketType": "ns3::TcpCubic",
        "ns3::TcpL4Protocol::RecoveryType": "ns3::TcpPrrRecovery",
    }
    for key, value in milliseconds.items():
        ns.Config.SetDefault(key, ns.TimeValue(ns.MilliSeconds(value)))
    for key, value in numbers.items():
        ns.Config.SetDefault(key, ns.UintegerValue(value))
    for key, name in types.items():
        ns.Config.SetDefault(key, ns.TypeIdValue(ns.TypeId.LookupByName(name)))
    ns.Config.SetDefault("ns3::TcpSocketBase::Sack", ns.BooleanValue(True))


def transfer(
    ns: Any, *, size_bytes: int, rate_bit_s: int, rtt_s: float, loss: float, seed: int
) -> dict[str, float]:
    """Send so many bytes from server to client over a router, with one BDP of queue.

    Returns:
        `virtual_s` until the last byte is there, and the simulation's own `cpu_s`.
    """
    ns.RngSeedManager.SetSeed(seed)
    nodes = ns.NodeContainer()
    nodes.Create(3)
    server, router, client = (nodes.Get(index) for index in range(3))
    queue_packets = round(rate_bit_s * rtt_s / 8 / FRAME_BYTES)
    fast = _link(ns, server, router, 10_000_000_000, 0.0, 100_000)
    slow = _link(ns, router, client, rate_bit_s, rtt_s / 2, queue_packets)
    if loss:
        losses = ns.CreateObject[ns.RateErrorModel]()
        losses.SetUnit(ns.RateErrorModel.ERROR_UNIT_PACKET)
        losses.SetRate(loss)
        slow.Get(1).SetAttribute("ReceiveErrorModel", ns.PointerValue(losses))
    address = _addresses(ns, nodes, fast, slow)
    endpoint = ns.InetSocketAddress(address, 5001).ConvertTo()
    sink = ns.PacketSinkHelper("ns3::TcpSocketFactory", endpoint).Install(client)
    source = ns.BulkSendHelper("ns3::TcpSocketFactory", endpoint)
    source.SetAttribute("MaxBytes", ns.UintegerValue(size_bytes))
    source.SetAttribute("SendSize", ns.UintegerValue(64 << 10))
    source.Install(server)
    ns.cppyy.gbl.netwarp.Watch(sink.Get(0), size_bytes)
    start_s = time.process_time()
    ns.Simulator.Run()
    cpu_s = time.process_time() - start_s
    virtual_s = float(ns.cppyy.gbl.netwarp.done_s)
    ns.Simulator.Destroy()
    return {"virtual_s": virtual_s, "cpu_s": cpu_s}


def _link(ns: Any, one: Any, other: Any, rate_bit_s: int, delay_s: float, packets: int) -> Any:
    link = ns.PointToPointHelper()
    link.SetDeviceAttribute("DataRate", ns.StringValue(f"{rate_bit_s}bps"))
    link.SetChannelAttribute("Delay", ns.TimeValue(ns.Seconds(delay_s)))
    link.SetQueue("ns3::DropTailQueue", "MaxSize", ns.QueueSizeValue(ns.QueueSize(f"{packets}p")))
    return link.Install(one, other)


def _addresses(ns: Any, nodes: Any, fast: Any, slow: Any) -> Any:
    """Give every device its address, and return the client's."""
    ns.InternetStackHelper().Install(nodes)
    addresses = ns.Ipv4AddressHelper()
    found = []
    for devices, network in ((fast, "10.0.2.0"), (slow, "10.0.1.0")):
        addresses.SetBase(ns.Ipv4Address(network), ns.Ipv4Mask("255.255.255.0"))
        found.append(addresses.Assign(devices))
        # Addresses bring a queueing discipline with them, in front of the device's own queue.
        ns.TrafficControlHelper().Uninstall(devices)
    ns.Ipv4GlobalRoutingHelper.PopulateRoutingTables()
    return found[1].GetAddress(1)


if __name__ == "__main__":
    main()
