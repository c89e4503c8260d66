"""An emulated PC with a distribution's own kernel, on which jobs run as by `--backend native`.

QEMU counts instructions and takes each for 2^shift nanoseconds (`-icount`), so the PC's clock is as
little the host's as a guest's, but its CPU takes time. While it waits, the clock jumps
(`sleep=off`). The kernel and its modules are read from unpacked packages; its root file system,
made here, has busybox and the endpoint in it.
"""

from __future__ import annotations

import json
import lzma
import re
import stat
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

MODULES = (
    "veth", "ifb", "sch_netem", "sch_htb", "sch_prio", "sch_tbf", "sch_ingress", "cls_matchall",
    "act_mirred", "sctp", "tcp_bbr", "inet_diag", "tcp_diag", "udp_diag", "sctp_diag",
)  # fmt: skip
"""What paths and transports take, and a distribution's kernel has as modules."""
MEMORY_MB = 512
COMMAND_LINE = "console=ttyS0 quiet panic=-1 mitigations=off tsc=reliable random.trust_cpu=on"
FOLDERS = ("bin", "proc", "sys", "dev", "tmp", "modules", "jobs", "root", "etc", "run")
PORT = "/dev/vport0p1"
END = "end"
INIT = f"""#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t sysfs sys /sys
mount -t devtmpfs dev /dev; mount -t tmpfs tmp /tmp
while read name; do insmod /modules/$name.ko || echo "cannot load $name"; done < /modules/order
sysctl -q -w net.core.rmem_max=1073741823 net.core.wmem_max=1073741823
exec 3> {PORT}
for name in $(cat /jobs/order); do
  mkdir /tmp/$name && cp /jobs/$name /tmp/$name/job.json
  netwarp-endpoint native /tmp/$name > /tmp/said 2>&1 || {{ echo "$name:"; cat /tmp/said; }}
  records=/tmp/$name/records.jsonl
  echo "$name $(wc -c < $records)" >&3; cat $records >&3; rm -r /tmp/$name
done
echo "{END} 0" >&3
poweroff -f
"""
"""The first program: runs one job after the other, and writes each one's records, below a line with
its name and their size in bytes.
"""


@dataclass(frozen=True)
class StockKernel:
    """A kernel image and the folder of its modules."""

    image: Path
    modules: Path

    @property
    def release(self) -> str:
        """The kernel's release, as `uname -r` prints it."""
        return self.modules.name


def find_kernel_below(root: Path) -> StockKernel:
    """Find the one kernel below a directory into which a distribution's packages were unpacked.

    Raises:
        FileNotFoundError: there is none, or not one alone.
    """
    folders = [each for each in root.glob("**/lib/modules/*") if (each / "kernel").is_dir()]
    found = [
        StockKernel(image, folder)
        for folder in folders
        for image in (folder / "vmlinuz", root / "boot" / f"vmlinuz-{folder.name}")
        if image.is_file()
    ]
    if len(found) != 1:
        raise FileNotFoundError(
            f"{root}: {len(found)} kernels with modules below it: unpack the packages of one there"
            " (apt-get download linux-binary-VERSION-amd64 linux-modules-VERSION-amd64, or before"
            " 7.0 linux-image-VERSION-amd64, and dpkg-deb -x each)"
        )
    return found[0]


def with_needed(names: Iterable[str], folder: Path) -> dict[str, bytes]:
    """Return modules and those that they need, in the order in which they are loaded.

    A name that the kernel has no module of is left out: it may be built in.
    """
    files = {
        path.name.split(".ko")[0].replace("-", "_"): path for path in folder.glob("kernel/**/*.ko*")
    }
    loaded: dict[str, bytes] = {}

    def load(name: str) -> None:
        if name in loaded or name not in files:
            return
        content = files[name].read_bytes()
        if files[name].suffix == ".xz":
            content = lzma.decompress(content)
        needs = re.search(rb"\0depends=([^\0]*)\0", content)
        for needed in needs[1].decode().split(",") if needs else ():
            load(needed.replace("-", "_"))
        loaded[name] = content

    for name in names:
        load(name)
    return loaded


