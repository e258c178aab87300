"""Gradients from recorded episodes: a policy that is deployed is updated from what it did, the world never seen."""

from collections.abc import Iterator, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, UInt32

from tsgrad.arrays import FloatArray
from tsgrad.checks import BadInput, check_finite_results, check_type
from tsgrad.estimate.estimator import Estimator
from tsgrad.estimate.gradient_blocks import Gradient
from tsgrad.estimate.score import gradients_of, most_rollouts
from tsgrad.policies import SamplingPolicy, parameter_names, prepared
from tsgrad.problems import AnyProblem, FiniteArms, Problem, check_precision
from tsgrad.simulation import BLOCK, Precision, Recorded, Workload, from_live_rollout, over_blocks, regret, replay
from tsgrad.streams import Address, Purpose


def gradient_from_episodes(
    problem: AnyProblem,
    policy: SamplingPolicy,
    estimator: Estimator,
    episodes: Recorded,
    *,
    seed: int,
    iteration: int = 0,
    precision: Precision = "float32",
) -> Gradient:
    """The gradient at the policy that played the recorded episodes, without the world in which it played them.

    Args:
        problem: what was played; its model is what matters.
        policy: the policy that played.
        estimator: metric, baseline, and how they are put to use.
        episodes: what was recorded, [N, T] first.
        seed: of the worlds that are drawn from final posteriors.
        iteration: of the address of those worlds.
        precision: "float32" or "float64".

    Returns:
        The gradient with standard errors; its regret is that in the worlds that were drawn.

    Raises:
        BadInput: if the estimator does not suit the problem, or the arrays of `episodes` do not fit together.

    Each episode's world is drawn from its final posterior, and rewards that weren't seen from that world: where the
    model is right, the estimate has the mean and covariance of the simulator's.

        >>> import tsgrad as tg
        >>> problem = tg.GaussianBandit(arms=2)
        >>> policy = tg.ReshapedThompson(problem)
        >>> live = tg.simulate(problem, policy, horizon=5, episodes=100, seed=0, trajectories=True).trajectories
        >>> found = gradient_from_episodes(problem, policy, Estimator("mean", "self"), Recorded.of(live), seed=1)
        >>> found.mean.shape
        (8,)

    """
    _check_estimators(problem, (estimator,))
    gradients, regrets = replayed_gradients(problem, policy, (estimator,), episodes, seed, iteration, precision)
    number = len(regrets)
    error = np.sqrt(number) if number > 1 else 0.0

    def standard_error(sample: FloatArray) -> Any:
        return np.std(sample, axis=0, ddof=1) / error if error else np.full(sample.shape[1:], np.inf)

    return Gradient(
        gradients[:, 0].mean(axis=0),
        standard_error(gradients[:, 0]),
        float(regrets.mean()),
        float(standard_error(regrets)),
        parameter_names(policy),
    )


def recorded_gradients(
    problem: AnyProblem,
    policy: SamplingPolicy,
    estimators: Mapping[str, Estimator],
    episodes: Recorded,
    *,
    seed: int,
    iteration: int = 0,
    precision: Precision = "float32",
) -> dict[str, FloatArray]:
    """Each recorded episode's own gradient, by every estimator.

    Args:
        problem: what was played; its model is what matters.
        policy: the policy that played.
        estimators: by name.
        episodes: what was recorded, [N, T] first.
        seed: of the worlds that are drawn from final posteriors.
        iteration: of the address of those worlds.
        precision: "float32" or "float64".

    Returns:
        The gradients [N, P] of each estimator, by its name.

    Raises:
        BadInput: if an estimator does not suit the problem, or the arrays of `episodes` do not fit together.

    >>> import tsgrad as tg
    >>> problem = tg.GaussianBandit(arms=2)
    >>> policy = tg.ReshapedThompson(problem)
    >>> live = tg.simulate(problem, policy, horizon=5, episodes=100, seed=0, trajectories=True).trajectories
    >>> found = recorded_gradients(problem, policy, {"mean": Estimator("mean", "self")}, Recorded.of(live), seed=1)
    >>> found["mean"].shape
    (100, 8)

    """
    check_type("estimators", estimators, Mapping, remedy='such as {"a": tsgrad.Estimator("mean", "self")}')
    if not estimators:
        raise BadInput("estimators must name at least one estimator, got none")
    chosen = tuple(estimators.values())
    _check_estimators(problem, chosen)
    gradients, _ = replayed_gradients(problem, policy, chosen, episodes, seed, iteration, precision)
    return {name: gradients[:, index] for index, name in enumerate(estimators)}


def _check_estimators(problem: AnyProblem, estimators: tuple[Estimator, ...]) -> None:
    check_type("problem", problem, AnyProblem, remedy="such as tsgrad.GaussianBandit(arms=3)")
    for estimator in estimators:
        check_type("estimator", estimator, Estimator, remedy='such as tsgrad.Estimator("mean", "self")')
        estimator.check(problem)


def replayed_gradients(
    problem: AnyProblem,
    policy: SamplingPolicy,
    estimators: tuple[Estimator, ...],
    episodes: Recorded,
    seed: int,
    iteration: int,
    precision: Precision,
) -> tuple[FloatArray, FloatArray]:
    """Gradients [N, E, P] and regrets [N], whether or not the estimators are right for the problem."""
    check_type("policy", policy, SamplingPolicy, remedy="which has a law to differentiate")
    check_type(
        "episodes", episodes, Recorded, remedy="tsgrad.Recorded(context=..., pseudo_action=..., arm=..., reward=...)"
    )
    episodes = episodes.with_contexts()
    number, horizon = check_recorded(problem.model, episodes)
    ready = prepared(policy, problem, horizon)
    check_precision(problem.model, precision)
    address = Address.of(seed=seed, purpose=Purpose.TRAINING, iteration=iteration)
    blocks = over_recorded(
        lambda numbers, block: _block(problem.model, ready, estimators, address, numbers, block), episodes, precision
    )
    gradients, regrets, log_prob, led_to_arm = (np.concatenate(part)[:number] for part in zip(*blocks, strict=True))
    check_draws(log_prob, led_to_arm)
    check_finite_results("gradient", gradients)
    return gradients.astype(np.float64), regrets.astype(np.float64)


