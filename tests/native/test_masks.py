"""Masks on the native engine: against episodes played slowly in NumPy, and by what must hold for every kernel."""

import functools
import itertools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tsgrad as tg
from tsgrad import native
from tsgrad.policies import parameter_vector, prepared, with_parameters
from tsgrad.streams import Address, Stream

T, N = 9, 40
GAUSSIAN = tg.GaussianBandit(
    prior_mean=[0.0, 0.2, -0.3, 0.1], prior_std=[1.0, 0.8, 1.2, 1.0], noise_std=[1.0, 0.4, 2.0, 0.7]
)
BERNOULLI = tg.BernoulliBandit(alpha=[1.0, 2.0, 0.5], beta=[1.0, 1.5, 2.0])
PAIRS = list(itertools.product(native.METRICS, native.BASELINES))
WHERE = {"horizon": T, "seed": 3, "purpose": tg.Purpose.TRAINING, "iteration": 2, "episodes": N, "threads": 2}


def moved(problem):
    policy = tg.ReshapedThompson(problem)
    vector = parameter_vector(policy)
    return with_parameters(policy, vector + 0.3 * np.random.default_rng(1).standard_normal(vector.shape))


def bonus(problem):
    policy = prepared(tg.BonusThompson(problem, degree=2), problem, T)
    return with_parameters(policy, 0.3 * np.random.default_rng(1).standard_normal(parameter_vector(policy).shape))


def random_mask(arms, steps=T):
    """Half of the arms closed, the first ones too; one open at least."""
    generator = np.random.default_rng(4)
    mask = generator.random((steps, arms)) < 0.5
    mask[np.arange(steps), generator.integers(arms, size=steps)] = True
    return mask


def index_policy(cells):
    draw = np.random.default_rng(2).uniform
    return tg.IndexPolicy(table=draw(0, 1, (1, T, cells)), spread=draw(0, 1, (1, 1, cells)))


