"""Kernels that stand side by side: named, chosen, removed, and refused for what they lack."""

from __future__ import annotations

import fcntl
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from netwarp.backends.abilities import BUILT, IMPOSED, beyond
from netwarp.backends.guest_files import find_kernel
from netwarp.backends.kernels import (
    DRAWN_BY_NETEM,
    built_kernels,
    choose_default,
    is_released,
    kernel_named,
    kernel_refusal,
    lacks_in_words,
    released_source,
    remove_kernel,
)
from netwarp.backends.virtual import VirtualBackend
from netwarp.errors import BackendError, RunDirectoryError, StudyError
from netwarp.execution import LocalExecutor
from netwarp.execution.earlier_runs import refuse_other_programs
from netwarp.execution.provenance import provenance
from netwarp.kernels_of_runs import kernel_key, kernels_text
from netwarp.run_directory import RunDirectory
from netwarp.study import study_from_mapping
from netwarp.wire import Job
from netwarp.wire.asked import asked

HAS = "CONFIG_NET_SCH_CODEL=y\nCONFIG_IP_SCTP=y\nCONFIG_MPTCP=y\nCONFIG_TCP_CONG_CUBIC=y\n"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CACHE_HOME": str(tmp_path)}


def build(environ: dict[str, str], name: str, config: str = HAS, **info: Any) -> Path:
    """Put a kernel into the cache as guest/build.sh leaves it, but for the program."""
    directory = Path(environ["XDG_CACHE_HOME"], "netwarp", "kernel", name)
    directory.mkdir(parents=True)
    version = name.partition("-")[0]
    package = f"linux-source-{version.rpartition('.')[0]}"
    said = {"version": version, "source_package": package, "seccomp": True, "built": name} | info
    (directory / "kernel.json").write_text(json.dumps(said))
    (directory / "config").write_text(config)
    for part in ("linux", "getrandom_shim.so"):
        (directory / part).write_text("")
    return directory


STUDY: dict[str, Any] = {
    "title": "One cell",
    "path": {"rtt": "20ms", "rate": "10mbit"},
    "transport": {"kind": "tcp"},
    "workload": {"size": "1MB"},
}


def job_of(path: dict[str, Any], **transport: Any) -> Job:
    study = STUDY | {
        "path": STUDY["path"] | path,
        "transport": STUDY["transport"] | transport,
    }
    return study_from_mapping(study).cells[0].template


def test_kernels_are_listed_by_version_and_what_is_being_built_is_not(
    environ: dict[str, str],
) -> None:
    for name in ("6.12.117-aa", "6.1.192-bb", "7.3.4-cc"):
        build(environ, name)
    cache = Path(environ["XDG_CACHE_HOME"], "netwarp", "kernel")
    (cache / "current").symlink_to("7.3.4-cc")
    build(environ, ".netwarp-build.X1Y2Z3", version="6.6.1")
    build(environ, "build.X1Y2Z3", version="6.6.1")
    (build(environ, "6.6.9-dd") / "linux").unlink()
    assert [each.name for each in built_kernels(environ)] == [
        "6.1.192-bb", "6.12.117-aa", "7.3.4-cc",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["6.1", "6.1.192", "6.1.192-bb", "6.1.192-b"])
def test_a_version_is_a_whole_number_of_its_parts(environ: dict[str, str], name: str) -> None:
    build(environ, "6.12.117-aa")
    build(environ, "6.1.192-bb")
    assert kernel_named(name, environ).name == "6.1.192-bb"


def test_a_version_names_the_newest_without_changes_of_the_users(environ: dict[str, str]) -> None:
    build(environ, "6.12.99-aa")
    build(environ, "6.12.117-bb")
    build(environ, "6.12.118-cc", own_config=["CONFIG_TCP_CONG_BBR=n"])
    build(environ, "6.12.119-dd", source_package="git v6.12.119")
    assert kernel_named("6.12", environ).name == "6.12.117-bb"
    changed = kernel_named("6.12.118-cc", environ)
    assert changed.own == ["--config CONFIG_TCP_CONG_BBR=n"]
    with pytest.raises(BackendError, match=r"only with changes of your own.*6\.12\.119-dd"):
        kernel_named("6.12.119", environ)


def test_what_is_not_built_is_refused_with_what_there_is_and_the_remedy(
    environ: dict[str, str],
) -> None:
    build(environ, "6.12.117-aa")
    with pytest.raises(BackendError, match=r"is 6\.12\.117\): run `netwarp kernel build 6\.1`"):
        kernel_named("6.1", environ)
    build(environ, "6.12.117-ab")
    with pytest.raises(BackendError, match="write more of the name"):
        kernel_named("6.12.117-a", environ)


