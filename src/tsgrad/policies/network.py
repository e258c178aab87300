"""What policies with a recurrent network share: a gated recurrent unit, held as arrays, and rewards in its units."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tsgrad.arrays import FloatArray
from tsgrad.checks import BadInput
from tsgrad.problems import FiniteArms, Problem
from tsgrad.streams import Address, Purpose, Stream

MOST_UNITS = 1024


def last_axis(weights: FloatArray) -> int:
    """How many inputs, or units, the weights [3H, I] or [3H, H] are for; none where they are a single number."""
    return weights.shape[-1] if weights.ndim else 0


def gated_shapes(units: int, inputs: int) -> dict[str, tuple[int, ...]]:
    """The shapes of the arrays of a gated recurrent unit."""
    return {
        "weight_input": (3 * units, inputs),
        "weight_hidden": (3 * units, units),
        "bias": (3 * units,),
        "bias_candidate": (units,),
    }


def check_shapes(policy: Any, **expected: tuple[int, ...]) -> None:
    """The arrays of a policy, by name, must have these shapes."""
    for name, shape in expected.items():
        if getattr(policy, name).shape != shape:
            raise BadInput(f"{name} must have shape {shape}, got {getattr(policy, name).shape}")


def gated_unit(policy: Any) -> eqx.nn.GRUCell:
    """The gated recurrent unit whose arrays a policy holds: from inputs [I] and a state [H] to the next state [H]."""
    units, inputs = policy.weight_hidden.shape[1], policy.weight_input.shape[1]
    skeleton = eqx.filter_eval_shape(eqx.nn.GRUCell, inputs, units, key=jax.random.key(0))
    cell: eqx.nn.GRUCell = eqx.tree_at(
        lambda cell: (cell.weight_ih, cell.weight_hh, cell.bias, cell.bias_n),
        skeleton,
        (policy.weight_input, policy.weight_hidden, policy.bias, policy.bias_candidate),
    )
    return cell


def standardised(policy: Any, arm: Any, reward: Float[Array, ""]) -> Float[Array, ""]:
    """A reward in the units of the network: (reward - location) / scale, of its arm where each has its own."""
    which = arm if policy.reward_scale.ndim else ()
    location, scale = (jnp.asarray(leaf)[which] for leaf in (policy.reward_location, policy.reward_scale))
    return (reward - location) / scale


def reward_scale(model: Problem) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of rewards before anything is known: of each arm, or of the best vector."""
    home = Address.of(seed=0, purpose=Purpose.TRAINING)
    arms = jnp.arange(model.arms) if isinstance(model, FiniteArms) else None

    def rewards(episode: Array) -> Array:
        address = home.with_episode(episode)
        world = model.draw_world(address.noise(Stream.WORLD))
        context = model.draw_context(None, address.noise(Stream.CONTEXT).step(1), jnp.int32(1))
        noise = address.noise(Stream.REWARD).step(1)
        if arms is None:
            return model.reward(world, context, model.best_arm(world, context), noise)
        return jax.vmap(lambda arm: model.reward(world, context, arm, noise))(arms)

    drawn = np.asarray(jax.jit(jax.vmap(rewards))(jnp.arange(4096, dtype=jnp.uint32)), np.float64)
    spread = drawn.std(axis=0)
    return np.asarray(drawn.mean(axis=0)), np.where(spread > 0, spread, 1.0)  # rewards that hardly ever differ stay