CASES = {
    "gaussian, plain": (GAUSSIAN, tg.Thompson()),
    "gaussian, reshaped": (GAUSSIAN, moved(GAUSSIAN)),
    "gaussian, bonus": (GAUSSIAN, bonus(GAUSSIAN)),
    "gaussian, index": (GAUSSIAN, index_policy(T)),
    "bernoulli, plain": (BERNOULLI, tg.Thompson()),
    "bernoulli, reshaped": (BERNOULLI, moved(BERNOULLI)),
    "bernoulli, bonus": (BERNOULLI, tg.BonusThompson(BERNOULLI).prepare(BERNOULLI, T)),
    "bernoulli, index": (BERNOULLI, index_policy(T * (T + 1) // 2)),
}
of_cases = pytest.mark.parametrize(("problem", "policy"), CASES.values(), ids=CASES)


def simulated(problem, policy, available, precision="float64", **options):
    kernel = native.kernel_for(problem, policy)
    where = {**WHERE, "precision": precision, **options}
    (found,) = native.simulation_blocks(kernel, trajectories=True, available=available, **where)
    return found


def differentiated(problem, policy, pair, available, precision="float64", rollouts=None, **options):
    metric, baseline = pair
    (found,) = native.gradient_blocks(
        native.kernel_for(problem, policy),
        metric=metric,
        baseline=baseline,
        rollouts=rollouts or (2 if baseline == "self" else 1),
        single_time=False,
        every_episode=True,
        available=available,
        precision=precision,
        **{**WHERE, **options},
    )
    return found


def per_episode(ask):
    """What `ask` gives for the address of each episode, in float64. Axes: [N] first."""
    with jax.enable_x64(True):
        address = Address.of(seed=WHERE["seed"], purpose=WHERE["purpose"], iteration=WHERE["iteration"])
        return np.asarray(jax.vmap(lambda episode: ask(address.with_episode(episode)))(jnp.arange(N)))


def normals(stream, rollout=0):
    """The standard normals of all steps and arms. Axes: [N, T, K]."""
    arms = jnp.arange(GAUSSIAN.arms)
    return per_episode(
        lambda address: jax.vmap(lambda t: address.noise(stream, rollout=rollout).step(t).normal(arms))(
            jnp.arange(1, T + 1)
        )
    )


class Instances(NamedTuple):
    """The world and all rewards of N episodes of Gaussian arms, and the best available arm of every step."""

    means: np.ndarray  # [N, K]
    rewards: np.ndarray  # [N, T, K]: what each play of an arm pays, the first first
    best: np.ndarray  # [N, T]


class Played(NamedTuple):
    """A run of the reshaped policy through N episodes."""

    arm: np.ndarray  # [N, T]
    pulls: np.ndarray  # [N, T, K], before each step
    total: np.ndarray  # [N, T, K]
    score: np.ndarray  # [N, T, 4 K]


def instances(mask):
    problem = GAUSSIAN
    means = per_episode(lambda address: problem.means(problem.draw_world(address.noise(Stream.WORLD)), tg.Context()))
    rewards = means[:, None] + problem.noise_std * normals(Stream.REWARD)
    best = np.argmax(np.where(mask, means[:, None], -np.inf), axis=2)
    return Instances(means, rewards, best)


def played(policy, world, mask, rollout):
    """The policy's episodes, from its formulas: the largest value among the arms available is played."""
    residuals = normals(Stream.POLICY, rollout)
    ratio = np.exp(policy.log_precision_ratio)
    pulls, total = np.zeros(world.means.shape), np.zeros(world.means.shape)
    arms, counts, sums, scores = [], [], [], []
    for t in range(T):
        log_left = np.log((T - t) / T)
        share = 1 / (1 + ratio * pulls)
        location = (policy.prior_mean + ratio * total) * share
        std = np.sqrt(np.exp(policy.log_prior_variance + policy.decay * log_left) * share)
        z = residuals[:, t]
        arm = np.argmax(np.where(mask[t], location + std * z, -np.inf), axis=1)
        of_variance = (z**2 - 1) / 2
        of_ratio = z / std * ratio * (total - location * pulls) * share - of_variance * ratio * pulls * share
        scores.append(np.concatenate([z / std * share, of_variance, of_ratio, of_variance * log_left], axis=1))
        arms.append(arm), counts.append(pulls), sums.append(total)
        one = np.eye(GAUSSIAN.arms)[arm]
        turn = pulls.astype(int)[:, None]  # of each arm's next play
        pulls, total = pulls + one, total + one * np.take_along_axis(world.rewards, turn, axis=1)[:, 0]
    return Played(*(np.stack(each, axis=1) for each in (arms, counts, sums, scores)))


def posterior_means(pulls, total):
    ratio = GAUSSIAN.precision_ratio
    return (GAUSSIAN.prior_mean + ratio * total) / (1 + ratio * pulls)


def from_here_on(steps):
    return np.cumsum(steps[:, ::-1], axis=1)[:, ::-1]


def paid(world, arms):
    """What the arms played [N, T] pay: [N, T]."""
    one = np.eye(GAUSSIAN.arms, dtype=int)[arms]
    return at(np.take_along_axis(world.rewards, np.cumsum(one, axis=1) - one, axis=1), arms)


def at(values, arm):
    """The entry of each step's arm: [N, T] from [N, T, K]."""
    return np.take_along_axis(values, arm[..., None], axis=2)[..., 0]


def earned(metric, world, run, arms):
    """What `arms` [N, T] earn by a metric, from each step on; `run` is the belief that `fin` and `bayes` read."""
    if metric == "obs":
        return from_here_on(paid(world, arms))
    if metric == "mean":
        return from_here_on(np.take_along_axis(world.means, arms, axis=1))
    if metric == "bayes":
        return from_here_on(at(posterior_means(run.pulls, run.total), arms))
    known = (run.pulls + T - np.arange(T)[:, None]).astype(int)  # plays of each arm by the end, if it alone is played
    estimates = posterior_means(known, np.take_along_axis(np.cumsum(world.rewards, axis=1), known - 1, axis=1))
    return np.sum(from_here_on(np.eye(GAUSSIAN.arms)[arms]) * estimates, axis=2)


def oracle_run(world):
    """What is seen by whoever plays the best available arm of every step, before each step."""
    one = np.eye(GAUSSIAN.arms)[world.best]
    before = [np.cumsum(steps, axis=1) - steps for steps in (one, one * paid(world, world.best)[..., None])]
    return Played(world.best, *before, score=None)


def expected_gradients(pair, world, runs):
    """Each episode's gradient by its definition: [N, P]."""
    metric, baseline = pair
    metrics = [earned(metric, world, run, run.arm) for run in runs]
    parts = []
    for run, value in zip(runs, metrics, strict=True):
        if baseline == "oracle":
            value = value - earned(metric, world, oracle_run(world) if metric == "bayes" else run, world.best)
        if baseline == "self":
            value = value - (sum(metrics) - value) / (len(runs) - 1)
        parts.append(np.sum(run.score * value[..., None], axis=1))
    return np.mean(parts, axis=0)


def test_the_same_episodes_as_played_slowly():
    """Every arm, every reward and what was lost against the best available arm."""
    mask, policy = random_mask(GAUSSIAN.arms), moved(GAUSSIAN)
    world = instances(mask)
    run = played(policy, world, mask, rollout=0)
    found = simulated(GAUSSIAN, policy, mask)
    np.testing.assert_array_equal(found["arms"][0, :N], run.arm)
    np.testing.assert_allclose(found["rewards"][0, :N], paid(world, run.arm), atol=1e-12)
    lost = np.take_along_axis(world.means, world.best, axis=1) - np.take_along_axis(world.means, run.arm, axis=1)
    np.testing.assert_allclose(found["regret"][0, :N], lost.sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(found["step_regret"][0], lost.sum(axis=0), atol=1e-11)


@functools.cache
def slow_rollouts(masked):
    """The mask, the policy, its instances and three rollouts of each, as all estimators see them."""
    mask = random_mask(GAUSSIAN.arms) if masked else np.ones((T, GAUSSIAN.arms), bool)
    policy, world = moved(GAUSSIAN), instances(mask)
    return mask, policy, world, [played(policy, world, mask, rollout) for rollout in range(3)]


@pytest.mark.parametrize("masked", [True, False], ids=["masked", "all open"])
@pytest.mark.parametrize("pair", PAIRS, ids="/".join)
def test_the_same_gradients_as_by_definition(pair, masked):
    """Of every episode, to 1e-9 of the largest; all open holds the slow simulation itself to account."""
    mask, policy, world, runs = slow_rollouts(masked)
    rollouts = 3 if pair[1] == "self" else 1
    expected = expected_gradients(pair, world, runs[:rollouts])
    found = differentiated(GAUSSIAN, policy, pair, mask if masked else None, rollouts=rollouts)
    np.testing.assert_allclose(found["every_episode"][0, :N], expected, rtol=0, atol=1e-9 * np.abs(expected).max())


@functools.cache
def means_of_worlds(gaussian):
    """The arms' means in every episode [N, K], compiled once for all policies."""
    problem = GAUSSIAN if gaussian else BERNOULLI
    return per_episode(lambda address: problem.means(problem.draw_world(address.noise(Stream.WORLD)), tg.Context()))


@of_cases
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_closed_arm_is_never_played(problem, policy, precision):
    mask = random_mask(problem.arms)
    found = simulated(problem, policy, mask, precision)
    arms = found["arms"][0, :N]
    assert np.all(mask[np.arange(T), arms])
    means = means_of_worlds(problem is GAUSSIAN)
    lost = np.max(np.where(mask, means[:, None], -np.inf), axis=2) - np.take_along_axis(means, arms, axis=1)
    tolerance = 1e-11 if precision == "float64" else 1e-4
    np.testing.assert_allclose(found["regret"][0, :N], lost.sum(axis=1), atol=tolerance)
    np.testing.assert_array_equal(found["pulls"][0], np.sum(arms[..., None] == np.arange(problem.arms), axis=(0, 1)))


@of_cases
def test_one_open_arm_a_step_leaves_no_choice(problem, policy):
    forced = np.arange(T) % problem.arms
    found = simulated(problem, policy, np.eye(problem.arms, dtype=bool)[forced])
    np.testing.assert_array_equal(found["arms"][0, :N], np.broadcast_to(forced, (N, T)))
    np.testing.assert_array_equal(found["regret"], 0)


@of_cases
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_all_open_is_no_mask(problem, policy, precision):
    """Bit for bit, on every instruction set."""
    everything = np.ones((T, problem.arms), bool)
    for instructions in native.compiled().instruction_sets():
        options = {"precision": precision, "instruction_set": instructions}
        asked = [lambda mask, options=options: simulated(problem, policy, mask, **options)]
        if native.kernel_for(problem, policy).parameters:
            asked += [
                lambda mask, pair=pair, options={"conditional": conditional, **options}: differentiated(
                    problem, policy, pair, mask, **options
                )
                for pair, conditional in itertools.product(PAIRS, (False, True))
            ]
        for ask in asked:
            one, other = ask(None), ask(everything)
            for name in one:
                np.testing.assert_array_equal(one[name], other[name], err_msg=name)


def test_a_mask_leaves_draws_and_scores_alone():
    """Where the metric weighs all steps alike, a step's score is that of its draw, whatever can be played."""
    policy, pair = moved(GAUSSIAN), ("mean", "null")
    mask = np.ones((1, GAUSSIAN.arms), bool)
    free = differentiated(GAUSSIAN, policy, pair, mask, horizon=1)["every_episode"][0, :N]
    chosen = simulated(GAUSSIAN, policy, mask, horizon=1)["arms"][0, :N, 0]
    closed = mask.copy()
    closed[0, 0] = False
    masked = differentiated(GAUSSIAN, policy, pair, closed, horizon=1)["every_episode"][0, :N]
    played = simulated(GAUSSIAN, policy, closed, horizon=1)["arms"][0, :N, 0]
    others = chosen != 0
    assert 0 < others.sum() < N
    np.testing.assert_array_equal(played[others], chosen[others])
    np.testing.assert_array_equal(masked[others], free[others])
    assert np.all(masked[others][:, 0] != 0)  # the closed arm's own score counts too


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (np.ones((T, 3), bool), r"available must be booleans of shape \(9, 4\), got bool of \(9, 3\)"),
        (np.ones((T, 4)), r"available must be booleans of shape \(9, 4\), got float64 of \(9, 4\)"),
        (np.arange(T)[:, None] != [6] * 4, "available must have an arm to play at every step, got none at step 7"),
    ],
)
def test_bad_masks(mask, message):
    with pytest.raises(tg.BadInput, match=message):
        simulated(GAUSSIAN, tg.Thompson(), mask)
    with pytest.raises(tg.BadInput, match=message):
        differentiated(GAUSSIAN, moved(GAUSSIAN), ("mean", "self"), mask)
