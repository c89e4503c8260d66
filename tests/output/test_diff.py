"""Two run directories held against each other: what changed, what did not, what only one has."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

import support
from netwarp.cli.printing import print_differences
from netwarp.errors import InputError, RunDirectoryError
from netwarp.estimate.comparison import Verdict
from netwarp.evaluation import RunData, load
from netwarp.output.diff import Difference, differences, differences_json
from netwarp.results import Results


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> RunData:
    data = load(support.write_run_directory(tmp_path_factory.mktemp("before") / "out"))
    return replace(data, results=support.results(failed_run=None))


def difference(before: RunData, after: RunData, metric: str | None = None) -> Difference:
    return differences(before, after, [] if metric is None else [metric])[0]


def slower_quic(data: RunData, factor: float) -> RunData:
    """The same with QUIC's times changed under 5 % loss."""
    runs = tuple(
        replace(run, metrics=dict(run.metrics) | {"completion_time_s": changed * factor})
        if run.factors["transport"] == "quic"
        and run.factors["path.loss"] == "5%"
        and (changed := run.value("completion_time_s")) is not None
        else run
        for run in data.results.runs
    )
    return replace(data, results=Results(runs))


def printed(found: list[Difference]) -> str:
    text = io.StringIO()
    print_differences(found, Console(file=text, width=200))
    return text.getvalue()


def test_only_the_cells_that_changed_are_said_to_have(before: RunData) -> None:
    found = difference(before, slower_quic(before, 1.2))
    assert len(found.cells) == 24
    assert len(found.unchanged) == 22
    assert [dict(cell.factors)["path.loss"] for cell in found.changed] == ["5%", "5%"]
    assert found.changed[0].comparison.effect == pytest.approx(1.2)
    assert found.conditions == ()


def test_a_change_below_relevance_is_none(before: RunData) -> None:
    many = replace(before, results=support.results(40, failed_run=None))
    found = difference(many, slower_quic(many, 1.000_01))
    assert found.changed == ()
    assert len(found.unchanged) == 24


def test_ten_replicates_show_no_equivalence_and_say_how_many_would(before: RunData) -> None:
    """An event in one run of ten is missed by ten replicates in 35 %."""
    found = difference(before, slower_quic(before, 1.000_01))
    assert [len(each) for each in (found.changed, found.unchanged, found.cells)] == [0, 22, 24]
    assert "2 of 24 are undecided: about 36 replicates would decide them all." in printed([found])


def test_runs_in_two_modes_have_not_changed_by_chance(before: RunData) -> None:
    """Of four replicates, none of the later ones waited for a time-out and all earlier ones did."""
    few = Results(tuple(run for run in before.results.runs if run.replicate < 4))
    earlier = replace(before, results=few)
    assert difference(earlier, slower_quic(earlier, 0.4)).changed == ()
    again = slower_quic(before, 0.4)
    assert len(difference(before, again).changed) == 2


def test_one_replicate_with_the_same_value_is_unchanged(before: RunData) -> None:
    alone = replace(
        before, results=Results(tuple(r for r in before.results.runs if r.replicate == 0))
    )
    found = difference(alone, alone)
    assert (len(found.unchanged), found.changed) == (24, ())
    assert {cell.comparison.verdict for cell in found.cells} == {Verdict.IDENTICAL}


def test_cells_and_conditions_of_one_alone_are_named(before: RunData) -> None:
    some = Results(tuple(r for r in before.results.runs if r.factors["transport"] != "tls"))
    provenance = dict(before.provenance) | {"kernel": {"version": "9.9"}}
    after = replace(before, results=some, provenance=provenance)
    found = difference(before, after)
    assert (len(found.cells), len(found.only_before), found.only_after) == (18, 6, ())
    assert found.conditions == (("kernel", "7.2.9", "9.9"),)
    text = io.StringIO()
    print_differences([found], Console(file=text, width=200))
    assert "kernel: 7.2.9 → 9.9" in text.getvalue()
    assert "completion time of 18 cells: 0 changed, 18 did not, 0 undecided" in text.getvalue()
    assert "only before: TLS, loss 0 %, RTT 50 ms; " in text.getvalue()
    assert text.getvalue().endswith("and 1 more\n")


def test_a_single_cell_is_one_cell(before: RunData) -> None:
    cell = before.results.cells[0].factors
    some = Results(tuple(run for run in before.results.runs if run.factors == cell))
    text = io.StringIO()
    alone = replace(before, results=some)
    print_differences([difference(alone, alone)], Console(file=text, width=200))
    assert "completion time of 1 cell: 0 changed, 1 did not" in text.getvalue()


