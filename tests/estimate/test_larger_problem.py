"""K = 3, T = 6: all pairs agree with each other, and with finite differences of the expected reward."""

import numpy as np
import pytest

import tsgrad as tg
from conftest import largest_z, z_bound
from test_exact_gradients import PAIRS, every_pair, moved
from tsgrad.policies import parameter_vector, with_parameters

HORIZON = 6
PROBLEMS = {
    "gaussian": tg.GaussianBandit(prior_mean=[0.0, 0.2, -0.3], prior_std=[1.0, 0.8, 1.2], noise_std=[1.0, 0.4, 2.0]),
    "bernoulli": tg.BernoulliBandit(alpha=[1.0, 2.0, 1.0], beta=[1.0, 1.5, 2.0]),
}


@pytest.fixture(scope="module", params=PROBLEMS)
def gradients(request):
    problem = PROBLEMS[request.param]
    return problem, tg.episode_gradients(
        problem, moved(problem), every_pair(), horizon=HORIZON, episodes=25_000, seed=11
    )


def test_all_pairs_agree(gradients):
    """Paired differences from mean/self, episode by episode: 19 pairs x 12 meta-parameters, 1 false alarm in 1,000."""
    _, found = gradients
    reference = found["mean/self"]
    for pair in set(PAIRS) - {"mean/self"}:
        difference = found[pair] - reference
        error = difference.std(axis=0, ddof=1) / np.sqrt(len(difference))
        assert largest_z(difference.mean(axis=0), 0, error) < z_bound((len(PAIRS) - 1) * reference.shape[1]), pair


def test_agrees_with_finite_differences(gradients):
    """Along three fixed directions: central differences of the reward over 150,000 episodes, with common noise.

    Step 0.15; what the step itself costs is a third of the change from step 0.3, and is allowed for. Standard
    errors of the differences come out below 0.03, against slopes of up to 1.
    """
    problem, found = gradients
    policy = moved(problem)
    vector = parameter_vector(policy)
    directions = np.random.default_rng(2).standard_normal((3, vector.size))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)

    def slope(direction, step):
        up, down = (
            tg.simulate(
                problem,
                with_parameters(policy, vector + sign * step * direction),
                horizon=HORIZON,
                episodes=150_000,
                seed=12,
            ).regret
            for sign in (1, -1)
        )
        sample = (down - up) / (2 * step)
        return sample.mean(), sample.std() / np.sqrt(sample.size)

    for direction in directions:
        near, near_error = slope(direction, 0.15)
        far, far_error = slope(direction, 0.3)
        curvature = (far - near) / 3
        along = found["mean/self"] @ direction
        error = np.sqrt(along.var() / along.size + (4 * near_error / 3) ** 2 + (far_error / 3) ** 2)
        assert abs(along.mean() - (near - curvature)) < z_bound(3) * error
        assert error < 0.05  # the comparison means something
