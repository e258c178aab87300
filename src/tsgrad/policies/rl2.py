"""RL2: a recurrent network that is a bandit policy all by itself, and knows nothing but what it was trained on."""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Integer

from tsgrad.arrays import FloatArray, Leaf
from tsgrad.checks import BadInput, check_array, check_count
from tsgrad.laws import CategoricalLaw
from tsgrad.policies.base import Clock, SamplesArms
from tsgrad.policies.network import (
    MOST_UNITS,
    check_shapes,
    gated_shapes,
    gated_unit,
    last_axis,
    reward_scale,
    standardised,
)
from tsgrad.policies.same_arms import check_same_arms
from tsgrad.problems import AnyProblem, Context, Problem
from tsgrad.registry import register

_WEIGHTS = ("start", "weight_input", "weight_hidden", "bias", "bias_candidate", "head_weight", "head_bias")


@register("rl2")
class RL2Policy(SamplesArms):
    """A gated recurrent unit reads (arm, reward) of each step; its state gives the probabilities of the arms.

    Made by `RL2`. Axes: H units, K arms: `start` [H], the state before anything was seen, `weight_input` [3H, K + 1],
    `weight_hidden` [3H, H], `bias` [3H], `bias_candidate` [H], `head_weight` [K, H], `head_bias` [K]; rewards are read
    as (reward - location) / scale of their arm.
    """

    uses_clock: ClassVar[bool] = False

    start: Leaf
    weight_input: Leaf
    weight_hidden: Leaf
    bias: Leaf
    bias_candidate: Leaf
    head_weight: Leaf
    head_bias: Leaf
    reward_location: Leaf
    reward_scale: Leaf

    def __init__(
        self,
        *,
        start: Any,
        weight_input: Any,
        weight_hidden: Any,
        bias: Any,
        bias_candidate: Any,
        head_weight: Any,
        head_bias: Any,
        reward_location: Any,
        reward_scale: Any,
    ) -> None:
        self.start = check_array("start", start)
        self.weight_input = check_array("weight_input", weight_input)
        self.weight_hidden = check_array("weight_hidden", weight_hidden)
        self.bias = check_array("bias", bias)
        self.bias_candidate = check_array("bias_candidate", bias_candidate)
        self.head_weight = check_array("head_weight", head_weight)
        self.head_bias = check_array("head_bias", head_bias)
        self.reward_location = check_array("reward_location", reward_location)
        self.reward_scale = check_array("reward_scale", reward_scale, above=0)
        units, arms = last_axis(self.weight_hidden), self.head_bias.size
        check_shapes(
            self,
            **{**gated_shapes(units, last_axis(self.weight_input)), "weight_input": (3 * units, arms + 1)},
            start=(units,),
            head_weight=(arms, units),
            head_bias=(arms,),
            reward_location=(arms,),
            reward_scale=(arms,),
        )

    def prepare(self, problem: AnyProblem, horizon: int) -> "RL2Policy":
        arms = check_same_arms("RL2", problem).arms
        if arms != self.head_bias.size:
            raise BadInput(
                f"policy has {self.head_bias.size} arms, the problem has {arms}: make it with RL2(problem) and train it"
            )
        return self

    def init(self, model: Problem) -> Float[Array, "H"]:
        return jnp.asarray(self.start, jnp.result_type(float))

    def law(
        self, model: Problem, belief: Any, memory: Float[Array, "H"], context: Context, clock: Clock
    ) -> CategoricalLaw:
        return CategoricalLaw(self.head_weight @ memory + self.head_bias, context.available)

    def remember(
        self, memory: Float[Array, "H"], context: Context, arm: Integer[Array, ""], reward: Float[Array, ""]
    ) -> Float[Array, "H"]:
        code = jax.nn.one_hot(arm, self.head_bias.shape[0], dtype=memory.dtype)
        read = jnp.append(code, standardised(self, arm, reward))
        later: Float[Array, H] = gated_unit(self)(read.astype(memory.dtype), memory)
        return later

    def trainable(self) -> Any:
        everything = jax.tree.map(lambda _: True, self)
        return eqx.tree_at(lambda p: (p.reward_location, p.reward_scale), everything, (False, False))

    def meta_parameters(self) -> dict[str, FloatArray]:
        return {name: np.asarray(getattr(self, name)) for name in _WEIGHTS}


def RL2(problem: AnyProblem, *, hidden: int = 32, seed: int = 0) -> RL2Policy:  # noqa: N802
    """A recurrent network from the arms and rewards of an episode to the probabilities of the arms, to be trained.

    Args:
        problem: what it is to play; its arms must be the same at all steps.
        hidden: the number of units, up to 1,024.
        seed: of the weights that don't start at zero.

    Returns:
        The policy. Its last layer starts at zero: it starts as uniform play.

    Raises:
        BadInput: if the problem has contexts or infinitely many arms.

    Duan, Schulman, Chen, Bartlett, Sutskever and Abbeel (2016), "RL^2: Fast Reinforcement Learning via Slow
    Reinforcement Learning", with our gradient in place of TRPO, and with a state to start from that is learned in place
    of a flag that says that an episode starts. The network sees neither prior nor horizon: it counts by itself, and
    serves only the horizon that it was trained for.

        >>> import tsgrad as tg
        >>> problem = tg.BernoulliBandit(arms=2)
        >>> played = tg.simulate(problem, RL2(problem, hidden=8), horizon=10, episodes=512, seed=0)
        >>> uniform = tg.simulate(problem, tg.Uniform(), horizon=10, episodes=512, seed=0)
        >>> bool(abs(played.regret.mean() - uniform.regret.mean()) < 0.2)
        True

    """
    model = check_same_arms("RL2", problem)
    units = check_count("hidden", hidden, least=1, most=MOST_UNITS)
    key = jax.random.key(check_count("seed", seed, least=0, most=2**32 - 1))
    cell = eqx.nn.GRUCell(model.arms + 1, units, key=key)
    location, scale = reward_scale(model)
    return RL2Policy(
        start=np.zeros(units),
        weight_input=cell.weight_ih,
        weight_hidden=cell.weight_hh,
        bias=cell.bias,
        bias_candidate=cell.bias_n,
        head_weight=np.zeros((model.arms, units)),
        head_bias=np.zeros(model.arms),
        reward_location=location,
        reward_scale=scale,
    )
