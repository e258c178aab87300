"""Conformance checks for problems and policies, the library's own and yours: each failure says what is wrong.

    >>> from tsgrad.problems import GaussianBandit
    >>> check_problem(GaussianBandit(arms=2))

Statistical checks have fixed seeds and bounds that a right class passes with a false-alarm rate below one in a
million per check.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float
from scipy import stats

from tsgrad.arrays import FloatArray
from tsgrad.checks import BadInput, check_count, check_type
from tsgrad.estimate import log_likelihood, weighted_score
from tsgrad.laws import Law
from tsgrad.policies import (
    Clock,
    Policy,
    SamplingPolicy,
    Thompson,
    parameter_names,
    parameter_vector,
    prepared,
    with_parameters,
)
from tsgrad.problems import FiniteArms, Problem
from tsgrad.registry import from_data, to_data
from tsgrad.simulation import Conditions, Trajectory, draw_instance, roll_out, simulate
from tsgrad.streams import Address, Noise, Purpose, Stream

_FALSE_ALARM = 1e-6
_EPISODES = 4096
_DRAWS = 31  # of the posterior, per episode


class CheckFailed(AssertionError):
    """A class does not keep its contract; the message says where, and what would be right."""


def check_problem(problem: Problem, *, horizon: int = 8, seed: int = 0) -> None:
    """Checks a problem: structure, rewards, calibration by simulation, densities, best arms, round trip to disk.

    Args:
        problem: to check.
        horizon: of the episodes that it is played for.
        seed: of all random numbers.

    Raises:
        CheckFailed: with what is wrong, and what would be right.
        BadInput: if an argument is not of its kind.

    """
    check_type("problem", problem, Problem, remedy="such as tsgrad.GaussianBandit(arms=3)")
    check_count("horizon", horizon, least=1)
    _check_belief(problem, horizon)
    probe = _probe(problem, horizon, seed)
    _check_mean_zero(
        "rewards",
        probe["reward_residual"],
        "reward(world, context, arm, noise) must have the expectation mean(world, context, arm)",
    )
    _check_best_arm(probe)
    _check_same_law(probe)
    if problem.exact_posterior:
        _check_calibrated(probe)
    _check_mean_zero(
        "posterior means",
        probe["posterior_residual"],
        "posterior_mean(belief, context, arm) must be the expectation of mean(draw, context, arm) over posterior draws",
    )
    _check_density(_posterior(problem, horizon, _home(seed)), "posterior(belief)", seed)
    _check_round_trip(problem)


def check_policy(
    policy: Policy, problem: Problem, *, horizon: int = 8, seed: int = 0, starts_as_thompson: bool = False
) -> None:
    """Checks a policy on a problem: it runs, plays its draws, has the density and the score it claims, is saved.

    Args:
        policy: to check.
        problem: what it plays.
        horizon: of the episodes that are played.
        seed: of all random numbers.
        starts_as_thompson: whether it must also play exactly what plain Thompson sampling plays.

    Raises:
        CheckFailed: with what is wrong, and what would be right.
        BadInput: if the policy can't play the problem.

    """
    ready = prepared(policy, problem, horizon)
    _check_runs(policy, problem, horizon, seed)
    if isinstance(problem, FiniteArms):
        _check_masks(ready, problem, horizon, seed)
    if isinstance(ready, SamplingPolicy):
        _check_draws(ready, problem, horizon, seed)
        _check_score(ready, problem, horizon, seed)
        if starts_as_thompson:
            _check_start(ready, problem, horizon, seed)
    _check_round_trip(policy)


def coordinates(draw: Any) -> Float[Array, "C"]:
    """The numbers that a law's density is with respect to: `draw.coordinates`, else `draw.value`, else its leaves.

    Args:
        draw: from a law.

    Returns:
        The numbers, [C].

    """
    for name in ("coordinates", "value"):
        if hasattr(draw, name):
            return jnp.ravel(getattr(draw, name))
    return jnp.concatenate([jnp.ravel(leaf) for leaf in jax.tree.leaves(draw)])


def _check_belief(problem: Problem, horizon: int) -> None:
    """A belief keeps its structure: a loop over steps carries it."""
    home = _home(0)

    def first_step() -> tuple[Any, ...]:
        context = problem.draw_context(None, home.noise(Stream.CONTEXT).step(1), jnp.int32(1))
        world = problem.draw_world(home.noise(Stream.WORLD))
        arm = problem.best_arm(world, context)
        reward = problem.reward(world, context, arm, home.noise(Stream.REWARD).step(1))
        return problem.prior(horizon), context, arm, reward

    before, context, arm, reward = eqx.filter_eval_shape(first_step)
    if jnp.shape(reward) != () or not jnp.issubdtype(jnp.result_type(reward), jnp.floating):
        raise CheckFailed(
            f"reward must be a single floating-point number, got {jnp.result_type(reward)}{list(jnp.shape(reward))}"
        )
    after = eqx.filter_eval_shape(problem.update, before, context, arm, reward)
    described = [jax.tree.map(lambda leaf: (jnp.shape(leaf), jnp.result_type(leaf)), part) for part in (before, after)]
    if described[0] != described[1]:
        raise CheckFailed(
            f"update must return a belief like that of prior(horizon), with the same axes and types: got"
            f" {described[1]} after {described[0]}"
        )


def _probe(problem: Problem, horizon: int, seed: int) -> dict[str, FloatArray]:
    """What many episodes under plain Thompson sampling show. Axes: [N] first; C coordinates of a world, S draws."""
    home = _home(seed)

    def some_arms(context: Any, law: Law, noise: Noise) -> Any:
        if isinstance(problem, FiniteArms):
            return jnp.arange(problem.arms)
        return jax.vmap(lambda index: problem.best_arm(law.sample(noise.at(index, 1)), context))(jnp.arange(4))

    def one(episode: Array) -> dict[str, Any]:
        address = home.with_episode(episode)
        instance = draw_instance(problem, address, horizon)
        rollout = roll_out(problem, Thompson(), instance, address, jnp.uint32(0))
        context = jax.tree.map(lambda leaf: leaf[-1], instance.contexts)
        noise = address.noise(Stream.POSTERIOR)
        law = problem.posterior(rollout.final_belief)
        draws = jax.vmap(lambda index: law.sample(noise.at(index)))(jnp.arange(_DRAWS))
        arms = some_arms(context, law, noise)
        means = jax.vmap(lambda arm: problem.mean(instance.world, context, arm))(arms)
        rewards = jax.vmap(lambda arm: instance.reward(jnp.int32(horizon), context, arm))(arms)
        drawn = jax.vmap(lambda arm: jnp.mean(jax.vmap(lambda draw: problem.mean(draw, context, arm))(draws)))(arms)
        expected = jax.vmap(lambda arm: problem.posterior_mean(rollout.final_belief, context, arm))(arms)
        best = problem.mean(instance.world, context, problem.best_arm(instance.world, context))
        return {
            "reward_residual": rewards - means,
            "posterior_residual": drawn - expected,
            "world": coordinates(instance.world),
            "prior": coordinates(problem.posterior(problem.prior(horizon)).sample(noise.at(_DRAWS))),
            "rank": jnp.sum(jax.vmap(coordinates)(draws) < coordinates(instance.world), axis=0),
            "shortfall": jnp.max(means) - best,
        }

    found: dict[str, FloatArray] = _each(one)
    return found


def _each(one: Callable[[Array], Any], episodes: int = _EPISODES) -> Any:
    found = jax.jit(jax.vmap(one))(jnp.arange(episodes, dtype=jnp.uint32))
    return jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), found)


def _check_mean_zero(what: str, residuals: FloatArray, contract: str) -> None:
    error = residuals.std(axis=0, ddof=1) / np.sqrt(len(residuals))
    z = np.abs(residuals.mean(axis=0)) / np.maximum(error, np.finfo(np.float32).eps)
    bound = stats.norm.isf(_FALSE_ALARM / 2 / z.size)
    if not np.all(z < bound):
        worst = int(np.argmax(np.where(np.isfinite(z), z, np.inf)))
        raise CheckFailed(
            f"{what}: off by {residuals.mean(axis=0).ravel()[worst]:.4g} on average at arm {worst}, {z[worst]:.1f}"
            f" standard errors: {contract}"
        )


def _check_best_arm(probe: dict[str, FloatArray]) -> None:
    worst = probe["shortfall"].max()
    scale = max(float(np.abs(probe["world"]).max()), 1.0)
    if not worst <= 1e-5 * scale:
        raise CheckFailed(f"best_arm: another arm's mean is larger by {worst:.4g}: it must be the arm of largest mean")


def _check_same_law(probe: dict[str, FloatArray]) -> None:
    """Worlds come from the prior that beliefs start from."""
    for index in range(probe["world"].shape[1]):
        test = stats.ks_2samp(probe["world"][:, index], probe["prior"][:, index])
        if test.pvalue < _FALSE_ALARM / probe["world"].shape[1]:
            raise CheckFailed(
                f"prior: coordinate {index} of draw_world has another law than posterior(prior(horizon)).sample"
                f" (Kolmogorov-Smirnov distance {test.statistic:.3f}): they must be the same"
            )


def _check_calibrated(probe: dict[str, FloatArray]) -> None:
    """The true world is one more draw from the final posterior: among its draws every rank is as likely."""
    bins = 8
    for index in range(probe["rank"].shape[1]):
        counts = np.histogram(probe["rank"][:, index], bins=bins, range=(0, _DRAWS + 1))[0]
        if stats.chisquare(counts).pvalue < _FALSE_ALARM / probe["rank"].shape[1]:
            raise CheckFailed(
                f"posterior: coordinate {index} of the world is not one of its draws by rank (counts {counts.tolist()},"
                " which must be even): update and posterior must follow Bayes' rule for draw_world and reward"
            )


def _check_density(law: Law, what: str, seed: int) -> None:
    """The density integrates to one: over a box in the middle of the law, 1 / density averages to its volume.

    Where draws are whole numbers, volumes are numbers of points, and the box is the points that are drawn often.
    """
    home = _home(seed)

    def one(episode: Array) -> tuple[Any, Any]:
        draw = law.sample(home.with_episode(episode).noise(Stream.POSTERIOR))
        return coordinates(draw), law.log_prob(draw)

    values, log_prob = _each(one, 16 * _EPISODES)
    if not np.all(np.isfinite(log_prob)):
        raise CheckFailed(f"{what}: log_prob is not finite at some of its own draws")
    whole = jnp.issubdtype(jax.eval_shape(one, jnp.uint32(0))[0].dtype, jnp.integer)
    inside, log_volume = _often(values) if whole else _box(values)
    terms = np.where(inside, np.exp(-log_prob - log_volume), 0.0)
    error = terms.std(ddof=1) / np.sqrt(len(terms))
    # The box is chosen from the same draws; with this many of them that moves the average by less than its error.
    if not abs(terms.mean() - 1) < stats.norm.isf(_FALSE_ALARM / 2) * error + 0.005:
        raise CheckFailed(
            f"{what}: exp(log_prob) integrates to {1 / terms.mean():.4g} (s.e. {error / terms.mean() ** 2:.2g}),"
            " it must be one: check the normalisation, and that coordinates (or value) are what it is a density of"
        )


def _box(values: FloatArray) -> tuple[Bool[np.ndarray, "N"], float]:
    """Which of the values [N, C] lie in a box in the middle of them, and the logarithm of its volume."""
    _, width = values.shape
    centre, root = values.mean(axis=0), np.linalg.cholesky(np.cov(values, rowvar=False).reshape(width, width))
    standardised = np.linalg.solve(root, (values - centre).T).T
    half = np.quantile(np.abs(standardised), 0.3 ** (1 / width), axis=0)
    inside = np.all(np.abs(standardised) < half, axis=1)
    return inside, float(np.sum(np.log(2 * half)) + np.sum(np.log(np.diag(root))))


def _often(values: FloatArray) -> tuple[Bool[np.ndarray, "N"], float]:
    """Which of the whole-numbered values [N, C] come once in a hundred times or more, and log of how many these are."""
    _, where, counts = np.unique(values, axis=0, return_inverse=True, return_counts=True)
    often = counts >= len(values) / 100
    return often[where.reshape(-1)], float(np.log(often.sum()))


def _check_runs(policy: Policy, problem: Problem, horizon: int, seed: int) -> None:
    """It plays arms that exist, the same ones again for the same seed, in episodes of one step too.

    Those of one step know of no arms that come and go; the others share their compilation with all masks.
    """
    for steps, available in ((1, None), (horizon, _all_open(problem, horizon))):
        ready = prepared(policy, problem, steps)
        found, again = (_trajectories(ready, problem, steps, seed, available) for _ in range(2))
        if isinstance(problem, FiniteArms) and not np.all((found.arm >= 0) & (found.arm < problem.arms)):
            raise CheckFailed(f"act: arms must be from 0 to {problem.arms - 1}, got {np.unique(found.arm)[:10]}")
        if not np.array_equal(found.arm, again.arm):
            raise CheckFailed("act: must be a function of its arguments; it played other arms for the same noise")


def _check_masks(policy: Policy, problem: FiniteArms, horizon: int, seed: int) -> None:
    """It plays available arms only."""
    if problem.arms == 1:
        return
    missing = np.arange(horizon)[:, None] % problem.arms == np.arange(problem.arms)
    played = _trajectories(policy, problem, horizon, seed, ~missing).arm
    wrong = np.take_along_axis(np.broadcast_to(missing, (len(played), *missing.shape)), played[..., None], 2)
    if wrong.any():
        episode, step = np.argwhere(wrong[..., 0])[0]
        raise CheckFailed(
            f"act: plays arm {played[episode, step]} at step {step + 1}, where context.available says it is not there:"
            " choose with tsgrad.largest(values, context)"
        )


def _all_open(problem: Problem, horizon: int) -> Any:
    return np.ones((horizon, problem.arms), bool) if isinstance(problem, FiniteArms) else None


def _trajectories(policy: Policy, problem: Problem, horizon: int, seed: int, available: Any) -> Trajectory:
    """A few episodes, in float64: checks are of formulas, not of roundings."""
    where: dict[str, Any] = {"horizon": horizon, "episodes": 256, "seed": seed, "engine": "jax"}
    conditions = Conditions(available=available)
    found = simulate(problem, policy, trajectories=True, precision="float64", conditions=conditions, **where)
    if not np.all(np.isfinite(found.regret)):
        raise CheckFailed("act: regret is not finite")
    assert found.trajectories is not None
    return found.trajectories


def _check_draws(policy: SamplingPolicy, problem: Problem, horizon: int, seed: int) -> None:
    """It plays what is best for its draw, and its law has the density it claims."""
    step = min(2, horizon - 1)
    with jax.enable_x64(True):
        rollout = _first_rollout(policy, problem, horizon, seed)
        law, played = _law_and_choice(policy, problem, rollout, step, horizon, _home(seed))
        _check_density(law, "law(...)", seed)
    if not np.allclose(played, rollout.arm[step]):
        raise CheckFailed(f"act: plays {played} where best_arm of the draw from law is {rollout.arm[step]}")


def _check_score(policy: SamplingPolicy, problem: Problem, horizon: int, seed: int) -> None:
    """The score is the derivative of the log-likelihood of a fixed rollout, through the memory."""
    names, vector = parameter_names(policy), parameter_vector(policy)
    if not names:
        return
    generator = np.random.default_rng(seed)
    start = with_parameters(policy, vector + 0.1 * generator.standard_normal(vector.size))
    every = vector.size <= 40
    directions = np.eye(vector.size) if every else generator.standard_normal((20, vector.size))
    with jax.enable_x64(True):
        rollout, weights = _first_rollout(start, problem, horizon, seed), jnp.ones(horizon)

        @jax.jit
        def both(moved: Any) -> Any:
            return log_likelihood(problem, moved, rollout, weights), weighted_score(problem, moved, rollout, weights)

        def at(point: FloatArray) -> Any:
            value, score = both(jax.tree.map(jnp.asarray, with_parameters(start, point)))
            return float(value), np.asarray(score)

        center = parameter_vector(start)
        level, score = at(center)
        for index, direction in enumerate(directions):
            step = 1e-3 * direction / np.linalg.norm(direction)
            up, down, far_up, far_down = (at(center + size * step)[0] for size in (1, -1, 2, -2))
            found = (8 * (up - down) - (far_up - far_down)) / 12  # Richardson's: off by the fifth power of the step
            expected = float(score @ step)
            if not abs(found - expected) <= 1e-6 * abs(expected) + 1e-12 * (1 + abs(level)) + 1e-9:
                where = names[index] if every else "a random direction"
                raise CheckFailed(
                    f"law: along {where} the log-density changes by {found / 1e-3:.6g} per unit, its derivative says"
                    f" {expected / 1e-3:.6g}: law must be deterministic, and differentiable in the meta-parameters"
                )


def _first_rollout(policy: SamplingPolicy, problem: Problem, horizon: int, seed: int) -> Trajectory:
    found = _trajectories(policy, problem, horizon, seed, _all_open(problem, horizon))
    rollout: Trajectory = jax.tree.map(lambda leaf: jnp.asarray(leaf[0]), found)
    return rollout


def _check_start(policy: SamplingPolicy, problem: Problem, horizon: int, seed: int) -> None:
    available = _all_open(problem, horizon)
    plain, ours = (_trajectories(one, problem, horizon, seed, available) for one in (Thompson(), policy))
    differ = ~np.isclose(plain.arm, ours.arm).reshape(len(plain.reward), -1).all(axis=1)
    if differ.any():
        raise CheckFailed(
            f"start: in {differ.sum()} of {differ.size} episodes the policy plays other arms than plain Thompson"
            " sampling: its law must be model.posterior(belief) at the start values"
        )


def _check_round_trip(instance: Any) -> None:
    try:
        again = from_data(to_data(instance), what=type(instance).__name__)
    except BadInput as error:
        raise CheckFailed(f"round trip to disk: {error}") from None
    if to_data(again) != to_data(instance):
        raise CheckFailed(
            f"round trip to disk: {type(instance).__name__} built from its own fields differs from itself: its"
            " constructor must take its fields as keywords and keep them as they are"
        )


@eqx.filter_jit
def _posterior(problem: Problem, horizon: int, home: Address) -> Law:
    """The posterior after one episode of plain Thompson sampling."""
    rollout = roll_out(problem, Thompson(), draw_instance(problem, home, horizon), home, jnp.uint32(0))
    return problem.posterior(rollout.final_belief)


@eqx.filter_jit
def _law_and_choice(
    policy: SamplingPolicy, problem: Problem, rollout: Trajectory, step: int, horizon: int, home: Address
) -> tuple[Law, Any]:
    """What the policy draws from at a step of a rollout, and what it plays there."""
    before = (rollout.belief, rollout.memory, rollout.context)
    belief, memory, context = jax.tree.map(lambda leaf: leaf[step], before)
    clock, noise = Clock(step + 1, horizon), home.noise(Stream.POLICY).step(step + 1)
    law = policy.law(problem, belief, memory, context, clock)
    return law, policy.act(problem, belief, memory, context, clock, noise)


def _home(seed: int) -> Address:
    return Address.of(seed=seed, purpose=Purpose.EVALUATION)
