"""How meta-parameters are moved: by the natural gradient, whose steps are measured by how much they change the
decisions of an episode, or by whatever optimizer and schedule of optax is named.
"""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.scipy.linalg as linalg
import optax
from jaxtyping import Array, Float, Integer

from tsgrad.checks import BadInput, check_choice

_TINY = 1e-290  # keeps quotients finite where there is no gradient at all
LONGEST = 0.5  # step of one meta-parameter: they are logarithms, or in standard deviations
MOST_PARAMETERS = 500  # beyond, a matrix of all pairs is more than a step is worth


class NaturalState(NamedTuple):
    """Running means of gradient and Fisher matrix, and how much of the planned step is taken."""

    steps: Integer[Array, ""]
    gradient: Float[Array, "P"]
    fisher: Float[Array, "P P"]
    trust: Float[Array, ""]


def natural(
    learning_rate: optax.ScalarOrSchedule,
    *,
    gradient_decay: float = 0.5,
    fisher_decay: float = 0.8,
    damping: float = 0.01,
) -> optax.GradientTransformationExtraArgs:
    """Natural gradient descent in a trust region; `update` takes the Fisher matrix as `fisher`.

    Args:
        learning_rate: the length of a step in the metric of the Fisher matrix, sqrt(d' F d): a step of length r changes
            the log-likelihood of an episode's decisions by r^2 / 2 in expectation. A number or a schedule.
        gradient_decay: of the running mean of gradients.
        fisher_decay: of the running mean of Fisher matrices.
        damping: what is added to the matrix, as a share of its diagonal.

    Returns:
        The transformation. Its state's `trust` shortens steps.

    """

    def init(parameters: Any) -> NaturalState:
        size = parameters.shape[0]
        return NaturalState(jnp.int32(0), jnp.zeros(size), jnp.zeros((size, size)), jnp.ones(()))

    def update(descent: Any, state: NaturalState, parameters: Any = None, *, fisher: Any, **_: Any) -> Any:
        steps = state.steps + 1
        gradient = gradient_decay * state.gradient + (1 - gradient_decay) * descent
        mean_fisher = fisher_decay * state.fisher + (1 - fisher_decay) * fisher
        # Running means that start from zero; the step's length makes that of the gradient irrelevant.
        metric = mean_fisher / (1 - fisher_decay**steps)
        diagonal = jnp.diagonal(metric)
        # What has no part in any decision must not make the matrix singular.
        floor = jnp.maximum(damping * diagonal, 1e-12 * jnp.max(diagonal)) + _TINY
        direction = linalg.solve(metric + jnp.diag(floor), gradient, assume_a="pos")
        length = jnp.sqrt(jnp.maximum(direction @ metric @ direction, _TINY))
        rate = learning_rate(state.steps) if callable(learning_rate) else learning_rate
        # Nothing may jump where the matrix knows of no reason not to.
        scale = jnp.minimum(state.trust * rate / length, LONGEST / (jnp.max(jnp.abs(direction)) + _TINY))
        step = -scale * direction
        return jnp.where(length > 1e-140, step, 0), NaturalState(steps, gradient, mean_fisher, state.trust)

    return optax.GradientTransformationExtraArgs(init, update)


def with_less_trust(state: Any) -> Any:
    """The optimizer's state with steps half as long, where it has a trust region."""
    return optax.tree.set(state, trust=0.5 * optax.tree.get(state, "trust"))


def has_trust(state: Any) -> bool:
    """Whether an optimizer's state belongs to a method with a trust region."""
    return optax.tree.get(state, "trust") is not None


def schedules() -> dict[str, Callable[..., Any]]:
    """Every schedule of optax, by its name there."""
    names = [name for name in dir(optax.schedules) if name.endswith(("_schedule", "_decay")) and name[0] != "_"]
    return {name: getattr(optax.schedules, name) for name in names}


