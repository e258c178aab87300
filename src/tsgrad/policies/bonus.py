"""The bonus law: a learned bonus and spread for every arm, by how much is left to do and how much is known of it."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tsgrad.arrays import FloatArray, Leaf
from tsgrad.checks import BadInput, check_array, check_count, check_type
from tsgrad.laws import NormalLaw
from tsgrad.policies.base import Clock, Memoryless, SamplesArmValues
from tsgrad.policies.bonus_surface import BonusSurface
from tsgrad.problems import AnyProblem, Context, FiniteArms
from tsgrad.registry import register
from tsgrad.streams import Address, Purpose, Stream

LEAST_LOG_SPREAD, MOST_LOG_SPREAD = -3.0, 3.0  # without a floor the gradient's noise grows a hundredfold
_MOST_DEGREE = 8
_SHORTEST = 1e-6  # range of a logarithm
_LEAST_ROOM = 1e-6  # below a ceiling: an arm that can hardly be better has no bonus, in single precision too
_LEAST_STD = 1e-6  # as a part of the largest: an arm that is certain, such as one without features, has a density too
_FITTED = 24  # points along each axis of a surface that another is fitted to
_CONTEXTS = 256  # that are looked at to find how different arms can be


def BonusThompson(problem: AnyProblem, *, degree: int = 3) -> "Bonus":  # noqa: N802
    """The bonus law for a problem, starting as Thompson sampling.

    Args:
        problem: what it is to play; any with finitely many arms.
        degree: of the polynomials that bonus and spread are.

    Returns:
        The policy. Its meta-parameters are shared by all arms, so that it can play with more of them, or fewer.

    Raises:
        BadInput: if the problem has infinitely many arms.

    For Gaussian arms, and all whose expected rewards have normal posteriors that are independent, it starts as plain
    Thompson sampling exactly; elsewhere as its approximation with independent normal draws of the arms' values. Where
    the problem has a ceiling, as Bernoulli arms have, bonuses end below it.

        >>> from tsgrad.problems import BernoulliBandit
        >>> policy = BonusThompson(BernoulliBandit(arms=3))
        >>> print(policy.meta_parameters()["bonus"])
        [0. 0. 0. 0. 0. 0. 0. 0. 0. 0.]

    """
    check_type("problem", problem, AnyProblem, remedy="such as tsgrad.GaussianBandit(arms=3)")
    degree = check_count("degree", degree, least=0)
    if degree > _MOST_DEGREE:
        raise BadInput(f"degree must be at most {_MOST_DEGREE}, got {degree}")
    model = _finite(problem)
    terms = np.zeros((degree + 1) * (degree + 2) // 2)
    return Bonus(bonus=terms, log_spread=terms, ceiling=model.ceiling)


@register("bonus")
class Bonus(Memoryless, SamplesArmValues, BonusSurface):
    """Draws arm k's value from N(m + s u, (s exp v)^2), m and s the posterior's mean and standard deviation.

    u, the bonus, and v, the spread, are polynomials of x, the logarithm of the steps left, and y, that of the arm's
    strength: how many rewards the belief about it is worth. An arm that leaves by a schedule has the steps left until
    then: what is learned of it is of use no longer. Both are scaled to [-1, 1], from one step to `most_left` and from
    `least_known` to `most_known`, which are those of the problem and the horizon where they are not given.
    `bonus` and `log_spread` [D] are coefficients of T_i(x) T_j(y), T Chebyshev's polynomials, with i + j up to the
    degree, those of j = 0 first.

    Where expected rewards end at a `ceiling`, a bonus cannot lift an arm above it: b = s u is then b / (1 + b / room),
    if positive, with room = ceiling - m. With it one set of coefficients serves arms of all means, as it serves
    Gaussian arms of all means without: what an arm deserves in this measure hardly depends on its mean.
    """

    bonus: Leaf
    log_spread: Leaf
    most_left: Leaf | None
    least_known: Leaf | None
    most_known: Leaf | None
    ceiling: Leaf | None

    def __init__(
        self,
        *,
        bonus: Any,
        log_spread: Any,
        most_left: Any = None,
        least_known: Any = None,
        most_known: Any = None,
        ceiling: Any = None,
    ) -> None:
        self.bonus, self.log_spread = check_array("bonus", bonus), check_array("log_spread", log_spread)
        shapes = np.shape(self.bonus), np.shape(self.log_spread)
        if shapes[0] != shapes[1] or len(shapes[0]) != 1:
            raise BadInput(f"bonus and log_spread must be lists of the same length, got {shapes[0]}, {shapes[1]}")
        _degree_of(self.bonus)
        self.most_left = None if most_left is None else check_array("most_left", most_left, above=0)
        self.least_known = None if least_known is None else check_array("least_known", least_known, above=0)
        self.most_known = None if most_known is None else check_array("most_known", most_known, above=0)
        self.ceiling = None if ceiling is None else check_array("ceiling", ceiling)

    def prepare(self, problem: AnyProblem, horizon: int) -> "Bonus":
        _finite(problem)
        least, most = self.least_known, self.most_known
        if least is None or most is None:
            strength = np.asarray(_prior_strengths(problem), np.float64)
            strength = strength[np.isfinite(strength)]  # of arms of which there is something to learn
            if not strength.size:
                raise BadInput(
                    "problem must have an arm of which there is something to learn, got features of zero alone"
                )
            least = np.asarray(np.min(strength)) if least is None else least
            most = np.asarray(np.max(strength) + horizon) if most is None else most
        return Bonus(
            bonus=self.bonus,
            log_spread=self.log_spread,
            most_left=horizon if self.most_left is None else self.most_left,
            least_known=least,
            most_known=most,
            ceiling=self.ceiling,
        )

    def law(self, model: Any, belief: Any, memory: None, context: Context, clock: Clock) -> NormalLaw:
        mean, std = model.arm_moments(belief, context)
        std = jnp.maximum(std, _LEAST_STD * jnp.max(std))
        u, v = self._polynomials(clock.left_with_arms, model.strength(belief, context))
        spread = jnp.exp(jnp.clip(v, LEAST_LOG_SPREAD, MOST_LOG_SPREAD))
        bonus = std * u
        if self.ceiling is not None:
            room = jnp.maximum(self.ceiling - mean, _LEAST_ROOM)
            bonus = bonus / (1 + jnp.maximum(bonus, 0) / room)
        return NormalLaw(mean + bonus, std * spread)

    def _polynomials(self, left: Any, strength: Float[Array, "K"]) -> list[Float[Array, "K"]]:
        """Returns the bonus u and the logarithm v of the spread."""
        (no_time, all_time), (least, most) = self.log_ranges(jnp)
        x = jnp.clip(_scaled(jnp.log(left), no_time, all_time), -1, 1)
        y = jnp.clip(_scaled(jnp.log(strength), least, most), -1, 1)
        degree = _degree_of(self.bonus)
        of_left, of_known = _chebyshev(x, degree), _chebyshev(y, degree)

        # Term by term, those of time first, which all arms share: XLA makes one vectorised loop over arms of it, where
        # an array of all terms would be filled entry by entry.
        def polynomial(coefficients: Float[Array, "D"]) -> Float[Array, "K"]:
            of_time = [jnp.zeros(())] * (degree + 1)
            for coefficient, (i, j) in zip(coefficients, term_degrees(degree), strict=True):
                of_time[j] = of_time[j] + coefficient * of_left[i]
            return jnp.asarray(sum(first * second for first, second in zip(of_time, of_known, strict=True)))

        return [polynomial(jnp.asarray(coefficients)) for coefficients in (self.bonus, self.log_spread)]

    def log_ranges(self, library: Any) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        ends = (self.most_left, self.least_known, self.most_known)
        if None in ends:
            raise BadInput("policy must be prepared for a problem and a horizon before it is asked for its law")
        all_time, least, most = map(library.log, ends)
        return (0.0, all_time), (least, most)

    def surface(self, left: FloatArray, strength: FloatArray) -> tuple[FloatArray, FloatArray]:
        terms = self._terms(left, strength)
        spread = np.clip(terms @ self.log_spread, LEAST_LOG_SPREAD, MOST_LOG_SPREAD)
        return (terms @ self.bonus).reshape(np.shape(left)), spread.reshape(np.shape(left))

    def _terms(self, left: FloatArray, strength: FloatArray) -> FloatArray:
        """Terms of the polynomials at points of a surface, on the host: [point, D]."""
        points = [
            np.clip(_scaled(np.log(np.ravel(value)), *scale), -1, 1)
            for value, scale in zip((left, strength), self.log_ranges(np), strict=True)
        ]
        return _polynomials(points, _degree_of(self.bonus))

    def nearest(self, other: BonusSurface) -> tuple[FloatArray, FloatArray]:
        """Returns the coefficients of bonus and log spread that come nearest to another surface where this one is used.

        >>> import tsgrad as tg
        >>> policy = tg.BonusThompson(tg.GaussianBandit(arms=2)).prepare(tg.GaussianBandit(arms=2), 100)
        >>> [len(coefficients) for coefficients in policy.nearest(tg.pretrained("gaussian"))]
        [10, 10]
        """
        axes = [np.linspace(float(low), float(high), _FITTED) for low, high in self.log_ranges(np)]
        left, strength = (np.exp(values) for values in np.meshgrid(*axes, indexing="ij"))
        terms = self._terms(left, strength)
        bonus, log_spread = (np.linalg.lstsq(terms, np.ravel(values))[0] for values in other.surface(left, strength))
        return np.asarray(bonus), np.asarray(log_spread)

    def trainable(self) -> Any:
        scales = {"most_left", "least_known", "most_known", "ceiling"}
        return jax.tree_util.tree_map_with_path(lambda path, _: path[0].name not in scales, self)

    def meta_parameters(self) -> dict[str, FloatArray]:
        return {"bonus": np.asarray(self.bonus), "log_spread": np.asarray(self.log_spread)}


def term_degrees(degree: int) -> list[tuple[int, int]]:
    """(i, j) of every term T_i(x) T_j(y) with i + j up to the degree, in the order of the coefficients.

    >>> term_degrees(1)
    [(0, 0), (1, 0), (0, 1)]
    """
    return [(i, j) for j in range(degree + 1) for i in range(degree + 1 - j)]


def _degree_of(coefficients: Any) -> int:
    terms = np.shape(coefficients)[0]
    degree = round((float(np.sqrt(8 * terms + 1)) - 3) / 2)
    if degree < 0 or degree > _MOST_DEGREE or (degree + 1) * (degree + 2) // 2 != terms:
        raise BadInput(f"bonus must have 1, 3, 6, 10 or more coefficients, as many as a polynomial has, got {terms}")
    return degree


def _scaled(value: Any, low: Any, high: Any) -> Any:
    """From [low, high] to [-1, 1]; where both ends are one, to the middle."""
    return (2 * value - low - high) / (high - low + (high - low < _SHORTEST) * _SHORTEST)


def _chebyshev(x: Any, degree: int) -> list[Any]:
    """T_0(x) to T_degree(x)."""
    terms = [jnp.ones_like(x), x]
    for _ in range(degree - 1):
        terms.append(2 * x * terms[-1] - terms[-2])
    return terms[: degree + 1]


def _polynomials(points: list[FloatArray], degree: int) -> FloatArray:
    """Every term at points x, y [n] on the host: [n, D]."""
    of_x, of_y = (np.polynomial.chebyshev.chebvander(value, degree) for value in points)
    return np.stack([of_x[:, i] * of_y[:, j] for i, j in term_degrees(degree)], axis=1)


def _finite(problem: AnyProblem) -> FiniteArms:
    if not isinstance(problem.model, FiniteArms):
        raise BadInput(f"problem must have finitely many arms, got {type(problem.model).__name__}")
    return problem.model


@eqx.filter_jit
def _prior_strengths(problem: AnyProblem) -> Float[Array, "episode K"]:
    """Strengths of the arms at the first step of episodes."""
    model = _finite(problem)

    def one(number: Any) -> Any:
        address = Address.of(seed=0, purpose=Purpose.EVALUATION).with_episode(number)
        context = problem.truth.draw_context(None, address.noise(Stream.CONTEXT).step(1), jnp.int32(1))
        return model.strength(model.prior(1), context)

    strengths: Float[Array, "episode K"] = jax.vmap(one)(jnp.arange(_CONTEXTS, dtype=jnp.uint32))
    return strengths
