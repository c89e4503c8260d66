"""Builds the two wheels of a release: netwarp with its endpoint, and netwarp-kernel.

The same commit, endpoint and kernel give the same bytes. The platform in a wheel's name is what its
programs need: the newest version of glibc whose symbols they use (PEP 600), or the oldest that pip
knows a name for, where the program is static.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

from netwarp.backends.guest_files import GuestKernel, find_endpoint, open_kernel
from netwarp.backends.kernel_package import PACKAGE, PACKAGE_FILE
from netwarp.backends.kernels import is_released, released_source
from netwarp.errors import NetwarpError
from netwarp.version import __version__

REPOSITORY = Path(__file__).resolve().parents[1]
LICENCE = Path("/usr/share/common-licenses/GPL-2")
OLDEST_GLIBC = (2, 17)
"""What a static program is named by: manylinux2014, of which pip knows since 19.3."""
KERNEL_FILES = ("linux", "config")


def main(arguments: list[str] | None = None) -> int:
    """Build both wheels and their checksums into a directory."""
    parser = argparse.ArgumentParser(description="Build the two wheels of a release.")
    parser.add_argument("--out", type=Path, default=REPOSITORY / "dist", metavar="DIR")
    parser.add_argument("--kernel", type=Path, metavar="DIR", help="default: the one in the cache")
    asked = parser.parse_args(arguments)
    try:
        wheels = build_wheels(asked.out, asked.kernel, epoch_s())
    except NetwarpError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    sums = "".join(f"{sha256(each.read_bytes()).hexdigest()}  {each.name}\n" for each in wheels)
    (asked.out / "SHA256SUMS").write_text(sums)
    for wheel in wheels:
        print(f"{wheel}  {wheel.stat().st_size / 1e6:.1f} MB")
    return 0


def epoch_s() -> int:
    """Return the time that the wheels' files have: SOURCE_DATE_EPOCH, or that of the commit."""
    named = os.environ.get("SOURCE_DATE_EPOCH")
    if named is not None:
        return int(named)
    return int(_said(["git", "-C", str(REPOSITORY), "log", "-1", "--format=%ct"]))


def build_wheels(out: Path, kernel: Path | None, epoch: int) -> list[Path]:
    """Build both wheels.

    Raises:
        BackendError: there is no endpoint, or no kernel.
        NetwarpError: the kernel is not the one that netwarp is released with.
    """
    endpoint = find_endpoint()
    built = open_kernel(kernel or _cached_kernel())
    if not is_released(built):
        raise NetwarpError(
            f"{built.directory} is not built from {' '.join(released_source())}, which netwarp is"
            " released with: run `netwarp kernel build --refresh`, or name one with --kernel DIR"
        )
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="netwarp-wheels-") as work:
        libexec = Path(work, "libexec")
        libexec.mkdir()
        program = libexec / "netwarp-endpoint"
        subprocess.run(["strip", "-o", program, endpoint], check=True)
        program.chmod(0o755)
        folder = lay_out_kernel(built, Path(work, PACKAGE), epoch)
        return [
            _wheel(REPOSITORY, out, epoch, "NETWARP_WHEEL_ENDPOINT", libexec, [program]),
            _wheel(
                REPOSITORY / "packaging" / "kernel", out, epoch, "NETWARP_WHEEL_KERNEL",
                folder, [folder / built.name / "linux"],
            ),
        ]  # fmt: skip


def _cached_kernel() -> Path:
    """Return the directory of the kernel that set-up has built from the present configuration."""
    return Path(_said([str(REPOSITORY / "guest" / "build.sh"), "--print"]))


def lay_out_kernel(kernel: GuestKernel, folder: Path, epoch: int) -> Path:
    """Copy a kernel as it is packaged, with what it was built from, and return the folder.

    When it was built, and how long that took, would differ between two builds of the same kernel:
    the time is the release's instead.
    """
    inside = folder / kernel.name
    inside.mkdir(parents=True)
    for name in KERNEL_FILES:
        shutil.copy(kernel.directory / name, inside / name)
    (inside / "linux").chmod(0o755)
    built = datetime.datetime.fromtimestamp(epoch, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    info = {key: value for key, value in kernel.info.items() if key != "build_seconds"}
    _write_json(inside / "kernel.json", info | {"built": built})
    _write_json(folder / PACKAGE_FILE, {"netwarp": __version__, "kernel": kernel.name})
    shutil.copy(LICENCE, folder / "COPYING")
    (folder / "SOURCE").write_text(source_text(info))
    shutil.copytree(REPOSITORY / "guest", folder / "source")
    return folder


def source_text(info: Any) -> str:
    """Return what the GPL asks to be said: of which source a kernel is built, and how."""
    package, version = info["source_package"], info["source_version"]
    patches = ", ".join(info.get("patches", ())) or "none"
    return (
        f"Linux {info['version']} ({info['release']}), for User-Mode Linux\n\n"
        f"source package   {package} {version}, of Debian's archive\n"
        f"SHA-256          {info['source_sha256']} (of the tarball in it)\n"
        f"patches          {patches}\n"
        f"configuration    {info['key']}/config, made from source/kernel.config\n"
        f"compiler         {info['gcc']}\n"
        f"C library        {info['c_library']}, linked in (LGPL-2.1 or later)\n"
        f"kernel's SHA-256 {info['kernel_sha256']}\n\n"
        f"`apt-get download {package}={version}` fetches it where apt has Debian's"
        " trixie-backports,\nand `apt-get source --download-only` the C library's; a release of"
        " netwarp has both beside\nthis wheel. `source/build.sh --pinned` fetches and checks the"
        " kernel's, and builds it.\n"
    )


def _wheel(
    project: Path, out: Path, epoch: int, variable: str, folder: Path, programs: list[Path]
) -> Path:
    """Build a project's wheel with a folder of built files, and return the wheel's path."""
    environ = {
        **os.environ,
        variable: str(folder),
        "NETWARP_WHEEL_TAG": platform_tag(newest_glibc(_symbol_versions(programs))),
        "SOURCE_DATE_EPOCH": str(epoch),
    }
    with tempfile.TemporaryDirectory(dir=out) as fresh:
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", fresh]
        subprocess.run(command, cwd=project, env=environ, check=True, stdout=subprocess.DEVNULL)
        (wheel,) = Path(fresh).glob("*.whl")
        return wheel.replace(out / wheel.name)


def _symbol_versions(programs: Iterable[Path]) -> set[str]:
    """Return the versions of glibc's symbols that programs need, such as `GLIBC_2.34`."""
    told = [_said(["readelf", "--version-info", "--wide", str(each)]) for each in programs]
    return set(re.findall(r"\bGLIBC_[0-9.]+", "\n".join(told)))


def newest_glibc(symbols: Iterable[str]) -> tuple[int, ...] | None:
    """Return the newest version among symbols' versions; None for a static program."""
    versions = [
        tuple(int(number) for number in symbol.removeprefix("GLIBC_").split("."))
        for symbol in symbols
    ]
    return max(versions)[:2] if versions else None


def platform_tag(glibc: tuple[int, ...] | None) -> str:
    """Return the platform of a wheel's name (PEP 600)."""
    major, minor = max(glibc or OLDEST_GLIBC, OLDEST_GLIBC)
    return f"manylinux_{major}_{minor}_x86_64"


def _write_json(file: Path, value: Any) -> None:
    file.write_text(json.dumps(value, indent=2) + "\n")


def _said(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
