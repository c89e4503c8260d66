"""Makes the kernel's wheel need netwarp of the same release: a metadata hook of hatchling."""

from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class SameRelease(MetadataHookInterface):
    """Sets the one dependency of the kernel's wheel."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add it; the version is that of netwarp itself."""
        metadata["dependencies"] = [f"netwarp=={metadata['version']}"]
