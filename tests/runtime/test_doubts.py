"""Doubts: their formulas against other ones, and how often they are told falsely."""

import math

import numpy as np
import pytest
from scipy import special, stats

from tsgrad_runtime.doubts import doubts_of
from tsgrad_runtime.laws import BetaLaw, GammaLaw, NormalGammaLaw, NormalLaw
from tsgrad_runtime.models import model_of
from tsgrad_runtime.shares import log_tail_chances


@pytest.mark.parametrize(
    ("law", "cdf"),
    [
        (NormalLaw(np.array([1.0]), np.array([2.0])), lambda y: stats.norm.cdf(y, 1, 2)),
        (BetaLaw(np.array([[4.0], [96.0]])), lambda y: stats.beta.cdf(special.expit(y), 4, 96)),
        (BetaLaw(np.array([[0.5], [0.5]])), lambda y: stats.beta.cdf(special.expit(y), 0.5, 0.5)),
        (GammaLaw(np.array([2.0]), np.array([3.0])), lambda y: stats.gamma.cdf(np.exp(y), 2, scale=1 / 3)),
        (NormalGammaLaw(*np.ones((4, 1))), lambda y: stats.t.cdf(y, 2, 1, 1)),
    ],
)
def test_tails_are_those_of_distribution_functions(law, cdf):
    breaks = law.breaks()
    for point in np.linspace(breaks[2, 0], breaks[-3, 0], 9):
        below, above = np.exp(log_tail_chances(law, np.array([point]))[:, 0])
        np.testing.assert_allclose([below, above], [cdf(point), 1 - cdf(point)], rtol=1e-5, atol=1e-10)


def chance(kind, parameters, rewards):
    """The logarithm of the chance, or density, of rewards: by scipy, but for what is the same under every prior."""
    n, total = len(rewards), sum(rewards)
    if kind == "bernoulli":
        return special.betaln(parameters["alpha"] + total, parameters["beta"] + n - total) - special.betaln(
            *parameters.values()
        )
    if kind == "poisson":
        odds = parameters["rate"] / (parameters["rate"] + n)
        return stats.nbinom.logpmf(total, parameters["shape"], odds) - total * np.log(n) + special.gammaln(total + 1)
    if kind == "gaussian":
        covariance = parameters["noise_std"] ** 2 * np.eye(n) + parameters["prior_std"] ** 2
        noise = stats.norm.logpdf(np.array(rewards) - parameters["prior_mean"], scale=parameters["noise_std"])
        return stats.multivariate_normal.logpdf(rewards, [parameters["prior_mean"]] * n, covariance) - np.sum(noise)
    scale = parameters["rate"] / parameters["shape"] * (np.eye(n) + 1 / parameters["prior_weight"])
    law = stats.multivariate_t([parameters["prior_mean"]] * n, scale, df=2 * parameters["shape"])
    return law.logpdf(rewards) + n / 2 * np.log(2 * np.pi)


KINDS = {
    "bernoulli": ({"alpha": 2.0, "beta": 5.0}, [1.0, 0.0, 0.0]),
    "gaussian": ({"prior_mean": 0.5, "prior_std": 2.0, "noise_std": 0.7}, [1.0, -0.3, 2.0]),
    "poisson": ({"shape": 2.0, "rate": 0.5}, [1.0, 0.0, 7.0]),
    "unknown-variance": ({"prior_mean": 0.5, "prior_weight": 2.0, "shape": 3.0, "rate": 0.7}, [1.0, -0.3, 2.0]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_evidence_is_the_chance_of_the_rewards(kind):
    parameters, rewards = KINDS[kind]
    model = model_of({"kind": kind, **{name: [value] for name, value in parameters.items()}})
    statistics = np.sum([model.evidence(0, reward) for reward in rewards], axis=0).tolist()
    assert model.log_evidence(0, statistics) == pytest.approx(chance(kind, parameters, rewards), abs=1e-9)
    weak = {name: value if name in ("prior_mean", "noise_std") else value / 4 for name, value in parameters.items()}
    weak |= {"prior_std": 2 * parameters["prior_std"]} if kind == "gaussian" else {}
    assert model.log_evidence(0, statistics, 0.25) == pytest.approx(chance(kind, weak, rewards), abs=1e-9)


def test_a_weaker_prior_of_a_vector_gains_what_two_densities_differ_by():
    generator = np.random.default_rng(0)
    features, rewards = generator.normal(size=(5, 2)), generator.normal(size=5)
    mean, covariance = np.array([0.3, -1.0]), np.array([[1.0, 0.3], [0.3, 0.5]])
    problem = {"kind": "linear", "features": features.tolist(), "prior_mean": mean.tolist(), "noise_std": [0.5] * 5}
    model = model_of({**problem, "prior_covariance": covariance.tolist()})
    belief = model.prior()
    for arm, reward in enumerate(rewards):
        belief = model.update(belief, features, arm, reward)
    own, weak = (
        stats.multivariate_normal.logpdf(rewards, features @ mean, features @ some @ features.T + 0.25 * np.eye(5))
        for some in (covariance, 4 * covariance)
    )
    assert model.log_gain_of_weaker(belief, 0.25) == pytest.approx(weak - own, abs=1e-9)


def drawn(kind, parameters, arms, generator):
    """A function from an arm to a reward, of a world that the prior is right about."""
    if kind == "bernoulli":
        rates = generator.beta(parameters["alpha"], parameters["beta"], arms)
        return lambda arm: float(generator.random() < rates[arm])
    if kind == "poisson":
        rates = generator.gamma(parameters["shape"], 1 / parameters["rate"], arms)
        return lambda arm: float(generator.poisson(rates[arm]))
    means = generator.normal(parameters["prior_mean"], parameters["prior_std"], arms)
    return lambda arm: float(generator.normal(means[arm], parameters["noise_std"]))


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        ("bernoulli", {"alpha": 4.0, "beta": 96.0}),
        ("bernoulli", {"alpha": 4.0, "beta": 796.0}),
        ("bernoulli", {"alpha": 1.0, "beta": 1.0}),
        ("bernoulli", {"alpha": 4.0, "beta": 16.0}),
        ("gaussian", {"prior_mean": 0.0, "prior_std": 1.0, "noise_std": 1.0}),
        ("poisson", {"shape": 2.0, "rate": 20.0}),
    ],
)
def test_a_right_model_is_hardly_ever_doubted(kind, parameters):
    """Experiments of 400 steps, half of them with the arm that seems best: at most 1 in 20 is ever doubted at the level
    0.05. More than 9 of 40 have a chance of 5e-5 then; of six such tests, one fails once in 3,000 seeds.
    """
    model = model_of({"kind": kind, **{name: [value] * 5 for name, value in parameters.items()}})
    doubted = 0
    for seed in range(40):
        generator = np.random.default_rng(seed)
        doubts, belief, pay = doubts_of(model), model.prior(), drawn(kind, parameters, 5, generator)
        lowest = 0.0
        for step in range(400):
            best = int(np.argmax(model.moments(belief, None)[0]))
            arm = best if generator.random() < 0.5 else int(generator.integers(5))
            reward = pay(arm)
            doubts.see(model, belief, None, arm, reward)
            belief = model.update(belief, None, arm, reward)
            if step % 20 == 19:
                lowest = min(lowest, doubts.strongest(model, belief, None).log_chance)
        doubted += lowest < math.log(0.05)
    assert doubted <= 9
