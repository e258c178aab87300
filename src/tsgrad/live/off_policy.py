"""What would a policy have earned? From logs of another one: replay, inverse propensities, doubly robust estimates."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tsgrad.arrays import FloatArray
from tsgrad.checks import BadInput, check_array, check_count
from tsgrad.live.log import Table, complete, numbers, read_log
from tsgrad.live.log import names as arm_names

SMALL_PROPENSITY = 0.001
_Z = 1.959964


class Estimate(NamedTuple):
    """A mean reward per decision, its standard error and its 95% confidence interval."""

    value: float
    standard_error: float

    @property
    def interval(self) -> tuple[float, float]:
        """That holds the truth in 95 of 100 logs."""
        return self.value - _Z * self.standard_error, self.value + _Z * self.standard_error


class LogEstimate(NamedTuple):
    """What a policy would have earned per decision, by several methods. Prints as a table.

    Attributes:
        estimates: by the name of the method: a value with its standard error and 95% confidence interval.
        rows: the number of decisions in the log.
        effective_rows: the effective sample size: the log says as much as this many decisions of the policy itself.
        warnings: why estimates should not be trusted, in words.

    """

    estimates: dict[str, Estimate]
    rows: int
    effective_rows: float
    warnings: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"{self.rows} rows, effective sample size {self.effective_rows:.0f}"]
        for name, estimate in self.estimates.items():
            low, high = estimate.interval
            lines.append(
                f"{name:>28} {estimate.value:.5g} (s.e. {estimate.standard_error:.2g}, {low:.5g} to {high:.5g})"
            )
        return "\n".join([*lines, *self.warnings])


def evaluate_log(
    log: str | Path | Mapping[str, Any],
    *,
    target: Mapping[str, float] | Any = None,
    policy: str | Path | None = None,
    arm: str = "arm",
    reward: str = "reward",
    propensity: str = "propensity",
    reward_model: Any = None,
    replays: int = 20,
    seed: int = 0,
) -> LogEstimate:
    """Estimates what a policy would have earned per decision, in place of the one that was logged.

    Args:
        log: a CSV or Parquet file, or columns by name: a row for each decision. Rows without a reward are left out, and
            a warning says how many; arrays [rows, K] are for those that have one.
        target: a fixed policy: the share of each arm by name, or an array [rows, K] of them, arms in sorted order.
        policy: a policy file in place of a target: it is replayed, learning, on a log whose arms were drawn uniformly.
        arm: the column that says which arm was played.
        reward: the column of rewards.
        propensity: the column of the probability with which the arm was chosen.
        reward_model: an array [rows, K] of expected rewards for the doubly robust estimate; each arm's mean in the log
            unless given, in which case the estimate is right only up to the noise of these means.
        replays: how often the log is replayed, on rows drawn from it. The standard error is that of one replay, which
            more replays don't make smaller: what chance did to the log is in all of them.
        seed: of the replays.

    Returns:
        Estimates with standard errors.

    Raises:
        BadInput: if the log can't be read, lacks a column or has fewer than two rewards, or neither or both of `target`
            and `policy` are given.

    >>> rng = np.random.default_rng(0)
    >>> arms = rng.integers(2, size=4000)
    >>> columns = {"arm": arms, "reward": rng.random(4000) < 0.2 + 0.3 * arms, "propensity": np.full(4000, 0.5)}
    >>> print(round(evaluate_log(columns, target={"0": 0, "1": 1}).estimates["self-normalised"].value, 1))
    0.5

    """
    table, said = complete(read_log(log, text=(arm,)), reward, arm=arm)
    names, played = np.unique(arm_names(table, arm, "arm"), return_inverse=True)
    rewards = numbers(table, reward, "reward")
    if len(rewards) < 2:
        raise BadInput("log must hold at least two decisions with rewards: one says nothing about how rewards vary")
    if (target is None) == (policy is None):
        raise BadInput("target or policy must be given, one of the two")
    if policy is not None:
        seed = check_count("seed", seed, least=0, most=2**64 - 1)
        found = _replayed(policy, names, played, rewards, check_count("replays", replays, least=2), seed)
    else:
        logged = _propensities(table, propensity)
        found = _weighted(_shares(target, names, len(rewards)), played, rewards, logged, reward_model)
    return found._replace(warnings=(*said, *found.warnings))


def _propensities(table: Table, name: str) -> FloatArray:
    """The probability with which each logged arm was chosen."""
    if not isinstance(name, str) or name not in table:
        raise BadInput(
            f"propensity: the log has no column {name!r:.40}: name another, or replay a policy, which needs none"
        )
    logged = numbers(table, name, "propensity")
    if np.any(logged <= 0) or np.any(logged > 1):
        raise BadInput(f"propensity: column {name!r:.40} must hold probabilities above 0, got {np.min(logged)}")
    return logged


def _shares(target: Any, names: Any, rows: int) -> FloatArray:
    """The target's chance of each arm in each row, [rows, K]."""
    if isinstance(target, Mapping):
        unknown = {str(name) for name in target} - set(names.tolist())
        if unknown:
            raise BadInput(
                f"target must be about arms of the log, {', '.join(names)!s:.120}; got {sorted(unknown)[0]!r:.40}"
            )
        given = {str(name): share for name, share in target.items()}
        shares = np.broadcast_to(check_array("target", [given.get(name, 0.0) for name in names]), (rows, len(names)))
    else:
        shares = check_array("target", target)
    if shares.shape != (rows, len(names)) or np.any(shares < 0) or not np.allclose(shares.sum(axis=1), 1):
        raise BadInput(f"target must be shares of {len(names)} arms that add up to 1, got shape {shares.shape}")
    return shares


