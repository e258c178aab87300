"""Comparing: every policy plays exactly the same episodes, as many as are asked for or as a precision takes."""

import time
from collections.abc import Mapping
from functools import partial
from typing import Any, Literal, Unpack

from tsgrad.checks import BadInput, check_array, check_choice, check_count, check_flag, check_share, check_type
from tsgrad.evaluate.bounds import BOUND_KINDS, BoundKind, RegretBound, cheap_bound, regret_bound
from tsgrad.evaluate.comparison import CONFIDENCE, Comparison
from tsgrad.evaluate.result import Played
from tsgrad.evaluate.statistics import paired_gains
from tsgrad.policies import Policy, Saved
from tsgrad.problems import AnyProblem
from tsgrad.simulation import (
    BLOCK,
    LOCAL,
    Engine,
    EngineName,
    Workers,
    Workload,
    WorkloadOptions,
    check_workers,
    ready_for,
    simulated,
    simulation_engine,
)
from tsgrad.streams import Purpose

_TIMED_EPISODES = 4 * BLOCK


def compare(
    problem: AnyProblem,
    policies: Mapping[str, Policy | Saved],
    *,
    reference: str | None = None,
    confidence: float = CONFIDENCE,
    bound: BoundKind | Literal["auto"] | None = "auto",
    to_precision: float | None = None,
    most_episodes: int = 1_000_000,
    timing: bool = False,
    engine: EngineName = "auto",
    workers: Workers = LOCAL,
    **workload: Unpack[WorkloadOptions],
) -> Comparison:
    """Plays every policy on the same episodes.

    Args:
        problem: what is played.
        policies: what plays it, by name; what `tsgrad.load` gives may be handed over whole, and one that was trained
            for another horizon is then marked.
        reference: the policy that gains are measured against, by default the first.
        confidence: of the simultaneous confidence intervals of all gains.
        bound: a kind of `tsgrad.regret_bound`; "auto" takes the tightest that costs seconds at most, None takes none.
        to_precision: where given, episodes are added until all gains are known to plus or minus that much.
        most_episodes: how many are played at most with `to_precision`.
        timing: whether decisions are timed too, by playing up to 1,024 episodes again, in this process.
        engine: "jax", "native", or "auto" for the fastest that can run each policy.
        workers: who computes: this process, or `tsgrad.RayWorkers`; the result is the same.
        workload: which episodes: `horizon`, `episodes`, `seed`, and the other fields of `Workload`.

    Returns:
        Regrets, paired gains with intervals, quantiles, pulls and regret over time of every policy.

    Raises:
        BadInput: if a policy can't play the problem, or `reference` is not one of them.

    With `to_precision`, `episodes` is the start, rounded up to whole blocks of 256, and at most as many again are added
    at a time. Stopping looks at how wide the intervals are and never at where they lie, so that their coverage is right
    in the limit of small widths (Chow and Robbins, 1965); stopping once a gain is significant would not be.

        >>> from tsgrad.policies import ReshapedThompson, Thompson
        >>> from tsgrad.problems import GaussianBandit
        >>> problem = GaussianBandit(arms=3)
        >>> policies = {"plain": Thompson(), "untrained": ReshapedThompson(problem)}
        >>> print(compare(problem, policies, horizon=10, episodes=1000, seed=1).difference("plain", "untrained"))
        (0.0, 0.0)

    """
    start = Workload.of(Purpose.EVALUATION, workload)
    check_count("episodes", start.episodes, least=2)
    check_type("policies", policies, Mapping, remedy='such as {"plain": tsgrad.Thompson()}')
    check_flag("timing", timing)
    check_workers(workers)
    if not policies:
        raise BadInput("policies must name at least one policy, got none")
    reference = next(iter(policies)) if reference is None else check_choice("reference", reference, policies)
    check_share("confidence", confidence)
    if bound is not None:
        check_choice("bound", bound, ("auto", *BOUND_KINDS))
    if to_precision is not None:
        start = start.part(episodes=_checked_start(start.episodes, to_precision, most_episodes, policies))
    saved = {name: given for name, given in policies.items() if isinstance(given, Saved)}
    ready = {
        name: ready_for(problem, given.policy if isinstance(given, Saved) else given, start)
        for name, given in policies.items()
    }
    engine_of = partial(simulation_engine, problem, engine=engine, conditions=start.conditions)
    engines = {name: engine_of(policy, workers=workers) for name, policy in ready.items()}
    limit = _limit(problem, start, bound, workers)

    def play(first: int, number: int) -> dict[str, Played]:
        part = start.part(first_episode=start.first_episode + first, episodes=number)
        return {name: Played.of(simulated(engines[name], policy, part)) for name, policy in ready.items()}

    played = play(0, start.episodes)
    while to_precision is not None:
        known = len(played[reference].regret)
        wanted = min(_episodes_wanted(played, reference, confidence, to_precision), most_episodes)
        if wanted <= known:
            break
        more = play(known, wanted - known)
        played = {name: sample.and_then(more[name]) for name, sample in played.items()}
    cost = None
    if timing:
        cost = {name: _microseconds(engine_of(policy), policy, start) for name, policy in ready.items()}
    return Comparison.of(
        played,
        horizon=start.horizon,
        seed=start.seed,
        reference=reference,
        confidence=confidence,
        bound=limit,
        to_precision=to_precision,
        microseconds=cost,
        trained_for={
            name: given.horizon for name, given in saved.items() if given.horizon not in (None, start.horizon)
        },
    )


