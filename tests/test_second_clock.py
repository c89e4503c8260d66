"""The cells of two clocks, the machine that a stock kernel boots on, and the page."""

from __future__ import annotations

import lzma
import re
import stat
from collections.abc import Sequence
from pathlib import Path

import pytest

from netwarp.plan import plan_study
from second_clock import DOCS, jobs_of
from second_clock_cells import COUNT, Cell, drawn_cells
from second_clock_page import CHANCE, CPU, UNKNOWN, WITHIN, Compared, chart_of, page
from stock_machine import archive, find_kernel_below, records_of, with_needed

CELL = Cell("c01", "tcp", 20, 10, 0, 100, "2bdp")


def test_cells_are_those_that_the_seed_draws_and_all_can_be_planned() -> None:
    cells = drawn_cells()
    assert len(cells) == COUNT
    assert cells == drawn_cells()
    assert cells != drawn_cells(seed=1)
    for cell in cells:
        assert len(list(plan_study(cell.study()))) == cell.replicates


def test_a_cell_loses_the_same_packets_over_a_path_that_takes_longer() -> None:
    lossy = Cell("c02", "quic", 20, 10, 1, 100, "2bdp")
    jobs, delayed = jobs_of([lossy]), jobs_of([lossy], 0.2)
    assert list(jobs) == ["c02-0", "c02-1", "c02-2"]
    for name, job in jobs.items():
        near, far = job.paths[0].down, delayed[name].paths[0].down
        assert (near.seed, near.loss) == (far.seed, far.loss)
        assert far.delay_ns - near.delay_ns == 100_000


def test_an_archive_is_one_that_cpio_unpacks(tmp_path: Path) -> None:
    entries = [
        ("bin", stat.S_IFDIR | 0o755, b""),
        ("bin/odd", stat.S_IFREG | 0o755, b"12345"),
        ("init", stat.S_IFREG | 0o755, b"#!"),
    ]
    written = archive(entries)
    assert len(written) % 4 == 0
    heads = [written[found.start() :] for found in re.finditer(rb"070701", written)]
    sizes = [int(head[54:62], 16) for head in heads]
    names = [head[110 : 110 + int(head[94:102], 16) - 1].decode() for head in heads]
    assert list(zip(names, sizes, strict=True)) == [
        ("bin", 0), ("bin/odd", 5), ("init", 2), ("TRAILER!!!", 0),
    ]  # fmt: skip
    content_at = heads[1].index(b"bin/odd\0") + len("bin/odd\0")
    content_at += -(len(written) - len(heads[1]) + content_at) % 4
    assert heads[1][content_at : content_at + 5] == b"12345"


def module(folder: Path, name: str, needs: str, compressed: bool = False) -> None:
    """Write a kernel module that needs others."""
    content = f"ELF\0depends={needs}\0name={name}\0".encode()
    folder.mkdir(parents=True, exist_ok=True)
    if compressed:
        (folder / f"{name}.ko.xz").write_bytes(lzma.compress(content))
    else:
        (folder / f"{name}.ko").write_bytes(content)


def test_modules_are_loaded_after_those_that_they_need(tmp_path: Path) -> None:
    module(tmp_path / "kernel" / "net", "sctp", "libcrc32c,udp-tunnel", compressed=True)
    module(tmp_path / "kernel" / "net", "udp_tunnel", "ip6_tunnel")
    module(tmp_path / "kernel" / "lib", "libcrc32c", "")
    module(tmp_path / "kernel" / "net", "ip6_tunnel", "")
    loaded = with_needed(["sctp", "built_in"], tmp_path)
    assert list(loaded) == ["libcrc32c", "ip6_tunnel", "udp_tunnel", "sctp"]
    assert loaded["sctp"].startswith(b"ELF"), "insmod of busybox unpacks nothing"


def test_a_kernel_is_found_in_its_packages_and_its_absence_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="0 kernels with modules below it: unpack"):
        find_kernel_below(tmp_path)
    folder = tmp_path / "usr" / "lib" / "modules" / "7.3.4+deb13-amd64"
    (folder / "kernel").mkdir(parents=True)
    (folder / "vmlinuz").touch()
    assert find_kernel_below(tmp_path).release == "7.3.4+deb13-amd64"


def test_records_are_cut_by_their_sizes_and_an_early_end_is_refused() -> None:
    written = b"a 4\n1\n2\nb 0\nend 0\n"
    assert list(records_of(written)) == [("a", b"1\n2\n"), ("b", b"")]
    with pytest.raises(ValueError, match="before its last job"):
        list(records_of(written.removesuffix(b"end 0\n")))


@pytest.mark.parametrize(
    ("stock_s", "slower_s", "varied_s", "reason"),
    [
        (1.009, 1.03, (), WITHIN),
        (1.05, 1.1, (), CPU),
        (1.0109, 1.0127, (), UNKNOWN),
        (0.988, 0.985, (), UNKNOWN),
        (1.05, 1.05, (1.0, 1.045), CHANCE),
        (1.05, 1.05, (1.0, 1.01), UNKNOWN),
        (1.05, 1.05, (), UNKNOWN),
    ],
)
def test_a_difference_has_the_reason_that_its_control_shows(
    stock_s: float, slower_s: float, varied_s: Sequence[float], reason: str
) -> None:
    compared = Compared(CELL, 1.0, stock_s, slower_s).with_varied(varied_s)
    assert compared.reason == reason


def test_the_page_is_the_generators_but_for_what_was_measured() -> None:
    """Prose that was changed by hand would be lost with the next `make second-clock`."""
    written = page([Compared(CELL, 1.0, 1.0, 1.0)], "7.3.4+deb13-amd64", "7.3.4")

    def prose(text: str) -> list[str]:
        return [line for line in text.splitlines() if not line.startswith(("| ", "**"))]

    kept = (DOCS / "second-clock.md").read_text(encoding="utf-8")
    counts = "without loss)."
    assert [line for line in prose(kept) if counts not in line] == [
        line for line in prose(written) if counts not in line
    ]


def test_the_picture_can_be_drawn() -> None:
    assert "<svg" in chart_of([Compared(CELL, 1.0, 1.02, 1.04)]).svg()
