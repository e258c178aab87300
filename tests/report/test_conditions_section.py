"""The experiment as it is run, in a report."""

import pytest

import tsgrad as tg
from tsgrad.problems import assumed
from tsgrad.report.conditions_section import conditions_section
from tsgrad.report.run_report import run_report
from tsgrad.report.style import figure_bytes
from tsgrad.report.summary import Words, prior_words


@pytest.mark.long
@pytest.mark.formulas
def test_a_run_under_conditions_says_so_and_shows_one_experiment(tmp_path):
    conditions = tg.Conditions(batch=30, delay=1, floor=0.05, after=50)
    tg.train(
        tg.GaussianBandit(arms=7),
        horizon=3,
        episodes=256,
        iterations=2,
        validation_episodes=256,
        conditions=conditions,
        out=tmp_path / "run",
    )
    report = run_report(tmp_path / "run", episodes=256, rivals=False, without=tmp_path / "run")
    (section,) = [section for section in report.sections if section.heading == "The experiment as it is run"]
    assert section.paragraphs[0] == (
        "The experiment: 3 steps of 30 users; rewards are seen 1 step late; every arm gets at least 5% of the users;"
        " 50 users get the best arm afterwards."
    )
    assert section.paragraphs[1].startswith("The first 2 batches are blind: nothing is known yet. That costs ")
    assert " is the rest: " in section.paragraphs[1]
    assert report.subtitle.startswith("3 steps of 30 users; rewards are seen 1 step late; ")
    assert "goes to 50 more users" in section.paragraphs[2]
    assert section.paragraphs[3].startswith("A policy trained without these conditions has regret ")
    assert section.paragraphs[3].endswith("the same as this one within chance.")
    (picture,) = [block for block in report.summary[0].blocks if block.kind == "picture"]
    for width in ("wide", "narrow"):
        figure = picture.draw(width)
        assert len(figure.axes[0].get_legend().get_texts()) == 6  # five arms, and all others
        assert figure_bytes(figure, "svg").startswith(b"<?xml")


@pytest.mark.parametrize("delay", [2, [0.0, 0.0, 1.0], [0.0, 0.0, 0.3, 0.2]])
def test_as_many_batches_are_blind_as_no_reward_is_seen_in(delay):
    problem, conditions = tg.GaussianBandit(arms=3), tg.Conditions(batch=10, delay=delay)
    policies = {"Thompson sampling": tg.Thompson(), "other": tg.Greedy()}
    found = tg.compare(problem, policies, horizon=6, conditions=conditions, episodes=64, seed=0, bound=None)
    section = conditions_section(conditions, found, "other", None)
    assert section.paragraphs[1].startswith("The first 3 batches are blind")
    assert float(found.policies["other"].regret_over_time[2]) == pytest.approx(
        float(section.paragraphs[1].split("That costs ")[1].split(" ")[0]), abs=0.05
    )


def test_what_is_rare_is_said_of_many_decisions():
    words = Words(["a", "b"], "clicks")
    rare, usual = (
        prior_words(assumed(tg.BernoulliBandit(alpha=2.0, beta=beta, arms=2)), words) for beta in (498.0, 38.0)
    )
    never = prior_words(assumed(tg.PoissonBandit(shape=1e-3, rate=10.0, arms=2)), words)
    assert "clicks per decision" in never
    assert "from 0.713 to 9.47 clicks per 1,000 decisions" in rare
    assert "from 0.00919 to 0.116 clicks per decision" in usual