@eqx.filter_jit
def _block(
    model: Problem,
    policy: SamplingPolicy,
    estimators: tuple[Estimator, ...],
    address: Address,
    numbers: UInt32[Array, "B"],
    block: Recorded,
) -> Any:
    """Gradients [B, E, P], regrets [B] and log-densities of the draws [B, T] of a block of recorded episodes."""

    def one(number: Array, recorded: Recorded) -> Any:
        live, log_prob, led_to_arm = replay(model, policy, recorded)
        episode = from_live_rollout(model, policy, live, address.with_episode(number), most_rollouts(estimators))
        return gradients_of(episode, estimators), regret(episode.instance, model, live).total, log_prob, led_to_arm

    return jax.vmap(one)(numbers, block)


def over_recorded(compute: Any, episodes: Recorded, precision: Precision) -> Iterator[Any]:
    """compute(episode numbers [B], their episodes), block by block; the last episode pads the last block."""
    number, horizon = np.shape(episodes.reward)
    workload = Workload(
        horizon=horizon, episodes=number, seed=0, purpose=Purpose.TRAINING, precision=precision
    )  # which fixes how many blocks there are, and nothing else

    def of_block(block: Any) -> Any:
        numbers = np.uint32(block) * np.uint32(BLOCK) + np.arange(BLOCK, dtype=np.uint32)
        kept = np.minimum(numbers, number - 1)
        return compute(numbers, jax.tree.map(lambda leaf: _device(np.asarray(leaf)[kept]), episodes))

    return over_blocks(of_block, workload)


def _device(leaf: Any) -> Any:
    kinds = {"f": jnp.result_type(float), "b": jnp.bool_}
    return jnp.asarray(leaf, kinds.get(leaf.dtype.kind, jnp.int32))


def check_recorded(model: Problem, episodes: Recorded) -> tuple[int, int]:
    """(N, T) of recorded episodes that fit a model."""
    if not jax.tree.leaves(episodes.pseudo_action):
        raise BadInput("episodes.pseudo_action must hold what the policy drew, got nothing: gradients need its density")
    reward = np.asarray(episodes.reward)
    if reward.ndim != 2 or 0 in reward.shape:
        raise BadInput(f"episodes.reward must have axes [N, T], got shape {reward.shape}")
    for name in ("context", "pseudo_action", "arm"):
        for leaf in jax.tree.leaves(getattr(episodes, name)):
            if np.shape(leaf)[:2] != reward.shape:
                raise BadInput(
                    f"episodes.{name} must have axes [N, T] first, {reward.shape} as rewards have,"
                    f" got shape {np.shape(leaf)}"
                )
    _check_finite("reward", reward)
    for name in ("context", "pseudo_action"):
        for leaf in jax.tree.leaves(getattr(episodes, name)):
            _check_finite(name, leaf)
    allowed = {"real": True, "binary": (reward == 0) | (reward == 1), "count": (reward >= 0) & (reward % 1 == 0)}
    if np.any(wrong := ~np.broadcast_to(allowed[model.rewards], reward.shape)):
        episode, step = np.argwhere(wrong)[0]
        kind = "0 or 1" if model.rewards == "binary" else "a count"
        raise BadInput(f"episodes.reward[{episode}, {step}] must be {kind}, got {reward[episode, step]}")
    arm = np.asarray(episodes.arm)
    if not isinstance(model, FiniteArms):
        _check_finite("arm", arm)
    elif arm.dtype.kind not in "iu":
        raise BadInput(f"episodes.arm must hold whole numbers, got {arm.dtype}")
    elif np.any(wrong := (arm < 0) | (arm >= model.arms)):
        episode, step = np.argwhere(wrong)[0]
        raise BadInput(
            f"episodes.arm[{episode}, {step}] must be an arm from 0 to {model.arms - 1}, got {arm[episode, step]}"
        )
    return reward.shape[0], reward.shape[1]


def _check_finite(name: str, values: Any) -> None:
    if not np.all(np.isfinite(values)):
        where = ", ".join(map(str, np.argwhere(~np.isfinite(values))[0]))
        raise BadInput(f"episodes.{name}[{where}] must be finite")


def check_draws(log_prob: FloatArray, led_to_arm: np.ndarray[Any, np.dtype[np.bool_]]) -> None:
    """Raises BadInput where a draw could not have come from the policy, or leads to another arm. Axes: [N, T]."""
    if not np.all(np.isfinite(log_prob)):
        episode, step = np.argwhere(~np.isfinite(log_prob))[0]
        raise BadInput(
            f"episodes.pseudo_action[{episode}, {step}] has zero density under this policy:"
            " give the draws of the policy that played the episodes"
        )
    if not np.all(led_to_arm):
        episode, step = np.argwhere(~led_to_arm)[0]
        raise BadInput(
            f"episodes.arm[{episode}, {step}] is not the arm that episodes.pseudo_action[{episode}, {step}] leads to:"
            " give draws and arms of the same decisions"
        )
