"""The gradient of expected reward in the meta-parameters, by any estimator."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from tsgrad import native
from tsgrad.arrays import FloatArray
from tsgrad.checks import BadInput, check_count
from tsgrad.estimate.block import gradient_block
from tsgrad.estimate.estimator import Estimator
from tsgrad.estimate.moments import NOTHING, Moments
from tsgrad.policies import SamplingPolicy, parameter_names, prepared
from tsgrad.problems import AnyProblem
from tsgrad.simulation import CHUNK, Engine, Precision, check_blocks, choose_engine, over_blocks
from tsgrad.streams import Address, Purpose


class Gradient(NamedTuple):
    """An estimate of the gradient of expected total reward, to be ascended.

    Summed over steps, averaged over episodes and their runs; standard errors are over episodes.
    """

    mean: FloatArray  # [P]
    standard_error: FloatArray  # [P]
    regret: float
    regret_standard_error: float
    names: tuple[str, ...]  # [P]


def _not_native(kernel: native.Kernel | None, policy: SamplingPolicy, estimators: tuple[Estimator, ...]) -> str | None:
    """Why the native engine has no kernel for a gradient; None if it has one."""
    if kernel is None or not parameter_names(policy):
        return f"it has no kernel for the gradient of {type(policy).__name__} on this problem"
    if len(estimators) > 1:
        return "it computes one estimator at a time"
    (estimator,) = estimators
    metric, _, baseline = estimator.name.partition("/")
    if metric not in native.METRICS or baseline not in native.BASELINES:
        return f"it has no kernel for {estimator.name}"
    return None if estimator.world == "true" else "it reads the true world"


class _Request(NamedTuple):
    """A checked request for gradients."""

    problem: AnyProblem
    policy: Any
    estimators: tuple[Estimator, ...]
    where: dict[str, Any]  # horizon, episodes, seed, purpose, iteration, precision
    chunk: int
    kernel: native.Kernel | None  # where the native engine runs

    @classmethod
    def checked(
        cls,
        problem: AnyProblem,
        policy: SamplingPolicy,
        estimators: tuple[Estimator, ...],
        *,
        engine: str,
        chunk: int,
        **where: Any,
    ) -> "_Request":
        if not estimators:
            raise BadInput("estimators must name at least one estimator, got none")
        check_count("horizon", where["horizon"], least=1)
        check_blocks(where["episodes"], where["precision"], chunk)
        Address.of(seed=where["seed"], purpose=where["purpose"], iteration=where["iteration"])
        for estimator in estimators:
            estimator.check(problem)
        if len({estimator.world for estimator in estimators}) > 1:
            raise BadInput("estimators computed from one record must have the same world: ask for them apart")
        ready = prepared(policy, problem, where["horizon"])
        kernel = native.kernel_for(problem, ready)
        chosen = choose_engine(engine, _not_native(kernel, ready, estimators))
        return cls(problem, ready, estimators, where, chunk, kernel if chosen == "native" else None)

    def native_blocks(self, every_episode: bool) -> Iterator[dict[str, Any]]:
        assert self.kernel is not None
        (estimator,) = self.estimators
        metric, _, baseline = estimator.name.partition("/")
        return native.gradient_blocks(
            self.kernel,
            metric=metric,
            baseline=baseline,
            rollouts=estimator.rollouts,
            single_time=estimator.single_time,
            every_episode=every_episode,
            **self.where,
        )

    def jax_blocks(self, every_episode: bool) -> Iterator[Any]:
        where = self.where
        address = Address.of(seed=where["seed"], purpose=where["purpose"], iteration=where["iteration"])
        total = np.uint32(where["episodes"])
        return over_blocks(
            lambda block: gradient_block(
                self.problem, self.policy, self.estimators, address, total, block, where["horizon"], every_episode
            ),
            episodes=where["episodes"],
            precision=where["precision"],
            chunk=self.chunk,
        )

    def moments(self) -> Iterator[tuple[Moments, Moments]]:
        """Moments of the gradient [P] and of the regret, block by block."""
        if self.kernel is None:
            for gradients, lost in self.jax_blocks(every_episode=False):
                yield Moments(gradients.count, gradients.mean[0], gradients.spread[0]), lost
            return
        for blocks in self.native_blocks(every_episode=False):
            for row, count in enumerate(blocks["count"]):
                yield (
                    Moments(count, blocks["mean"][row], blocks["spread"][row]),
                    Moments(count, blocks["regret_mean"][row], blocks["regret_spread"][row]),
                )

    def every_episode(self) -> FloatArray:
        """Each episode's gradient, by each estimator: [N, E, P]."""
        if self.kernel is None:
            parts = list(self.jax_blocks(every_episode=True))
        else:
            parts = [np.concatenate(blocks["every_episode"])[:, None] for blocks in self.native_blocks(True)]
        return np.concatenate(parts)[: self.where["episodes"]].astype(np.float64)


