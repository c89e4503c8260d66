"""What a guest kernel lacks is refused for the jobs that need it, with the remedy."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from backends.built_kernels import HAS, build, job_of
from netwarp.backends.abilities import IMPOSED
from netwarp.backends.kernels import (
    DRAWN_BY_NETEM,
    built_kernels,
    kernel_named,
    kernel_refusal,
    lacks_in_words,
)
from netwarp.errors import BackendError


@pytest.mark.parametrize(
    "path",
    [
        {"loss": "1%"},
        {"loss": "gemodel 1% 30%"},
        {"jitter": "1ms"},
        {"reorder": "5%"},
        {"duplicate": "1%"},
        {"corrupt": "1%"},
    ],
)
def test_what_an_old_netem_draws_without_a_seed_is_refused(
    environ: dict[str, str], path: dict[str, str]
) -> None:
    build(environ, "6.1.192-bb", netem_seed=False)
    build(environ, "6.12.117-aa", netem_seed=True)
    old, new = kernel_named("6.1", environ), kernel_named("6.12", environ)
    assert "without a seed" in str(kernel_refusal(old, job_of(path)))
    assert kernel_refusal(new, job_of(path)) is None
    assert kernel_refusal(old, job_of({})) is None
    assert "repeatable random loss, jitter and reordering" in lacks_in_words(old)


def test_what_is_imposed_on_packets_is_drawn_by_netem_or_not_drawn() -> None:
    """A new impairment is decided about here: what netem draws needs its seed."""
    not_drawn = {"delay_ns", "in_order", "rate_bit_s", "shaper_queue_bytes"}
    part_of_loss = {"loss.correlation"}
    by_guests_alone = {"corrupt_ratio", "link_loss_ratio"}
    assert IMPOSED | by_guests_alone == DRAWN_BY_NETEM | not_drawn | part_of_loss


def test_losses_by_number_are_exact_without_a_seed(environ: dict[str, str]) -> None:
    build(environ, "6.1.176-bb", HAS + "CONFIG_NFT_NUMGEN=y\n", netem_seed=False)
    build(environ, "6.12.117-aa")
    by_number = job_of({"loss": "every 100"})
    assert kernel_refusal(kernel_named("6.1", environ), by_number) is None
    assert "lost by number" in str(kernel_refusal(kernel_named("6.12", environ), by_number))


def test_quic_is_refused_where_no_wait_ends_at_a_time(environ: dict[str, str]) -> None:
    build(environ, "6.1.192-aa")
    build(environ, "6.11.9-bb", uring_abs_timer=True)
    build(environ, "6.12.117-cc")
    quic = job_of({}, kind="quic")
    lacking = {each.version: kernel_refusal(each, quic) for each in built_kernels(environ)}
    assert "IORING_ENTER_ABS_TIMER, since 6.12" in str(lacking.pop("6.1.192"))
    assert set(lacking.values()) == {None}
    assert kernel_refusal(kernel_named("6.1", environ), job_of({})) is None


@pytest.mark.parametrize(
    ("transport", "since"),
    [
        ({"kind": "mptcp", "mss": 536}, "which came with Linux 6.17, and the kernel is 6.12.117"),
        ({"kind": "tcp", "tcp_rto_min": "50ms"}, "which came with Linux 6.11"),
    ],
)
def test_an_option_that_came_with_a_later_version_is_refused(
    environ: dict[str, str], transport: dict[str, Any], since: str
) -> None:
    build(environ, "6.1.192-aa")
    build(environ, "6.12.117-bb")
    build(environ, "7.3.4-cc")
    job = job_of({"second": {"rtt": "30ms"}} if transport["kind"] == "mptcp" else {}, **transport)
    *_, last_without = (
        said for each in built_kernels(environ) if (said := kernel_refusal(each, job)) is not None
    )
    assert since in last_without
    assert kernel_refusal(kernel_named("7.3", environ), job) is None
    assert kernel_refusal(kernel_named("6.1", environ), job_of({}, kind="tcp", mss=536)) is None


def test_what_a_kernel_is_built_without_is_refused(environ: dict[str, str]) -> None:
    build(environ, "6.12.117-aa")
    kernel = kernel_named("6.12", environ)
    assert kernel_refusal(kernel, job_of({"discipline": "codel"})) is None
    assert "discipline dualpi2" in str(kernel_refusal(kernel, job_of({"discipline": "dualpi2"})))
    assert "congestion control bbr" in str(kernel_refusal(kernel, job_of({}, congestion="bbr")))
    assert kernel_refusal(kernel, job_of({}, congestion="reno")) is None
    assert kernel_refusal(kernel, job_of({}, kind="sctp")) is None
    assert "CONFIG_NFT_NUMGEN" in str(kernel_refusal(kernel, job_of({"loss": "every 100"})))


def test_an_option_that_netwarp_has_now_is_had_by_building_again(environ: dict[str, str]) -> None:
    build(environ, "6.12.117-aa")
    build(environ, "6.12.118-bb", own_config=["CONFIG_NFT_NUMGEN=n"])
    build(environ, "7.3.4-cc")
    Path(environ["XDG_CACHE_HOME"], "netwarp", "kernel", "current").symlink_to("7.3.4-cc")
    by_number = job_of({"loss": "every 100"})
    remedies = {each.name: str(kernel_refusal(each, by_number)) for each in built_kernels(environ)}
    assert remedies["6.12.117-aa"].endswith("build it again with `netwarp kernel build 6.12`")
    assert remedies["7.3.4-cc"].endswith("build it again with `netwarp kernel build`")
    assert remedies["6.12.118-bb"].endswith("choose another kernel, or leave it out")
    dualpi2 = kernel_refusal(kernel_named("6.12.117", environ), job_of({"discipline": "dualpi2"}))
    assert str(dualpi2).endswith("choose another kernel, or leave it out")


@pytest.mark.parametrize(
    ("info", "says"),
    [
        ({"version": "new"}, 'version is "new"'),
        ({"own_patches": "many"}, 'own_patches is "many"'),
        ({"own_config": [1]}, "own_config has something other than lines"),
        ({"seccomp": 1}, "seccomp is 1"),
    ],
)
def test_a_kernel_whose_description_is_not_ours_is_not_used(
    environ: dict[str, str], info: dict[str, Any], says: str
) -> None:
    build(environ, "6.12.117-aa", **info)
    assert built_kernels(environ) == []
    with pytest.raises(BackendError, match=re.escape(says)):
        kernel_named("6.12", environ)


def test_a_kernel_of_another_user_is_named_with_the_reason(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = build(environ, "6.12.117-aa")
    if os.geteuid() == 0:
        os.chown(directory, 12345, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(BackendError, match=r"6\.12 is built and cannot be used: .*run as you"):
        kernel_named("6.12", environ)
    with pytest.raises(BackendError, match=r"no guest kernel 6\.1 is built"):
        kernel_named("6.1", environ)


def test_a_kernel_whose_abilities_nobody_can_tell_is_refused(environ: dict[str, str]) -> None:
    (build(environ, "6.12.117-aa") / "config").unlink()
    with pytest.raises(BackendError, match="nobody can tell what"):
        kernel_refusal(kernel_named("6.12", environ), job_of({}))
