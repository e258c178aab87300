"""What a policy is: something that chooses an arm; and what a sampling policy is: something training can move."""

import abc
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Integer

from tsgrad.arrays import FloatArray
from tsgrad.artefact import write_json
from tsgrad.checks import BadInput, check_array, check_type
from tsgrad.laws import CategoricalLaw, Law, OrderedLaw, largest_shares
from tsgrad.problems import AnyProblem, Context, FiniteArms, Problem, largest
from tsgrad.registry import to_data
from tsgrad.streams import Address, Noise, Purpose, Stream

_DRAWS = 10_000


class Clock(NamedTuple):
    """Where in the episode a decision stands; t runs from 1 to the horizon T.

    Where arms come and go by a schedule, `arms_left` says how many decisions are left while each arm is there.

    >>> Clock(t=50, horizon=50).fraction_left
    0.02
    """

    t: int | Integer[Array, ""]
    horizon: int
    arms_left: Integer[Array, "K"] | None = None

    @property
    def left(self) -> int | Integer[Array, ""]:
        """How many decisions are left, this one included: T - t + 1. Past the horizon there is no decision."""
        if isinstance(self.t, int | np.integer) and not 1 <= self.t <= self.horizon:
            raise BadInput(
                f"t must be from 1 to the horizon {self.horizon}, got {self.t}: policies end with their horizon"
            )
        return self.horizon - self.t + 1

    @property
    def left_with_arms(self) -> Any:
        """How many decisions are left in which each arm can be played: one number where all arms stay, else [K]."""
        return self.left if self.arms_left is None else self.arms_left

    @property
    def fraction_left(self) -> float | Float[Array, ""]:
        """Left / T: one at the first step, 1/T at the last."""
        return self.left / self.horizon


Value = TypeVar("Value")


def computed_once(value: Value, clock: Clock) -> Value:
    """The value itself. XLA would compute it anew inside each of its consumers, a comparison of arms or a sum among
    them, where it may not be vectorised; a branch it can't see through makes it compute it once, and for all.
    """
    kept: Value = jax.lax.cond(clock.t > 0, lambda x: x, lambda x: jax.tree.map(jnp.zeros_like, x), value)
    return kept


class Policy(eqx.Module):
    """Chooses arms. Rivals implement just this."""

    @abc.abstractmethod
    def prepare(self, problem: AnyProblem, horizon: int) -> "Policy":
        """Once, on the host, before anything runs: checks that the policy fits the problem, computes tables."""

    @abc.abstractmethod
    def init(self, model: Problem) -> Any:
        """The memory at the start of an episode."""

    @abc.abstractmethod
    def act(self, model: Problem, belief: Any, memory: Any, context: Context, clock: Clock, noise: Noise) -> Any:
        """The arm to play."""

    @abc.abstractmethod
    def remember(self, memory: Any, context: Context, arm: Any, reward: Float[Array, ""]) -> Any:
        """The memory after a reward."""

    def save(self, path: str | Path) -> None:
        """Writes the policy as JSON; `tsgrad.load` reads it back. `Run.save` writes its problem and horizon too."""
        write_json(path, "policy", {"policy": to_data(self)})


def prepared(policy: Policy, problem: AnyProblem, horizon: int) -> Any:
    """The policy made ready for a problem; here, before anything runs, both refuse what they can't do."""
    check_type("problem", problem, AnyProblem, remedy="such as tsgrad.GaussianBandit(arms=3)")
    check_type("policy", policy, Policy, remedy="such as tsgrad.Thompson()")
    # Of priors the checks alone: to compute them here would compile programs of their own. Mostly both sides are one.
    sides = [problem.truth] if problem.model is problem.truth else [problem.truth, problem.model]
    jax.eval_shape(lambda: [side.prior(horizon) for side in sides])
    return policy.prepare(problem, horizon)


class Memoryless(Policy):
    """A policy that depends on the past through the belief alone."""

    def init(self, model: Problem) -> None:
        return None

    def remember(self, memory: None, context: Context, arm: Any, reward: Float[Array, ""]) -> None:
        return None


