"""Small cases over all that the library computes: a name, and a function that computes its arrays by the public API.

The first word of a name says what must hold on another machine. "native" is computed by the native kernels alone, from
numbers that are the same everywhere, and so is the result. "float32" and "float64" go through XLA, NumPy's or SciPy's
functions, whose last bits depend on the machine. "tied" is float32 where choices hang on these bits: a mixture of two
arms is as good with either of them first, rounding alone says which it is, and by that the draw between them.
"""

import functools
import itertools
import os
import tempfile
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np

import tsgrad as tg

Arrays = dict[str, np.ndarray]
case = functools.partial

GIVEN = np.arange(-36, 36).reshape(8, 3, 3) % 7 / 4  # contexts of eight steps: [T, K, d]
FEATURES = [[1.0, 0.0, 0.5], [0.0, 1.0, 0.5], [1.0, 1.0, 0.0], [0.2, 0.1, 1.0]]
PROBLEMS: dict[str, Any] = {
    "gaussian": tg.GaussianBandit(prior_mean=[0.3, 0.0, -0.2], prior_std=[1.0, 0.5, 2.0], noise_std=[0.5, 1.0, 3.0]),
    "bernoulli": tg.BernoulliBandit(alpha=[1.0, 3.0, 0.7], beta=[1.0, 2.0, 2.2]),
    "poisson": tg.PoissonBandit(shape=[2.0, 3.0, 0.7], rate=[1.0, 2.0, 0.5]),
    "unknown variance": tg.UnknownVarianceBandit(prior_mean=[0.0, 0.5], shape=[2.0, 3.0]),
    "linear": tg.LinearBandit(
        features=FEATURES,
        prior_mean=[0.1, 0.0, -0.3],
        prior_covariance=[[1.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 2.0]],
        noise_std=[0.5, 1.0, 1.0, 2.0],
    ),
    "gaussian contexts": tg.LinearBandit(features=tg.GaussianContexts(arms=4, dimension=3)),
    "given contexts": tg.LinearBandit(features=tg.GivenContexts(features=GIVEN), noise_std=0.7),
    "contexts by a function": tg.LinearBandit(
        features=lambda noise, t: noise.uniform(jnp.arange(6)).reshape(3, 2) - 0.1 * t, prior_covariance=[1.0, 2.0]
    ),
    "ball": tg.BallBandit(dimension=3, prior_mean=[0.5, 0.0, 0.0]),
    "logistic": tg.LogisticBandit(features=tg.GaussianContexts(arms=3, dimension=2), prior_mean=[0.5, 0.0]),
}
ALIKE: dict[str, Any] = {
    "gaussian": tg.GaussianBandit(arms=4, prior_std=0.9, noise_std=0.7),
    "bernoulli": tg.BernoulliBandit(arms=4, alpha=2.0),
}
MISSPECIFIED: dict[str, Any] = {
    "unknown variance": tg.Misspecified(
        truth=tg.GaussianBandit(arms=3, noise_std=[2.0, 0.5, 1.0]), model=tg.UnknownVarianceBandit(arms=3, shape=2.5)
    ),
    "poisson": tg.Misspecified(  # amounts that are far above zero, taken for counts
        truth=tg.GaussianBandit(arms=3, prior_mean=9.0, noise_std=0.5), model=tg.PoissonBandit(arms=3, shape=9.0)
    ),
}
# At these the logarithms of plain Thompson sampling are zero, which no machine rounds differently.
STANDARD: dict[str, Any] = {"gaussian": tg.GaussianBandit(arms=4), "bernoulli": tg.BernoulliBandit(arms=4)}
# Rivals that become a table of indices, which the native engine plays; and those that run on JAX.
TABLES: dict[str, dict[str, Any]] = {
    "gaussian": {
        "greedy": tg.Greedy(),
        "bayes-ucb": tg.BayesUCB(),
        "optimistic gittins, elapsed": tg.OptimisticGittins("elapsed"),
        "optimistic gittins, left": tg.OptimisticGittins("left"),
        "gittins": tg.FiniteHorizonGittins(),
        "relaxation, FH": tg.RelaxationSampling("FH"),
        "scaled": tg.ScaledThompson(0.7),
    },
    "bernoulli": {
        "greedy": tg.Greedy(),
        "bayes-ucb": tg.BayesUCB(0.9),
        "optimistic gittins, elapsed": tg.OptimisticGittins("elapsed"),
        "optimistic gittins, left": tg.OptimisticGittins("left"),
        "gittins": tg.FiniteHorizonGittins(),
    },
}
RIVALS: dict[str, dict[str, Any]] = {
    "gaussian": {
        "uniform": tg.Uniform(),
        "knowledge gradient": tg.KnowledgeGradient(),
        "information directed, variance": tg.InformationDirected("variance"),
        "relaxation, V-Zero": tg.RelaxationSampling("V-Zero"),
        "relaxation, INDEX": tg.RelaxationSampling("INDEX"),
        "satisficing": tg.SatisficingThompson(0.2),
        "top two": tg.TopTwoThompson(0.6),
    },
    "bernoulli": {"information directed, mutual": tg.InformationDirected("mutual")},
    "linear": {"bayes-ucb": tg.BayesUCB(), "information directed, variance": tg.InformationDirected()},
}
SIZE: dict[str, Any] = {"horizon": 8, "episodes": 300, "seed": 1}  # two blocks of 256, the second not full
LONGER = {"horizon": 30}
ELSEWHERE = {"purpose": tg.Purpose.VALIDATION, "iteration": 3, "first_episode": 512, "seed": 2**40 + 5}
METRICS, BASELINES = ("obs", "mean", "fin", "bayes", "q"), ("null", "oracle", "self", "value")