def _checked_start(episodes: int, to_precision: float, most_episodes: int, policies: Mapping[str, Any]) -> int:
    """How many episodes come first, in whole blocks, where more may follow."""
    if check_array("to_precision", to_precision, above=0).ndim:
        raise BadInput(f"to_precision must be one number, got {to_precision!r:.80}")
    check_count("most_episodes", most_episodes, least=episodes)
    if len(policies) < 2:
        raise BadInput(f"to_precision needs a policy beside the reference, got {', '.join(policies)} alone")
    return min(-(-episodes // BLOCK) * BLOCK, most_episodes)


def _episodes_wanted(played: Mapping[str, Played], reference: str, confidence: float, to_precision: float) -> int:
    """How many episodes the wanted precision takes by what is known so far; twice as many as now at most."""
    known = len(played[reference].regret)
    others = {name: sample.regret for name, sample in played.items() if name != reference}
    gains = paired_gains(played[reference].regret, others, confidence)
    widest = max(gain.half_width for gain in gains.values())
    if widest <= to_precision:
        return known
    blocks = -(-known * min((widest / to_precision) ** 2, 2.0) // BLOCK)
    return max(int(blocks) * BLOCK, known + BLOCK)


def _limit(
    problem: AnyProblem, workload: Workload, kind: BoundKind | Literal["auto"] | None, workers: Workers
) -> RegretBound | None:
    """The regret that no policy can go below. Bounds are those of episodes in which all arms are there."""
    if kind is None or (kind == "auto" and not workload.conditions.told(workload.horizon).trivial):
        return None
    if kind == "auto":
        return cheap_bound(problem, horizon=workload.horizon, seed=workload.seed, workers=workers)
    return regret_bound(problem, horizon=workload.horizon, kind=kind, seed=workload.seed, workers=workers)


def _microseconds(engine: Engine, policy: Policy, workload: Workload) -> float:
    """Wall-clock microseconds per decision, the fastest of up to three runs of what is compiled by now."""
    timed = workload.part(episodes=min(workload.episodes, _TIMED_EPISODES))
    seconds: list[float] = []
    while len(seconds) < 3 and sum(seconds) < 0.2:
        start = time.perf_counter()
        simulated(engine, policy, timed)
        seconds.append(time.perf_counter() - start)
    return 1e6 * min(seconds) / (timed.episodes * timed.horizon)