class SamplingPolicy(Policy):
    """Draws a pseudo-action from a law and plays what it leads to: what training can move.

    Derive from one of `SamplesWorlds`, `SamplesArmValues` and `SamplesArms`, which say how a draw becomes an arm. The
    meta-parameters are the leaves that `trainable` names, held in unconstrained units. `uses_clock` is false where the
    law does not depend on the time.
    """

    uses_clock: ClassVar[bool] = True

    @abc.abstractmethod
    def law(self, model: Problem, belief: Any, memory: Any, context: Context, clock: Clock) -> Law:
        """The sampling distribution: deterministic, differentiable in the meta-parameters."""

    @abc.abstractmethod
    def choose(self, model: Problem, draw: Any, context: Context) -> Any:
        """The arm that a draw leads to."""

    @abc.abstractmethod
    def plays_largest(self, model: Problem) -> bool:
        """Whether the arm that a draw leads to is the available one with the largest `order` of the draw."""

    @abc.abstractmethod
    def trainable(self) -> Any:
        """A tree of booleans in the shape of the policy, true at the leaves that training moves."""

    @abc.abstractmethod
    def meta_parameters(self) -> dict[str, FloatArray]:
        """What training moves, in the paper's units."""

    def _repr_html_(self) -> str:
        from tsgrad.report.notebook import policy_html

        return policy_html(self)

    def act(self, model: Problem, belief: Any, memory: Any, context: Context, clock: Clock, noise: Noise) -> Any:
        return self.choose(model, self.law(model, belief, memory, context, clock).sample(noise), context)

    def shares(self, model: Any, belief: Any, memory: Any, context: Context, clock: Clock) -> Float[Array, "K"]:
        """The probability of every arm at a decision, for finitely many arms; differentiable in the meta-parameters.

        Exact where the law is one over arms, or of independent arms of which the largest is played: by quadrature, to
        1e-7 in float64 and about 1e-5 in float32. For other laws from 10,000 draws, with standard errors up to 0.005.
        """
        law = self.law(model, belief, memory, context, clock)
        if isinstance(law, CategoricalLaw):
            return jnp.exp(law.log_probabilities)
        if isinstance(law, OrderedLaw) and self.plays_largest(model):
            return largest_shares(law, context.available)
        return self._sampled_shares(law, model, context)

    def _sampled_shares(self, law: Law, model: Any, context: Context) -> Float[Array, "K"]:
        noise = Address.of(seed=0, purpose=Purpose.EVALUATION).noise(Stream.POLICY)

        def one(number: Integer[Array, ""]) -> Float[Array, "K"]:
            draw = jax.lax.stop_gradient(law.sample(noise.at(number)))
            log_prob = law.log_prob(draw)
            # One in value; its derivative is the score, which makes the average's derivative that of the chance.
            weight = jnp.exp(log_prob - jax.lax.stop_gradient(log_prob))
            return jnp.asarray(weight * (self.choose(model, draw, context) == jnp.arange(model.arms)))

        return jnp.mean(jax.vmap(one)(jnp.arange(_DRAWS)), axis=0)


class SamplesWorlds(SamplingPolicy):
    """Its law is over worlds: plays the best arm of the world drawn."""

    def choose(self, model: Problem, draw: Any, context: Context) -> Any:
        return model.best_arm(draw, context)

    def plays_largest(self, model: Problem) -> bool:
        return isinstance(model, FiniteArms) and model.ordered_worlds


class SamplesArmValues(SamplingPolicy):
    """Its law is over values of the arms: plays the available arm with the largest `draw.order` [K].

    That grows with the values, and tells those apart that round to the same number.
    """

    def choose(self, model: Problem, draw: Any, context: Context) -> Integer[Array, ""]:
        return largest(draw.order, context)

    def plays_largest(self, model: Problem) -> bool:
        return True


class SamplesArms(SamplingPolicy):
    """Its law is over the arms themselves, and gives no chance to those that are not available."""

    def choose(self, model: Problem, draw: Any, context: Context) -> Any:
        return draw

    def plays_largest(self, model: Problem) -> bool:
        return False


Sampling = TypeVar("Sampling", bound=SamplingPolicy)


