"""The matrix of verdicts under what reviewers ask for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import sensitivities
from netwarp.errors import BackendError, NetwarpError, RunDirectoryError, StudyError
from netwarp.study import Study
from netwarp.study.claims import Claim
from sensitivities import (
    AGGREGATED,
    AS_IT_IS,
    NOT_OF_IT,
    ONE_BY_ONE,
    Change,
    Judged,
    changed,
    first_claims,
    page,
)


@pytest.fixture(scope="module")
def claims() -> dict[str, tuple[Study, Claim]]:
    return {name: (study, claim) for name, study, claim in first_claims(["rfc-9438", "ware-2019"])}


def test_of_each_quick_study_the_first_claim_of_the_source_is_taken(
    claims: dict[str, tuple[Study, Claim]],
) -> None:
    found = {name: claim.id for name, (_, claim) in claims.items()}
    assert found == {
        "rfc-9438/linux-1e-2": "reno-1e-2",
        "rfc-9438/linux-1e-3": "reno-1e-3",
        "ware-2019/number": "forty-percent",
    }, "ware-2019/queue has hypotheses of ours alone, the rest of rfc-9438 no quick version"


def test_a_change_is_laid_over_the_paths_of_all_cells(
    claims: dict[str, tuple[Study, Claim]],
) -> None:
    study, claim = claims["rfc-9438/linux-1e-3"]
    as_it_is, together = (changed(study, claim, each) for each in (AS_IT_IS, AGGREGATED[0]))
    assert [len(each.claims) for each in (as_it_is, together)] == [1, 1]
    for before, after in zip(as_it_is.cells, together.cells, strict=True):
        near, far = before.template.paths[0].down, after.template.paths[0].down
        assert near != far
        assert far == near.model_copy(update={"aggregate_ns": 50_000})
    kernel = changed(study, claim, Change("k", "Linux 6.12", {"kernel": "6.12"}))
    assert {each.template.kernel for each in kernel.cells} == {"6.12"}


def test_a_change_of_tcp_is_one_of_the_transports_that_a_study_has(
    claims: dict[str, tuple[Study, Claim]], tmp_path: Path
) -> None:
    study, claim = claims["rfc-9438/linux-1e-3"]
    single = changed(study, claim, ONE_BY_ONE)
    assert {each.template.workloads[0].transport.tcp.tso_packets for each in single.cells} == {1}
    of_quic = Change("q", "QUIC", ONE_BY_ONE.keys, ("quic",))
    assert sensitivities._word(study, claim, of_quic, tmp_path) == NOT_OF_IT


@pytest.mark.parametrize("error", [BackendError("no kernel"), RunDirectoryError("disk full")])
def test_only_what_a_study_refuses_is_a_refusal(
    claims: dict[str, tuple[Study, Claim]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    error: NetwarpError,
) -> None:
    study, claim = claims["rfc-9438/linux-1e-3"]
    raised: list[NetwarpError] = [StudyError("not with this stack", file="s.toml"), error]

    def run(*_: Any, **__: Any) -> None:
        raise raised.pop(0)

    monkeypatch.setattr(sensitivities, "run", run)
    monkeypatch.setattr(sensitivities, "VirtualBackend", lambda: None)
    assert sensitivities._word(study, claim, AS_IT_IS, tmp_path) == sensitivities.REFUSED
    with pytest.raises(type(error), match=str(error)):
        sensitivities._word(study, claim, AS_IT_IS, tmp_path)


def test_verdicts_that_were_decided_differently_are_counted_and_marked() -> None:
    words = ("reproduced", "undecided", "refused", "reproduced", "opposite")
    row = Judged("a/b", "it is so", words)
    open_first = Judged("a/c", "so too", ("undecided", "reproduced", "missed", "missed", "refused"))
    same = Judged("a/d", "and so", ("undecided", "missed", "missed", "undecided", "missed"))
    never = Judged("a/e", "or not", ("undecided",) * 5)
    assert [each.flips for each in (row, open_first, same, never)] == [True, True, False, False]
    changes = [AS_IT_IS, *AGGREGATED]
    text = page([row, open_first, same, never], changes, ["c/d (99 s)"], 13)
    assert "**2 of 4 claims are decided differently" in text
    assert (
        "| a/b: it is so | reproduced | undecided | refused | reproduced | **opposite** |" in text
    )
    assert "| undecided | reproduced | **missed** | **missed** | refused |" in text
    assert "(`--most` 13): c/d (99 s)." in text
    assert (
        "1 more were left out: their cells are expected to take more than 13 s of CPU time." in text
    )
    assert "no other kernel (not tried here: `--kernel`)" in text
    other = [*changes, Change("k", "Linux 6.12", {"kernel": "6.12"})]
    assert "and Linux 6.12." in page([row], other, [], 13)
