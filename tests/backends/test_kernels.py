"""Kernels that stand side by side: named, chosen, removed, and refused for what they lack."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from backends.built_kernels import HAS, STUDY, build, job_of
from netwarp.backends.abilities import BUILT, beyond
from netwarp.backends.guest_files import find_kernel
from netwarp.backends.kernels import (
    built_kernels,
    choose_default,
    is_released,
    kernel_named,
    kernel_refusal,
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
from netwarp.wire.asked import asked


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