def split(policy: SamplingPolicy) -> tuple[Any, Any]:
    """The policy as (meta-parameters, the rest), two trees that `equinox.combine` joins again."""
    check_type("policy", policy, SamplingPolicy, remedy="which has a law to differentiate")
    return eqx.partition(policy, policy.trainable())


def parameter_names(policy: SamplingPolicy) -> tuple[str, ...]:
    """A name for each meta-parameter, in the order of `parameter_vector`.

    Args:
        policy: whose meta-parameters.

    Returns:
        The names [P].

    >>> import tsgrad as tg
    >>> parameter_names(tg.ReshapedThompson(tg.GaussianBandit(arms=2)))[:3]
    ('prior_mean[0]', 'prior_mean[1]', 'log_prior_variance[0]')

    """
    moving, _ = split(policy)
    names: list[str] = []
    for path, leaf in jax.tree_util.tree_leaves_with_path(moving):
        stem = jax.tree_util.keystr(path).lstrip(".")
        names += [stem + (f"[{', '.join(map(str, index))}]" if index else "") for index in np.ndindex(np.shape(leaf))]
    return tuple(names)


def parameter_fields(policy: SamplingPolicy) -> tuple[str, ...]:
    """The fields of a policy that hold its meta-parameters, in the order of `parameter_vector`.

    >>> import tsgrad as tg
    >>> parameter_fields(tg.BonusThompson(tg.GaussianBandit(arms=2)))  # alike, arms have none of their own
    ('bonus', 'log_spread')
    """
    moving, _ = split(policy)
    leaves: Any = jax.tree_util.tree_leaves_with_path(moving)
    return tuple(dict.fromkeys(path[0].name for path, leaf in leaves if np.size(leaf)))


def parameter_vector(policy: SamplingPolicy) -> FloatArray:
    """The meta-parameters as one vector, in the unconstrained units that training moves.

    Args:
        policy: whose meta-parameters.

    Returns:
        The vector [P], in float64, on the host.

    >>> import tsgrad as tg
    >>> parameter_vector(tg.ReshapedThompson(tg.GaussianBandit(prior_mean=2.0, arms=3), shared=True))
    array([2., 0., 0., 0.])

    """
    moving, _ = split(policy)
    leaves = [np.ravel(np.asarray(leaf, dtype=np.float64)) for leaf in jax.tree.leaves(moving)]
    return np.concatenate(leaves) if leaves else np.zeros(0)


def with_parameters(policy: Sampling, vector: FloatArray) -> Sampling:
    """The policy with other meta-parameters.

    Args:
        policy: which is left as it is.
        vector: the meta-parameters [P], as `parameter_vector` gives them.

    Returns:
        A new policy.

    Raises:
        BadInput: if the vector has another length.

    >>> import tsgrad as tg
    >>> policy = tg.ReshapedThompson(tg.GaussianBandit(arms=3), shared=True)
    >>> float(with_parameters(policy, [0.5, 0, 0, 1]).meta_parameters()["prior_mean"])
    0.5

    """
    moving, fixed = split(policy)
    leaves, structure = jax.tree.flatten(moving)
    sizes = [np.size(leaf) for leaf in leaves]
    given = check_array("vector", vector)
    if given.shape != (sum(sizes),):
        raise BadInput(f"vector must have shape ({sum(sizes)},), one number per meta-parameter, got {given.shape}")
    pieces = np.split(given, np.cumsum(sizes)[:-1]) if leaves else []
    shaped = [piece.reshape(np.shape(leaf)) for piece, leaf in zip(pieces, leaves, strict=True)]
    moved: Sampling = eqx.combine(jax.tree.unflatten(structure, shaped), fixed)
    return moved


def plain_meta_parameters(policy: SamplingPolicy) -> dict[str, Any]:
    """The meta-parameters in the paper's units as plain data, a number or lists of them: what files hold.

    >>> import tsgrad as tg
    >>> plain_meta_parameters(tg.ReshapedThompson(tg.GaussianBandit(arms=2)))["decay"]
    [0.0, 0.0]
    """
    return {name: np.asarray(value).tolist() for name, value in policy.meta_parameters().items()}
