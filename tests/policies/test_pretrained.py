"""Pretrained policies, on problems that took no part in their training; `benchmarks/pretrained.py` has thirty each."""

import pytest

import tsgrad as tg


@pytest.mark.parametrize(
    ("family", "problem", "horizon"),
    [
        ("gaussian", tg.GaussianBandit(arms=3, prior_std=0.3), 40),
        ("gaussian", tg.GaussianBandit(arms=15, prior_std=5.0), 120),
        ("bernoulli", tg.BernoulliBandit(arms=4, alpha=1.0, beta=1.0), 30),
        ("bernoulli", tg.BernoulliBandit(arms=10, alpha=2.0, beta=38.0), 50),
    ],
)
def test_better_than_plain_and_near_the_index(family, problem, horizon):
    """Paired, over 10,000 episodes: below plain Thompson sampling, and at most a tenth above the Gittins index."""
    policies = {"ours": tg.pretrained(family), "plain": tg.Thompson(), "Gittins": tg.FiniteHorizonGittins()}
    found = tg.compare(problem, policies, horizon=horizon, episodes=10_000, seed=3, bound=None)
    gain, error = found.difference("plain", "ours")
    assert gain > 5 * error
    assert found.regret["ours"] < 1.1 * found.regret["Gittins"]


def test_an_unknown_family_is_refused():
    with pytest.raises(tg.BadInput, match="family must be one of"):
        tg.pretrained("poisson")