def archive(entries: Iterable[tuple[str, int, bytes]]) -> bytes:
    """Return files and folders as the kernel unpacks them into its first root (cpio, "newc").

    Args:
        entries: path, mode and content of each; folders come before what is in them.
    """
    out = bytearray()
    for number, (name, mode, content) in enumerate([*entries, ("TRAILER!!!", 0, b"")]):
        path = name.encode() + b"\0"
        fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(path), 0)
        out += b"070701" + "".join(f"{field:08X}" for field in fields).encode() + path
        out += b"\0" * (-len(out) % 4) + content
        out += b"\0" * (-len(out) % 4)
    return bytes(out)


def initial_root(
    kernel: StockKernel, busybox: Path, endpoint: Path, jobs: Mapping[str, str]
) -> bytes:
    """Return the root file system of a machine that carries out jobs, by name, in their order."""
    program, folder = stat.S_IFREG | 0o755, stat.S_IFDIR | 0o755
    modules = with_needed(MODULES, kernel.modules)
    files = {
        "init": INIT.encode(),
        "bin/busybox": busybox.read_bytes(),
        "bin/netwarp-endpoint": endpoint.read_bytes(),
        "modules/order": "".join(f"{name}\n" for name in modules).encode(),
        **{f"modules/{name}.ko": content for name, content in modules.items()},
        "jobs/order": "".join(f"{name}\n" for name in jobs).encode(),
        **{f"jobs/{name}": text.encode() for name, text in jobs.items()},
    }
    entries = [(name, folder, b"") for name in FOLDERS]
    return archive([*entries, *((name, program, content) for name, content in files.items())])


def records_of(written: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the name of each job and its records, of what the machine wrote.

    Raises:
        ValueError: the machine ended before its last job.
    """
    rest = written
    while rest:
        head, _, rest = rest.partition(b"\n")
        name, size = head.decode().split()
        if name == END:
            return
        yield name, rest[: int(size)]
        rest = rest[int(size) :]
    raise ValueError("it ended before its last job")


def run_jobs(
    kernel: StockKernel,
    busybox: Path,
    endpoint: Path,
    jobs: Mapping[str, str],
    shift: int,
    out: Path,
) -> dict[str, Path]:
    """Boot the machine, carry out jobs, and return the file of each one's records.

    Nothing is booted where the directory has the records of the same jobs on the same kernel.

    Args:
        kernel: what it boots.
        busybox: a busybox that is linked statically.
        endpoint: netwarp's endpoint.
        jobs: each job as JSON, by its name.
        shift: an instruction takes 2^shift nanoseconds.
        out: the directory that receives console and records; it is made here.

    Raises:
        RuntimeError: QEMU failed, or not all jobs came to their end.
    """
    out.mkdir(parents=True, exist_ok=True)
    files = {name: out / f"{name}.jsonl" for name in jobs}
    asked, asked_file = json.dumps([kernel.release, shift, jobs]), out / "jobs.json"
    if asked_file.is_file() and asked_file.read_text() == asked:
        return files
    root, port, console = out / "root.cpio", out / "port", out / "console.log"
    root.write_bytes(initial_root(kernel, busybox, endpoint, jobs))
    command = [
        "qemu-system-x86_64", "-machine", "q35", "-accel", "tcg", "-cpu", "max", "-smp", "1",
        "-m", str(MEMORY_MB), "-icount", f"shift={shift},sleep=off", "-rtc", "clock=vm",
        "-kernel", str(kernel.image), "-initrd", str(root), "-append", COMMAND_LINE,
        "-nodefaults", "-nographic", "-no-reboot", "-net", "none", "-serial", f"file:{console}",
        "-device", "virtio-serial", "-chardev", f"file,id=out,path={port}",
        "-device", "virtserialport,chardev=out",
    ]  # fmt: skip
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    if ended.returncode != 0:
        raise RuntimeError(f"QEMU ended with status {ended.returncode}: {ended.stderr.strip()}")
    try:
        for name, records in records_of(port.read_bytes()):
            files[name].write_bytes(records)
    except ValueError as error:
        raise RuntimeError(f"not all jobs were carried out: {error}; see {console}") from error
    root.unlink()
    asked_file.write_text(asked)
    return files
