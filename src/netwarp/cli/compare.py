"""The command that races transports over paths given right on the command line."""

from collections.abc import Mapping
from typing import Any

from netwarp.cli.checks import Checks
from netwarp.cli.command import command
from netwarp.cli.running import run_and_print, say_what_would_run
from netwarp.cli.terminal import planning
from netwarp.options import CHECKS, COMPARE
from netwarp.options.running import DRY_RUN, JSON

NO_PATH = (
    "no path is given: nothing delays or limits a packet, so times are those of no network"
    " (microseconds). Give --profile lte, or --rtt 50ms --rate 20mbit."
)
"""The warning that a comparison has no path, so that in virtual time nothing delays its packets."""


@command(*COMPARE, DRY_RUN, *CHECKS, JSON)
def compare(*, dry_run: bool = False, as_json: bool = False, **given: Any) -> None:
    """Compare transports over paths given as options; every list is a factor.

    netwarp compare --transport tcp,quic --size 10MB --rtt 100ms --loss 0%,1%,5% --rate 50mbit
    """
    from netwarp.library import divided
    from netwarp.study.compare import study_from_compare

    checks = Checks.taken_from(given)
    with planning():
        of_study, how = divided("compare", COMPARE, given)
        study = study_from_compare(**of_study)
    if dry_run:
        say_what_would_run(study, how, as_json=as_json)
        return
    warning = NO_PATH if lacks_path(given) else None
    run_and_print(study, how, as_json=as_json, warning=warning, checks=checks)


def lacks_path(given: Mapping[str, Any]) -> bool:
    """Return whether no option describes the path; between two real hosts there is one in any
    case.
    """
    is_elsewhere = str(given.get("backend")).startswith(("remote", "replay"))
    keys = {row.name: row.key for row in COMPARE}
    changed = [each.removeprefix("factors.") for each in given.get("set", ())]
    says = [*(keys[name] for name in given), *changed]
    return not is_elsewhere and not any(key.startswith("path.") for key in says)