def test_another_kernel_of_the_same_version_is_another_condition(before: RunData) -> None:
    kernels = [{"version": "7.2.9", "key": f"7.2.9-{key}"} for key in ("aa", "bb")]
    one, two = (
        replace(before, provenance={**before.provenance, "kernel": kernel}) for kernel in kernels
    )
    assert difference(one, two).conditions == (("kernel", "7.2.9-aa", "7.2.9-bb"),)


def test_a_change_is_printed_with_both_values_and_its_verdict(before: RunData) -> None:
    text = io.StringIO()
    print_differences(differences(before, slower_quic(before, 1.2)), Console(file=text, width=200))
    first, second, *_ = text.getvalue().splitlines()
    assert first == "QUIC, loss 5 %, RTT 50 ms"
    mean = r"[0-9.]+ ± [0-9.]+"
    assert re.fullmatch(rf"    {mean} → {mean} s, 1.20× slower \[1.20, 1.20\]", second)


def test_the_object_for_scripts_has_every_cell(before: RunData) -> None:
    found = json.loads(json.dumps(differences_json(differences(before, slower_quic(before, 1.2)))))
    assert (found["metric"], found["unit"], len(found["cells"])) == ("completion_time_s", "s", 24)
    changed = [cell for cell in found["cells"] if cell["verdict"] == "more"]
    assert len(changed) == 2
    assert changed[0]["after"] == pytest.approx(1.2 * changed[0]["before"])


def test_several_metrics_are_a_question_each(before: RunData) -> None:
    found = differences(before, slower_quic(before, 1.2), ["completion_time_s", "connect_time_s"])
    assert [each.metric for each in found] == ["completion_time_s", "connect_time_s"]
    assert [len(each.changed) for each in found] == [2, 0]
    text = printed(found)
    assert "completion time of 24 cells: 2 changed, 22 did not, 0 undecided" in text
    assert "connection time of 24 cells: 0 changed, 24 did not, 0 undecided" in text
    json_ = differences_json(found)
    assert [each["metric"] for each in json_["by_metric"]] == [
        "completion_time_s",
        "connect_time_s",
    ]


def test_against_a_level_it_is_the_ratio_to_it_that_changed(before: RunData) -> None:
    """TCP and QUIC both take twice as long: against TCP nothing has changed, but for TLS, SCTP."""
    runs = tuple(
        replace(run, metrics={"completion_time_s": 2 * (run.value("completion_time_s") or 0)})
        if run.factors["transport"] in ("tcp", "quic")
        else run
        for run in before.results.runs
    )
    after = replace(before, results=Results(runs))
    (found,) = differences(before, after, ["completion_time_s"], {"transport": "tcp"})
    assert len(found.cells) == 18
    assert {cell.factors["transport"] for cell in found.changed} == {"tls", "sctp"}
    assert {cell.factors["transport"] for cell in found.unchanged} == {"quic"}
    assert found.changed[0].comparison.effect == pytest.approx(0.5)
    text = printed([found])
    assert re.search(r"    [0-9.]+× → [0-9.]+× TCP, 2.00× faster \[2.00, 2.00\]", text)
    assert "completion time, against TCP, of 18 cells: 12 changed, 6 did not" in text
    assert differences_json([found])["against"] == {"transport": "tcp"}


def test_a_metric_or_a_level_that_one_lacks_is_refused(before: RunData) -> None:
    with pytest.raises(InputError, match="--metric stall_s: no run has it; "):
        difference(before, before, "stall_s")
    with pytest.raises(InputError, match="--against transport=tpc: no run has it; did you mean"):
        differences(before, before, [], {"transport": "tpc"})


def test_the_directories_must_have_results(tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match="not a run directory"):
        load(tmp_path)


def test_both_values_have_one_unit_and_no_line_ends_within_a_number(before: RunData) -> None:
    fast = slower_quic(before, 1e-2)
    text = io.StringIO()
    print_differences(differences(fast, slower_quic(fast, 1.3)), Console(file=text, width=60))
    lines = text.getvalue().splitlines()
    assert max(map(len, lines)) <= 60
    values = [line for line in lines if "→" in line]
    assert len(values) == 2
    for value in values:
        earlier, later = value.split(" → ")
        assert not earlier.endswith("s"), "the unit is said once"
        assert re.search(r" m?s(, |$)", later), later


def test_directories_without_a_common_cell_are_refused_with_what_keeps_them_apart(
    before: RunData,
) -> None:
    runs = before.results.runs
    moved = [replace(run, factors={**run.factors, "path.rtt": "7ms"}) for run in runs]
    after = replace(before, results=Results(tuple(moved)))
    told = r"no cell is in both .*: path.rtt is 50ms, 200ms before and 7ms after$"
    with pytest.raises(InputError, match=told):
        differences(before, after)
    bare = [replace(run, factors={"transport": run.factors["transport"]}) for run in runs]
    with pytest.raises(InputError, match=r"path.loss is .* before and no factor after"):
        differences(before, replace(before, results=Results(tuple(bare))))