def test_the_default_is_the_released_one_until_another_is_chosen(environ: dict[str, str]) -> None:
    package, version = released_source()
    build(environ, "7.3.4-cc", source_package=package, source_version=version)
    build(environ, "6.12.117-aa")
    cache = Path(environ["XDG_CACHE_HOME"], "netwarp", "kernel")
    (cache / "current").symlink_to("7.3.4-cc")
    assert find_kernel(environ).name == "7.3.4-cc"
    choose_default("6.12", environ)
    assert find_kernel(environ).name == "6.12.117-aa"
    with pytest.raises(BackendError, match="is the default"):
        remove_kernel("6.12", environ)
    assert choose_default(None, environ).name == "7.3.4-cc"
    remove_kernel("6.12", environ)
    assert [each.name for each in built_kernels(environ)] == ["7.3.4-cc"]
    with pytest.raises(BackendError, match="released with, and stays"):
        remove_kernel("7.3", environ)


def test_a_default_of_another_source_is_not_called_the_released_one(
    environ: dict[str, str],
) -> None:
    cache = build(environ, "7.1.2-cc").parent
    (cache / "current").symlink_to("7.1.2-cc")
    with pytest.raises(BackendError, match=r"in place of .*, which netwarp is released with"):
        remove_kernel("7.1", environ)


def test_a_congestion_control_of_ones_own_needs_a_kernel_that_was_built_with_it(
    environ: dict[str, str],
) -> None:
    job = job_of({}, congestion="own:mild")
    assert job.only.transport.congestion == "mild"
    build(environ, "7.3.4-aa")
    said = kernel_refusal(kernel_named("7.3", environ), job)
    assert "without CONFIG_TCP_CONG_MILD" in str(said)
    assert "netwarp kernel build --module DIR" in str(said)
    config = f"{HAS}CONFIG_TCP_CONG_MILD=y\n"
    build(environ, "7.3.4-bb", config, own_modules=["tcp_mild.c 0123"])
    kernel = kernel_named("7.3.4-bb", environ)
    assert kernel_refusal(kernel, job) is None
    assert kernel.own == ["with tcp_mild.c"]
    # A version alone means the kernel without changes.
    assert kernel_named("7.3", environ).name == "7.3.4-aa"


@pytest.mark.parametrize(
    ("transport", "says"),
    [
        ({"congestion": "own:Mild"}, "no name of a congestion control"),
        ({"congestion": "own:"}, "no name of a congestion control"),
        ({"congestion": "mild"}, "is own:NAME"),
        ({"kind": "quic", "congestion": "own:mild"}, "built into a kernel, for its TCP"),
    ],
)
def test_what_cannot_be_a_congestion_control_of_ones_own_is_refused(
    transport: dict[str, str], says: str
) -> None:
    with pytest.raises(StudyError, match=says):
        job_of({}, **transport)


@pytest.mark.parametrize("name", ["6", "6.12", "6.12.117", "6.12.117-a"])
def test_a_name_of_several_kernels_removes_none(environ: dict[str, str], name: str) -> None:
    build(environ, "6.12.117-aa")
    build(environ, "6.12.117-ab", own_config=["CONFIG_TCP_CONG_BBR=n"])
    build(environ, "6.1.192-cc")
    with pytest.raises(BackendError, match=r"one of .*6\.12\.117-aa, 6\.12\.117-ab.*write more"):
        remove_kernel(name, environ)
    assert len(built_kernels(environ)) == 3
    assert remove_kernel("6.1", environ).name == "6.1.192-cc"
    assert remove_kernel("6.12.117-aa", environ).name == "6.12.117-aa"


