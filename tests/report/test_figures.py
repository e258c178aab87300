"""Figures: the same bytes from the same data, readable without colour, and no state left behind."""

import itertools
import subprocess
import sys

import matplotlib
import numpy as np
import pytest

from tsgrad.report import charts, training_charts
from tsgrad.report.style import ACCENT, MARKERS, METADATA, SERIES_COLOURS, figure_bytes, save_figure, spread

RANDOM = np.random.default_rng(0)
CURVES = {
    name: training_charts.Curve(np.arange(200), 15 + 10 * np.exp(-np.arange(200) / 20) + RANDOM.normal(size=200))
    for name in ("obs/null", "mean/null", "bayes/null", "mean/oracle", "mean/self", "stable")
}
ARMS = RANDOM.uniform(1, 9, size=(2, 5))
NAMES = ("plain", "trained")
DRAWN = {
    "ranking": lambda: charts.ranking(
        {"plain": (25.0, 0.2), "trained": (15.0, 0.1)},
        trained="trained",
        reference="plain",
        bound=10.0,
    ),
    "regret over time": lambda: charts.regret_over_time(
        {"plain": np.arange(9.0), "trained": np.sqrt(np.arange(9.0)), "other": np.ones(9)},
        trained="trained",
        reference="plain",
    ),
    "pulls": lambda: charts.pulls_per_arm(*ARMS, list("abcde"), names=NAMES),
    "phases": lambda: charts.regret_by_phase(*ARMS, list("abcde"), names=NAMES),
    "learning curves": lambda: training_charts.learning_curves(
        CURVES, rivals={"rival": 20.0, "other": 18.0}, strong="stable"
    ),
    "meta-parameters": lambda: training_charts.meta_parameters(
        {"prior_mean": np.zeros(5), "decay": np.zeros(5)}, {"prior_mean": ARMS[0], "decay": ARMS[1]}, list("abcde")
    ),
    "pulls in training": lambda: training_charts.pulls_during_training({1: ARMS[0], 334: ARMS[1], 1000: ARMS[0] ** 2}),
}


@pytest.mark.parametrize("draw", DRAWN.values(), ids=DRAWN)
def test_same_data_same_bytes(draw):
    for kind in METADATA:
        first, second = figure_bytes(draw(), kind), figure_bytes(draw(), kind)
        assert first == second, kind


def test_files_are_what_they_are_called_and_say_nothing_of_when(tmp_path):
    paths = save_figure(DRAWN["pulls"](), tmp_path, "pulls")
    contents = {path.suffix: path.read_bytes() for path in paths}
    assert contents[".png"].startswith(b"\x89PNG")
    assert contents[".pdf"].startswith(b"%PDF")
    assert b"<svg" in contents[".svg"]
    assert b"CreationDate" not in contents[".pdf"]
    assert b"<dc:date>" not in contents[".svg"]
    assert {path.name for path in tmp_path.iterdir()} == {"pulls.png", "pulls.svg", "pulls.pdf"}


def test_lines_differ_in_more_than_colour():
    (axes,) = training_charts.learning_curves(CURVES, rivals={"one": 20.0, "two": 18.0}).axes
    looks = [(line.get_marker(), line.get_linestyle(), line._dash_pattern) for line in axes.lines if line.get_clip_on()]
    assert len(looks) == len(CURVES) + 2
    assert len(set(map(str, looks))) == len(looks)


# Colours as people see them who lack the red, the green or the blue cones (Machado, Oliveira and Fernandes, 2009,
# severity 1), in linear RGB.
BLINDNESS = {
    "none": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
}


def lab(colour, seen_as):
    """CIE L*a*b* of a colour under D65."""
    rgb = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.asarray(seen_as) @ linear, 0, 1)
    to_xyz = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
    xyz = np.asarray(to_xyz) @ seen / [0.95047, 1.0, 1.08883]
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("blindness", BLINDNESS)
def test_colours_can_be_told_apart(blindness):
    """Ten units of L*a*b*, several times what can just be noticed (2.3), for any two of the series."""
    seen = [lab(colour, BLINDNESS[blindness]) for colour in (ACCENT, *SERIES_COLOURS)]
    assert min(np.linalg.norm(first - second) for first, second in itertools.combinations(seen, 2)) > 10
    assert len(set(MARKERS)) > len(SERIES_COLOURS)


def test_labels_are_moved_apart_no_further_than_needed():
    """Against brute force over which neighbours touch: the least sum of squares."""
    for _ in range(20):
        heights = np.sort(RANDOM.uniform(0, 3, size=5))
        placed = spread(heights, 0.5)
        assert np.all(np.diff(placed) >= 0.5 - 1e-9)
        assert np.sum((placed - heights) ** 2) == pytest.approx(_least_squares(heights, 0.5), abs=1e-9)


def _least_squares(heights, gap):
    best = np.inf
    for touching in itertools.product([False, True], repeat=len(heights) - 1):
        groups = np.concatenate([[0], np.cumsum(~np.array(touching))])
        placed = np.empty(len(heights))
        for group in range(groups[-1] + 1):
            members = np.flatnonzero(groups == group)
            steps = gap * np.arange(len(members))
            placed[members] = np.mean(heights[members] - steps) + steps
        if np.all(np.diff(placed) >= gap - 1e-9):
            best = min(best, np.sum((placed - heights) ** 2))
    return best


def test_far_rivals_are_named_and_not_drawn():
    rivals = {"near": 20.0, "far": 90.0}
    assert training_charts.rivals_off_the_chart(CURVES, rivals) == ["far"]
    (axes,) = training_charts.learning_curves(CURVES, rivals=rivals).axes
    assert axes.get_ylim()[1] < 40
    assert "far" not in {text.get_text() for text in axes.texts}


def test_many_arms_become_a_line():
    arms = np.arange(50.0)
    (axes,) = charts.pulls_per_arm(arms, arms, [str(arm) for arm in range(50)], names=NAMES).axes
    assert not axes.patches
    assert len(axes.lines) == 2


def test_no_state_is_left_behind():
    before = dict(matplotlib.rcParams)
    figure_bytes(DRAWN["learning curves"](), "svg")
    assert dict(matplotlib.rcParams) == before
    code = "import sys, tsgrad.report; print('matplotlib.pyplot' in sys.modules)"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "False"
