"""Examines this machine: whether it has what netwarp needs, and the speed of its CPU."""
