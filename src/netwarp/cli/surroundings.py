"""Messages for errors of the operating system about memory, open files, a path, or a system call.

Such an error is not a defect of netwarp. The message has the system's reason, what it is about, and
a possible remedy.
"""

import errno
import os
import re
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
"""Possible remedies, by the error of the system."""
LEAST_BYTES = 512 << 20
"""Memory in bytes that the libraries map, without their threads."""
BYTES_PER_CPU = 16 << 20
"""Memory in bytes of a thread with its stack; Polars starts one for each CPU."""
_CODE_OF_RUST = re.compile(r"Os \{ code: (\d+)")
"""Pattern of the form in which Rust prints an operating system's error (`io::Error`) for
developers."""
_MEMORY_WORDS = ("map segment", "allocate memory", "static TLS")


def why_refused(error: BaseException) -> str | None:
    """Return the message for an error of the operating system; None for any other error."""
    if isinstance(error, MemoryError):
        return f"not enough memory: {_LIMITS[errno.ENOMEM]}"
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return f"cannot start a thread: {_LIMITS[errno.EAGAIN]}, or of memory (`ulimit -v`)"
    if isinstance(error, ImportError):
        return _library_text(error)
    if is_panic(error):
        return _panic_text(error)
    if not isinstance(error, OSError) or error.errno is None:
        return None
    what = f"cannot write: {error.strerror}" if _is_of_output(error) else _of_call(error)
    remedy = _LIMITS.get(error.errno)
    return f"{what}; {remedy}" if remedy else what


def is_panic(error: BaseException) -> bool:
    """Return whether an exception is a panic of a library in Rust (PyO3's `PanicException`, which
    is not an `Exception`).
    """
    return type(error).__name__ == "PanicException"


def is_unread(error: BaseException) -> bool:
    """Return whether an error means that standard output has no reader any more, as after `| head
    -1`.
    """
    if not isinstance(error, BrokenPipeError) or error.filename is not None:
        return False
    reader = select.poll()
    reader.register(1, 0)
    return any(state & select.POLLERR for _, state in reader.poll(0))


def refuse_little_memory() -> str | None:
    """Return the message about a memory limit that is so low that libraries would fail or never
    return; None if there is no such limit.

    OpenBLAS repeats a failed allocation for ever, and Polars continues without its own library. So
    the limit is checked before they are loaded.
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
    """Open the null device for each standard stream that is closed.

    Otherwise the next file that is opened would get such a descriptor, and receive what is printed.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # This opens the lowest free descriptor, which is the closed one.
            os.open(os.devnull, os.O_RDWR)
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def _is_of_output(error: OSError) -> bool:
    return error.filename is None and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EPIPE)


def _of_call(error: OSError) -> str:
    if error.errno == errno.ENOENT and error.filename is None and not _is_somewhere():
        return "the working directory has been removed: change to one that is there"
    about = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
    return f"the system refuses this: {about}{error.strerror or error}"


def _is_somewhere() -> bool:
    """Return whether the working directory (still) exists."""
    try:
        os.getcwd()  # noqa: PTH109
    except FileNotFoundError:
        return False
    return True


def _panic_text(error: BaseException) -> str | None:
    """Return a message if a library in Rust panicked because of the operating system; else None."""
    found = _CODE_OF_RUST.search(str(error))
    if found is None:
        return None
    number = int(found[1])
    what = f"the system refuses this to a library: {os.strerror(number)}"
    remedy = _LIMITS.get(number)
    return f"{what}; {remedy}" if remedy else what


def _library_text(error: ImportError) -> str | None:
    """Return a message if a library cannot be loaded for lack of memory or descriptors; None for
    another reason.
    """
    text = str(error)
    if any(words in text for words in _MEMORY_WORDS):
        return f"cannot load a library ({text}): {_LIMITS[errno.ENOMEM]}"
    if os.strerror(errno.EMFILE) in text:
        return f"cannot load a library ({text}): {_LIMITS[errno.EMFILE]}"
    return None
