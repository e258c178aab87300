"""What is left of a gain: scenarios are what they say, and gains those of comparisons."""

import numpy as np
import pytest

import tsgrad as tg
from tsgrad.live.trust import Kept, scenarios, with_noise, with_shifted_means, with_strength

PROBLEMS = [
    tg.GaussianBandit(prior_mean=[0.5, 1.0], prior_std=0.5, noise_std=2.0),
    tg.BernoulliBandit(alpha=[2.0, 3.0], beta=7.0),
    tg.PoissonBandit(shape=[2.0, 3.0], rate=0.5),
]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: type(problem).__name__)
def test_scenarios_are_what_they_say(problem):
    prior, nothing = problem.prior(1), tg.Context()
    moments, strength = problem.arm_moments(prior, nothing), problem.strength(prior, nothing)
    other = with_strength(problem, 4.0)
    np.testing.assert_allclose(other.strength(prior, nothing), 4 * strength, rtol=1e-5)
    np.testing.assert_allclose(other.arm_moments(prior, nothing).mean, moments.mean, rtol=1e-5)
    higher = with_shifted_means(problem, 1.0).arm_moments(prior, nothing).mean
    np.testing.assert_allclose(higher, moments.mean + moments.std, rtol=1e-5)
    said = [scenario.said for scenario in scenarios(problem, 10)]
    assert len(set(said)) == len(said) == (11 if with_noise(problem, 2.0) is not None else 9)


def test_gains_are_those_of_comparisons():
    problem = tg.GaussianBandit(arms=3)
    found = tg.robustness(tg.Greedy(), problem, horizon=6, episodes=512)
    worlds = tg.Misspecified(truth=with_strength(problem, 0.25), model=problem)
    for said, played in (("As assumed", problem), ("Prior worth a quarter of what was assumed", worlds)):
        policies = {"plain": tg.Thompson(), "greedy": tg.Greedy()}
        expected = tg.compare(played, policies, horizon=6, episodes=512, seed=0, bound=None)
        (kept,) = [one for one in found.scenarios if one.said == said]
        np.testing.assert_allclose((kept.gain, kept.standard_error), expected.difference("plain", "greedy"))


@pytest.mark.parametrize(("gain", "word"), [(1.0, "a gain"), (0.1, "no clear gain"), (-1.0, "a loss")])
def test_sentences_say_what_is_left(gain, word):
    assert f": {word} of" in str(Kept("Half the horizon", 10.0, gain, 0.2))


def test_other_problems_are_refused():
    with pytest.raises(tg.BadInput, match="Gaussian, Bernoulli or Poisson"):
        tg.robustness(tg.Thompson(), tg.BallBandit(dimension=2), horizon=5, episodes=256)
