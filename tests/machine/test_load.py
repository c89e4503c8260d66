"""How much of the CPUs other work took."""

from __future__ import annotations

from pathlib import Path

import pytest

from netwarp.backends.cpus import CpuTimes, cpu_times
from netwarp.machine.load import others_share, warning


def test_other_work_is_what_is_busy_and_not_ours() -> None:
    before = CpuTimes(busy_s=100, idle_s=50, own_s=10)
    assert others_share(before, CpuTimes(106, 54, 12)) == pytest.approx(0.4)
    assert others_share(before, CpuTimes(102, 58, 12)) == 0
    assert others_share(before, before) == 0


def test_an_idle_machine_has_no_warning() -> None:
    assert warning(None) is None
    assert warning(0.02) is None
    assert "38 % of this machine's CPUs" in (warning(0.38) or "")


def test_the_machines_times_are_read_as_proc_has_them(tmp_path: Path) -> None:
    stat = tmp_path / "stat"
    stat.write_text("cpu  100 200 300 4000 500 6 7 8 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n")
    found = cpu_times(stat)
    assert (found.busy_s, found.idle_s) == (6.21, 45.0)
    assert found.own_s > 0
    assert cpu_times().busy_s > 0
