"""The conditions that all cells of a study share, by study key."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from netwarp.study.cells.factors import flattened
from netwarp.study.cells.path_direction import DEFAULT_QUEUE_MIN_PACKETS
from netwarp.study.overrides import KERNEL, SECTIONS
from netwarp.study.sections.hosts import OWN_KEYS
from netwarp.units import ETHERNET_HEADER_BYTES, NS_PER_S
from netwarp.wire import Job, NoLoss, Path

HOW_METRICS_ARE_READ = "workload.metrics."
"""Prefix of keys that define metrics; these are not conditions."""


def fixed_conditions(raw: Mapping[str, Any], job: Job | None) -> dict[str, str]:
    """Return the kernel, and the keys of path, transport and workload that have one value
    throughout the study.

    Args:
        raw: the tables of the study that was run; empty if they could not be read.
        job: any of the study's jobs, for path properties that the study does not set; None if no
            job was kept.

    Returns:
        Values by key, as written in the study, with those of the path first: `{"path.rtt":
            "100ms"}`. Empty without the study's tables, as a job tells neither what was varied nor
            what was set.
    """
    if not raw:
        return {}
    varied = set(flattened(raw.get("factors", {})))
    written = {
        f"{section}.{key}": _text(value)
        for section in SECTIONS
        for key, value in flattened(_by_name(raw.get(section, {}))).items()
    }
    written |= _of_links(raw)
    if raw.get(KERNEL) is not None:
        written[KERNEL] = str(raw[KERNEL])
    fixed = {
        key: value
        for key, value in written.items()
        if key not in varied and not key.startswith(HOW_METRICS_ARE_READ)
    }
    # A network of the study's own has no path whose properties could be left out.
    has_path = job is not None and "link" not in raw
    return (
        _unset_properties(job, [*written, *varied], varied) | fixed if job and has_path else fixed
    )


def _of_links(raw: Mapping[str, Any]) -> dict[str, str]:
    """Return the keys of the links that have a name, in the form in which factors name them; events
    are left out.
    """
    return {
        f"link.{link['name']}.{key}": _text(value)
        for link in raw.get("link", ())
        if "name" in link
        for key, value in flattened(link).items()
        if key not in OWN_KEYS and not isinstance(value, list)
    }


def _by_name(section: Any) -> Mapping[str, Any]:
    """Return a section as a table; a list of workloads becomes a table with the workloads' names as
    keys.
    """
    if not isinstance(section, list):
        table: Mapping[str, Any] = section
        return table
    return {each["name"]: {k: v for k, v in each.items() if k != "name"} for each in section}


def _unset_properties(job: Job, keys: Sequence[str], varied: Collection[str]) -> dict[str, str]:
    """Return the path properties that no key of the study sets, because they come from defaults or
    a profile.
    """
    path = job.paths[0]
    defaults = {"path.mtu": str(path.mtu_bytes)}
    if isinstance(path.down.loss, NoLoss):
        defaults["path.loss"] = "0%"
    if len(job.paths) > 1 and job.network is None:
        defaults["path.second"] = "as the first"
    if "path.profile" not in varied:
        if job.network is None:
            defaults["path.rtt"] = f"{path.idle_rtt_ns / 1e6:g}ms"
        defaults["path.rate_down"] = _rate(path.down.rate_bit_s)
        defaults["path.rate_up"] = _rate(path.up.rate_bit_s)
    if path.down.rate_bit_s or path.up.rate_bit_s:
        rtt_ns = max(each.paths[0].idle_rtt_ns for each in job.each_alone)
        defaults["path.queue"] = _default_queue(path, rtt_ns, varied)
    related = {
        "path.rtt": ("path.delay", "path.redraw", "topology.rtts"),
        "path.rate_down": ("path.rate", "path.trace.down"),
        "path.rate_up": ("path.rate", "path.trace.up"),
    }
    return {
        key: value
        for key, value in sorted(
            defaults.items(), key=lambda item: (item[0] != "path.second", item), reverse=True
        )
        if not any(each.startswith((key, *related.get(key, ()))) for each in keys)
    }


def _default_queue(path: Path, rtt_ns: int, varied: Collection[str]) -> str:
    """Return the default size of the queue as text: one bandwidth-delay product, but at least a
    number of packets.
    """
    depends_on = ("path.rtt", "path.delay", "path.rate", "path.profile", "topology.rtts")
    if any(key.startswith(depends_on) for key in varied):
        return "1bdp"
    rates_bit_s = [rate for rate in (path.down.rate_bit_s, path.up.rate_bit_s) if rate]
    bdp_bytes = max(rates_bit_s) * rtt_ns / 8 / NS_PER_S
    frame_bytes = path.mtu_bytes + ETHERNET_HEADER_BYTES
    is_least = bdp_bytes < DEFAULT_QUEUE_MIN_PACKETS * frame_bytes
    return f"{DEFAULT_QUEUE_MIN_PACKETS}p" if is_least else "1bdp"


def _rate(rate_bit_s: int | None) -> str:
    return "unlimited" if rate_bit_s is None else f"{rate_bit_s / 1e6:g}mbit"


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return " / ".join(map(str, value)) if isinstance(value, list) else str(value)
