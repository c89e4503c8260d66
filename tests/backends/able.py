"""A host that can do everything."""

from netwarp.backends.native import HostCapabilities

ABLE = HostCapabilities(
    kernel="6.12.0",
    rootless=False,
    missing_path=None,
    missing_netem=None,
    missing_sctp=None,
    missing_mptcp=None,
    congestion=("reno", "cubic"),
    socket_buffer_bytes=1 << 30,
)
