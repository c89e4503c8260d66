"""netem's generator computed again, and the page that says how true virtual time is."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from fidelity import FILE, Found, Row, deviation_text, document
from netem_generator import draws, drops

# What the guest's kernel drew: seeds, packets offered, the loss, packets lost.
DRAWN_BY_THE_KERNEL = Path(__file__).parent / "golden" / "netem-drops.csv"


@pytest.mark.parametrize("line", DRAWN_BY_THE_KERNEL.read_text().splitlines()[1:])
def test_drops_are_those_of_the_kernel(line: str) -> None:
    seed, packets, ratio, lost = line.split(",")
    assert drops(int(seed), int(packets), float(ratio)) == int(lost)


def test_draws_are_even_over_all_words() -> None:
    drawn = list(islice(draws(0x1234_5678_9ABC_DEF0), 4096))
    assert len(set(drawn)) > 4090
    assert sum(each >> 31 for each in drawn) == pytest.approx(2048, abs=150)
    assert drops(7, 1000, 0.0) == 0
    assert drops(7, 1000, 1.0) == 1000


def test_the_page_is_the_generators_but_for_what_was_measured() -> None:
    """Prose that was changed by hand would be lost with the next `make fidelity`."""
    row = [Row("x", 2.0, 2.01)]
    written = document(Found(row, row, row, row, row, row, row), "0")

    def prose(text: str) -> list[str]:
        lines = (line for line in text.splitlines() if not line.startswith("| "))
        return [line for line in lines if not {"kernel", "counts"} & set(line.split())]

    assert prose(FILE.read_text(encoding="utf-8")) == prose(written)
    assert "| x | 2.000 | 2.010 | +0.50 % |" in written


def test_equal_counts_have_no_deviation() -> None:
    assert deviation_text(Row("x", 3, 3)) == "none"
    assert deviation_text(Row("x", 0, 3)) == "–"
