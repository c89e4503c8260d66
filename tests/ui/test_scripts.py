"""The scripts of the pages need one another in one direction."""

from __future__ import annotations

import re
from graphlib import TopologicalSorter
from importlib.resources import files

_IMPORT = re.compile(r'^import .* from "\./(.*)";$', re.MULTILINE)


def test_no_script_needs_itself_by_way_of_others() -> None:
    scripts = [each for each in files("netwarp.ui").joinpath("static").iterdir()
               if each.name.endswith(".js")]  # fmt: skip
    needs = {each.name: _IMPORT.findall(each.read_text(encoding="utf-8")) for each in scripts}
    assert needs["network.js"] == ["columns.js"]
    assert set(TopologicalSorter(needs).static_order()) == set(needs)
