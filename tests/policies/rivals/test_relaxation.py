"""Relaxation sampling against enumeration of all plans, and the law of its sampled futures."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import tsgrad as tg
from false_alarms import z_bound
from tsgrad.policies import Clock
from tsgrad.policies.rivals.base import normal_arms
from tsgrad.policies.rivals.relaxation_sampling import best_counts, sampled_means, trying_price
from tsgrad.problems import Context
from tsgrad.problems.gaussian import GaussianBelief
from tsgrad.streams import Address, Purpose, Stream

pytestmark = pytest.mark.formulas

PROBLEM = tg.GaussianBandit(prior_mean=[0.2, -0.1], prior_std=[1.0, 2.0], noise_std=[0.5, 3.0])
BELIEF = GaussianBelief(jnp.array([3.0, 1.0]), jnp.array([2.0, -1.0]))


def test_counts_against_enumeration():
    """Every way to split the pulls that are left, at every step of 40 random futures of 3 arms."""
    horizon, find = 5, jax.jit(best_counts)
    for seed, t in itertools.product(range(8), range(1, horizon + 1)):
        means = np.random.default_rng(seed).standard_normal((3, horizon)).astype(np.float32)
        left = horizon - t + 1
        splits = [split for split in itertools.product(range(left + 1), repeat=3) if sum(split) == left]
        values = [sum(means[k, :n].sum(dtype=np.float64) for k, n in enumerate(split)) for split in splits]
        found = np.asarray(find(jnp.asarray(means), Clock(jnp.asarray(t), horizon)))
        assert tuple(found) == splits[int(np.argmax(values))]


def tried_by_enumeration(mean, std, price):
    """Whether the best of all 2^d sequences of pulling and idling begins with a pull, each pull paying its penalty."""
    left = len(mean)
    z = (price - mean) / std
    best = mean + (price - mean) * stats.norm.cdf(z) + std * stats.norm.pdf(z)

    def value(plan):
        total, pulls = 0.0, 0
        for step, pulled in enumerate(plan):
            after = left - 1 - step
            if not pulled:
                total += price
                continue
            if after:
                total += mean[pulls] - after * (best[pulls + 1] - best[pulls])
            else:
                total += mean[pulls]
            pulls += 1
        return total

    plans = list(itertools.product((True, False), repeat=left))
    return max(plans, key=value)[0]


@pytest.mark.parametrize("left", [1, 2, 3, 6])
def test_price_against_enumeration_of_plans(left):
    """The price is where trying stops being best: tried just below, not tried just above."""
    rng, find = np.random.default_rng(left), jax.jit(trying_price)
    with jax.enable_x64(True):
        for _ in range(12):
            std = 1 / np.sqrt(rng.uniform(0.3, 2) + np.arange(left) * rng.uniform(0.2, 3))
            steps = np.sqrt(-np.diff(std**2)) * rng.standard_normal(left - 1)
            mean = rng.standard_normal() + np.concatenate([[0.0], np.cumsum(steps)])
            price = float(find(jnp.array(mean[None]), jnp.array(std[None]), Clock(1, left))[0])
            assert tried_by_enumeration(mean, std, price - 1e-5)
            assert not tried_by_enumeration(mean, std, price + 1e-5)


def test_what_can_not_be_reached_changes_nothing():
    rng = np.random.default_rng(0)
    mean, std = jnp.array(rng.standard_normal((2, 6))), jnp.array(np.sort(rng.uniform(0.1, 1, (2, 6)))[:, ::-1])
    clock = Clock(t=4, horizon=6)  # three decisions left
    other = mean.at[:, 3:].set(99.0)
    np.testing.assert_array_equal(trying_price(mean, std, clock), trying_price(other, std, clock))
    np.testing.assert_array_equal(best_counts(mean, clock), best_counts(other, clock))


def futures(count):
    address = Address.of(seed=1, purpose=Purpose.EVALUATION)

    def draw(episode):
        noise = address.with_episode(episode).noise(Stream.POLICY)
        now, pulls = PROBLEM.posterior_means(BELIEF, Context()), PROBLEM.cells(BELIEF)
        return sampled_means(normal_arms(PROBLEM), now, pulls, Clock(2, 6), noise)

    return jax.jit(jax.vmap(draw))(jnp.arange(count, dtype=jnp.uint32))


def test_sampled_futures_have_the_law_of_posterior_means():
    """20,000 futures: means, variances and the covariance of two times are those of a martingale (30 comparisons)."""
    means, stds = (np.asarray(part, np.float64) for part in futures(20_000))
    law = PROBLEM.posterior(BELIEF)
    precision = PROBLEM.prior_std[:, None] ** -2 + (np.asarray(BELIEF.pulls)[:, None] + np.arange(6)) * (
        PROBLEM.noise_std[:, None] ** -2
    )
    np.testing.assert_allclose(stds[0], precision**-0.5, rtol=1e-6)
    moved = means - np.asarray(law.location)[:, None]
    np.testing.assert_array_equal(moved[:, :, 0], 0)
    resolved = 1 / precision[:, :1] - 1 / precision
    for arm, j in itertools.product(range(2), range(1, 6)):
        error = np.sqrt(resolved[arm, j] / 20_000)
        assert abs(moved[:, arm, j].mean()) < z_bound(30) * error
        assert abs(moved[:, arm, j].var() / resolved[arm, j] - 1) < z_bound(30) * np.sqrt(2 / 20_000)
        later = moved[:, arm, 5] - moved[:, arm, j]
        if j < 5:
            assert abs(np.corrcoef(later, moved[:, arm, j])[0, 1]) < z_bound(30) / np.sqrt(20_000)


def test_finite_horizon_spread_is_the_last_of_the_future():
    """IRS.FH draws what V-Zero's future ends with: the standard deviation of the mean after all further pulls."""
    spread = tg.RelaxationSampling("FH").prepare(PROBLEM, 6).spread
    for arm, (prior, noise) in enumerate(zip(PROBLEM.prior_std, PROBLEM.noise_std, strict=True)):
        for t, pulls in [(1, 0), (3, 1), (6, 4)]:
            now, last = (1 / (prior**-2 + n * noise**-2) for n in (pulls, pulls + 6 - t))
            np.testing.assert_allclose(spread[arm, t - 1, pulls], np.sqrt(now - last), atol=1e-12)