def gradient(
    problem: AnyProblem,
    policy: SamplingPolicy,
    estimator: Estimator,
    *,
    horizon: int,
    episodes: int,
    seed: int,
    purpose: Purpose = Purpose.TRAINING,
    iteration: int = 0,
    engine: Engine = "auto",
    precision: Precision = "float32",
    chunk: int = CHUNK,
) -> Gradient:
    """The gradient of expected total reward, from `episodes` simulated episodes.

    >>> from tsgrad.problems import AnyProblem, GaussianBandit
    >>> from tsgrad.policies import ReshapedThompson
    >>> problem = GaussianBandit(arms=2)
    >>> policy = ReshapedThompson(problem, shared=True)
    >>> found = gradient(problem, policy, Estimator("mean", "self"), horizon=10, episodes=1000, seed=0)
    >>> found.names
    ('prior_mean', 'log_prior_variance', 'log_precision_ratio', 'decay')
    >>> bool(found.mean[3] > 3 * found.standard_error[3])  # sampling less towards the end pays
    True
    """
    request = _Request.checked(
        problem,
        policy,
        (estimator,),
        engine=engine,
        chunk=chunk,
        horizon=horizon,
        episodes=episodes,
        seed=seed,
        purpose=purpose,
        iteration=iteration,
        precision=precision,
    )
    gradients, lost = NOTHING, NOTHING
    for block_gradients, block_lost in request.moments():
        gradients, lost = gradients.add(block_gradients), lost.add(block_lost)
    return Gradient(
        gradients.mean,
        gradients.standard_error,
        float(lost.mean),
        float(lost.standard_error),
        parameter_names(policy),
    )


def episode_gradients(
    problem: AnyProblem,
    policy: SamplingPolicy,
    estimators: Mapping[str, Estimator],
    *,
    horizon: int,
    episodes: int,
    seed: int,
    purpose: Purpose = Purpose.TRAINING,
    iteration: int = 0,
    engine: Engine = "auto",
    precision: Precision = "float32",
    chunk: int = CHUNK,
) -> dict[str, FloatArray]:
    """Each episode's own gradient [N, P], by every estimator, all from one simulated record of the episode.

    What a study of variance needs: estimators see the same runs, and differ in nothing but themselves.
    """
    request = _Request.checked(
        problem,
        policy,
        tuple(estimators.values()),
        engine=engine,
        chunk=chunk,
        horizon=horizon,
        episodes=episodes,
        seed=seed,
        purpose=purpose,
        iteration=iteration,
        precision=precision,
    )
    gradients = request.every_episode()
    return {name: gradients[:, index] for index, name in enumerate(estimators)}


def gradient_engine(problem: AnyProblem, policy: SamplingPolicy, estimator: Estimator, engine: str) -> str:
    """The engine that a gradient would run on."""
    return choose_engine(engine, _not_native(native.kernel_for(problem, policy), policy, (estimator,)))
