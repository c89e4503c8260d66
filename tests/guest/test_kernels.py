"""Every kernel that is built here carries every transport, repeats, and says which one it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import netwarp
from guest.lab import run_study
from netwarp.backends.guest_files import GuestKernel
from netwarp.backends.kernels import built_kernels, kernel_refusal
from netwarp.errors import BackendError
from netwarp.plan import plan_study
from netwarp.run_directory import RECORDS_FILE
from netwarp.study import study_from_mapping
from netwarp.wire import read_records

KERNELS = {kernel.name: kernel for kernel in built_kernels()}
"""The default alone where nobody has built another (`netwarp kernel build 6.12`)."""


def study_on(kernel: GuestKernel, **keys: Any) -> dict[str, Any]:
    """A study on a kernel by its whole name, with losses where it can repeat them."""
    loss = {"loss": "3%"} if kernel.seeds_netem else {}
    path = {"rtt": "40ms", "rate": "20mbit", **loss, **keys.pop("path", {})}
    return {"title": "kernels", "replicates": 1, "kernel": kernel.name, "path": path, **keys}


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize(
    "keys",
    [
        {
            "path": {"second": {"rtt": "20ms", "rate": "5mbit"}},
            "workload": {"kind": "bulk", "size": "300kB"},
            "factors": {"transport": ["tcp", "tls", "sctp", "quic", "mptcp"]},
        },
        {
            "workload": {"kind": "flow", "rate": "1mbit", "duration": "1s"},
            "factors": {"transport": ["udp", "tcp"]},
        },
    ],
    ids=["contents", "flows"],
)
def test_it_carries_every_transport_and_repeats(
    name: str, keys: dict[str, Any], tmp_path: Path
) -> None:
    kernel = KERNELS[name]
    plan = plan_study(study_from_mapping(study_on(kernel, **keys)))
    plan = [run for run in plan if kernel_refusal(kernel, run.job) is None]
    assert len(plan) >= len(keys["factors"]["transport"]) - 1, "a kernel lacks QUIC at most"
    found: list[dict[str, bytes]] = []
    for place in (tmp_path / "first", tmp_path / "again"):
        for run in run_study(plan, place, jobs=2):
            assert run.status.outcome == "ok", run.status.reason
        files = sorted(place.glob(f"*/{RECORDS_FILE}"))
        assert len(files) == len(plan)
        for file in files:
            assert read_records(file)[0].kernel == f"Linux {kernel.info['release']}"  # type: ignore[union-attr]
        found.append({file.parent.name: file.read_bytes() for file in files})
    assert found[0] == found[1]


def test_a_directory_is_verified_on_the_kernel_that_measured_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the default has changed since; on another it differs where it says which it is."""
    newest = list(KERNELS.values())[-1]
    # Without loss, which not every kernel can repeat.
    keys = {"path": {"loss": "0%"}, "workload": {"size": "100kB"}}
    study = study_on(newest, replicates=2, factors={"transport": ["tcp"]}, **keys)
    del study["kernel"]
    monkeypatch.setenv("NETWARP_KERNEL", str(newest.directory))
    done = netwarp.run(study_from_mapping(study), out=tmp_path / "out", jobs=1)
    monkeypatch.delenv("NETWARP_KERNEL")
    assert done.verify(jobs=1, kernel=newest.name).is_identical
    for other in KERNELS.values():
        if other.info["release"] != newest.info["release"]:
            verified = done.verify(1, jobs=1, kernel=other.name)
            assert [run.difference_text for run in verified.runs] == ["start.kernel"]
            assert "kernel" in verified.other_programs
    with pytest.raises(BackendError, match="no guest kernel 0\\.1 is built"):
        done.verify(kernel="0.1")
