"""K = 3, T = 6: all pairs agree with each other, and with finite differences of the expected reward."""

import numpy as np
import pytest

import tsgrad as tg
from false_alarms import largest_z, z_bound
from test_exact_gradients import PAIRS, every_pair, moved
from tsgrad.policies import parameter_vector, with_parameters

HORIZON = 6
PROBLEMS = {
    "gaussian": tg.GaussianBandit(prior_mean=[0.0, 0.2, -0.3], prior_std=[1.0, 0.8, 1.2], noise_std=[1.0, 0.4, 2.0]),
    "bernoulli": tg.BernoulliBandit(alpha=[1.0, 2.0, 1.0], beta=[1.0, 1.5, 2.0]),
}


@pytest.fixture(scope="module", params=["gaussian", "bernoulli"])
def gradients(request):
    problem = PROBLEMS[request.param]
    return problem, tg.episode_gradients(
        problem, moved(problem), every_pair(), horizon=HORIZON, episodes=25_000, seed=11
    )


@pytest.mark.long
def test_all_pairs_agree(gradients):
    """Paired differences from mean/self, episode by episode: 19 pairs x 12 meta-parameters, 1 false alarm in 1,000."""
    _, found = gradients
    reference = found["mean/self"]
    for pair in set(PAIRS) - {"mean/self"}:
        difference = found[pair] - reference
        error = difference.std(axis=0, ddof=1) / np.sqrt(len(difference))
        assert largest_z(difference.mean(axis=0), 0, error) < z_bound((len(PAIRS) - 1) * reference.shape[1]), pair


@pytest.mark.long
def test_agrees_with_finite_differences(gradients):
    """Along the gradient itself and each kind of meta-parameter: central differences over 1,000,000 episodes.

    With common noise; step 0.1, and what the step costs is removed by Richardson's extrapolation from step 0.2. The
    error is below an eighth of the largest slope, so that a wrong sign or factor would show.
    """
    problem, found = gradients
    policy = moved(problem)
    vector = parameter_vector(policy)
    uphill = found["mean/self"].mean(axis=0)
    directions = [uphill, *(uphill * (np.arange(vector.size) // 3 == kind) for kind in range(4))]

    def slope(direction, step):
        up, down = (
            tg.simulate(
                problem,
                with_parameters(policy, vector + sign * step * direction),
                horizon=HORIZON,
                episodes=1_000_000,
                seed=12,
            ).regret
            for sign in (1, -1)
        )
        return (down - up) / (2 * step)

    estimator = tg.Estimator("mean", "self")
    along = tg.gradient(problem, policy, estimator, horizon=HORIZON, episodes=1_000_000, seed=13)
    for index, direction in enumerate(directions):
        direction = direction / np.linalg.norm(direction)
        sample = (4 * slope(direction, 0.1) - slope(direction, 0.2)) / 3
        expected = along.mean @ direction
        error = np.sqrt(np.sum((along.standard_error * direction) ** 2) * 2 + sample.var() / sample.size)
        assert abs(sample.mean() - expected) < z_bound(len(directions)) * error
        if index == 0:
            assert error < expected / 8