def _weighted(shares: FloatArray, played: Any, rewards: FloatArray, logged: FloatArray, model: Any) -> LogEstimate:
    rows = np.arange(len(rewards))
    weights = shares[rows, played] / logged
    if not np.any(weights):
        raise BadInput("target plays none of the arms that were logged: the log says nothing about it")
    plain = weights * rewards
    own = np.sum(plain) / np.sum(weights)
    residual = weights * (rewards - own) / np.mean(weights)
    if model is None:
        pulls = np.bincount(played, minlength=shares.shape[1])
        means = np.bincount(played, rewards, minlength=shares.shape[1]) / np.maximum(pulls, 1)
        expected = np.broadcast_to(means, shares.shape)
    else:
        expected = check_array("reward_model", model)
        if expected.shape != shares.shape:
            raise BadInput(f"reward_model must have shape {shares.shape}, got {expected.shape}")
    robust = np.sum(shares * expected, axis=1) + weights * (rewards - expected[rows, played])
    effective = float(np.sum(weights) ** 2 / np.sum(weights**2))
    warnings = []
    if np.min(logged) < SMALL_PROPENSITY:
        warnings.append(f"The smallest propensity is {np.min(logged):.2g}: a single row can decide these estimates.")
    if effective < 100 or effective < 0.01 * len(rewards):
        warnings.append(f"The log is worth {effective:.0f} rows of this policy: intervals are too narrow, if anything.")
    estimates = {
        "inverse propensity": _mean(plain),
        "self-normalised": Estimate(float(own), _mean(residual).standard_error),
        "doubly robust": _mean(robust),
    }
    return LogEstimate(estimates, len(rewards), effective, tuple(warnings))


def _mean(values: FloatArray) -> Estimate:
    return Estimate(float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values))))


def _replayed(policy: Any, names: Any, played: Any, rewards: FloatArray, replays: int, seed: int) -> LogEstimate:
    """Li, Chu, Langford and Wang (2011): rows count where the policy chooses the arm that was logged, and it learns
    from these alone; on a log whose arms were uniform this is an experiment of its own.
    """
    from tsgrad_runtime import Agent, read_artefact

    artefact = read_artefact(policy)
    missing = set(artefact.arms) - set(names.tolist())
    if missing:
        raise BadInput(f"policy plays arms that the log doesn't have: {sorted(missing)[0]!r:.40}")
    warnings = []
    offered = np.isin(names[played], artefact.arms)
    counts = np.bincount(played[offered], minlength=len(names))[[name in artefact.arms for name in names]]
    expected = counts.sum() / len(counts)
    if np.any(np.abs(counts - expected) > 5 * np.sqrt(expected)):
        warnings.append("Arms of the log were not drawn uniformly: replay is biased.")
    chosen, logged, paid = names[played][offered].tolist(), np.flatnonzero(offered), rewards[offered].tolist()
    generator = np.random.default_rng(seed)
    averages, lengths = [], []
    for number in range(replays):
        agent = Agent(artefact, seed=seed, process=number)
        total, matched = 0.0, 0
        for row in generator.integers(len(logged), size=len(logged)):
            decision = agent.decide(shown=False)
            if decision.arm == chosen[row]:
                agent.activate(decision.id)
                agent.reward(decision.id, paid[row])
                total += paid[row]
                matched += 1
                if matched == artefact.horizon:
                    break
            else:
                agent.unshown.pop(decision.id)
        averages.append(total / max(matched, 1))
        lengths.append(matched)
    if min(lengths) < artefact.horizon:
        warnings.append(f"The log is enough for {min(lengths)} decisions of {artefact.horizon}.")
    values = np.array(averages)
    # Of one replay, not of their mean: replays draw from one log, and averaging takes out their own chance, not the
    # log's. That is no more than the spread of replays, as none uses more rows than the log has; how much less can't be
    # told from one log. With 60 decisions, estimates from logs of 200 rows vary by 0.053, and this says 0.074; divided
    # by the root of 20 replays it would be 0.017.
    estimate = Estimate(float(np.mean(values)), float(np.std(values, ddof=1)))
    return LogEstimate({"replay": estimate}, len(rewards), float(np.mean(lengths)), tuple(warnings))
