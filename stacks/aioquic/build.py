"""Installs aioquic, in pinned versions, into a virtual environment of the stack's own, with the role that runs there."""

import shutil
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
MODULES = ("role.py", "kit.py", "interop.py")


def main(out: Path) -> None:
    environment = out / "venv"
    venv.create(environment, with_pip=True, clear=True)
    python = environment / "bin" / "python"
    pinned = ["--require-hashes", "--only-binary", ":all:", "-r", HERE / "requirements.txt"]
    subprocess.run([python, "-m", "pip", "install", "--quiet", *pinned], check=True)
    for module in MODULES:
        shutil.copyfile(HERE / module, out / module)
    program = out / "role"
    # OpenSSL must not take random numbers from the CPU, which no seed decides.
    program.write_text(
        "#!/bin/sh\nexport OPENSSL_ia32cap='~0x4000000000000000' PYTHONHASHSEED=0\n"
        f'exec "{python}" "{out / "role.py"}" "$@"\n'
    )
    program.chmod(0o755)


main(Path(sys.argv[1]).absolute())
