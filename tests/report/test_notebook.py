"""What results show in notebooks: tables and images within the HTML, figures to keep, and nothing that runs."""

import html
import re

import pytest
from matplotlib.figure import Figure

import tsgrad as tg


@pytest.fixture(scope="module")
def run():
    problem = tg.GaussianBandit(arms=2)
    return tg.train(problem, horizon=4, episodes=256, iterations=3, validation_episodes=512, check_every=1)


@pytest.fixture(scope="module")
def comparison():
    policies = {"plain": tg.Thompson(), "<b>greedy</b>": tg.Greedy()}
    return tg.compare(tg.GaussianBandit(arms=2), policies, horizon=4, episodes=512, seed=1)


def test_a_comparison_is_a_table_and_a_chart(comparison):
    shown = comparison._repr_html_()
    cells = re.findall(r"<td[^>]*>(.*?)</td>", shown)
    assert "plain" in cells
    assert "&lt;b&gt;greedy&lt;/b&gt;" in cells  # names are shown, not obeyed
    assert shown.count("data:image/svg+xml;base64,") == 1
    assert "<script" not in shown


def test_a_run_says_what_it_gained_and_changed(run):
    shown = run._repr_html_()
    assert html.escape(str(run)) in shown
    for name in run.trained.meta_parameters():
        assert f">{name}</td>" in shown
    assert 'alt="Learning curve.' in shown


def test_a_policy_shows_its_meta_parameters():
    shown = tg.ReshapedThompson(tg.GaussianBandit(arms=2))._repr_html_()
    assert re.findall(r"<td[^>]*>([^<]*)</td>", shown)[:2] == ["prior_mean", "0 0"]


def test_figures_can_be_kept(run, comparison, tmp_path):
    for number, shown in enumerate((run, comparison)):
        figure = shown.plot()
        assert isinstance(figure, Figure)
        figure.savefig(tmp_path / f"{number}.png")
