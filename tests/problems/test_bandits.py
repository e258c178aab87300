"""Bandits: posteriors against closed forms, and bad input."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tsgrad as tg


def believe(problem, steps):
    belief = problem.prior(len(steps))
    for arm, reward in steps:
        belief = problem.update(belief, tg.Context(), jnp.asarray(arm), jnp.asarray(reward))
    return belief


def test_gaussian_posterior_is_the_closed_form():
    with jax.enable_x64(True):
        problem = tg.GaussianBandit(prior_mean=[0.5, -1.0], prior_std=[2.0, 0.3], noise_std=[1.5, 0.2])
        law = problem.posterior(believe(problem, [(0, 1.0), (1, -0.4), (0, 3.0)]))
        precision = 1 / np.array([2.0, 0.3]) ** 2 + np.array([2, 1]) / np.array([1.5, 0.2]) ** 2
        mean = (
            np.array([0.5, -1.0]) / np.array([2.0, 0.3]) ** 2 + np.array([4.0, -0.4]) / np.array([1.5, 0.2]) ** 2
        ) / precision
        np.testing.assert_allclose(law.location, mean, rtol=1e-12)
        np.testing.assert_allclose(law.scale, precision**-0.5, rtol=1e-12)


def test_bernoulli_posterior_is_the_closed_form():
    problem = tg.BernoulliBandit(alpha=[1.0, 2.0], beta=[3.0, 0.5])
    law = problem.posterior(believe(problem, [(0, 1.0), (1, 0.0), (0, 0.0), (0, 1.0)]))
    np.testing.assert_array_equal(law.alpha, [3.0, 2.0])
    np.testing.assert_array_equal(law.beta, [4.0, 1.5])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: tg.GaussianBandit(noise_std=[1, 1, 1, -4.0]), r"noise_std\[3\] must be > 0, got -4.0"),
        (lambda: tg.GaussianBandit(arms=2, prior_std=0), "prior_std must be > 0, got 0.0"),
        (lambda: tg.GaussianBandit(prior_mean=[0, np.nan]), r"prior_mean\[1\] must be finite, got nan"),
        (lambda: tg.GaussianBandit(prior_mean=[0, np.inf]), r"prior_mean\[1\] must be finite, got inf"),
        (
            lambda: tg.GaussianBandit(prior_mean=[0, 0], noise_std=[1, 1, 1]),
            "prior_mean has 2 arms and noise_std has 3",
        ),
        (lambda: tg.GaussianBandit(prior_mean=[0, 0], arms=3), "arms has 3 arms and prior_mean has 2"),
        (lambda: tg.GaussianBandit(arms=0), "arms must be an integer from 1 to 2147483647, got 0"),
        (lambda: tg.GaussianBandit(prior_mean=[]), "prior_mean must have at least one arm, got none"),
        (lambda: tg.GaussianBandit(), "arms must say how many arms"),
        (
            lambda: tg.GaussianBandit(prior_mean=[[0.0]]),
            r"prior_mean must be one number or one number per arm, got shape \(1, 1\)",
        ),
        (
            lambda: tg.GaussianBandit(arms=2, noise_std="loud"),
            "noise_std must be a number or an array of numbers, got 'loud'",
        ),
        (
            lambda: tg.GaussianBandit(noise_std=np.ma.masked_array([1.0, 2.0], mask=[True, False])),
            "noise_std must be a plain array, got a masked one",
        ),
        (lambda: tg.BernoulliBandit(alpha=[1, -1]), r"alpha\[1\] must be > 0, got -1.0"),
        (lambda: tg.BernoulliBandit(arms=2, beta=0), "beta must be > 0, got 0.0"),
        (
            lambda: tg.DriftingArms(base=tg.UnknownVarianceBandit(arms=2), step_std=0.1),
            "base must be a Gaussian, Bernoulli or Poisson bandit to drift, its worlds are NormalGammaDraw",
        ),
    ],
)
def test_bad_input(build, message):
    with pytest.raises(tg.BadInput, match=message):
        build()


def test_rewards_of_an_uncertain_prior_have_the_noise_of_their_row():
    """With means that are known, the standard deviation of 4,000 rewards is within 5 errors, 5 / sqrt(8,000)."""
    base = tg.GaussianBandit(arms=2, prior_mean=1.0, prior_std=1e-3, noise_std=1.0)
    home = tg.Address.of(seed=0, purpose=tg.Purpose.EVALUATION)
    for noise_std in (0.2, 50.0):
        truth = tg.UncertainPrior(base=base, values=[[1.0, 1e-3, noise_std]] * 2)

        @jax.vmap
        def rewards(number, truth=truth):
            address = home.with_episode(number)
            world = truth.draw_world(address.noise(tg.Stream.WORLD))
            return truth.reward(world, tg.Context(), jnp.asarray(0), address.noise(tg.Stream.REWARD))

        seen = np.asarray(rewards(np.arange(4000, dtype=np.uint32)))
        assert abs(seen.std() / noise_std - 1) < 5 / np.sqrt(8000)