def estimator(metric: str, baseline: str, **options: Any) -> tg.Estimator:
    looks = 2 if metric == "q" or baseline == "value" else None
    return tg.Estimator(metric, baseline, **{"score": "draw", "lookaheads": looks, **options})


PAIRS = {f"{metric}/{baseline}": (metric, baseline) for metric, baseline in itertools.product(METRICS, BASELINES)}
EVERY_PAIR = {name: estimator(*pair) for name, pair in PAIRS.items()}
ON_KERNELS = {name: pair for name, pair in PAIRS.items() if pair[0] != "q" and pair[1] != "value"}
FEW = {name: EVERY_PAIR[name] for name in ("obs/null", "mean/oracle", "bayes/self")}
SINGLE_TIME = {f"{name}, single time": estimator(*PAIRS[name], single_time=True) for name in (*FEW, "fin/null")}
FROM_POSTERIOR = {name: estimator(*PAIRS[name], world="posterior") for name in (*FEW, "mean/self", "fin/oracle")}
TWO, FOUR = (estimator("mean", "self", rollouts=rollouts) for rollouts in (2, 4))
CONDITIONAL = {name: estimator(*PAIRS[name], score="conditional") for name in ("obs/null", "fin/self", "bayes/self")}
ADAM = {"name": "adam", "b2": 0.99}


def numbers_like(tree: Any) -> Any:
    """The tree with a number between -1/4 and 1/4 in each place, the same on every machine."""
    leaves, structure = jax.tree.flatten(tree)
    numbers = ((7 * index % 11 - 5) / 20 for index in itertools.count())
    filled = [np.array(list(itertools.islice(numbers, np.size(leaf)))).reshape(np.shape(leaf)) for leaf in leaves]
    return jax.tree.unflatten(structure, filled)


def reshaped(problem: Any, shared: bool = False) -> Any:
    """A reshaped policy away from its start."""
    return numbers_like(tg.ReshapedThompson(problem, shared=shared))


def bonus(problem: Any, ceiling: float | None = None) -> Any:
    """The bonus law away from its start."""
    policy = tg.BonusThompson(problem, degree=2)
    moved = tg.with_parameters(policy, numbers_like(tg.parameter_vector(policy)))
    return tg.policies.Bonus(**moved.meta_parameters(), ceiling=ceiling)


def recurrent(problem: Any, form: str) -> Any:
    """A recurrent policy away from its start."""
    policy = tg.RecurrentThompson(problem, form=form, hidden=3)
    return jax.tree.map(np.add, policy, numbers_like(policy))


def index_policy(arms: int, cells: int, spread: bool) -> Any:
    table = np.arange(arms * 8 * cells).reshape(arms, 8, cells) % 13 / 16
    return tg.IndexPolicy(table=table, spread=np.arange(1, cells + 1).reshape(1, 1, -1) / cells if spread else None)


def simulated(problem: Any, policy: Any, **options: Any) -> Arrays:
    """What simulation gives, every step included where the engine keeps them."""
    found = tg.simulate(problem, policy, trajectories=options["engine"] == "jax", **{**SIZE, **options})
    arrays = {name: getattr(found, name) for name in ("regret", "reward", "regret_over_time", "pulls")}
    if found.trajectories is not None:
        arrays |= {"every arm": found.trajectories.arm, "every reward": found.trajectories.reward}
    return {name: np.asarray(array) for name, array in arrays.items() if array is not None}


def simulated_without_kept_tables(*arguments: Any, **options: Any) -> Arrays:
    """A simulation for which every table of indices is computed anew."""
    with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, XDG_CACHE_HOME=folder):
        return simulated(*arguments, **options)


def every_gradient(problem: Any, policy: Any, estimators: dict[str, tg.Estimator], **options: Any) -> Arrays:
    """Every episode's gradient by each estimator: at once, or one by one on the kernels."""
    options = {**SIZE, **options}
    if options["engine"] == "jax":
        return tg.episode_gradients(problem, policy, estimators, **options)
    return {
        name: tg.episode_gradients(problem, policy, {name: one}, **options)[name] for name, one in estimators.items()
    }