def test_no_kernel_is_removed_during_a_build(environ: dict[str, str]) -> None:
    directory = build(environ, "6.12.117-aa")
    with (directory.parent / "lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(BackendError, match="being built or removed"):
            remove_kernel("6.12", environ)
    assert directory.exists()
    assert remove_kernel("6.12", environ).name == "6.12.117-aa"
    assert not directory.exists()


def test_a_kernel_that_cannot_be_deleted_is_said(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    build(environ, "6.12.117-aa")

    def refused(_: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("shutil.rmtree", refused)
    with pytest.raises(BackendError, match=r"not all of the kernel 6\.12\.117-aa .*denied"):
        remove_kernel("6.12", environ)


def test_a_chosen_default_that_is_gone_says_how_to_do_without(environ: dict[str, str]) -> None:
    cache = build(environ, "7.3.4-cc").parent
    (cache / "current").symlink_to("7.3.4-cc")
    (cache / "chosen").symlink_to("6.12.117-aa")
    with pytest.raises(BackendError, match=r"gone \(6\.12\.117-aa\): run `netwarp kernel default"):
        find_kernel(environ)
    assert choose_default(None, environ).name == "7.3.4-cc"


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
    part_of_loss = {"loss.random.correlation"}
    assert IMPOSED | {"corrupt_ratio"} == DRAWN_BY_NETEM | not_drawn | part_of_loss


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


def test_a_job_has_the_kernel_that_it_names_or_none(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    build(environ, "7.3.4-cc")
    build(environ, "6.1.192-bb", netem_seed=False)
    Path(environ["XDG_CACHE_HOME"], "netwarp", "kernel", "current").symlink_to("7.3.4-cc")
    monkeypatch.setattr("netwarp.backends.virtual.find_endpoint", lambda _: Path("endpoint"))
    backend = VirtualBackend(environ=environ)
    lossy = job_of({"loss": "1%"})
    assert backend.refuse(lossy, "") is None
    for kernel, reason in [("7.3", None), ("6.1", "without a seed"), ("6.12", "kernel build 6.12")]:
        refused = backend.refuse(lossy.model_copy(update={"kernel": kernel}), "")
        assert refused is None if reason is None else reason in str(refused)


def test_a_name_means_the_same_kernel_to_runs_and_to_their_provenance(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The backend's cache is not that of this process."""
    build(environ, "6.12.117-aa")
    cache = build(environ, "7.3.4-cc").parent
    (cache / "current").symlink_to("7.3.4-cc")
    build({"XDG_CACHE_HOME": str(tmp_path / "another")}, "6.12.1-bb")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another"))
    monkeypatch.setattr("netwarp.backends.virtual.find_endpoint", lambda _: Path("endpoint"))
    monkeypatch.setattr("netwarp.backends.virtual.endpoint_version", lambda _: {})
    study = study_from_mapping(STUDY)
    backend = VirtualBackend(environ=environ)
    said = provenance(study, backend, LocalExecutor(), [], ["6.12"])
    assert said["kernels"]["6.12"]["name"] == "6.12.117-aa"


def test_backends_without_guests_refuse_a_named_kernel() -> None:
    named = job_of({}).model_copy(update={"kernel": "6.12"})
    assert "a guest kernel by its name" in str(beyond(asked(named), BUILT, "the native backend"))


def test_a_directory_is_resumed_with_the_kernels_that_began_it(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path)
    before = {"kernel": {}, "endpoint": {}, "kernels": {"6.12": {"version": "6.12.117"}}}
    refuse_other_programs(before, before, directory)
    others = before | {"kernels": {"6.1": {"version": "6.1.192"}}}
    refuse_other_programs(before, others, directory)
    now = before | {"kernels": {"6.12": {"version": "6.12.118"}}}
    with pytest.raises(RunDirectoryError, match=r"begun with another kernel 6\.12 than today's"):
        refuse_other_programs(before, now, directory)


def test_texts_name_the_kernels_of_the_runs() -> None:
    default = {"kernel": {"version": "7.3.4"}}
    assert kernels_text(default) == "7.3.4"
    named = {"6.12": {"version": "6.12.117"}, "7.3": {"version": "7.3.4"}}
    assert kernels_text(default | {"kernels": named}) == "6.12.117, 7.3.4"
    assert kernels_text({}) == "unknown"


def test_kernels_of_one_version_are_told_apart() -> None:
    plain = {"version": "7.3.4", "key": "7.3.4-aa"}
    patched = {"version": "7.3.4", "key": "7.3.4-bb", "own_patches": 1}
    older = {"version": "7.3.4", "kernel_sha256": "c" * 64}
    host = {"version": "7.3.4"}
    assert [kernel_key(each) for each in (plain, patched, older, host)] == [
        "7.3.4-aa", "7.3.4-bb", "7.3.4-cccccccccccc", "7.3.4",
    ]  # fmt: skip
    assert kernels_text({"kernel": plain}) == "7.3.4"
    assert kernels_text({"kernel": patched}) == "7.3.4-bb"
    both = {"kernels": {"a": plain, "b": older, "c": older}}
    assert kernels_text(both) == "7.3.4-aa, 7.3.4-cccccccccccc"
    git = {"version": "6.12.1", "key": "6.12.1-dd", "source_package": "git v6.12.1"}
    assert kernels_text({"kernel": git}) == "6.12.1-dd"


def test_the_released_kernel_is_told_from_others(environ: dict[str, str]) -> None:
    package, version = released_source()
    build(environ, "7.3.4-aa", source_package=package, source_version=version)
    build(environ, "7.3.4-bb", source_package=package, source_version=version, own_patches=1)
    build(environ, "6.12.117-cc", source_version="6.12.117-1")
    assert [each.name for each in built_kernels(environ) if is_released(each)] == ["7.3.4-aa"]
