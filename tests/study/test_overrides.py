"""Overrides of a study's keys, and studies that options make."""

from pathlib import Path
from typing import Any

import pytest

from netwarp.errors import StudyError
from netwarp.plan import plan_study
from netwarp.study import load_study
from netwarp.study.compare import study_from_compare
from netwarp.study.overrides import apply_overrides
from netwarp.workloads.bulk.section import BulkSection
from study.good_study import GOOD, write
from support import bulk


def test_overrides_change_keys_and_factors(tmp_path: Path) -> None:
    study = load_study(
        write(tmp_path, GOOD),
        overrides=[
            "path.rtt=50ms",
            "transport.initial_window=4",
            'factors.path.loss=["1%", "5%"]',
            "workload.verify=false",
        ],
        replicates=7,
        seed=9,
    )
    assert (study.replicates, study.seed) == (7, 9)
    cell = study.cells[0].sections
    assert cell.path.rtt_ns == 50_000_000
    assert cell.transport.initial_window_packets == 4
    assert isinstance(cell.workload, BulkSection)
    assert cell.workload.verify is False
    assert len(study.factor("path.loss").levels) == 2


def test_overrides_leave_the_tables_alone() -> None:
    raw = {"path": {"rtt": "1ms"}}
    assert apply_overrides(raw, ["path.rtt=2ms"]) == {"path": {"rtt": "2ms"}}
    assert raw == {"path": {"rtt": "1ms"}}


@pytest.mark.parametrize(
    ("override", "part"),
    [
        ("path.rtt", "not KEY=VALUE; such as --set path.rtt=50ms"),
        ("path.loss=1%", "the study varies it; pick a level with --filter path.loss=LEVEL"),
        ("transport=tcp", "the study varies it"),
        ("title.x=1", "title is not a table"),
        ("path.rrt=1ms", 'did you mean "rtt"?'),
    ],
)
def test_overrides_without_effect_are_refused(tmp_path: Path, override: str, part: str) -> None:
    with pytest.raises(StudyError) as caught:
        load_study(write(tmp_path, GOOD), overrides=[override])
    assert part in str(caught.value)


@pytest.mark.parametrize(
    ("override", "key", "labels"),
    [
        ("path.loss=0%, 5%", "path.loss", ["0%", "5%"]),
        ("path.rtt=1ms,2ms", "path.rtt", ["1ms", "2ms"]),
        ("path.mtu=1400,1500", "path.mtu", ["1400", "1500"]),
        ("transport=quic,tcp", "transport", ["quic", "tcp"]),
        ("factors.path.loss=1%,5%", "path.loss", ["1%", "5%"]),
    ],
)
def test_an_override_with_commas_gives_levels(
    tmp_path: Path, override: str, key: str, labels: list[str]
) -> None:
    text = GOOD[: GOOD.index("[[claim]]")]
    study = load_study(write(tmp_path, text), overrides=[override])
    assert [level.label for level in study.factor(key).levels] == labels
    # As a file may have it, too.
    nested = text.replace('"path.loss" = ["0%", "1%", "5%"]', 'path.loss = ["0%", "1%", "5%"]')
    again = load_study(write(tmp_path, nested), overrides=[override])
    assert [level.label for level in again.factor(key).levels] == labels


def test_a_comma_in_a_text_is_a_comma(tmp_path: Path) -> None:
    study = load_study(write(tmp_path, GOOD), overrides=["title=a, b", 'description="c, d"'])
    assert (study.title, study.description) == ("a, b", "c, d")


def test_compare_makes_lists_factors_and_single_values_fixed() -> None:
    study = study_from_compare(
        transport=["tcp", "quic"],
        rtt=["50ms", "200ms"],
        loss=["0%", "1%"],
        rate="50mbit",
        mtu=["1400"],
        size=["10MB"],
        replicates=4,
        seed=3,
    )
    assert [factor.key for factor in study.factors] == ["transport", "path.rtt", "path.loss"]
    assert (study.replicates, study.seed) == (4, 3)
    assert len(plan_study(study)) == 2 * 2 * 2 * 4
    assert study.cells[0].sections.path.mtu_bytes == 1400
    assert [figure.x for figure in study.figures] == ["path.rtt", "path.loss"]


@pytest.mark.parametrize(
    ("options", "start"),
    [
        ({"loss": ["0%", "120%"]}, 'compare: --loss = "120%": more than 100 %'),
        ({"loss_up": ["-1%"]}, 'compare: --loss-up = "-1%": a percentage cannot be'),
        ({"los": ["1%"]}, 'compare: --los: unknown option; did you mean "loss"?'),
        ({"transport": ["quick"]}, 'compare: --transport = "quick": unknown; did you mean'),
        ({"transport": ["sctp"], "congestion": ["reno"]}, 'compare: --congestion = "reno": sctp'),
        ({"replicates": 0}, "compare: --replicates = 0: too small"),
    ],
)
def test_compare_names_the_option_to_blame(options: dict[str, Any], start: str) -> None:
    arguments: dict[str, Any] = {"transport": ["tcp"], "size": ["1MB"]} | options
    with pytest.raises(StudyError) as caught:
        study_from_compare(**arguments)
    assert str(caught.value).startswith(start)


def test_compare_finds_a_file_where_the_command_was_given(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"abc")
    study = study_from_compare(transport=["tcp"], file="data", folder=tmp_path)
    assert bulk(plan_study(study)[0].job).content.size_bytes == 3
