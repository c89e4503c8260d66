"""Runs a program without some system calls, which then do not exist for it (ENOSYS), as if the
kernel were older: `without_calls.py FIRST-LAST[,FIRST-LAST…] PROGRAM [ARGUMENTS]`.

Only the standard library is imported, because it runs in roots that have nothing else.
"""

import ctypes
import errno
import os
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, FILTER = 38, 22, 2
LOAD, IF_AT_LEAST, IF_ABOVE, RETURN = 0x20, 0x35, 0x25, 0x06
ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | errno.ENOSYS
NUMBER_OFFSET = 0
"""Of the call's number in `struct seccomp_data`."""


def program(ranges: list[tuple[int, int]]) -> bytes:
    """Return the filter (seccomp(2)) that refuses the calls of these ranges, ends included."""
    instructions = [(LOAD, 0, 0, NUMBER_OFFSET)]
    for first, last in ranges:
        # Below the first, or above the last: over the refusal.
        instructions += [(IF_AT_LEAST, 0, 2, first), (IF_ABOVE, 1, 0, last), (RETURN, 0, 0, REFUSE)]
    instructions.append((RETURN, 0, 0, ALLOW))
    return b"".join(struct.pack("HBBI", *each) for each in instructions)


def parsed(text: str) -> list[tuple[int, int]]:
    """Read ranges such as `430-432,444-446`."""
    ends = [each.split("-") for each in text.split(",")]
    return [(int(first), int(last)) for first, last in ends]


def refuse(ranges: list[tuple[int, int]]) -> None:
    """Take system calls from this process and all that it starts.

    Raises:
        OSError: the kernel refuses the filter.
    """
    code = program(ranges)
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(code)
    filtered = struct.pack("HL", len(code) // 8, ctypes.addressof(buffer))
    for arguments in ((PR_SET_NO_NEW_PRIVS, 1, 0), (PR_SET_SECCOMP, FILTER, filtered)):
        if libc.prctl(*arguments, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


if __name__ == "__main__":
    refuse(parsed(sys.argv[1]))
    os.execvp(sys.argv[2], sys.argv[2:])  # noqa: S606
