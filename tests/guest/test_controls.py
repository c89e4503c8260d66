"""The controls that docs/validation.md names, each with a network of its own in the guest."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from guest.over_a_path import NETWARP, skip_without

CONTROLS = Path(__file__).parents[2] / "scripts" / "controls"


def printed(folder: Path, control: str, *arguments: str, seed: int = 1) -> str:
    """Run a control in a guest, and return what it printed."""
    skip_without(("ip", "tc"))
    alone = ("--seed", str(seed), "--server", "sleep 9999", "--ready", "file:/bin/sh")
    command = [str(NETWARP), "exec", *alone, "--", str(CONTROLS / control), *arguments]
    done: subprocess.CompletedProcess[str] = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("single", [(), ("single",)])
def test_a_link_with_mininets_queues_is_full_where_nothing_is_lost(
    tmp_path: Path, single: tuple[str, ...]
) -> None:
    # 1 448 bytes of content in frames of 1 514.
    assert float(printed(tmp_path, "lost_bundles.py", "10", "0", *single)) == pytest.approx(
        10 * 1448 / 1514, rel=0.005
    )


def test_fewer_losses_that_take_whole_bundles_leave_tcp_more(tmp_path: Path) -> None:
    carried = {
        single: [
            float(printed(tmp_path, "lost_bundles.py", "10", "7", *single, seed=seed))
            for seed in (1, 2, 3)
        ]
        for single in ((), ("single",))
    }
    assert sum(carried[()]) > 1.1 * sum(carried["single",]), carried


def test_equal_flows_have_equal_shares_by_both_quantities(tmp_path: Path) -> None:
    lines = printed(tmp_path, "delivery_rate.py", "2", "20", "20", "fq_codel").splitlines()
    shares = {name: float(share) for name, share, _ in (line.rsplit(" ", 2) for line in lines)}
    assert shares == {
        "goodput": pytest.approx(50, abs=1),
        "delivery rate": pytest.approx(50, abs=3),
    }
