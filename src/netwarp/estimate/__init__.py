"""Samples → estimates with intervals, and how two of them differ."""
