"""The kernel's own tests that have been built: lists them, and selects from them by name."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from shutil import which

from netwarp.backends.guest_files import GuestKernel
from netwarp.errors import InputError
from netwarp.selftests.needs import lacking, silently_absent
from netwarp.suggestions import nearest

SELFTESTS = Path("tools", "testing", "selftests")
ROOT = "net"
"""Folder of all tests, below `SELFTESTS`; the tests' names are relative to it."""


PACKETDRILL_STANDS = (
    "packetdrill does not get on in a guest: tried four times, up to five minutes each, no script"
    " finished and virtual time stood at 0.0 s; by its source it asks times(2) without a pause"
)
PACKETDRILLS = ".pkt"
"""Extension of packetdrill's scripts."""
_SCRIPTS = (".sh", ".py", PACKETDRILLS)
"""Extensions of test files that are scripts; the tests' names leave them out."""
_SCRIPT = re.compile(r"[\w-]+\.sh\b")


@dataclass(frozen=True)
class SelfTest:
    """One of the kernel's own tests."""

    name: str
    """Path of the test below `net`, without its ending, such as `mptcp/simult_flows`."""
    file: str
    """Path of the test's file below `net`."""
    lacks: str | None
    """What the test needs but the kernel or the machine lacks; None if they lack nothing."""
    silently_absent: tuple[str, ...] = ()
    """Programs that the test calls but that are not installed, if its output does not say so."""


def built_tests(place: Path, kernel: GuestKernel) -> list[SelfTest]:
    """Return the tests in a directory that `guest/selftests.sh` made, sorted by name.

    Raises:
        BackendError: the kernel's configuration cannot be read.
    """
    root = place / SELFTESTS / ROOT
    lines = (place / "tests").read_text(encoding="utf-8").splitlines()
    found = []
    for collection, _, file in sorted({line.partition(":") for line in lines}):
        path = Path(collection, file).relative_to(ROOT)
        name = path.with_suffix("") if path.suffix in _SCRIPTS else path
        absent = silently_absent(_script(root / path), lambda name: which(name) is not None)
        found.append(SelfTest(str(name), str(path), _lacks(root / path, kernel), absent))
    return found


def _lacks(test: Path, kernel: GuestKernel) -> str | None:
    if not test.is_file():
        return "it could not be built here"
    if test.suffix == PACKETDRILLS:
        return PACKETDRILL_STANDS
    source = test if test.suffix in _SCRIPTS else test.with_suffix(".c")
    config = test.parent / "config"
    return lacking(
        "\n".join(map(_text, _with_scripts(source if source.is_file() else test))),
        _text(config).splitlines(),
        kernel.options,
        lambda name: (test.parent / name).exists() or not test.with_name(f"{name}.c").exists(),
    )


def _with_scripts(test: Path) -> list[Path]:
    """Return a test's file and the scripts beside it that it calls. Libraries of functions are left
    out, because they contain more than the test needs.
    """
    named = dict.fromkeys(_SCRIPT.findall(_text(test)))
    called = (test.parent / name for name in named if "lib" not in name and name != test.name)
    return [test, *(each for each in called if each.is_file())]


def _script(test: Path) -> str:
    return _text(test) if test.suffix == ".sh" else ""


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""


def chosen(tests: Sequence[SelfTest], names: Iterable[str]) -> list[SelfTest]:
    """Return the tests with these names, in the order of the list; all of them if no name is given.

    A name may include the folder `net/` and the file's extension, may be that of a folder, and may
    contain wildcards as in a shell.

    Raises:
        InputError: no test has one of the names.
    """
    wanted = [_plain(name) for name in names]
    for name in wanted:
        if not any(_is_meant(each, name) for each in tests):
            near = nearest(name, [each.name for each in tests])
            hint = f"did you mean {near}?" if near else "--list names them"
            raise InputError(f"selftest {name}: this kernel's source has no such test; {hint}")
    if not wanted:
        return list(tests)
    return [each for each in tests if any(_is_meant(each, name) for name in wanted)]


def _plain(name: str) -> str:
    short = name.removeprefix(f"{ROOT}/").rstrip("/")
    return short.removesuffix(Path(short).suffix if Path(short).suffix in _SCRIPTS else "") or name


def _is_meant(test: SelfTest, name: str) -> bool:
    if name == ROOT:
        return "/" not in test.name
    return fnmatchcase(test.name, name) or test.name.startswith(f"{name}/")
