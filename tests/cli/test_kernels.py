"""`netwarp kernel`: what is built stands side by side, and what is refused leaves nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Netwarp

MAKEFILE = r"""
kernelversion:
	@echo 6.12.1
mrproper:
	rm -f .config linux
net/ipv4/%.o:
	! grep error: $(@:.o=.c)
linux:
	touch compiling-all
	printf '%s' '#include <stdio.h>' > main.c
	printf '\nint main(void) { puts("6.12.1-netwarp"); }\n' >> main.c
	gcc -o linux main.c
"""
MERGE_CONFIG = """#!/bin/sh
# As Kconfig: what is unknown is dropped in silence.
grep -v -e CONFIG_UNKNOWN -e =n "$5" > "$3/.config"
"""
HEADER = "include/uapi/linux/pkt_sched.h"
PATCH = f"""--- a/{HEADER}
+++ b/{HEADER}
@@ -1 +1 @@
-TCA_NETEM_PRNG_SEED
+TCA_NETEM_ANOTHER
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Make a source tree that builds in a second: it has what build.sh looks at, and no kernel."""
    tree = tmp_path / "tree"
    for name, text in {
        "Makefile": MAKEFILE,
        "arch/um/Kconfig": "",
        # Where the function is compiled in that answers for the host's getrandom().
        "arch/um/os-Linux/Makefile": "obj-y = file.o\n\ninclude scripts/Makefile.rules\n",
        # What netwarp's own patch is for, as it stands before 6.13.
        "arch/x86/um/os-Linux/registers.c": _unpatched(),
        "scripts/kconfig/merge_config.sh": MERGE_CONFIG,
        HEADER: "TCA_NETEM_PRNG_SEED\n",
        "include/uapi/linux/io_uring.h": "",
        "net/ipv4/Kconfig": "",
        "net/ipv4/Makefile": "",
    }.items():
        file = tree / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (tree / "scripts/kconfig/merge_config.sh").chmod(0o755)
    return tree


def _unpatched() -> str:
    """Lines that netwarp's own patch finds, each hunk at its place."""
    patch = Path(__file__).parents[2] / "guest" / "patches" / "fp-registers-of-any-size.patch"
    lines: list[str] = []
    for line in patch.read_text().partition("+++ b/")[2].splitlines()[1:]:
        if line.startswith("@@"):
            first = int(line.split("-")[1].partition(",")[0])
            lines += [""] * (first - 1 - len(lines))
        elif not line.startswith("+"):
            lines.append(line[1:])
    return "\n".join(lines) + "\n"


Build = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def build(netwarp: Netwarp, tmp_path: Path) -> Build:
    """Build a kernel into a cache of the test's own."""
    return lambda *arguments: netwarp(
        "kernel", "build", *map(str, arguments), XDG_CACHE_HOME=str(tmp_path / "cache")
    )


@pytest.fixture
def kernels(netwarp: Netwarp, tmp_path: Path) -> Callable[[], list[dict[str, Any]]]:
    def listed() -> list[dict[str, Any]]:
        answer = netwarp("kernel", "list", "--json", XDG_CACHE_HOME=str(tmp_path / "cache"))
        found: list[dict[str, Any]] = json.loads(answer.stdout)["kernels"]
        return found

    return listed


def test_what_makes_another_kernel_has_a_name_of_its_own(
    build: Build, kernels: Callable[[], list[dict[str, Any]]], tree: Path, tmp_path: Path
) -> None:
    (tmp_path / "seedless.patch").write_text(PATCH)
    for more in (
        [],
        ["--config", "CONFIG_TCP_CONG_BBR=n"],
        ["--patch", tmp_path / "seedless.patch"],
    ):
        answer = build("--source", tree, *more)
        assert answer.returncode == 0, answer.stderr
    again = build("--source", tree)
    assert again.returncode == 0
    assert "compiling" not in again.stderr
    plain, configured, patched = kernels()
    assert {plain["version"], configured["version"], patched["version"]} == {"6.12.1"}
    assert len({plain["name"], configured["name"], patched["name"]}) == 3
    assert [each["default"] for each in (plain, configured, patched)] == [True, False, False]
    assert [each["netem_seed"] for each in (plain, configured, patched)] == [True, True, False]
    assert not any(each["uring_abs_timer"] for each in (plain, configured, patched))
    assert configured["own_config"] == ["CONFIG_TCP_CONG_BBR=n"]
    own, users = patched["patches"]
    assert own.startswith("fp-registers-of-any-size.patch ")
    assert users.startswith("seedless.patch ")
    assert not [*(tmp_path / "cache" / "netwarp" / "kernel").glob(".netwarp-build.*")]