def arrays_of_gradient(found: tg.Gradient) -> Arrays:
    return {name: np.asarray(value) for name, value in found._asdict().items() if name not in ("names", "fisher")}


def gradient(problem: Any, policy: Any, chosen: tg.Estimator, **options: Any) -> Arrays:
    return arrays_of_gradient(tg.gradient(problem, policy, chosen, **{**SIZE, **options}))


def recurrent_gradient(problem: Any, **options: Any) -> Arrays:
    return gradient(problem, recurrent(problem, "residual"), TWO, **options)


def recurrent_simulated(problem: Any, **options: Any) -> Arrays:
    return simulated(problem, recurrent(problem, "free"), **options)


def from_recorded(problem: Any, policy: Any, chosen: tg.Estimator) -> Arrays:
    """The gradient from what a live system would have written down of simulated episodes."""
    runs = tg.simulate(problem, policy, trajectories=True, **SIZE).trajectories
    return arrays_of_gradient(
        tg.gradient_from_episodes(problem, policy, chosen, tg.Recorded.of(runs), seed=2, iteration=3)
    )


def trained(problem: Any, policy: Any, chosen: tg.Estimator | None = None, **options: Any) -> Arrays:
    """Where five iterations lead, and what was measured on the way."""
    settings = {"iterations": 5, "validation_episodes": 300, "check_every": 2, "optimizer": ADAM, "rivals": False}
    settings |= {**SIZE, **options}
    run = tg.train(problem, policy, TWO if chosen is None else chosen, progress=False, **settings)
    rows = run.history
    return {
        **{f"last {name}": np.asarray(value) for name, value in run.last.meta_parameters().items()},
        **{f"returned {name}": np.asarray(value) for name, value in run.trained.meta_parameters().items()},
        "regret": np.array([row.regret for row in rows if row.regret is not None]),
        "gradient norm": np.array([row.gradient_norm for row in rows if row.gradient_norm is not None]),
        "validation regret": np.array([row.validation_regret for row in rows if row.validation_regret is not None]),
        "gain": np.array([run.gain, run.gain_standard_error, run.plain_regret]),
    }


def compared(problem: Any, policies: dict[str, Any], **options: Any) -> Arrays:
    found = tg.compare(problem, policies, **{**SIZE, **options})
    arrays = {f"{name}, regret": regret for name, regret in found.regrets.items()}
    arrays |= {f"{name}, quantiles": np.array(result.quantiles) for name, result in found.policies.items()}
    arrays |= {f"{name}, gain": np.array(gain, np.float64) for name, gain in found.gains.items()}
    return arrays if found.bound is None else arrays | {"bound": np.array(found.bound.regret)}


def bounded(problem: Any, kinds: tuple[Any, ...]) -> Arrays:
    found = {kind: tg.regret_bound(problem, horizon=12, kind=kind, episodes=512, seed=3) for kind in kinds}
    return {kind: np.array([bound.regret, bound.standard_error]) for kind, bound in found.items()}


def on_jax() -> Iterator[tuple[str, Callable[[], Arrays]]]:
    """What the general engine computes. Nearly all of its time is compilation, so that few are alike."""
    in32: dict[str, Any] = {"engine": "jax", "precision": "float32"}
    in64: dict[str, Any] = {"engine": "jax", "precision": "float64"}
    moved = {name: reshaped(problem) for name, problem in PROBLEMS.items()}
    yield "float32: gaussian, thompson", case(simulated, PROBLEMS["gaussian"], tg.Thompson(), **in32)
    for name in ("gaussian", "given contexts", "logistic"):
        yield f"float32: {name}, reshaped", case(simulated, PROBLEMS[name], moved[name], **in32)
    for name in ("linear", "contexts by a function", "ball"):
        yield f"float64: {name}, reshaped", case(simulated, PROBLEMS[name], moved[name], **in64)
    for name in ("bernoulli", "poisson", "unknown variance", "gaussian contexts"):
        yield f"float32: {name}, reshaped, gradients", case(every_gradient, PROBLEMS[name], moved[name], FEW, **in32)
    for name, problem in MISSPECIFIED.items():
        policy = reshaped(problem.model, shared=True)
        yield f"float32: taken for {name}, shared", case(simulated, problem, policy, **in32)
    for name, rivals in RIVALS.items():
        for rival, policy in rivals.items():
            kind = "tied" if isinstance(policy, tg.InformationDirected) else "float32"
            yield f"{kind}: {name}, {rival}", case(simulated, PROBLEMS[name], policy, **in32)

    problem, policy = PROBLEMS["gaussian"], moved["gaussian"]
    yield "float32: gaussian, recurrent, residual", case(recurrent_gradient, problem, **in32)
    yield "float32: gaussian, recurrent, free", case(recurrent_simulated, problem, **in32)
    yield "float32: gaussian, every pair", case(every_gradient, problem, policy, EVERY_PAIR | SINGLE_TIME, **in32)
    yield "float64: gaussian, from posterior", case(every_gradient, problem, policy, FROM_POSTERIOR, **in64)
    yield "float64: gaussian, four rollouts", case(gradient, problem, policy, FOUR, **in64)
    yield "float64: gaussian, trained", case(trained, problem, tg.ReshapedThompson(problem), FOUR, **in64)
    yield "float32: gaussian, recorded", case(from_recorded, problem, policy, TWO)
    yield "float32: gaussian, validation", case(simulated, problem, policy, **ELSEWHERE, **in32)


