"""The kernels of the runs in a run directory, as its provenance has them: their versions, and keys
that distinguish them.
"""

from collections.abc import Mapping
from typing import Any


def kernels_text(provenance: Mapping[str, Any]) -> str:
    """Return as text the versions of the kernels of a directory's runs: those that the study names,
    or the default one. Kernels with the same version, and those with the user's own changes, are
    shown with their keys.
    """
    texts = {kernel_key(each): str(each.get("version", "unknown")) for each in _kernels(provenance)}
    own = {kernel_key(each) for each in _kernels(provenance) if _has_own_changes(each)}
    versions = list(texts.values())
    return ", ".join(
        key if key in own or versions.count(version) > 1 else version
        for key, version in texts.items()
    )


def kernel_keys(provenance: Mapping[str, Any]) -> str:
    """Return as text the keys of the kernels of a directory's runs; see `kernel_key`."""
    return ", ".join(dict.fromkeys(map(kernel_key, _kernels(provenance))))


def kernel_key(kernel: Mapping[str, Any]) -> str:
    """Return a key that distinguishes a kernel from all others: its version, and the hash of what
    it was built from (for an older build, the hash of the kernel itself). The key of this machine's
    own kernel is only its version.
    """
    if key := kernel.get("key"):
        return str(key)
    version, sha256 = kernel.get("version", "unknown"), kernel.get("kernel_sha256")
    return f"{version}-{sha256[:12]}" if isinstance(sha256, str) else str(version)


def _kernels(provenance: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return list((provenance.get("kernels") or {"": provenance.get("kernel") or {}}).values())


def _has_own_changes(kernel: Mapping[str, Any]) -> bool:
    package = str(kernel.get("source_package", "linux-source-"))
    is_own_source = not package.startswith("linux-source-")
    changes = ("own_config", "own_patches", "own_modules")
    return is_own_source or any(kernel.get(each) for each in changes)
