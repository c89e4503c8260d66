"""Does this machine give the records that others got? Held against hashes in the repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from netwarp.sources.shipped import shipped_studies
from reference_hashes import hashes_of, kernel_name, references, sample, studies


def test_references_are_of_runs_that_there_are() -> None:
    planned = {name: {run.run for run in sample(path)} for name, path in studies().items()}
    assert references()
    for kernel, kept in references().items():
        for name, hashes in kept.items():
            assert hashes.keys() == planned[name], f"{kernel}: {name}"


@pytest.mark.parametrize("study", sorted({name for kept in references().values() for name in kept}))
def test_this_machine_agrees(study: str, tmp_path: Path) -> None:
    """A difference is a defect, or a change that alters records: then `make reference-hashes`."""
    kept = references().get(kernel_name())
    if kept is None:
        pytest.skip(f"no references of kernel {kernel_name()}: `make reference-hashes` adds them")
    assert hashes_of(shipped_studies()[study], tmp_path) == kept[study]
