"""Finds instructions in a program that read the CPU's clock or its random numbers.

They are searched for in the bytes of the file, which is not disassembled: each pattern includes
what compilers put behind the instruction, so that other bytes rarely match.
"""

import re
from pathlib import Path

MOST_BYTES = 256 << 20
"""Larger files, in bytes, are not searched."""
ELF = b"\x7fELF"
# The halves of RDTSC's result are joined by shl $32, %rdx. RDRAND and RDSEED report in the carry
# flag whether they returned a number: jc, jnc, setc, setnc, cmovc or cmovnc (Intel's manual, volume
# 2).
_JOINED = rb"[\s\S]{0,12}?\x48\xc1\xe2\x20"
_TESTED = rb"[\s\S]{0,6}?(?:[\x72\x73]|\x0f[\x42\x43\x82\x83\x92\x93])"
PATTERNS = {
    "RDTSC": re.compile(rb"\x0f(?:\x31|\x01\xf9)" + _JOINED),
    "RDRAND": re.compile(rb"\x0f\xc7[\xf0-\xf7]" + _TESTED),
    "RDSEED": re.compile(rb"\x0f\xc7[\xf8-\xff]" + _TESTED),
}


def asks_of_the_cpu(path: Path) -> tuple[str, ...]:
    """Return the instructions of an x86-64 program whose results differ from run to run; empty for
    a script.
    """
    try:
        if not path.is_file() or path.stat().st_size > MOST_BYTES:
            return ()
        content = path.read_bytes()
    except OSError:
        return ()
    if not content.startswith(ELF):
        return ()
    return tuple(name for name, pattern in PATTERNS.items() if pattern.search(content))