def optimizers() -> dict[str, Callable[..., Any]]:
    """The natural gradient, and every optimizer of optax that a learning rate is enough for, by its name there."""
    found: dict[str, Callable[..., Any]] = {"natural": natural}
    for name in dir(optax):
        function = getattr(optax, name)
        # L-BFGS needs the objective itself, which no simulator gives; scale_by_* are parts of optimizers.
        if inspect.isfunction(function) and not name.startswith(("_", "scale_by_", "lbfgs")):
            parameters = list(inspect.signature(function).parameters.values())
            required = [one.name for one in parameters if one.default is inspect.Parameter.empty]
            if parameters and parameters[0].name == "learning_rate" and required == ["learning_rate"]:
                found[name] = function
    return found


def check_named_call(argument: str, call: Mapping[str, Any], key: str, known: Mapping[str, Callable[..., Any]]) -> None:
    """A table that names a function and gives its arguments."""
    if key not in call:
        raise BadInput(f"{argument} is missing: name one of {', '.join(sorted(known))}")
    function = known[check_choice(argument, call[key], sorted(known))]
    accepted = inspect.signature(function).parameters
    for name in call.keys() - {key}:
        check_choice(f"an argument of {call[key]}", name, [other for other in accepted if other != "learning_rate"])


class Ascent(NamedTuple):
    """How meta-parameters are moved: the optimizer's state for a vector of them, and one compiled step.

    `step` takes the vector, the gradient, the Fisher matrix or None, and the state; it gives the next vector and state.
    """

    start: Callable[[Any], Any]
    step: Callable[[Any, Any, Any, Any], tuple[Any, Any]]


def build_ascent(
    learning_rate: float | Mapping[str, Any],
    schedule: str | None,
    optimizer: str | Mapping[str, Any],
    clip_norm: float | None,
    *,
    iterations: int,
    rounds: int = 1,
) -> Ascent:
    """The optax chain: clipping of the gradient's norm where asked for, then the optimizer.

    A cosine schedule falls to zero over the `iterations` of each round, from half as much as in the round before.

    Trainings that follow each other share it, and what was compiled for it, unless tables of arguments are given.
    """
    plain = isinstance(optimizer, str) and not isinstance(learning_rate, Mapping)
    build = _shared_ascent if plain else _ascent
    return build(learning_rate, schedule, optimizer, clip_norm, iterations, rounds)


def _ascent(
    learning_rate: float | Mapping[str, Any],
    schedule: str | None,
    optimizer: str | Mapping[str, Any],
    clip_norm: float | None,
    iterations: int,
    rounds: int,
) -> Ascent:
    rate: Any = learning_rate
    if isinstance(learning_rate, Mapping):
        rate = _called(learning_rate, "schedule", schedules())
    elif schedule == "cosine":
        falls = [
            optax.schedules.cosine_decay_schedule(learning_rate / 2**number, iterations) for number in range(rounds)
        ]
        rate = optax.schedules.join_schedules(falls, [iterations * number for number in range(1, rounds)])
    call = {"name": optimizer} if isinstance(optimizer, str) else optimizer
    named = _called({"learning_rate": rate, **call}, "name", optimizers())
    whole = named if clip_norm is None else optax.chain(optax.clip_by_global_norm(clip_norm), named)
    chain = optax.with_extra_args_support(whole)

    def step(vector: Any, gradient: Any, fisher: Any, state: Any) -> tuple[Any, Any]:
        updates, state = chain.update(-gradient, state, vector, fisher=fisher)
        return optax.apply_updates(vector, updates), state

    return Ascent(chain.init, jax.jit(step))


_shared_ascent = functools.lru_cache(maxsize=16)(_ascent)


def is_natural(optimizer: str | Mapping[str, Any]) -> bool:
    """Whether an optimizer, as settings name it, is the natural gradient."""
    return (optimizer if isinstance(optimizer, str) else optimizer.get("name")) == "natural"


def _with_whole_keys(value: Any) -> Any:
    """Steps as integers: a TOML table can't have other keys than strings."""
    if isinstance(value, dict) and all(isinstance(key, str) and key.isdigit() for key in value):
        return {int(key): inner for key, inner in value.items()}
    return value


def _called(call: Mapping[str, Any], key: str, known: Mapping[str, Callable[..., Any]]) -> Any:
    arguments = {name: _with_whole_keys(value) for name, value in call.items() if name != key}
    try:
        return known[call[key]](**arguments)
    except (TypeError, ValueError) as error:
        raise BadInput(f"{call[key]}: {error}") from None
