"""Recurrent sampling policies: a network reads the history and gives the parameters of the law (paper, Example 3)."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tsgrad.arrays import FloatArray, Leaf
from tsgrad.checks import BadInput, check_array, check_choice, check_count, check_flag, check_type
from tsgrad.laws import Law
from tsgrad.policies.base import Clock, SamplesWorlds
from tsgrad.policies.network import (
    MOST_UNITS,
    check_shapes,
    gated_shapes,
    gated_unit,
    last_axis,
    reward_scale,
    standardised,
)
from tsgrad.policies.same_arms import seen_features
from tsgrad.policies.shifted import shift_width, shifted
from tsgrad.problems import AnyProblem, Context, FiniteArms, Problem
from tsgrad.registry import register
from tsgrad.streams import Address, Purpose, Stream

FORMS = ("residual", "free")
_WEIGHTS = ("weight_input", "weight_hidden", "bias", "bias_candidate", "head_weight", "head_bias")


@register("recurrent")
class RecurrentPolicy(SamplesWorlds):
    """A gated recurrent unit reads (arm, reward) of each step; its state and the clock move the law's parameters.

    In the form "residual" they move those of the posterior, in the form "free" those of the prior, so that all that
    was learned comes through the network. Made by `RecurrentThompson`. Axes: H units, I inputs, M the numbers that
    move a law: `weight_input` [3H, I], `weight_hidden` [3H, H], `bias` [3H], `bias_candidate` [H],
    `head_weight` [M, H + 1], `head_bias` [M]; rewards are read as (reward - location) / scale of their arm. An arm is
    read as its features where the model has contexts (`reads_features`), else as itself.
    """

    weight_input: Leaf
    weight_hidden: Leaf
    bias: Leaf
    bias_candidate: Leaf
    head_weight: Leaf
    head_bias: Leaf
    reward_location: Leaf
    reward_scale: Leaf
    form: str = eqx.field(static=True)
    reads_features: bool = eqx.field(static=True)

    def __init__(
        self,
        *,
        form: str,
        reads_features: bool,
        weight_input: Any,
        weight_hidden: Any,
        bias: Any,
        bias_candidate: Any,
        head_weight: Any,
        head_bias: Any,
        reward_location: Any,
        reward_scale: Any,
    ) -> None:
        self.form = check_choice("form", form, FORMS)
        self.reads_features = check_flag("reads_features", reads_features)
        self.weight_input = check_array("weight_input", weight_input)
        self.weight_hidden = check_array("weight_hidden", weight_hidden)
        self.bias = check_array("bias", bias)
        self.bias_candidate = check_array("bias_candidate", bias_candidate)
        self.head_weight = check_array("head_weight", head_weight)
        self.head_bias = check_array("head_bias", head_bias)
        self.reward_location = check_array("reward_location", reward_location)
        self.reward_scale = check_array("reward_scale", reward_scale, above=0)
        units = last_axis(self.weight_hidden)
        check_shapes(
            self,
            **gated_shapes(units, last_axis(self.weight_input)),
            head_weight=(self.head_bias.size, units + 1),
            head_bias=(self.head_bias.size,),
        )

    def prepare(self, problem: AnyProblem, horizon: int) -> "RecurrentPolicy":
        model = problem.model
        inputs, outputs = 2 * _code_width(model), shift_width(model.posterior(model.prior(horizon)))
        fits = (inputs, outputs) == (self.weight_input.shape[1], self.head_bias.shape[0])
        if not fits or self.reads_features != (seen_features(model) is not None):
            raise BadInput(
                f"policy has {self.weight_input.shape[1]} inputs and {self.head_bias.shape[0]} outputs,"
                f" this problem needs {inputs} and {outputs}, or other inputs: make it with RecurrentThompson(problem)"
            )
        return self

    def init(self, model: Problem) -> Float[Array, "H"]:
        return jnp.zeros(self.weight_hidden.shape[1])

    def law(self, model: Any, belief: Any, memory: Float[Array, "H"], context: Context, clock: Clock) -> Law:
        known = belief if self.form == "residual" else model.prior(clock.horizon)
        read = jnp.append(memory, clock.fraction_left)
        law: Law = shifted(model.posterior(known), self.head_weight @ read + self.head_bias)
        return law

    def remember(self, memory: Float[Array, "H"], context: Context, arm: Any, reward: Float[Array, ""]) -> Any:
        code = self._code(context, arm)
        read = jnp.concatenate([code, code * standardised(self, arm, reward)])
        return gated_unit(self)(read.astype(memory.dtype), memory)

    def trainable(self) -> Any:
        everything = jax.tree.map(lambda _: True, self)
        return eqx.tree_at(lambda p: (p.reward_location, p.reward_scale), everything, (False, False))

    def meta_parameters(self) -> dict[str, FloatArray]:
        return {name: np.asarray(getattr(self, name)) for name in _WEIGHTS}

    def _code(self, context: Context, arm: Any) -> Float[Array, "C"]:
        """Which arm was played: its features, a vector as it is, else one of K."""
        if self.reads_features:
            return jnp.asarray(context.features[arm])
        if jnp.ndim(arm):
            return jnp.asarray(arm)
        return jax.nn.one_hot(arm, self.weight_input.shape[1] // 2, dtype=jnp.result_type(float))


def RecurrentThompson(  # noqa: N802
    problem: AnyProblem, *, form: str = "residual", hidden: int = 32, seed: int = 0
) -> RecurrentPolicy:
    """A recurrent sampling policy for a problem.

    Args:
        problem: what it is to play.
        form: "residual" moves the posterior, "free" the prior, so that all that was learned comes through the network.
        hidden: the number of units, up to 1,024.
        seed: of the weights that don't start at zero.

    Returns:
        The policy. Its last layer starts at zero: the residual form starts exactly as plain Thompson sampling, the
        free form as draws from the prior.

    Raises:
        BadInput: if the problem has no posterior that a network can move, or an option can't be used.

        >>> from tsgrad.problems import Context, GaussianBandit
        >>> policy = RecurrentThompson(GaussianBandit(arms=3), hidden=8)
        >>> {name: value.shape for name, value in policy.meta_parameters().items()}["head_weight"]
        (6, 9)

    """
    check_type("problem", problem, AnyProblem, remedy="such as tsgrad.GaussianBandit(arms=3)")
    model = problem.model
    units, inputs = check_count("hidden", hidden, least=1, most=MOST_UNITS), 2 * _code_width(model)
    outputs = shift_width(model.posterior(model.prior(1)))
    key = jax.random.key(check_count("seed", seed, least=0, most=2**32 - 1))
    cell = eqx.nn.GRUCell(inputs, units, key=key)
    location, scale = reward_scale(model)
    return RecurrentPolicy(
        form=form,
        reads_features=seen_features(model) is not None,
        weight_input=cell.weight_ih,
        weight_hidden=cell.weight_hh,
        bias=cell.bias,
        bias_candidate=cell.bias_n,
        head_weight=np.zeros((outputs, units + 1)),
        head_bias=np.zeros(outputs),
        reward_location=location,
        reward_scale=scale,
    )


def _code_width(model: Problem) -> int:
    """How many numbers say which arm was played."""
    features = seen_features(model)
    if features is not None:
        return int(features.shape[1])
    if isinstance(model, FiniteArms):
        return model.arms
    world = model.draw_world(Address.of(seed=0, purpose=Purpose.TRAINING).noise(Stream.WORLD))
    return int(jax.eval_shape(lambda: model.best_arm(world, Context())).shape[0])