def on_kernels() -> Iterator[tuple[str, Callable[[], Arrays]]]:
    """What the native engine computes."""
    for precision, (name, problem) in itertools.product(("float32", "float64"), STANDARD.items()):
        where: dict[str, Any] = {"engine": "native", "precision": precision}
        yield f"native: {name}, thompson, {precision}", case(simulated, problem, tg.Thompson(), **LONGER, **where)
        for form, problem in (("reshaped", PROBLEMS[name]), ("shared", ALIKE[name])):
            policy = reshaped(problem, form == "shared")
            yield f"native: {name}, {form}, {precision}", case(simulated, problem, policy, **LONGER, **where)
            yield f"native: {name}, {form}, four rollouts, {precision}", case(gradient, problem, policy, FOUR, **where)
            for steps in ("every step", "single time"):
                pairs = {key: estimator(*pair, single_time=steps == "single time") for key, pair in ON_KERNELS.items()}
                title = f"native: {name}, {form}, {steps}, {precision}"
                yield title, case(every_gradient, problem, policy, pairs, **where)
        for form, ceiling in (("bonus", None), ("bonus below a ceiling", 1.0)):
            policy = bonus(PROBLEMS[name], ceiling)
            yield f"native: {name}, {form}, {precision}", case(simulated, PROBLEMS[name], policy, **LONGER, **where)
            yield (
                f"native: {name}, {form}, conditional, {precision}",
                case(every_gradient, PROBLEMS[name], policy, CONDITIONAL, **where),
            )
        for kind in ("plain", "random"):
            policy = index_policy(3, 8 if name == "gaussian" else 36, kind == "random")
            yield f"native: {name}, {kind} index, {precision}", case(simulated, PROBLEMS[name], policy, **where)
    problem = PROBLEMS["gaussian"]
    yield "native: gaussian, validation", case(simulated, problem, reshaped(problem), engine="native", **ELSEWHERE)
    for name, rivals in TABLES.items():
        for rival, policy in rivals.items():
            played = simulated_without_kept_tables if rival == "gittins" else simulated
            yield f"float32: {name}, {rival}", case(played, PROBLEMS[name], policy, engine="native")


def on_both() -> Iterator[tuple[str, Callable[[], Arrays]]]:
    """Training on the native engine, comparisons and bounds: kernels, and the rest around them."""
    problem = PROBLEMS["gaussian"]
    yield "float32: gaussian, trained", case(trained, problem, tg.ReshapedThompson(problem), engine="native")
    yield (
        "float32: gaussian, natural",
        case(
            trained, problem, tg.BonusThompson(problem), CONDITIONAL["bayes/self"], engine="native", optimizer="natural"
        ),
    )
    paper: dict[str, Any] = {"schedule": "constant", "optimizer": "adam", "clip_norm": 1.0, "precision": "float64"}
    start, oracle = tg.ReshapedThompson(PROBLEMS["bernoulli"]), estimator("mean", "oracle")
    yield "float64: bernoulli, trained", case(trained, PROBLEMS["bernoulli"], start, oracle, engine="native", **paper)
    policies = {"plain": tg.Thompson(), "reshaped": reshaped(problem), "scaled": tg.ScaledThompson(0.7)}
    yield "float32: gaussian, compared", case(compared, problem, policies, bound="V-Zero")
    two = tg.BernoulliBandit(alpha=[1.0, 2.0], beta=[1.5, 1.0])
    policies = {"plain": tg.Thompson(), "optimistic": tg.OptimisticGittins("left"), "greedy": tg.Greedy()}
    yield "float64: bernoulli, compared", case(compared, two, policies, precision="float64", reference="greedy")
    yield "float64: gaussian, bounds", case(bounded, problem, ("FH", "V-Zero"))
    yield "float64: bernoulli, bounds", case(bounded, two, ("perfect", "FH", "V-Zero", "optimum"))


CASES = dict(itertools.chain(on_jax(), on_kernels(), on_both()))
