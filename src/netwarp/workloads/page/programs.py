"""The browser and the web servers that can replace netwarp's own client and server."""

from collections.abc import Mapping
from typing import Literal

from netwarp import wire
from netwarp.transports import HttpVersion
from netwarp.workloads.base import Program

ClientName = Literal["netwarp", "chromium"]
ServerName = Literal["netwarp", "caddy", "nginx"]

PROGRAMS: Mapping[wire.WebProgramKind, Program] = {
    "chromium": Program(
        "chromium",
        ("chromium", "google-chrome-stable"),
        "`apt-get install chromium` on Debian; Ubuntu's chromium is a snap, which does not start in"
        " a guest: install Google's package google-chrome-stable there",
    ),
    "caddy": Program("caddy", ("caddy",), "`apt-get install caddy`"),
    "nginx": Program("nginx", ("nginx",), "`apt-get install nginx-light`"),
}
"""Programs by the names that they have in a study."""

HTTP_VERSIONS: Mapping[ServerName, tuple[HttpVersion, ...]] = {
    "netwarp": ("1.1", "2", "3"),
    "caddy": ("1.1", "2", "3"),
    "nginx": ("1.1", "2"),
}
"""Versions of HTTP that each server supports, as distributions package it."""


def in_job(name: ClientName | ServerName) -> wire.WebProgram | None:
    """Return the job's entry for the program of one end (client or server); None for netwarp's
    own.
    """
    if name == "netwarp":
        return None
    return wire.WebProgram(kind=name, names=PROGRAMS[name].names)
