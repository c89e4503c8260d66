"""Finds instructions in a program that read the CPU's clock or its random numbers.

The file is not disassembled: patterns of bytes are searched for. Each pattern includes what
compilers put after the instruction, so that other bytes rarely match. Libraries with which a
program is linked are found by their names in the file, and nothing is executed for that.
"""

import re
from collections.abc import Sequence
from pathlib import Path

MOST_BYTES = 256 << 20
"""Size in bytes above which files are not searched."""
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
LIBRARY_NAME = re.compile(rb"\0(lib[\w+.-]{1,60}\.so(?:\.\d+)*)(?=\0)")
"""Pattern of a library's name in the table of names for the dynamic loader (`.dynstr`, elf(5))."""
LIBRARY_FOLDERS = tuple(
    map(Path, ("/usr/local/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/lib"))
)
MOST_LIBRARIES = 64


def asks_of_the_cpu(path: Path) -> tuple[str, ...]:
    """Return which instructions of an x86-64 program or library give results that differ from run
    to run; empty for a script.
    """
    content = _content(path)
    return tuple(name for name, pattern in PATTERNS.items() if pattern.search(content))


def libraries_of(path: Path, folders: Sequence[Path] = LIBRARY_FOLDERS) -> tuple[Path, ...]:
    """Return the libraries with which a program is linked, and those with which these are linked,
    up to a number.

    Args:
        path: the program.
        folders: where libraries are looked for; libraries in other folders are not found.
    """
    found: dict[Path, None] = {}
    waiting = [path]
    while waiting and len(found) < MOST_LIBRARIES:
        for name in dict.fromkeys(LIBRARY_NAME.findall(_content(waiting.pop(0)))):
            places = (folder / name.decode() for folder in folders)
            library = next((place.resolve() for place in places if place.is_file()), None)
            if library is not None and library not in found and library != path:
                found[library] = None
                waiting.append(library)
    return tuple(found)


def _content(path: Path) -> bytes:
    """Return the bytes of a program or library; empty if the file is neither, or cannot be read."""
    try:
        if not path.is_file() or path.stat().st_size > MOST_BYTES:
            return b""
        content = path.read_bytes()
    except OSError:
        return b""
    return content if content.startswith(ELF) else b""
