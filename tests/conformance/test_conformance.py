"""One contract for every problem and every policy: each class that the library offers passes all of it."""

import inspect
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import tsgrad as tg
from conftest import z_bound
from tsgrad import policies, problems
from tsgrad.policies import Clock, parameter_vector, split, with_parameters
from tsgrad.registry import from_data, to_data
from tsgrad.streams import Address, Purpose, Stream

PROBLEMS = {
    "gaussian": tg.GaussianBandit(prior_mean=[0.3, 0.0, -0.2], prior_std=[1.0, 0.5, 2.0], noise_std=[0.5, 1.0, 3.0]),
    "bernoulli": tg.BernoulliBandit(alpha=[1.0, 3.0, 0.7], beta=[1.0, 2.0, 2.2]),
}
ALIKE = {"gaussian": tg.GaussianBandit(arms=3, noise_std=0.7), "bernoulli": tg.BernoulliBandit(arms=3, alpha=2.0)}
POLICIES = {
    **{f"reshaped, {name}": (problem, tg.ReshapedThompson(problem)) for name, problem in PROBLEMS.items()},
    **{f"shared, {name}": (problem, tg.ReshapedThompson(problem, shared=True)) for name, problem in ALIKE.items()},
    **{f"plain, {name}": (problem, tg.Thompson()) for name, problem in PROBLEMS.items()},
    **{
        f"in units of {unit:g}": (problem, tg.ReshapedThompson(problem))
        for unit in (1e-8, 1e8)
        for problem in [tg.GaussianBandit(arms=3, prior_std=unit, noise_std=[0.1 * unit, unit, 1e6 * unit])]
    },
}
of_problems = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
of_policies = pytest.mark.parametrize(("problem", "policy"), POLICIES.values(), ids=POLICIES)


def some_trajectories(problem, policy, **options):
    return tg.simulate(problem, policy, horizon=8, episodes=2000, seed=21, trajectories=True, **options).trajectories


@of_problems
def test_worlds_are_drawn_from_the_prior(problem):
    """Kolmogorov-Smirnov on each arm; 6 tests, p < 1e-4 once in 10,000 seeds each."""
    address = Address.of(seed=1, purpose=Purpose.EVALUATION)

    def draw(episode):
        return problem.means(problem.draw_world(address.with_episode(episode).noise(Stream.WORLD)), None)

    means = np.asarray(jax.jit(jax.vmap(draw))(jnp.arange(20_000, dtype=jnp.uint32)), np.float64)
    law = problem.posterior(problem.prior(1))
    cdf = np.asarray(jax.vmap(law.cdf)(jnp.asarray(means)))
    for arm in range(problem.arms):
        assert stats.kstest(cdf[:, arm], "uniform").pvalue > 1e-4


@of_problems
def test_posteriors_are_calibrated(problem):
    """The true world is a draw from the final posterior: its distribution function there is uniform."""
    address = Address.of(seed=2, purpose=Purpose.EVALUATION)

    def final_cdf(episode):
        from tsgrad.simulate import draw_instance, rollout

        home = address.with_episode(episode)
        instance = draw_instance(problem, home, 8)
        run = rollout(problem, tg.Thompson(), instance, home, jnp.uint32(0))
        return problem.posterior(run.final_belief).cdf(problem.means(instance.world, None))

    cdf = np.asarray(jax.jit(jax.vmap(final_cdf))(jnp.arange(20_000, dtype=jnp.uint32)), np.float64)
    for arm in range(problem.arms):
        assert stats.kstest(cdf[:, arm], "uniform").pvalue > 1e-4


@of_problems
def test_rewards_have_the_mean_they_claim(problem):
    address = Address.of(seed=3, purpose=Purpose.EVALUATION)
    world = problem.draw_world(address.noise(Stream.WORLD))
    for arm in range(problem.arms):
        rewards = jax.vmap(
            lambda t, arm=arm: problem.reward(world, None, jnp.asarray(arm), address.noise(Stream.REWARD).step(t))
        )(jnp.arange(1, 20_001))
        error = np.std(rewards) / np.sqrt(rewards.size)
        assert abs(np.mean(rewards) - problem.mean(world, None, jnp.asarray(arm))) < z_bound(6) * error


