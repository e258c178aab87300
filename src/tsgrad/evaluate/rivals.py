"""Rivals: policies that need no training, by the names that tables give them, and which of them a problem has."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from tsgrad.checks import BadInput
from tsgrad.policies import (
    ABTest,
    BatchKnowledgeGradient,
    BayesUCB,
    ExploreThenCommit,
    FiniteHorizonGittins,
    Greedy,
    InformationDirected,
    KnowledgeGradient,
    OptimisticGittins,
    Policy,
    ResidualHorizon,
    SuccessiveElimination,
    Thompson,
)
from tsgrad.problems import AnyProblem, BetaArm, TabledArms
from tsgrad.simulation import Conditions


class RivalPolicy(NamedTuple):
    """A policy that needs no training, and about how many times as long a step of it takes as one of Thompson's."""

    build: Callable[[], Policy]
    effort: float = 1.0


PLAIN = "TS"  # what gains are over
MOST_EFFORT = 20.0  # of a rival that training compares with
MOST_SECONDS = 15.0  # on two cores, to compute the tables of one
MOST_ENTRIES = 2**22  # of tables that a policy file can hold

# The rivals of the paper, then the strongest known. OGI-T, Gittins and KG know the horizon, as trained policies do.
RIVALS = {
    PLAIN: RivalPolicy(Thompson),
    "Bayes-UCB": RivalPolicy(BayesUCB),
    "OGI": RivalPolicy(OptimisticGittins),
    "IDS": RivalPolicy(InformationDirected, effort=300.0),
    "OGI-T": RivalPolicy(partial(OptimisticGittins, discount="left")),
    "Gittins": RivalPolicy(FiniteHorizonGittins),
    "KG": RivalPolicy(KnowledgeGradient, effort=5.0),
}
GREEDY = {"greedy": RivalPolicy(Greedy)}
# Designs of experiments without a bandit.
USUAL: dict[str, Any] = {
    "A/B test": ABTest,
    "explore-then-commit": ExploreThenCommit,
    "successive elimination": SuccessiveElimination,
}
PLANNERS: dict[str, Any] = {"batch KG": BatchKnowledgeGradient, "residual horizon": ResidualHorizon}


class Rivals(NamedTuple):
    """Rivals of a problem and a horizon, prepared and as they were built; and why others are left out."""

    ready: dict[str, Policy]
    built: dict[str, Policy]
    left_out: dict[str, BadInput]


def applicable_rivals(problem: AnyProblem, horizon: int) -> Rivals:
    """The rivals that are defined for a problem and this horizon; without plain Thompson sampling.

    >>> from tsgrad.problems import BernoulliBandit
    >>> rivals = applicable_rivals(BernoulliBandit(arms=2), 10)
    >>> "Gittins" in rivals.ready, list(rivals.left_out)
    (True, ['KG'])
    """
    return _prepared({name: rival for name, rival in RIVALS.items() if name != PLAIN}, problem, horizon)


def quick_rivals(problem: AnyProblem, horizon: int, conditions: Conditions) -> Rivals:
    """Returns the rivals that an agent can play and that take little time: those that training compares with.

    Where users are decided for one by one these are greedy and every index: of tables those that take at most 15
    seconds to compute, by an estimate that is the same on every machine, and have at most four million entries, which a
    policy file can hold. In batches they are greedy, the usual experiments and the policies that plan each batch.

        >>> from tsgrad.problems import BernoulliBandit
        >>> found = quick_rivals(BernoulliBandit(arms=3), 20, Conditions())
        >>> list(found.ready), list(found.left_out)
        (['greedy', 'Bayes-UCB', 'OGI', 'OGI-T', 'Gittins'], ['IDS', 'KG'])
    """
    if not conditions.every_user:
        planned = {name: RivalPolicy(build) for name, build in {**USUAL, **PLANNERS}.items()}
        return _prepared({**GREEDY, **planned}, problem, conditions.users(horizon), keep_plans=True)
    indices = {name: rival for name, rival in RIVALS.items() if name != PLAIN}
    slow = {
        name: BadInput(f"policy {name} must take at most {MOST_EFFORT:g} times as long as Thompson sampling")
        for name, rival in indices.items()
        if rival.effort > MOST_EFFORT
    }
    indices = {name: rival for name, rival in indices.items() if name not in slow}
    refusal = _large_tables(problem, horizon)
    if refusal is not None:
        slow |= {name: refusal for name, rival in indices.items() if name != "KG"}
        indices = {name: rival for name, rival in indices.items() if name not in slow}
    found = _prepared({**GREEDY, **indices}, problem, horizon)
    return found._replace(left_out={**slow, **found.left_out})


def rivals_of_experiments(problem: AnyProblem) -> dict[str, Policy]:
    """Returns the designs without a bandit that are defined for a problem; each plans when it is played.

    >>> from tsgrad.problems import BernoulliBandit
    >>> list(rivals_of_experiments(BernoulliBandit(arms=2)))
    ['A/B test', 'explore-then-commit', 'successive elimination']
    """
    return {name: kind() for name, kind in USUAL.items() if kind.applies(problem.model)}


def _prepared(
    rivals: Mapping[str, RivalPolicy], problem: AnyProblem, horizon: int, *, keep_plans: bool = False
) -> Rivals:
    """Rivals that accept a problem; with `keep_plans` as they are built, to be planned by whoever plays them."""
    found = Rivals({}, {}, {})
    for name, rival in rivals.items():
        policy = rival.build()
        try:
            ready = policy.prepare(problem, horizon)
        except BadInput as refusal:
            found.left_out[name] = refusal
            continue
        found.built[name], found.ready[name] = policy, policy if keep_plans else ready
    return found


def _large_tables(problem: AnyProblem, horizon: int) -> BadInput | None:
    """Returns why indices of a problem are left out, where their tables are too large; None where they are not."""
    model = problem.model
    if not isinstance(model, TabledArms):
        return None
    arms: list[Any] = list(dict.fromkeys(model.tabled_arms()))
    # Measured: seconds of the Gittins index of one arm, the slowest of them.
    seconds = 0.8 * (horizon / 100) ** 3 if isinstance(arms[0], BetaArm) else 0.7 * (horizon / 200) ** 2
    entries = horizon * arms[0].cell_count(horizon) * (model.arms if len(arms) > 1 else 1)
    if entries <= MOST_ENTRIES and len(arms) * seconds <= MOST_SECONDS:
        return None
    return BadInput(
        "horizon must be smaller for tables of indices that training compares with",
        detail=f": {len(arms)} different arms over {horizon} steps take {entries:,} entries",
    )
