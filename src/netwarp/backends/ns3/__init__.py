"""ns-3: the discrete-event simulator of the field, as a place where runs happen."""

from netwarp.backends.ns3.backend import Ns3Backend, WithNs3

__all__ = ["Ns3Backend", "WithNs3"]
