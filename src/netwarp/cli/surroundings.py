"""What the machine refuses a command: memory, open files, a path, a system call.

Such an error is nobody's defect. It is told with what the system said, of what, and what may help.
"""

import errno
import os
import select
import sys

_LIMITS = {
    errno.EMFILE: "raise the limit of open files (`ulimit -n`)",
    errno.ENFILE: "the machine's table of open files is full (`sysctl fs.file-max`)",
    errno.ENOMEM: "raise the limits of memory (`ulimit -v`, `ulimit -d`), or free some",
    errno.EAGAIN: "raise the limit of processes and threads (`ulimit -u`), or end some",
    errno.EFBIG: "raise the limit of a file's size (`ulimit -f`)",
    errno.ENOSPC: "make room, or send the output elsewhere",
    errno.EDQUOT: "make room within the quota, or send the output elsewhere",
    errno.EPIPE: "what read the output has left; send it elsewhere",
    errno.ENAMETOOLONG: "choose a shorter path",
    errno.ENOSYS: "a system call is missing here; `netwarp doctor` says what runs need",
    errno.EPERM: "a system call or a file is forbidden here; `netwarp doctor` says what runs need",
    errno.EACCES: "see to its permissions, or name another",
    errno.EROFS: "name a place that can be written to",
}
"""What may help, by what the system said."""
LEAST_BYTES = 512 << 20
"""Memory that the libraries map, without their threads."""
BYTES_PER_CPU = 16 << 20
"""The stack of a thread, and what it sets aside; Polars starts one for each CPU."""
_MEMORY_WORDS = ("map segment", "allocate memory", "static TLS")


def why_refused(error: BaseException) -> str | None:
    """Return the line for an error that is the machine's; None for any other."""
    if isinstance(error, MemoryError):
        return f"not enough memory: {_LIMITS[errno.ENOMEM]}"
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return f"cannot start a thread: {_LIMITS[errno.EAGAIN]}, or of memory (`ulimit -v`)"
    if isinstance(error, ImportError):
        return _of_library(error)
    if not isinstance(error, OSError) or error.errno is None:
        return None
    what = f"cannot write: {error.strerror}" if _is_of_output(error) else _of_call(error)
    remedy = _LIMITS.get(error.errno)
    return f"{what}; {remedy}" if remedy else what


def is_unread(error: BaseException) -> bool:
    """Whether an error is that nobody reads standard output any more, as after `| head -1`."""
    if not isinstance(error, BrokenPipeError) or error.filename is not None:
        return False
    reader = select.poll()
    reader.register(1, 0)
    return any(state & select.POLLERR for _, state in reader.poll(0))


def refuse_little_memory() -> str | None:
    """Return the line for a limit of memory under which libraries would fail or spin; else None.

    OpenBLAS asks again for ever for memory that it does not get, and Polars goes on without its
    own library: so the limit is looked at before they are loaded.
    """
    import resource

    least_bytes = LEAST_BYTES + BYTES_PER_CPU * (os.cpu_count() or 1)
    for option, limit in (("-v", resource.RLIMIT_AS), ("-d", resource.RLIMIT_DATA)):
        most_bytes, _ = resource.getrlimit(limit)
        if 0 <= most_bytes < least_bytes:
            return (
                f"memory is limited to {most_bytes >> 20} MiB here, and netwarp takes up to"
                f" {least_bytes >> 20}: raise the limit (`ulimit {option} {least_bytes >> 10}`)"
            )
    return None


def open_standard_streams() -> None:
    """Put the null device in place of standard streams that the caller has closed.

    Otherwise the next file that is opened takes the place, and gets what is printed.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free, which is this one
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def _is_of_output(error: OSError) -> bool:
    return error.filename is None and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EPIPE)


def _of_call(error: OSError) -> str:
    about = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
    return f"the system refuses this: {about}{error.strerror or error}"


def _of_library(error: ImportError) -> str | None:
    """Tell a library that cannot be loaded for want of memory or descriptors from one missing."""
    text = str(error)
    if any(words in text for words in _MEMORY_WORDS):
        return f"cannot load a library ({text}): {_LIMITS[errno.ENOMEM]}"
    if os.strerror(errno.EMFILE) in text:
        return f"cannot load a library ({text}): {_LIMITS[errno.EMFILE]}"
    return None
