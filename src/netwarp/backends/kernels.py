"""The built guest kernels: finds them by name, chooses the default, and determines what a job needs
that a kernel lacks.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from netwarp.backends.guest_files import (
    BUILD_KERNEL,
    CHOSEN,
    GuestKernel,
    build_script,
    find_kernel,
    kernel_cache,
    open_kernel,
)
from netwarp.backends.kernel_package import PACKAGE, package_directory, packaged_kernel
from netwarp.errors import BackendError
from netwarp.fields import DISCIPLINES
from netwarp.transports import TRANSPORTS
from netwarp.wire import Job, ListedLoss, PeriodicLoss
from netwarp.wire.asked import asked

DRAWN_BY_NETEM = frozenset(
    {
        "jitter_ns",
        "link_loss_ratio",
        "loss.random",
        "loss.gemodel",
        "reorder.ratio",
        "duplicate_ratio",
        "corrupt_ratio",
    }
)
"""Features for which netem draws random numbers, such as random loss."""
_BUILT_IN = frozenset({"reno"})
"""Congestion controls without a configuration option, which every kernel has."""


def built_kernels(environ: Mapping[str, str] = os.environ) -> list[GuestKernel]:
    """List the kernels in the cache, and that of the package ``netwarp-kernel``, by version; those
    of the same version in the order in which they were built.
    """
    return _examined(environ)[0]


def _examined(environ: Mapping[str, str]) -> tuple[list[GuestKernel], dict[str, str]]:
    """Return the usable kernels, from the cache and from the installed package of kernels, and for
    each unusable one the reason, by name. Of two kernels with the same name, and thus the same
    source and configuration, the packaged one is returned.
    """
    cache = kernel_cache(environ)
    found, refused = [], {}
    try:
        packaged = packaged_kernel()
        found += [open_kernel(packaged)] if packaged else []
    except BackendError as error:
        refused[PACKAGE] = str(error)
    for file in sorted(cache.glob("*/kernel.json")):
        # Names begin with the version, except those of kernels that are being built or removed.
        # Links would name kernels twice.
        if file.parent.is_symlink() or not file.parent.name[:1].isdigit():
            continue
        if any(each.name == file.parent.name for each in found):
            continue
        try:
            found.append(open_kernel(file.parent))
        except BackendError as error:
            refused[file.parent.name] = str(error)
    found.sort(key=lambda each: (each.version_numbers, str(each.info.get("built"))))
    return found, refused


def released_source() -> tuple[str, str]:
    """Return the Debian package, and its version, from whose source the release's kernel is built.

    Raises:
        BackendError: the files that build kernels are not installed.
    """
    text = (build_script().parent / "sources.sha256").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    _, package, version = lines[-1].split()
    return package, version


def is_released(kernel: GuestKernel) -> bool:
    """Return whether a kernel is the one that netwarp is released with, whose hashes are
    published.
    """
    source = (kernel.info.get("source_package"), kernel.info.get("source_version"))
    return source == released_source() and not kernel.own


def kernel_named(name: str, environ: Mapping[str, str] = os.environ) -> GuestKernel:
    """Find a kernel by its name: a version, or the beginning of one (6.12), or a name of `kernel
    list`.

    A version means a kernel that netwarp builds from Debian's source. A kernel with the user's own
    configuration, patches or source must be named in full.

    Raises:
        BackendError: no kernel of this name is built, or several are.
    """
    kernels, refused = _examined(environ)
    whole = [each for each in kernels if each.name == name]
    whole = whole or [each for each in kernels if "-" in name and each.name.startswith(name)]
    if len(whole) > 1:
        names = ", ".join(each.name for each in whole)
        raise BackendError(f"kernel {name} may be one of {names}: write more of the name")
    if whole:
        return whole[0]
    of_version = [each for each in kernels if f"{each.version}.".startswith(f"{name}.")]
    plain = [each for each in of_version if not each.own]
    if plain:
        return plain[-1]
    if of_version:
        names = " or ".join(each.name for each in of_version)
        raise BackendError(
            f"kernel {name} is built only with changes of your own: name it whole, {names}, or run"
            f" `{BUILD_KERNEL} {name}`"
        )
    unused = [why for each, why in refused.items() if _is_named(each, name)]
    if unused:
        raise BackendError(f"kernel {name} is built and cannot be used: {'; '.join(unused)}")
    there = ", ".join(dict.fromkeys(each.version for each in kernels)) or "none"
    raise BackendError(
        f"no guest kernel {name} is built (there is {there}): run `{BUILD_KERNEL} {name}`, and"
        " `netwarp kernel list` for their names"
    )


def _is_named(directory: str, name: str) -> bool:
    version = directory.partition("-")[0]
    return f"{version}.".startswith(f"{name}.") or ("-" in name and directory.startswith(name))


def kernel_refusal(kernel: GuestKernel, job: Job) -> str | None:
    """Return a sentence on what a job needs but a kernel lacks; None if the kernel lacks nothing.

    It is determined from the kernel's complete configuration, and from what the build found in its
    source.

    Raises:
        BackendError: the configuration cannot be read.
    """
    if not kernel.seeds_netem:
        drawn = next((each for each in asked(job) if each.feature in DRAWN_BY_NETEM), None)
        if drawn is not None:
            return (
                f"it asks for {drawn}, and netem of Linux {kernel.version} draws it without a seed"
                " (which came with 6.6): no run could be repeated. Choose another kernel, or leave"
                " it out"
            )
    traits = (TRANSPORTS[each.transport.kind] for each in job.workloads)
    waiting = next((each.name for each in traits if each.waits_until_a_time), None)
    if not kernel.waits_until and waiting is not None:
        return (
            f"it asks for {waiting}, whose endpoint waits until a time on the clock (io_uring's"
            f" IORING_ENTER_ABS_TIMER, since 6.12), and Linux {kernel.version} cannot: choose"
            " another kernel, or another transport"
        )
    for words, since in _needed_versions(job):
        if kernel.version_numbers < since:
            return (
                f"it asks for {words}, which came with Linux {'.'.join(map(str, since))}, and the"
                f" kernel is {kernel.version}: choose another kernel, or leave it out"
            )
    for option, words in _needed_options(job):
        if option not in kernel.options:
            return (
                f"it asks for {words}, and Linux {kernel.version} ({kernel.name}) is built without"
                f" {option}: {_remedy(kernel, option)}"
            )
    return None


def _remedy(kernel: GuestKernel, option: str) -> str:
    """Return what the user can do about a configuration option that a kernel lacks."""
    chosen_by_user = any(own.startswith(f"--config {option}=") for own in kernel.own)
    ours = (build_script().parent / "kernel.config").read_text(encoding="utf-8").splitlines()
    if option.startswith("CONFIG_TCP_CONG_") and f"{option}=y" not in ours:
        return f'build one with `{BUILD_KERNEL} --module DIR`, and name it with kernel = "…"'
    if chosen_by_user or f"{option}=y" not in ours:
        return "choose another kernel, or leave it out"
    build = f"with the same options of `{BUILD_KERNEL}`"
    if not kernel.own:
        is_current = (kernel.directory.parent / "current").resolve() == kernel.directory
        series = str(kernel.info["source_package"]).removeprefix("linux-source-")
        build = f"with `{BUILD_KERNEL}{'' if is_current else f' {series}'}`"
    return f"it was built before netwarp had that in its configuration; build it again {build}"


def _needed_versions(job: Job) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield the features of a job that depend on the version of Linux and not on a configuration
    option, each with the first version that has it.
    """
    for transport in (each.transport for each in job.workloads):
        is_mptcp = TRANSPORTS[transport.kind].kernel_option == "MPTCP"
        if is_mptcp and transport.mss_bytes is not None:
            yield "an MSS of MPTCP (TCP_MAXSEG on its sockets)", (6, 17)
        if transport.tcp.tcp_rto_min_ns is not None:
            yield "tcp_rto_min (net.ipv4.tcp_rto_min_us)", (6, 11)


