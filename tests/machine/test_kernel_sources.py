"""Which kernel's source guest/build.sh takes, and with which patches, for what an archive has."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

GUEST = Path(__file__).parents[2] / "guest"
PACKAGE, VERSION = next(
    line.split()[1:]
    for line in reversed((GUEST / "sources.sha256").read_text().splitlines())
    if not line.startswith("#")
)
"""The source that the repository pins."""
APT_CACHE = """#!/bin/sh
case $1 in
search) sed 's/ .*/ - Linux kernel source/' "{archive}" ;;
madison) sed -n "s/^\\($2\\) \\(.*\\)/ \\1 | \\2 | an archive main/p" "{archive}" ;;
esac
"""


def sourced(tmp_path: Path, archive: list[str], command: str) -> subprocess.CompletedProcess[str]:
    """Run a command as build.sh would, over an archive that has these sources."""
    (tmp_path / "archive").write_text("".join(f"{line}\n" for line in archive))
    apt_cache = tmp_path / "apt-cache"
    apt_cache.write_text(APT_CACHE.format(archive=tmp_path / "archive"))
    apt_cache.chmod(0o755)
    begin = (
        "set -euo pipefail; say() { echo \"$*\" >&2; }; die() { say \"$*\"; exit 1; }\n"
        f"GUEST_DIR='{GUEST}'; WORK='{tmp_path}'; OLDEST_DEFAULT=6.6; OLDEST_KERNEL=6.1\n"
        "RECIPE=2; ENTRY_FILES=(linux config kernel.json)\n"
        f"apt_env=('PATH={tmp_path}:/usr/bin:/bin')\n"
        "for each in inputs arguments cache modules patches seeded source; do\n"
        'source "$GUEST_DIR/$each.sh"; done\n'
    )  # fmt: skip
    return subprocess.run(
        ["bash", "-c", begin + command], capture_output=True, text=True, check=False
    )


CHOOSE = '{ choose_pinned || choose_newest || die "$REASON"; }; echo "$PACKAGE $PACKAGE_VERSION"'


def test_the_pinned_source_is_taken_although_there_is_a_newer_one(tmp_path: Path) -> None:
    archive = [f"{PACKAGE} {VERSION}", "linux-source-9.9 9.9.1-1"]
    answer = sourced(tmp_path, archive, CHOOSE)
    assert answer.stdout == f"{PACKAGE} {VERSION}\n", answer.stderr
    assert answer.stderr == ""


@pytest.mark.parametrize(
    "has", ["linux-source-9.9 9.9.1-1", "linux-source-6.12 6.12.5-1", f"{PACKAGE} 99.9-9"]
)
def test_an_archive_without_the_pinned_source_is_said_with_what_it_means(
    tmp_path: Path, has: str
) -> None:
    answer = sourced(tmp_path, ["linux-source-6.6 6.6.1-1", has], CHOOSE)
    assert answer.stdout == f"{has}\n", answer.stderr
    assert f"newest source is {has}" in answer.stderr
    assert f"{PACKAGE} {VERSION}. Records repeat on either" in answer.stderr
    assert "reference-hashes.json" in answer.stderr


def test_no_default_is_so_old_that_loss_cannot_be_repeated(tmp_path: Path) -> None:
    answer = sourced(tmp_path, ["linux-source-6.1 6.1.192-1"], CHOOSE)
    assert answer.returncode == 1
    assert "its newest kernel source is linux-source-6.1, and netwarp needs 6.6" in answer.stderr


def test_a_version_is_asked_for_by_its_name(tmp_path: Path) -> None:
    archive = ["linux-source-6.1 6.1.192-1", "linux-source-6.12 6.12.5-1"]
    chosen = 'choose_series || die "$REASON"; echo "$PACKAGE $PACKAGE_VERSION"'
    assert sourced(tmp_path, archive, f"SERIES=6.1; {chosen}").stdout.startswith(
        "linux-source-6.1 "
    )
    answer = sourced(tmp_path, archive, f"SERIES=6.6; {chosen}")
    assert answer.returncode == 1
    assert "no package linux-source-6.6, only: linux-source-6.1 linux-source-6.12" in answer.stderr


@pytest.mark.parametrize(
    ("version", "is_patched"),
    [("6.0.19", False), ("6.1", True), ("6.1.192", True), ("6.12.117", True), ("6.13", False),
     ("6.13.0-rc1", False), ("7.3.4", False)],
)  # fmt: skip
def test_patches_are_for_their_versions_alone(
    tmp_path: Path, version: str, is_patched: bool
) -> None:
    answer = sourced(tmp_path, [], f"patches_for {version}")
    names = [Path(line).name for line in answer.stdout.splitlines()]
    assert names == (["fp-registers-of-any-size.patch"] if is_patched else []), answer.stderr


def test_every_patch_says_why_and_stays_out_of_the_network_stack() -> None:
    patches = list((GUEST / "patches").glob("*.patch"))
    assert patches
    for patch in patches:
        text = patch.read_text()
        assert re.search(r"^Linux-Versions: \S+ \S+$", text, re.MULTILINE), patch
        assert re.search(r"^Why: ", text, re.MULTILINE), patch
        changed = re.findall(r"^\+\+\+ b/(\S+)", text, re.MULTILINE)
        assert changed
        assert all(file.startswith(("arch/um/", "arch/x86/um/")) for file in changed)


REMEMBER = """mkdir -p "$CACHE/by-inputs"; ln -s "../{name}" "$CACHE/by-inputs/$BASE"; """
"""The kernel was built as the default, with the inputs that the repository has now."""


def built(tmp_path: Path, package: str, version: str) -> str:
    """Put a kernel into a cache as build.sh leaves it, and return its name."""
    number = version.partition("-")[0]
    entry = tmp_path / "cache" / f"{number}-aa"
    entry.mkdir(parents=True)
    said = {"version": number, "source_package": package, "source_version": version}
    said |= {"source_sha256": "0" * 64, "patches_sha256": "", "seccomp": "true"}
    lines = ",\n".join(f'  "{key}": "{value}"' for key, value in said.items())
    (entry / "kernel.json").write_text(f"{{\n{lines},\n}}\n")
    for part in ("linux", "config"):
        (entry / part).write_text("x")
    return entry.name


def asked_for(tmp_path: Path, arguments: str) -> str:
    return f"parse_arguments --cache {tmp_path}/cache {arguments}; hash_inputs; "


@pytest.mark.parametrize("arguments", ["", PACKAGE.removeprefix("linux-source-")])
def test_a_default_of_the_pinned_source_is_ready(tmp_path: Path, arguments: str) -> None:
    name = built(tmp_path, PACKAGE, VERSION)
    command = asked_for(tmp_path, arguments) + REMEMBER.format(name=name) + "remembered_entry"
    assert sourced(tmp_path, [], command).stdout == f"{tmp_path}/cache/{name}\n"


def test_a_new_pin_reaches_a_machine_that_has_a_kernel(tmp_path: Path) -> None:
    """It is looked for; until the archive can be reached, the one that is there serves."""
    name = built(tmp_path, "linux-source-7.1", "7.1.2-1")
    begin = asked_for(tmp_path, "") + REMEMBER.format(name=name)
    assert sourced(tmp_path, [], begin + "! remembered_entry").stdout == ""
    stood_in = 'stand_in "no network"; use_entry "$CACHE/$KEY"; ! remembered_entry'
    answer = sourced(tmp_path, [], f"rm -r {tmp_path}/cache/by-inputs; " + begin + stood_in)
    assert answer.returncode == 0, answer.stderr
    assert f"cannot look for {PACKAGE} {VERSION}" in answer.stderr
    assert "ready: Linux 7.1.2" in answer.stderr


@pytest.mark.parametrize(
    ("has", "takes"),
    [
        (("linux-source-7.1", "7.1.2-1"), f"{PACKAGE} {VERSION}"),
        ((PACKAGE, VERSION), "linux-source-9.9 9.9.1-1"),
    ],
)
def test_a_refresh_takes_the_pinned_source_before_a_newer_one(
    tmp_path: Path, has: tuple[str, str], takes: str
) -> None:
    name = built(tmp_path, *has)
    (tmp_path / "apt-get").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "apt-get").chmod(0o755)
    begin = asked_for(tmp_path, "--refresh") + REMEMBER.format(name=name)
    archive = [f"{PACKAGE} {VERSION}", "linux-source-9.9 9.9.1-1"]
    answer = sourced(tmp_path, archive, f'{begin}! obtain_package "${{apt_env[@]}}"')
    assert answer.returncode == 0, answer.stderr
    assert f"downloading {takes}\n" in answer.stderr


@pytest.mark.parametrize(
    ("package", "version", "is_default"),
    [("linux-source-6.12", "6.12.5-1", False), (PACKAGE, VERSION, True)],
)
def test_a_kernel_that_is_named_by_its_version_becomes_no_default(
    tmp_path: Path, package: str, version: str, is_default: bool
) -> None:
    name = built(tmp_path, package, version)
    series = package.removeprefix("linux-source-")
    command = asked_for(tmp_path, series) + f'use_entry "$CACHE/{name}"'
    answer = sourced(tmp_path, [], command)
    assert answer.returncode == 0, answer.stderr
    assert (tmp_path / "cache" / "current").exists() == is_default
    assert ("studies that name no kernel have none" in answer.stderr) == (not is_default)
    # What the default would be is ready as that, too.
    ready = sourced(tmp_path, [], asked_for(tmp_path, "") + "remembered_entry")
    assert (ready.returncode == 0) == is_default


def test_what_is_built_of_an_unknown_source_is_not_used_where_known_ones_are_asked_for(
    tmp_path: Path,
) -> None:
    name = built(tmp_path, PACKAGE, VERSION)
    begin = asked_for(tmp_path, "--pinned") + REMEMBER.format(name=name)
    assert sourced(tmp_path, [], begin + "! remembered_entry").returncode == 0


def test_one_suite_that_cannot_be_reached_does_not_keep_another_from_being_asked(
    tmp_path: Path,
) -> None:
    command = (
        asked_for(tmp_path, "6.12")
        + "write_isolated_apt() { REASON='no answer'; [[ $2 == trixie ]]; }\n"
        + 'obtain_package() { echo "$1"; }; obtain_from_debian'
    )
    assert sourced(tmp_path, [], command).stdout.endswith("apt-trixie/apt.conf\n")


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        (
            "Failed to fetch $MIRROR/dists/$2/InRelease  Temporary failure resolving",
            "trixie-backports, trixie, bookworm: Failed to fetch http://a/dists/…/InRelease "
            " Temporary failure resolving",
        ),
        (
            "no $2",
            "trixie-backports: no trixie-backports; trixie: no trixie; bookworm: no bookworm",
        ),
    ],
)
def test_what_keeps_every_suite_from_being_asked_is_said_once(
    tmp_path: Path, reason: str, said: str
) -> None:
    command = (
        asked_for(tmp_path, "6.12")
        + f'MIRROR=http://a; write_isolated_apt() {{ REASON="{reason}"; return 1; }}\n'
        + 'obtain_from_debian || echo "$REASON"'
    )
    assert sourced(tmp_path, [], command).stdout == f"{said}\n"


def test_what_apt_says_after_every_failure_is_left_out(tmp_path: Path) -> None:
    lines = ["W: Failed to fetch x  no answer", "E: Some index files failed to download. They"]
    (tmp_path / "apt.log").write_text("".join(f"{line}\n" for line in lines))
    assert sourced(tmp_path, [], "apt_reason").stdout == "Failed to fetch x  no answer"


TOOLS = ("gcc", "make", "ld", "flex", "bison", "bc", "patch", "tar", "xz", "flock", "setpriv")
COMMANDS_OF_THE_SCRIPT = ("bash", "dirname", "env", "sha256sum", "grep", "cut", "sed", "realpath",
                          "nproc", "sort", "tail", "readlink", "paste", "awk", "ls", "mkdir",
                          "rm")  # fmt: skip


def build(tmp_path: Path, guest: Path, gcc: str | None, *words: str | Path) -> str:
    """Run build.sh, or what is named with its arguments, where these tools are all that there is,
    and return what it says.
    """
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in COMMANDS_OF_THE_SCRIPT:
        (tools / name).symlink_to(str(shutil.which(name)))
    for name in TOOLS:
        if name != "gcc" or gcc is not None:
            (tools / name).write_text(f"#!/bin/sh\n{gcc if name == 'gcc' else 'exit 0'}\n")
            (tools / name).chmod(0o755)
    script, *arguments = words or ("build.sh",)
    done = subprocess.run(
        [guest / script, *arguments, "--cache", tmp_path / "cache"],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": str(tools), "HOME": str(tmp_path)},
    )
    assert done.returncode == 1
    return done.stderr


def test_missing_tools_are_named_with_what_installs_them_in_a_clone_and_without(
    tmp_path: Path,
) -> None:
    said = build(tmp_path, GUEST, None)
    assert "these tools are missing: gcc; install them with: scripts/setup.sh packages" in said
    shutil.copytree(GUEST, tmp_path / "wheel" / "netwarp" / "guest")
    shutil.rmtree(tmp_path / "tools")
    said = build(tmp_path, tmp_path / "wheel" / "netwarp" / "guest", None)
    assert "these tools are missing: gcc; on Debian and Ubuntu: sudo apt-get install gcc" in said


def test_tools_that_the_kernel_s_own_tests_need_are_named_before_anything_is_fetched(
    tmp_path: Path,
) -> None:
    name = built(tmp_path / "kernels", PACKAGE, VERSION)
    info = tmp_path / "kernels" / "cache" / name / "kernel.json"
    info.write_text(info.read_text().replace("{", f'{{\n  "key": "{name}",', 1))
    said = build(tmp_path, GUEST, None, "selftests.sh", "--kernel", info.parent)
    assert said == (
        "selftests: error: these tools are missing: gcc; install them with: scripts/setup.sh"
        " packages\n"
    )


def test_a_c_library_that_cannot_be_linked_in_is_found_before_anything_is_compiled(
    tmp_path: Path,
) -> None:
    assert "cannot be linked in, as the kernel needs it" in build(tmp_path, GUEST, "exit 1")
