"""The picture of published numbers against ours."""

import re

from netwarp.figures.published import Point, interval_of, published_chart

POINTS = [
    Point(1, "rfc: window", 12, 14.5, 14, 15, False),
    Point(2, "rfc: window", 5926, 5800, 5800, 5800, True),
    Point(3, "l4s: share (%)", 42.1, 40, 35, 45, True),
]


def test_every_point_is_numbered_and_has_its_interval() -> None:
    spec = published_chart(POINTS).spec
    windows, shares = spec["vconcat"]
    rows = windows["data"]["values"] + shares["data"]["values"]
    assert sorted(row["number"] for row in rows) == ["1", "2", "3"]
    assert {(row["published"], row["ours"], row["low"], row["high"]) for row in rows} == {
        (12, 14.5, 14, 15), (5926, 5800, 5800, 5800), (42.1, 40, 35, 45)
    }  # fmt: skip
    texts = [layer for layer in windows["layer"] if layer["mark"]["type"] == "text"]
    shown = {re.findall(r"\d", layer["transform"][0]["filter"])[0] for layer in texts}
    assert {str(row["side"]) for row in rows} <= shown, "a label of every side is drawn"


def test_a_panel_of_far_apart_numbers_has_logarithmic_axes_and_both_the_same() -> None:
    windows, shares = published_chart(POINTS).spec["vconcat"]
    for panel, kind in ((windows, "log"), (shares, "linear")):
        encoding = panel["layer"][2]["encoding"]
        assert encoding["x"]["scale"] == encoding["y"]["scale"]
        assert encoding["x"]["scale"]["type"] == kind


def test_the_title_counts_what_agrees() -> None:
    assert published_chart(POINTS).alt.endswith("2 of 3 agree.")


def test_an_interval_without_ends_is_drawn_as_the_value() -> None:
    assert interval_of(3.0, None) == (3.0, 3.0)
    assert interval_of(3.0, (0.0, float("inf"))) == (3.0, 3.0)
    assert interval_of(3.0, (2.0, 4.0)) == (2.0, 4.0)