def test_a_commit_is_built_and_not_what_lies_in_its_tree(
    build: Build, kernels: Callable[[], list[dict[str, Any]]], tree: Path
) -> None:
    git = ["git", "-C", str(tree), "-c", "user.name=n", "-c", "user.email=e@example.org"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "all"], ["tag", "v6.12.1"]):
        subprocess.run([*git, *arguments], check=True)
    (tree / HEADER).write_text("TCA_NETEM_ANOTHER\n")
    answer = build("--git", tree, "--ref", "v6.12.1")
    assert answer.returncode == 0, answer.stderr
    (kernel,) = kernels()
    assert kernel["netem_seed"]
    assert kernel["source_package"] == "git v6.12.1"
    answer = build("--git", tree, "--ref", "v9")
    assert answer.returncode == 1
    assert "there is no such commit" in answer.stderr


def test_a_tree_is_kept_with_its_objects_and_only_what_differs_is_touched(
    build: Build, kernels: Callable[[], list[dict[str, Any]]], tree: Path, tmp_path: Path
) -> None:
    git = ["git", "-C", str(tree), "-c", "user.name=n", "-c", "user.email=e@example.org"]
    makefile = f".PHONY: linux\n{(tree / 'Makefile').read_text()}"
    texts = {"first": makefile, "broken": f"{makefile}\tfalse\n", "mended": f"{makefile}\ttrue\n"}
    subprocess.run([*git, "init", "-q"], check=True)
    for tag, text in texts.items():
        (tree / "Makefile").write_text(text)
        for arguments in (["add", "."], ["commit", "-qm", tag], ["tag", tag]):
            subprocess.run([*git, *arguments], check=True)
    kept = tmp_path / "kept"
    options = ("--git", tree, "--tree", kept)
    assert build(*options, "--ref", "first").returncode == 0
    header = kept / "source" / HEADER
    (kept / "source" / "an.o").write_text("an object")
    times = header.stat().st_mtime_ns, (kept / "source" / "Makefile").stat().st_mtime_ns
    # A commit that does not build says so by its status; what is wrong with the call has another.
    answer = build(*options, "--ref", "broken")
    assert answer.returncode == 4
    assert "does not compile" in answer.stderr
    assert build(*options, "--ref", "nothing").returncode == 1
    assert build("--source", tree, "--tree", kept).returncode == 2
    assert build(*options, "--ref", "mended").returncode == 0
    assert header.stat().st_mtime_ns == times[0]
    assert (kept / "source" / "Makefile").stat().st_mtime_ns != times[1]
    assert (kept / "source" / "an.o").exists()
    first, mended = kernels()
    assert {first["source_package"], mended["source_package"]} == {"git first", "git mended"}
    # It is the kernel that the commit gives without a tree that is kept.
    assert "compiling" not in build("--git", tree, "--ref", "mended").stderr


def test_objects_of_a_build_that_was_killed_are_made_again(
    build: Build, tree: Path, tmp_path: Path
) -> None:
    git = ["git", "-C", str(tree), "-c", "user.name=n", "-c", "user.email=e@example.org"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "all"]):
        subprocess.run([*git, *arguments], check=True)
    kept = tmp_path / "kept"
    options = ("--git", tree, "--tree", kept, "--ref", "HEAD")
    assert build(*options).returncode == 0
    whole, torn, late = (kept / "source" / each for each in ("whole.o", "torn.o", "late.o"))
    whole.write_text("")
    os.utime(whole, (1_000_000_000, 1_000_000_000))
    (kept / "compiling").write_text("")
    os.utime(kept / "compiling", (1_500_000_000, 1_500_000_000))
    torn.write_text("")
    # The kernel's makefiles note the command when the object is complete.
    late.write_text("")
    (kept / "source" / ".late.o.cmd").write_text("")
    (kept / "source" / ".torn.o.cmd").write_text("")
    os.utime(kept / "source" / ".torn.o.cmd", (1_000_000_000, 1_000_000_000))
    answer = build(*options, "--config", "CONFIG_TCP_CONG_BBR=n")
    assert answer.returncode == 0, answer.stderr
    assert "was interrupted" in answer.stderr
    assert whole.exists()
    assert not torn.exists()
    assert late.exists()
    assert not (kept / "compiling").exists()