def _needed_options(job: Job) -> list[tuple[str, str]]:
    """Return the configuration options that a job needs, each with the feature that needs it."""
    needed = []
    for path in job.paths:
        for impairments in (path.down, path.up):
            if impairments.discipline is not None:
                kind = impairments.discipline.kind
                needed.append((f"CONFIG_NET_SCH_{kind.upper()}", f"the discipline {kind}"))
            if isinstance(impairments.loss, PeriodicLoss | ListedLoss):
                needed.append(("CONFIG_NFT_NUMGEN", "packets lost by number"))
    for each in job.workloads:
        traits = TRANSPORTS[each.transport.kind]
        if traits.kernel_option is not None:
            needed.append((f"CONFIG_{traits.kernel_option}", traits.name))
        congestion = each.transport.congestion
        if traits.runs_over_tcp and congestion not in _BUILT_IN:
            option = f"CONFIG_TCP_CONG_{congestion.upper()}"
            needed.append((option, f"the congestion control {congestion}"))
    return needed


def environ_with_default(name: str, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return an environment in which a kernel is the default.

    Raises:
        BackendError: no kernel of this name is built.
    """
    return {**environ, "NETWARP_KERNEL": str(kernel_named(name, environ).directory)}


def choose_default(name: str | None, environ: Mapping[str, str] = os.environ) -> GuestKernel:
    """Make a kernel the default; None restores the one that netwarp is released with.

    Raises:
        BackendError: no kernel of this name is built.
    """
    link = kernel_cache(environ) / CHOSEN
    if name is None:
        link.unlink(missing_ok=True)
        return find_kernel(environ)
    kernel = kernel_named(name, environ)
    # A reader finds either the old link or the new one.
    fresh = link.with_name(f"{CHOSEN}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    fresh.parent.mkdir(parents=True, exist_ok=True)
    in_cache = kernel.directory.parent == fresh.parent.resolve()
    fresh.symlink_to(kernel.name if in_cache else kernel.directory)
    fresh.replace(link)
    return kernel


def remove_kernel(name: str, environ: Mapping[str, str] = os.environ) -> GuestKernel:
    """Remove a kernel from the cache. If a name stands for a version that several kernels have,
    none is removed.

    Raises:
        BackendError: no kernel of this name is built, or several are, it is the default, a build is
            under way, or its files cannot be deleted.
    """
    kernel = _only_kernel_named(name, environ)
    cache = kernel_cache(environ)
    packaged = package_directory()
    if packaged is not None and kernel.directory.parent == packaged.resolve():
        raise BackendError(
            f"{kernel.name} belongs to the package netwarp-kernel: uninstall that, as it was"
            " installed (`pip uninstall netwarp-kernel`)"
        )
    with _locked(cache):
        _refuse_to_remove_default(kernel, cache)
        try:
            # It is renamed first, so that nobody finds half of it. The next build removes what is
            # left.
            grave = Path(tempfile.mkdtemp(prefix=".netwarp-build.", dir=cache))
            kernel.directory.rename(grave / kernel.name)
            shutil.rmtree(grave)
            for asked_for in (cache / "by-inputs").glob("*"):
                if asked_for.is_symlink() and not asked_for.exists():
                    asked_for.unlink()
        except OSError as error:
            raise BackendError(
                f"not all of the kernel {kernel.name} could be removed from {cache} ({error}):"
                " make that directory and what it holds your own"
            ) from None
    return kernel


def _only_kernel_named(name: str, environ: Mapping[str, str]) -> GuestKernel:
    """Return the only kernel with this name; raise BackendError if none or several have it.

    Raises:
        BackendError: no kernel of this name is built, or several are.
    """
    kernel = kernel_named(name, environ)
    if kernel.name == name:
        return kernel
    meant = [each.name for each in built_kernels(environ) if _is_named(each.name, name)]
    if len(meant) > 1:
        raise BackendError(
            f"kernel {name} may be one of {', '.join(meant)}, and none is removed: write more of"
            " the name"
        )
    return kernel


@contextlib.contextmanager
def _locked(cache: Path) -> Iterator[None]:
    """Context manager: lock the kernel cache until the block ends. A build keeps it locked, too.

    Raises:
        BackendError: a build is under way, or the lock cannot be taken.
    """
    with contextlib.ExitStack() as stack:
        try:
            lock = stack.enter_context((cache / "lock").open("ab"))
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BackendError(
                f"a kernel is being built or removed in {cache}: try again when that is done"
            ) from None
        except OSError as error:
            raise BackendError(f"cannot lock the kernels in {cache}: {error}") from None
        yield


def _refuse_to_remove_default(kernel: GuestKernel, cache: Path) -> None:
    for link in ("current", CHOSEN):
        if not ((cache / link).exists() and (cache / link).resolve() == kernel.directory):
            continue
        if link == CHOSEN:
            raise BackendError(
                f"{kernel.name} is the default, which studies use that name no kernel: choose"
                " another one first with `netwarp kernel default NAME`"
            )
        if is_released(kernel):
            raise BackendError(
                f"{kernel.name} is the kernel that netwarp is released with, and stays; to"
                f" have none at all, remove {cache}"
            )
        raise BackendError(
            f"{kernel.name} is the default, in place of {' '.join(released_source())}, which"
            f" netwarp is released with: `{BUILD_KERNEL} --refresh` looks for that; to have none at"
            f" all, remove {cache}"
        )


def described(kernel: GuestKernel, environ: Mapping[str, str] = os.environ) -> dict[str, object]:
    """Return a kernel's properties as the object that `kernel list --json` and `kernel info --json`
    print.
    """
    return {
        "name": kernel.name,
        "default": is_default(kernel, environ),
        "released": is_released(kernel),
        "directory": str(kernel.directory),
        "lacks": lacks_in_words(kernel),
        **kernel.info,
    }


def is_default(kernel: GuestKernel, environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether a kernel is the default one, which is used by studies that name none."""
    try:
        return find_kernel(environ).directory == kernel.directory
    except BackendError:
        return False


def lacks_in_words(kernel: GuestKernel) -> list[str]:
    """Return in words the features that studies can ask for but a kernel lacks, except those that
    its list of configuration options shows.
    """
    lacking = [] if kernel.seeds_netem else ["repeatable random loss, jitter and reordering"]
    lacking += [] if kernel.waits_until else ["QUIC"]
    return lacking + [
        f"discipline {kind}"
        for kind in DISCIPLINES
        if f"CONFIG_NET_SCH_{kind.upper()}" not in kernel.options
    ]
