"""The version of netwarp, for output that names it."""

__version__ = "0.1.0"
