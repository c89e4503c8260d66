"""Which systems netwarp runs on. It imports nothing, so any version of Python can import it."""


def refused_system(system: str) -> str | None:
    """Return the reason why netwarp does not run on an operating system; None if it does.

    Args:
        system: as in `sys.platform`.
    """
    needs = "netwarp runs on Linux on x86-64, and this is"
    if system == "linux":
        return None
    if system == "win32":
        return f"{needs} Windows: install it in WSL2 (`wsl --install`), as on any Linux"
    if system == "darwin":
        return (
            f"{needs} macOS: use a host or a virtual machine with Linux, or on a Mac with an Intel"
            " CPU its image in a container"
        )
    return f"{needs} {system}: use a host or a virtual machine with Linux"


def refused_machine(machine: str, pointer_bits: int) -> str | None:
    """Return the reason why guests do not run on a CPU; None if they do.

    Args:
        machine: as `uname -m` prints it.
        pointer_bits: size of a pointer in the Python that runs netwarp.
    """
    if machine != "x86_64":
        return f"User-Mode Linux runs on x86_64, and this is {machine}: use such a host"
    if pointer_bits != 64:
        return f"this Python has {pointer_bits} bits, on a CPU of 64: install one for x86_64"
    return None
