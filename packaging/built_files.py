"""Puts a folder of built files into a wheel, and its platform into the wheel's name: a build hook
of hatchling, which `scripts/wheels.py` runs with the variables that it reads here.
"""

import os
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

TAG = "NETWARP_WHEEL_TAG"


class BuiltFiles(BuildHookInterface):
    """Takes the folder that the environment variable `variable` names, and places it at `place`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the folder; a package that needs it is not built without it."""
        folder = os.environ.get(self.config["variable"])
        if folder is None:
            if self.config.get("required", False):
                raise SystemExit("the guest kernel's wheel is built by `make wheel`")
            return
        build_data["force_include"][folder] = self.config["place"]
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{os.environ[TAG]}"
