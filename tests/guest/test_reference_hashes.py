"""Does this machine give the records that others got? Held against hashes in the repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from netwarp.sources.shipped import shipped_studies
from reference_hashes import hashes_of, kernel_name, references, studies


def test_every_study_to_start_from_has_references() -> None:
    for kernel, kept in references().items():
        assert kept.keys() == studies().keys(), kernel


@pytest.mark.parametrize("study", sorted({name for kept in references().values() for name in kept}))
def test_this_machine_agrees(study: str, tmp_path: Path) -> None:
    """A difference is a defect, or a change that alters records: then `make reference-hashes`."""
    kept = references().get(kernel_name())
    if kept is None:
        pytest.skip(f"no references of kernel {kernel_name()}: `make reference-hashes` adds them")
    assert hashes_of(shipped_studies()[study], tmp_path) == kept[study]
