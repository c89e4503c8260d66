"""The version, for everything that says by what it was made."""

__version__ = "0.1.0"
