"""Which cells of a study need ns-3, and how the others are chosen."""

from __future__ import annotations

from typing import Any

import pytest

from netwarp.plan import filter_cells
from netwarp.plan.without import kernel_filters, needs_ns3
from netwarp.study import Study, study_from_mapping

FLOW = {"kind": "flow", "direction": "up", "interval": "1ms", "count": 10}


def study(transports: list[Any], models: list[str] | None = None) -> Study:
    """Make a study of a flow over these transports, and these models where they are a factor."""
    factors: dict[str, Any] = {"transport": transports}
    if models is not None:
        factors["transport.model"] = models
    return study_from_mapping(
        {"title": "t", "path": {"rate": "1mbit"}, "workload": FLOW, "factors": factors}
    )


NS3 = {"kind": "udp", "model": "ns3", "label": "udp-ns3"}


@pytest.mark.parametrize(
    ("asked", "filters", "cells"),
    [
        (study(["udp", "tcp"], ["ns3default", "kernel"]), ["transport.model=kernel"], 2),
        (study([NS3, "udp", "tcp"]), ["transport=udp", "transport=tcp"], 2),
        (study(["udp"], ["ns3default", "ns3"]), None, 0),
    ],
)
def test_cells_of_the_kernel_are_chosen_by_filters(
    asked: Study, filters: list[str] | None, cells: int
) -> None:
    assert needs_ns3(asked)
    assert kernel_filters(asked) == filters
    if filters is not None:
        assert len(filter_cells(asked, filters)) == cells
        assert not needs_ns3(asked, filters)


def test_a_study_of_the_kernel_needs_no_ns3() -> None:
    assert not needs_ns3(study(["udp", "tcp"]))
