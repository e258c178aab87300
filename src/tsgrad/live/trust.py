"""How far a gain can be trusted: what is left of it when prior, noise or horizon is not what was assumed."""

import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tsgrad.checks import BadInput, check_count
from tsgrad.evaluate import compare
from tsgrad.policies import Policy, Thompson
from tsgrad.problems import AnyProblem, BernoulliBandit, GaussianBandit, Misspecified, PoissonBandit, Problem

FACTORS = {"a quarter": 0.25, "half": 0.5, "twice": 2.0, "four times": 4.0}


class Scenario(NamedTuple):
    """What may be otherwise than assumed: a sentence, the problem as it is then, and the horizon."""

    said: str
    problem: AnyProblem
    horizon: int


class Kept(NamedTuple):
    """What is left of a gain in one scenario."""

    said: str
    regret_of_reference: float
    gain: float
    standard_error: float

    def __str__(self) -> str:
        share = self.gain / self.regret_of_reference if self.regret_of_reference else 0.0
        verdict = "a loss" if self.gain < -2 * self.standard_error else "no clear gain"
        if self.gain > 2 * self.standard_error:
            verdict = "a gain"
        return f"{self.said}: {verdict} of {self.gain:.3g} (s.e. {self.standard_error:.2g}), {share:.1%} of the regret."


class Robustness(NamedTuple):
    """What is left of a gain in every scenario; as assumed first."""

    scenarios: list[Kept]

    def __str__(self) -> str:
        return "\n".join(map(str, self.scenarios))


def robustness(
    policy: Policy,
    problem: Problem,
    *,
    horizon: int,
    reference: Policy | None = None,
    episodes: int = 4096,
    seed: int = 0,
) -> Robustness:
    """What is left of a policy's gain where its prior, its noise or its horizon is wrong.

    Args:
        policy: what was tuned.
        problem: what it was tuned for: a Gaussian, Bernoulli or Poisson bandit.
        horizon: what it was tuned for.
        reference: what the gain is over; plain Thompson sampling unless given.
        episodes: how many fresh ones a scenario is played on.
        seed: of the episodes.

    Returns:
        The gain in each scenario, on the same episodes for both policies. Other horizons are told to the policy.

    >>> import tsgrad as tg
    >>> problem = tg.GaussianBandit(arms=3)
    >>> found = robustness(tg.ScaledThompson(0.7), problem, horizon=10, episodes=256)
    >>> found.scenarios[0].said
    'As assumed'

    """
    horizon = check_count("horizon", horizon, least=2)
    plain = Thompson() if reference is None else reference
    kept = []
    for said, played, steps in scenarios(problem, horizon):
        found = compare(
            played, {"reference": plain, "policy": policy}, horizon=steps, episodes=episodes, seed=seed, bound=None
        )
        gain, error = found.difference("reference", "policy")
        kept.append(Kept(said, found.regret["reference"], gain, error))
    return Robustness(kept)


def scenarios(problem: Problem, horizon: int) -> Iterator[Scenario]:
    """What is looked at: the prior's strength, its mean, the noise, the horizon."""
    yield Scenario("As assumed", problem, horizon)
    for said, factor in FACTORS.items():
        truth = with_strength(problem, factor)
        yield Scenario(f"Prior worth {said} of what was assumed", Misspecified(truth=truth, model=problem), horizon)
    for said, side in (("lower", -1.0), ("higher", 1.0)):
        truth = with_shifted_means(problem, side)
        yield Scenario(f"Arms {said} by a standard deviation", Misspecified(truth=truth, model=problem), horizon)
    for said, factor in (("half", 0.5), ("twice", 2.0)):
        noisy = with_noise(problem, factor)
        if noisy is not None:
            yield Scenario(f"Noise {said} of what was assumed", Misspecified(truth=noisy, model=problem), horizon)
    yield Scenario("Half the horizon", problem, max(horizon // 2, 1))
    yield Scenario("Twice the horizon", problem, 2 * horizon)


@functools.singledispatch
def with_strength(problem: Any, factor: float) -> Problem:
    """The problem whose prior is worth so many times as many rewards; its means are the same."""
    raise BadInput(f"problem must be a Gaussian, Bernoulli or Poisson bandit, got {type(problem).__name__}")


@with_strength.register
def _(problem: GaussianBandit, factor: float) -> Problem:
    std = problem.prior_std / factor**0.5
    return GaussianBandit(prior_mean=problem.prior_mean, prior_std=std, noise_std=problem.noise_std)


@with_strength.register
def _(problem: BernoulliBandit, factor: float) -> Problem:
    return BernoulliBandit(alpha=problem.alpha * factor, beta=problem.beta * factor)


@with_strength.register
def _(problem: PoissonBandit, factor: float) -> Problem:
    return PoissonBandit(shape=problem.shape * factor, rate=problem.rate * factor)


@functools.singledispatch
def with_shifted_means(problem: Any, deviations: float) -> Problem:
    """The problem whose arms are all better, or worse, by so many standard deviations of the prior."""
    raise BadInput(f"problem must be a Gaussian, Bernoulli or Poisson bandit, got {type(problem).__name__}")


@with_shifted_means.register
def _(problem: GaussianBandit, deviations: float) -> Problem:
    mean = problem.prior_mean + deviations * problem.prior_std
    return GaussianBandit(prior_mean=mean, prior_std=problem.prior_std, noise_std=problem.noise_std)


@with_shifted_means.register
def _(problem: BernoulliBandit, deviations: float) -> Problem:
    strength = problem.alpha + problem.beta
    mean = problem.alpha / strength
    std = np.sqrt(mean * (1 - mean) / (strength + 1))
    moved = np.clip(mean + deviations * std, 0.1 * mean, 1 - 0.1 * (1 - mean))
    return BernoulliBandit(alpha=moved * strength, beta=(1 - moved) * strength)


@with_shifted_means.register
def _(problem: PoissonBandit, deviations: float) -> Problem:
    moved = np.maximum(1 + deviations / np.sqrt(problem.shape), 0.1)
    return PoissonBandit(shape=problem.shape * moved, rate=problem.rate)


@functools.singledispatch
def with_noise(problem: Any, factor: float) -> Problem | None:
    """The problem with so many times its noise; None where rewards have none of their own."""
    return None


@with_noise.register
def _(problem: GaussianBandit, factor: float) -> Problem:
    noise = problem.noise_std * factor
    return GaussianBandit(prior_mean=problem.prior_mean, prior_std=problem.prior_std, noise_std=noise)
