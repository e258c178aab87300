"""float32 where numbers are far from one: rewards far from zero, and results that are not finite."""

import numpy as np
import pytest

import tsgrad as tg


@pytest.mark.parametrize("engine", ["jax", "native"])
def test_rewards_far_from_zero_cost_nothing_in_float32(engine):
    """At a prior mean of 10^4 the regret is that at zero: 2,048 common worlds, near-ties apart."""
    where = {"horizon": 300, "episodes": 2048, "seed": 0, "engine": engine}
    near, far = (
        tg.simulate(tg.GaussianBandit(arms=3, prior_mean=mean), tg.Thompson(), **where).regret for mean in (0.0, 1e4)
    )
    difference = far - near
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    assert abs(difference.mean()) < 4 * error + 0.01 * near.mean()  # 1 false alarm in 16,000
    assert far.mean() == pytest.approx(near.mean(), rel=0.05)


def test_covariances_without_a_root_are_refused():
    """In float32 the covariance of two arms that are nearly one has no root."""
    problem = tg.LinearBandit(features=np.eye(2), prior_covariance=[[1, 1 - 1e-8], [1 - 1e-8, 1]])
    with pytest.raises(tg.BadInput, match=r"prior_covariance.* in float32: use precision='float64'"):
        tg.simulate(problem, tg.Thompson(), horizon=3, episodes=4, seed=0)
    found = tg.simulate(problem, tg.Thompson(), horizon=3, episodes=4, seed=0, precision="float64")
    assert np.all(np.isfinite(found.regret))


def test_a_clock_past_its_horizon_is_refused():
    from tsgrad.policies import Clock

    problem = tg.GaussianBandit(arms=2)
    with pytest.raises(tg.BadInput, match="t must be from 1 to the horizon 1000, got 1002"):
        tg.ReshapedThompson(problem).law(problem, problem.prior(1000), None, tg.Context(), Clock(1002, 1000))