def test_a_congestion_control_of_ones_own_is_built_in_and_part_of_the_name(
    build: Build, kernels: Callable[[], list[dict[str, Any]]], tree: Path, tmp_path: Path
) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    for text in ('.name = "mild"', '.name\t\t= "mild", /* another */'):
        (mine / "tcp_mild.c").write_text(text)
        answer = build("--source", tree, "--module", mine)
        assert answer.returncode == 0, answer.stderr
    first, second = kernels()
    assert first["name"] != second["name"]
    assert first["own_modules"][0].startswith("tcp_mild.c ")
    config = Path(first["directory"], "config").read_text()
    assert "CONFIG_TCP_CONG_MILD=y" in config.splitlines()


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({}, "it has no tcp_NAME.c"),
        ({"tcp_mild.c": '.name = "other"'}, "registers no congestion control mild"),
        ({"tcp_Mild.c": '.name = "Mild"'}, "neither a header nor a tcp_NAME.c"),
        ({"tcp_mild.c": '.name = "mild"', "more.c": ""}, "more.c is neither"),
        ({"tcp_cubic.c": '.name = "cubic"'}, "has net/ipv4/tcp_cubic.c itself"),
        ({"tcp_reno.c": '.name = "reno"'}, "control reno itself, in net/ipv4/tcp_cong.c"),
    ],
)
def test_what_is_no_congestion_control_is_refused(
    build: Build, tree: Path, tmp_path: Path, files: dict[str, str], says: str
) -> None:
    (tree / "net/ipv4/tcp_cubic.c").write_text("")
    (tree / "net/ipv4/tcp_cong.c").write_text('struct x reno = {\n\t.name\t= "reno",\n};')
    mine = tmp_path / "mine"
    mine.mkdir()
    for name, text in files.items():
        (mine / name).write_text(text)
    answer = build("--source", tree, "--module", mine)
    assert answer.returncode != 0
    assert says in answer.stderr


