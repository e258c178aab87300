"""The figure of estimators: what it shows, in which files."""

import pytest

from tsgrad.evaluate import PairReport, VarianceStudy
from tsgrad.report.variance_chart import variance_chart, write_variance_chart


def pair(name, engine, trace, microseconds, largest_z):
    return PairReport(name, engine, 256, trace, 0.1, microseconds, 0.0, 0.1, largest_z)


STUDY = VarianceStudy(
    (
        pair("bayes/oracle", "native", 1.0, 1.0, 9.0),  # the cheapest, but biased
        pair("mean/self", "native", 3.0, 2.0, 0.0),
        pair("q/value", "jax", 0.5, 900.0, 1.0),
    ),
    "mean/self",
    4.0,
    50,
    0,
)


def test_what_it_shows():
    figure = variance_chart(STUDY)
    panels = figure.axes
    assert [label.get_text() for label in panels[0].get_yticklabels()] == [
        "bayes/oracle (biased)",
        "mean/self",
        "q/value",
    ]
    assert [label.get_fontweight() for label in panels[0].get_yticklabels()] == ["normal", "bold", "normal"]
    shown = [[(float(line.get_xdata()[0]), line.get_ydata()[0]) for line in axes.get_lines()] for axes in panels]
    assert shown[0] == [(1, 0), (3, 1), (0.5, 2)]
    assert shown[1] == [(1, 0), (2, 1), (900, 2)]
    assert [x for x, _ in shown[2]] == pytest.approx([1 / 6, 1, 75])
    markers = [(line.get_marker(), line.get_markerfacecolor()) for line in panels[0].get_lines()]
    assert len(set(markers)) == 3  # told apart without colour
    assert "mean/self" in figure.get_suptitle()
    assert all(axes.get_xscale() == "log" for axes in panels)


def test_files(tmp_path):
    first = [path.read_bytes() for path in write_variance_chart(STUDY, tmp_path / "a")]
    again = [path.read_bytes() for path in write_variance_chart(STUDY, tmp_path / "b")]
    assert sorted(path.suffix for path in tmp_path.iterdir()) == sorted([".png", ".svg", ".pdf"] * 2)
    assert first == again
    assert (first[0][:4], first[1][:5], first[2][:4]) == (b"\x89PNG", b"<?xml", b"%PDF")
