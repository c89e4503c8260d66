"""The backend for ns-3, the discrete-event network simulator."""

from netwarp.backends.ns3.backend import Ns3Backend, WithNs3

__all__ = ["Ns3Backend", "WithNs3"]