def test_a_congestion_control_that_does_not_compile_is_found_before_the_kernel_is_compiled(
    build: Build, tree: Path, tmp_path: Path
) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "tcp_mild.c").write_text('.name = "mild"\nerror: expected a declaration')
    git = ["git", "-C", str(tree), "-c", "user.name=n", "-c", "user.email=e@example.org"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "all"]):
        subprocess.run([*git, *arguments], check=True)
    kept = tmp_path / "kept"
    answer = build("--git", tree, "--ref", "HEAD", "--tree", kept, "--module", mine)
    assert answer.returncode == 4
    assert "error: expected a declaration" in answer.stderr
    assert not (kept / "source" / "compiling-all").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--config", "CONFIG_UNKNOWN=y"], "does not take --config CONFIG_UNKNOWN=y"),
        (["--config", "CONFIG_HZ"], "not CONFIG_NAME=VALUE"),
        (["--patch", "bad.patch"], "does not apply to Linux 6.12.1"),
        (["--patch", "nothing.patch"], "no such file"),
        (["6.12"], "the source says which version it is"),
        (["--config", 'CONFIG_CMDLINE="a\tb"'], "has a control character"),
        (["--pinned"], "has hashes of tarballs alone"),
    ],
)
def test_what_is_refused_leaves_nothing(
    build: Build, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    arguments: list[str], says: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.patch").write_text(PATCH.replace("PRNG_SEED", "SOMETHING"))
    answer = build(
        "--source",
        tree,
        *[str(tmp_path / each) if each.endswith(".patch") else each for each in arguments],
    )
    assert answer.returncode != 0
    assert says in answer.stderr
    cache = tmp_path / "cache" / "netwarp" / "kernel"
    assert {each.name for each in cache.glob("*")} <= {"lock"}


def test_a_source_without_user_mode_linux_is_refused(build: Build, tree: Path) -> None:
    (tree / "arch/um/Kconfig").unlink()
    answer = build("--source", tree)
    assert answer.returncode == 1
    assert "holds no Linux kernel with User-Mode Linux (arch/um): give a whole" in answer.stderr


TAR = """#!/bin/sh
for file in $(seq 1000); do echo "tar: $file: Cannot write: {reason}" >&2; done
exit 2
"""
DF = """#!/bin/sh
# There is room when the build begins.
echo Avail
if [ -e "{place}/begun" ]; then echo {left}M; else echo 9999M; fi
touch "{place}/begun"
"""


@pytest.mark.parametrize(
    ("left", "says"),
    [("0", "is full: make room, and start again"), ("900", "is it a complete kernel source")],
)
def test_a_full_disk_is_named_and_no_file_that_it_had_no_room_for(
    build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: str, says: str
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    texts = {"tar": TAR.format(reason="No space"), "df": DF.format(place=programs, left=left)}
    for name, text in texts.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    (tmp_path / "linux.tar").write_text("a source")
    answer = build("--source", tmp_path / "linux.tar")
    assert answer.returncode == 1
    assert says in answer.stderr
    assert len(answer.stderr.splitlines()) < 10
    assert not list((tmp_path / "cache" / "netwarp" / "kernel").glob(".netwarp-build.*"))


def test_a_kernel_may_be_kept_elsewhere(build: Build, tree: Path, tmp_path: Path) -> None:
    answer = build("--source", tree, "--jobs", "1", "--cache", tmp_path / "elsewhere")
    assert answer.returncode == 0, answer.stderr
    assert (tmp_path / "elsewhere" / "current" / "linux").is_file()
    assert not (tmp_path / "cache").exists()


def test_a_directory_with_files_of_others_is_no_cache(
    build: Build, tree: Path, tmp_path: Path
) -> None:
    others = tmp_path / "project"
    others.mkdir()
    (others / "build.rs").write_text("fn main() {}")
    answer = build("--source", tree, "--cache", others)
    assert answer.returncode == 1
    assert "has files of others" in answer.stderr
    assert [each.name for each in others.iterdir()] == ["build.rs"]
    # In a cache of ours, too, what others have put there stays.
    (others / "lock").touch()
    assert build("--source", tree, "--cache", others).returncode == 0
    assert (others / "build.rs").is_file()


def test_a_tarball_that_is_not_known_is_refused_where_known_ones_are_asked_for(
    build: Build, tree: Path, tmp_path: Path
) -> None:
    tarball = tmp_path / "linux.tar"
    subprocess.run(["tar", "-cf", tarball, "-C", tmp_path, "tree"], check=True)
    assert build("--source", tarball).returncode == 0
    answer = build("--source", tarball, "--pinned")
    assert answer.returncode == 1
    assert "is not in guest/sources.sha256" in answer.stderr


def test_kernels_are_chosen_and_removed(
    netwarp: Netwarp, build: Build, kernels: Callable[[], list[dict[str, Any]]], tree: Path,
    tmp_path: Path,
) -> None:  # fmt: skip
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    for more in ([], ["--config", "CONFIG_TCP_CONG_BBR=n"]):
        assert build("--source", tree, *more).returncode == 0
    first, second = (each["name"] for each in kernels())
    assert netwarp("kernel", "remove", first, **cache).returncode == 2
    assert netwarp("kernel", "default", second, **cache).stdout.strip() == second
    assert netwarp("kernel", "remove", second, **cache).returncode == 2
    assert netwarp("kernel", "default", "--reset", **cache).stdout.strip() == first
    assert netwarp("kernel", "remove", second, **cache).returncode == 0
    assert [each["name"] for each in kernels()] == [first]


def test_files_that_change_while_a_kernel_is_built_change_nothing_of_it(
    tree: Path, tmp_path: Path
) -> None:
    """A rebase under a build of minutes is no reason to lose it."""
    guest = tmp_path / "guest"
    shutil.copytree(Path(__file__).parents[2] / "guest", guest)
    own = tmp_path / "own.patch"
    own.write_text(PATCH)
    fragment = sha256((guest / "kernel.config").read_bytes()).hexdigest()
    gone = f"linux:\n\trm -r {guest}/* {own}\n"
    (tree / "Makefile").write_text(MAKEFILE.replace("linux:\n", gone))
    cache = tmp_path / "cache"
    command: list[str | Path] = [guest / "build.sh", "--source", tree, "--patch", own]
    command += ["--cache", cache]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    assert not list(guest.iterdir())
    built = json.loads((cache / "current" / "kernel.json").read_text())
    assert built["fragment_sha256"] == fragment
    assert [each.split()[0] for each in built["patches"]][1:] == ["own.patch"]
    assert {each.name for each in cache.glob(".netwarp-build.*")} == set()


APT_GET = """#!/bin/sh
# The machine's own archive: no suite of Debian's, one source package.
for word; do last=$word; done
case "$*" in
indextargets*) ;;
*download*) : > "{package}_{version}_all.deb" ;;
*) echo "E: unexpected: $*" >&2; exit 1 ;;
esac
"""
APT_CACHE = """#!/bin/sh
case $1 in
search) echo "{package} - Linux kernel source with the distribution's patches" ;;
madison) echo " {package} | {version} | an archive main" ;;
esac
"""
DPKG_DEB = """#!/bin/sh
mkdir -p "$3/usr/src/{package}"
tar -cjf "$3/usr/src/{package}/{package}.tar.bz2" -C "{tree}/.." tree
ln -s "{package}/{package}.tar.bz2" "$3/usr/src/{package}.tar.bz2"
"""


Archive = Callable[[str, str], None]


@pytest.fixture
def archive(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Archive:
    """Replace the machine's package archive by one that has one source package."""

    def offer(package: str, version: str) -> None:
        place = tmp_path / "archive"
        place.mkdir()
        programs = {"apt-get": APT_GET, "apt-cache": APT_CACHE, "dpkg-deb": DPKG_DEB}
        for name, text in programs.items():
            filled = text.replace("{package}", package).replace("{version}", version)
            (place / name).write_text(filled.replace("{tree}", str(tree)))
            (place / name).chmod(0o755)
        monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")
        monkeypatch.delenv("NETWARP_DEBIAN_MIRROR", raising=False)

    return offer


@pytest.mark.parametrize(
    ("package", "version"),
    [("linux-source-6.8.0", "6.8.0-45.45"), ("linux-source-9.9.0", "9.9.0-3.3")],
    ids=["older", "newer"],
)
def test_an_archive_without_debians_suites_gives_its_own_source_and_says_what_that_means(
    build: Build, kernels: Callable[[], list[dict[str, Any]]], archive: Archive, package: str,
    version: str,
) -> None:  # fmt: skip
    """As on Ubuntu, whose package is named by three numbers and holds the source below a folder."""
    archive(package, version)
    answer = build()
    assert answer.returncode == 0, answer.stderr
    said = " ".join(line.removeprefix("guest kernel: ") for line in answer.stderr.splitlines())
    assert "name no Debian archive" in said
    assert "falling back to this machine's own package archive" in said
    assert f"newest source is {package} {version}, and the kernel that netwarp is released" in said
    assert "Records repeat on either, but are not the same on both" in said
    # What its tree lacks is said where it is built, and not first when a study is refused.
    assert "it runs no QUIC, which is refused for it" in said
    assert "it repeats no random losses" not in said
    (kernel,) = kernels()
    assert (kernel["source_package"], kernel["source_version"]) == (package, version)
    assert kernel["default"]
    assert not kernel["released"]
    again = build()
    assert again.returncode == 0
    assert "unpacking" not in again.stderr


def test_a_machine_whose_only_source_is_too_old_for_the_default_says_so(
    build: Build, archive: Archive
) -> None:
    archive("linux-source-5.15.0", "5.15.0-1.1")
    answer = build()
    assert answer.returncode == 1
    assert "its newest kernel source is linux-source-5.15.0, and netwarp needs 6.6" in answer.stderr
    assert "--source PATH" in answer.stderr