@of_problems
def test_posterior_mean_is_the_mean_of_the_posterior(problem):
    belief = problem.prior(5)
    for arm, reward in [(0, 1.0), (1, 0.0), (0, 0.0)]:
        belief = problem.update(belief, None, jnp.asarray(arm), jnp.asarray(reward))
    address = Address.of(seed=4, purpose=Purpose.EVALUATION)

    def draw(episode):
        return problem.means(
            problem.posterior(belief).sample(address.with_episode(episode).noise(Stream.POSTERIOR)), None
        )

    draws = np.asarray(jax.vmap(draw)(jnp.arange(50_000, dtype=jnp.uint32)), np.float64)
    error = draws.std(axis=0) / np.sqrt(len(draws))
    z = (draws.mean(axis=0) - problem.posterior_means(belief, None)) / error
    assert np.all(np.abs(z) < z_bound(6))


@of_problems
def test_problem_round_trip(problem):
    assert to_data(from_data(to_data(problem), what="problem")) == to_data(problem)


@of_policies
def test_starts_as_plain_thompson_sampling(problem, policy):
    """Same noise, same draws to rounding, in float64; so the same arms."""
    plain, ours = (some_trajectories(problem, one, precision="float64") for one in (tg.Thompson(), policy))
    np.testing.assert_array_equal(plain.arm, ours.arm)
    for expected, found in zip(plain.pseudo_action, ours.pseudo_action, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@of_policies
def test_plays_what_is_best_for_its_draw(problem, policy):
    runs = some_trajectories(problem, policy)
    best = jax.vmap(jax.vmap(lambda draw: problem.best_arm(draw, None)))(runs.pseudo_action)
    np.testing.assert_array_equal(best, runs.arm)


@of_policies
def test_act_is_what_simulation_plays(problem, policy):
    runs = some_trajectories(problem, policy)
    for episode, t in itertools.product((0, 7), (1, 5)):
        home = Address.of(seed=21, purpose=Purpose.EVALUATION, episode=episode)
        belief = jax.tree.map(lambda leaf, at=(episode, t - 1): jnp.asarray(leaf[at]), runs.belief)
        arm = policy.act(problem, belief, policy.init(problem), None, Clock(t, 8), home.noise(Stream.POLICY).step(t))
        assert int(arm) == runs.arm[episode, t - 1]


@of_policies
def test_score_matches_finite_differences(problem, policy):
    vector = parameter_vector(policy)
    if not vector.size or getattr(problem, "prior_std", np.ones(1))[0] not in (1.0, 2.0):
        pytest.skip("nothing to train, or in units for which the step below is not meant")
    with jax.enable_x64(True):
        belief = problem.update(problem.prior(8), None, jnp.asarray(1), jnp.asarray(1.0))
        start = with_parameters(policy, vector + np.linspace(-0.3, 0.3, vector.size))
        draw = start.law(problem, belief, None, None, Clock(3, 8)).sample(
            Address.of(seed=5, purpose=Purpose.EVALUATION).noise(Stream.POLICY)
        )

        def log_likelihood(moving):
            import equinox as eqx

            return eqx.combine(moving, split(start)[1]).law(problem, belief, None, None, Clock(3, 8)).log_prob(draw)

        score = parameter_vector(jax.grad(log_likelihood)(jax.tree.map(jnp.asarray, split(start)[0])))
        center = parameter_vector(start)
        for index, direction in enumerate(np.eye(center.size) * 1e-5):
            up, down = (
                float(log_likelihood(split(with_parameters(policy, center + sign * direction))[0])) for sign in (1, -1)
            )
            np.testing.assert_allclose(score[index], (up - down) / 2e-5, rtol=1e-5, atol=1e-6)


@of_policies
def test_policy_round_trip(problem, policy, tmp_path):
    moved = with_parameters(policy, parameter_vector(policy) + 1 / 3)
    moved.save(tmp_path / "policy.json")
    again = tg.load(tmp_path / "policy.json")
    assert type(again) is type(policy)
    np.testing.assert_array_equal(parameter_vector(again), parameter_vector(moved))
    assert again.meta_parameters().keys() == policy.meta_parameters().keys()


@of_policies
def test_runs_for_one_step_and_one_episode(problem, policy):
    result = tg.simulate(problem, policy, horizon=1, episodes=1, seed=0)
    assert result.regret.shape == (1,)
    assert result.pulls.sum() == 1


@pytest.mark.parametrize(
    "cls", [cls for module in (problems, policies) for _, cls in inspect.getmembers(module, inspect.isclass)]
)
def test_classes_are_abstract_or_final(cls):
    """No concrete method of one of our classes is overridden by another."""
    for name, method in vars(cls).items():
        if inspect.isfunction(method) and not name.startswith("__"):
            for base in cls.__mro__[1:]:
                inherited = vars(base).get(name)
                if base.__module__.startswith("tsgrad") and inspect.isfunction(inherited):
                    assert getattr(inherited, "__isabstractmethod__", False), f"{cls.__name__}.{name}"
