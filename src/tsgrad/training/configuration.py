"""Configurations: all that a training run is made of, as TOML tables, and what is meant where they say nothing."""

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pydantic
import tomli_w

from tsgrad.checks import BadInput, check_choice
from tsgrad.estimate import Estimator
from tsgrad.policies import RL2, BonusThompson, RecurrentThompson, ReshapedThompson, SamplingPolicy
from tsgrad.problems import AnyProblem, FiniteArms
from tsgrad.registry import from_data
from tsgrad.simulation import EVERY_USER, Conditions, EngineName, WorkloadOptions
from tsgrad.training.settings import EstimatorSettings, Settings, TrainingSettings, checked


class PolicyFamily(NamedTuple):
    """A family of policies that are made to fit a problem, as files name it.

    Attributes:
        fitted: makes the policy for a problem, to start from.
        keys: the options that a file may have for it.
        spelled_out: the key of a file in which the policy is spelled out instead, where its kind is the same.

    """

    fitted: Callable[..., SamplingPolicy]
    keys: tuple[str, ...]
    spelled_out: str | None = None


def _reshaped(problem: AnyProblem, *, shared: Any = False) -> SamplingPolicy:
    if not isinstance(shared, bool):
        raise BadInput(f"policy.shared must be true or false, got {shared!r}")
    return ReshapedThompson(problem.model, shared=shared)


POLICY_FAMILIES = {
    "bonus": PolicyFamily(BonusThompson, ("degree",), "bonus"),
    "reshaped": PolicyFamily(_reshaped, ("shared",)),
    "recurrent": PolicyFamily(RecurrentThompson, ("form", "hidden", "seed"), "weight_input"),
    "rl2": PolicyFamily(RL2, ("hidden", "seed"), "weight_input"),
}


class Configuration(Settings):
    """A whole configuration file."""

    problem: dict[str, Any]
    """the bandit: its kind and its arguments"""
    policy: dict[str, Any] = pydantic.Field(default={})
    """where training starts"""
    estimator: EstimatorSettings | None = None
    """of the gradient; the best for the problem unless given"""
    conditions: dict[str, Any] | None = None
    """how the experiment is run: batches, delays, floors"""
    training: TrainingSettings
    """how it is trained"""

    def build_problem(self) -> AnyProblem:
        """The problem that is described."""
        problem: AnyProblem = from_data(self.problem, what="problem", base=AnyProblem)
        return problem

    def build_conditions(self) -> Conditions:
        """The conditions that are described; the usual ones where nothing is said."""
        return Conditions.from_table(self.conditions)

    def build_workload(self, *, episodes: int, seed: int, horizon: int | None = None) -> WorkloadOptions:
        """Episodes like those of the training, so many of them and of that seed; for `compare`, `gradient` and others.

        Args:
            episodes: how many.
            seed: which.
            horizon: how many steps they have; as many as in training unless given.

        >>> tables = {"problem": {"kind": "gaussian", "arms": 2}, "training": {"horizon": 10, "chunk": 2}}
        >>> found = checked_configuration(tables).build_workload(episodes=100, seed=1)
        >>> found["horizon"], found["episodes"], found["chunk"]
        (10, 100, 2)

        """
        return {
            "horizon": self.training.horizon if horizon is None else horizon,
            "episodes": episodes,
            "seed": seed,
            "precision": self.training.precision,
            "chunk": self.training.chunk,
            "conditions": self.build_conditions(),
        }

    @property
    def engine_of_others(self) -> EngineName:
        """The engine for other policies and estimators than the run's own, of which not each has a kernel."""
        return "jax" if self.training.engine == "jax" else "auto"

    def build_estimator(self, problem: AnyProblem) -> Estimator:
        """The estimator that is described; where nothing is said, the one that is best for the problem."""
        return default_estimator(problem, self.build_conditions()) if self.estimator is None else self.estimator.build()

    def build_policy(self, problem: AnyProblem) -> SamplingPolicy:
        """The policy to start from: families are made to fit the problem, others are spelled out.

        Where nothing is said, it is the family that is best for the problem; "reshaped" where only meta-parameters
        are given.
        """
        if not self.policy:
            return default_policy(problem)
        described = {"kind": "reshaped", **self.policy}
        kind, options = described["kind"], {name: value for name, value in described.items() if name != "kind"}
        family = POLICY_FAMILIES.get(kind) if isinstance(kind, str) else None
        if family is not None and family.spelled_out not in options:
            for name in options:
                check_choice(f"a key of policy (kind {kind!r})", name, family.keys)
            return family.fitted(problem, **options)
        policy: SamplingPolicy = from_data(described, what="policy", base=SamplingPolicy, others=["reshaped"])
        return policy


def default_policy(problem: AnyProblem) -> SamplingPolicy:
    """The family that is best for a problem, at its start: the bonus law wherever arms are finitely many."""
    return BonusThompson(problem) if isinstance(problem.model, FiniteArms) else ReshapedThompson(problem)


def default_estimator(problem: AnyProblem, conditions: Conditions = EVERY_USER) -> Estimator:
    """The quietest estimator that is right for a problem: posterior means as rewards where the model can be trusted.

    Where the truth is another, what training can gain by knowing it is small: true means, which are noisier, are then
    compared among twice as many rollouts. In batches, whose episodes say more and take longer, half as many do.

        >>> from tsgrad.problems import BernoulliBandit
        >>> default_estimator(BernoulliBandit(arms=2)).name
        'bayes/self'
    """
    if problem.model is not problem.truth:
        return Estimator("mean", "self", rollouts=8)
    rollouts = 4 if conditions.every_user else 2
    return Estimator("bayes" if problem.model.exact_posterior else "mean", "self", rollouts=rollouts)


def read_configuration(path: str | Path) -> Configuration:
    """Reads and checks a TOML configuration."""
    return checked_configuration(read_tables(path), where=f"{path}: ")


def checked_configuration(tables: Mapping[str, Any], *, where: str = "") -> Configuration:
    """The configuration that tables make; `where` they are from is said in errors."""
    return checked(Configuration, tables, where=where)


def read_tables(path: str | Path) -> dict[str, Any]:
    """The tables of a TOML file."""
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise BadInput(f"{path} can't be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(f"{path} is not valid TOML: {error}") from None


def configuration_toml(configuration: Configuration) -> str:
    """A configuration as TOML, every setting spelled out."""
    return str(tomli_w.dumps(configuration.model_dump(exclude_none=True)))
