"""Settings of the local pages that are accepted are answered: each is run, with one replicate."""

from __future__ import annotations

import os
from itertools import count, islice
from pathlib import Path

import pytest

from netwarp.errors import InputError
from netwarp.ui.address import options_of
from netwarp.ui.what_if import WhatIf, study_of
from ui.settings import Pairs, settings, shortened

COUNT = int(os.environ.get("NETWARP_SETTINGS_RUN", "6"))
FIRST = int(os.environ.get("NETWARP_SETTINGS_SEED", "1"))
MOST_CELLS = 8


def accepted(first: int, number: int) -> list[tuple[int, Pairs]]:
    """Return the first settings from a seed on that are accepted and small, each with its seed."""

    def is_accepted(pairs: Pairs) -> bool:
        try:
            study = study_of(options_of(pairs))
        except InputError:
            return False
        return len(study.cells) * study.replicates <= MOST_CELLS

    each = ((seed, shortened(settings(seed))) for seed in count(first))
    return list(islice(((seed, pairs) for seed, pairs in each if is_accepted(pairs)), number))


@pytest.mark.guest
@pytest.mark.parametrize(("seed", "pairs"), accepted(FIRST, COUNT))
def test_an_accepted_setting_is_answered(seed: int, pairs: Pairs, tmp_path: Path) -> None:
    events = list(WhatIf(pairs, tmp_path)._answers())
    assert [name for name, _ in events[:1]] == ["started"], (seed, pairs)
    last, said = events[-1]
    assert last == "answer", (seed, pairs, said)
    assert said["failures"] == [], (seed, pairs)
    assert said["metrics"], (seed, pairs)
