"""The shipped source documents: complete, and nothing in them asserted without a control."""

from __future__ import annotations

import pytest

from netwarp.errors import StudyError
from netwarp.plan import plan_study
from netwarp.sources import find_sources, load_source
from netwarp.sources.controls import control_study
from netwarp.study import Study, load_study, study_from_mapping

STUDIES = [
    (f"{name}/{path.stem}{' --quick' if quick else ''}", path, quick)
    for name, folder in find_sources().items()
    for path in load_source(folder).studies
    for quick in (False, True)
]


@pytest.fixture(params=STUDIES, ids=[name for name, _, _ in STUDIES])
def study(request: pytest.FixtureRequest) -> Study:
    _, path, quick = request.param
    return load_study(path, quick=quick)


def test_every_control_is_a_study_that_can_be_planned(study: Study) -> None:
    for control in study.controls:
        changed = control_study(study, control)
        assert plan_study(changed)
        assert {claim.id for claim in changed.claims} == {
            claim.id for claim in study.claims if claim.control == control.id
        }


def test_every_explanation_names_its_control(study: Study) -> None:
    assert [claim.id for claim in study.claims if claim.why and not claim.control] == []


def test_what_no_author_claims_is_said_to_be_ours(study: Study) -> None:
    for claim in study.claims:
        assert claim.source is not None
        assert claim.authors != claim.source.startswith("ours"), claim.id


def test_a_control_that_no_claim_names_is_refused() -> None:
    tables = {
        "title": "t",
        "workload": {"size": "1MB"},
        "factors": {"transport": ["tcp", "quic"]},
        "control": [{"id": "x", "text": "t", "change": {}}],
    }
    with pytest.raises(StudyError, match="no claim names it"):
        study_from_mapping(tables)
