"""Replay: what a policy that learns would have earned, from a log whose arms were drawn uniformly.

Li, Chu, Langford and Wang (2011): rows count where the policy chooses the arm that was logged, and it learns from these
alone. The log in a random order is a sequence of independent rows, as the world would have sent them, and every row is
used once at most, so that a replay is an experiment of its own, as long as the log lasts. The policy sees rewards when
the conditions of its experiment say: after the step of their user, and as many steps later as was planned.
"""

from typing import Any, NamedTuple

import numpy as np

from tsgrad.arrays import FloatArray
from tsgrad.checks import BadInput
from tsgrad.live.estimates import Estimate, LogEstimate, are_rates, few_rewards

SAME = 0.01  # relative: propensities in files are rounded
UNLIKELY = 1e-4  # a chance below which counts of arms were not drawn uniformly
MOST_SHARED = 0.9  # beyond which replays are too much alike for their spread to tell what one of them varies by


class Replayed(NamedTuple):
    """One replay: the rows that counted, in order, and what they paid on average."""

    rows: list[int]
    average: float


def replayed(
    policy: Any, names: Any, played: Any, rewards: FloatArray, logged: FloatArray | None, replays: int, seed: int
) -> LogEstimate:
    """A policy file on a log: names of arms, which of them was played, what it paid, and with which propensity it was
    chosen, where that is known; axes [rows].
    """
    from tsgrad_runtime import read_artefact

    artefact = read_artefact(policy)
    if artefact.model.arms is None or artefact.model.contexts:
        raise BadInput(
            f"policy {artefact.content['policy'].get('kind')!r:.40} must choose among named arms that bring no features"
            " with each decision, to be replayed on a log of arms and rewards: export its own ledger, and give a target"
        )
    missing = set(artefact.arms) - set(names.tolist())
    if missing:
        raise BadInput(f"policy plays arms that the log doesn't have: {sorted(missing)[0]!r:.40}")
    warnings = []
    offered = np.isin(names[played], artefact.arms)
    counts = np.bincount(played[offered], minlength=len(names))[[name in artefact.arms for name in names]]
    if not _uniform(counts, None if logged is None else logged[offered]):
        warnings.append("Arms of the log were not drawn uniformly: replay is biased.")
    chosen, paid = names[played][offered].tolist(), rewards[offered]
    generator = np.random.default_rng(seed)
    done = [
        _one_replay(artefact, chosen, paid, generator.permutation(len(paid)), seed=seed, number=number)
        for number in range(replays)
    ]
    least = min(len(one.rows) for one in done)
    if not least:
        raise BadInput(f"log is too short to replay the policy: of {len(paid)} rows with its arms none was its choice")
    if least < artefact.horizon:
        warnings.append(f"The log is enough for {least} decisions of {artefact.horizon}.")
    length = float(np.mean([len(one.rows) for one in done]))
    used = np.unique(np.concatenate([one.rows for one in done]))
    warnings += few_rewards(int(np.count_nonzero(paid[used])))
    return LogEstimate({"replay": _estimate(done, paid)}, len(rewards), length, tuple(warnings))


def _uniform(counts: Any, logged: FloatArray | None) -> bool:
    """Whether arms were drawn uniformly: their propensities are the same, or else their counts [K] within chance."""
    from scipy import stats

    if logged is not None:
        return bool(np.ptp(logged) <= SAME * np.max(logged))
    return len(counts) < 2 or float(stats.chisquare(counts).pvalue) > UNLIKELY


def _one_replay(artefact: Any, chosen: list[str], paid: FloatArray, order: Any, *, seed: int, number: int) -> Replayed:
    from tsgrad_runtime import Agent
    from tsgrad_runtime.events import Event

    # Rewards are held back here until the step in which they are seen, and count at once then.
    agent = Agent(artefact, seed=seed, process=number, batch=1)
    steps = _steps(artefact)
    late = _delays(artefact, np.random.default_rng([seed, number]))
    coming: dict[int, list[tuple[str, float]]] = {}  # by the step after which they are seen
    rows: list[int] = []
    for row in order.tolist():
        decision = agent.propose(agent.scene())
        if decision.arm != chosen[row]:
            continue
        step, delay = steps[len(rows)], late[len(rows)]
        agent.apply(Event("decision", 0.0, decision.id, decision.arm))
        coming.setdefault(step + delay, []).append((decision.id, float(paid[row])))
        rows.append(row)
        if len(rows) == artefact.horizon:
            break
        if steps[len(rows)] > step:
            for waiting, reward in coming.pop(step, []):
                agent.reward(waiting, reward)
    return Replayed(rows, float(np.mean(paid[rows])) if rows else 0.0)


def _steps(artefact: Any) -> list[int]:
    """The step of every user of an experiment, from 0 on."""
    if artefact.conditions is None:
        return list(range(artefact.horizon))
    steps: list[int] = np.searchsorted(artefact.conditions.ends, np.arange(artefact.horizon), side="right").tolist()
    return steps


def _delays(artefact: Any, generator: np.random.Generator) -> list[int]:
    """How many steps late the reward of every user is seen, as the experiment was planned; those that never are, after
    its end.
    """
    planned = (artefact.content.get("conditions") or {}).get("delay", 0)
    if isinstance(planned, int):
        return [planned] * artefact.horizon
    chances = np.append(planned, max(1 - np.sum(planned), 0.0))
    drawn = generator.choice(len(chances), size=artefact.horizon, p=chances / chances.sum())
    delays: list[int] = np.where(drawn == len(planned), artefact.horizon, drawn).tolist()
    return delays


def _estimate(done: list[Replayed], paid: FloatArray) -> Estimate:
    """The mean of all replays. Its error has two parts: the chance of the replays, which more of them average out, and
    that of the log, which is in all of them.

    Two replays have rows in common; let c be the share of a replay's rows that are. Where arms pay the same, averages
    of two replays have the correlation c, and elsewhere about that. With v the variance of one replay, that of the mean
    of M is then (1 - c) v / M + c v. The replays of one log vary by (1 - c) v; v is at least what the spread of single
    rewards makes of it.
    """
    from scipy import stats

    averages = np.array([one.average for one in done])
    replays, length = len(done), np.mean([len(one.rows) for one in done])
    uses = np.bincount(np.concatenate([one.rows for one in done]), minlength=len(paid))
    shared = np.sum(uses * (uses - 1)) / (replays * (replays - 1)) / length
    between = np.var(averages, ddof=1)
    of_rewards = np.average((paid - np.average(paid, weights=uses)) ** 2, weights=uses)
    variance = max(between / (1 - min(shared, MOST_SHARED)), of_rewards / length)
    error = float(np.sqrt(between / replays + shared * variance))
    value, z = float(np.mean(averages)), float(stats.t.ppf(0.975, replays - 1))
    if are_rates(paid):
        return Estimate.of_rate(value, error, int(np.count_nonzero(uses)), z)
    return Estimate.around(value, error, z)
