"""What would a policy have earned? From logs of another one: replay, inverse propensities, doubly robust estimates."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tsgrad.arrays import FloatArray
from tsgrad.checks import BadInput, check_array, check_count
from tsgrad.live.estimates import Estimate, LogEstimate, are_rates, few_rewards, wilson
from tsgrad.live.log import Table, complete, numbers, read_log
from tsgrad.live.log import names as arm_names
from tsgrad.live.replay import SAME, replayed

SMALL_PROPENSITY = 0.001
# Standard errors by which the mean weight may differ from 1: more by chance once in 16,000 logs of decisions that know
# nothing of each other; in one of twenty to sixty short logs of bandits, which had given up an arm for good.
DOUBTFUL_Z = 4.0
ROUNDING = 1e-3  # of propensities in files


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
        replays: how often the log is replayed, each time in another order. More of them average out their own chance,
            not what chance did to the log; the standard error has both.
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
        if not isinstance(policy, str | Path):
            raise BadInput(f"policy must be a file, such as tsgrad.write_policy makes, got {policy!r:.80}")
        seed = check_count("seed", seed, least=0, most=2**64 - 1)
        logged = _propensities(table, propensity) if propensity in table else None
        found = replayed(policy, names, played, rewards, logged, check_count("replays", replays, least=2), seed)
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
    if shares.shape != (rows, len(names)):
        raise BadInput(f"target must be shares of {len(names)} arms in {rows} rows, got shape {shares.shape}")
    sums = shares.sum(axis=1)
    if np.any(shares < 0) or not np.allclose(sums, 1):
        wrong = int(np.argmax(np.any(shares < 0, axis=1) | ~np.isclose(sums, 1)))
        raise BadInput(f"target must be shares of 0 or more that add up to 1, got {shares[wrong].tolist()!s:.80}")
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
    warnings += _doubtful(weights)
    warnings += _adaptive(logged, played)
    warnings += few_rewards(int(np.count_nonzero(plain)))
    estimates = {
        "inverse propensity": _mean(plain),
        "self-normalised": Estimate.around(float(own), _mean(residual).standard_error),
        "doubly robust": _mean(robust),
    }
    if are_rates(rewards):
        estimates = {name: Estimate.of_rate(*one[:2], effective) for name, one in estimates.items()}
        estimates["inverse propensity"] = _weighted_rate(weights, rewards, estimates["inverse propensity"])
    return LogEstimate(estimates, len(rewards), effective, tuple(warnings))


def _doubtful(weights: FloatArray) -> list[str]:
    """A warning, where weights are not 1 on average: they are if arms were chosen with the chances that were logged."""
    mean, error = float(np.mean(weights)), float(np.std(weights, ddof=1) / np.sqrt(len(weights)))
    if abs(mean - 1) <= DOUBTFUL_Z * error + ROUNDING:
        return []
    return [
        f"Weights are {mean:.3g} on average in place of 1 (s.e. {error:.2g}): arms were not chosen with these"
        " propensities, or some that the policy plays could not be, or had come to be chosen next to never; these"
        " estimates can't be trusted."
    ]


def _adaptive(logged: FloatArray, played: Any) -> list[str]:
    """A warning, where propensities of an arm resemble those before, as they do where a bandit learns: in a log whose
    decisions know nothing of each other, they are in no order.
    """
    order = np.argsort(played, kind="stable")
    arm, chances = played[order], logged[order]
    centred = chances - (np.bincount(arm, chances) / np.maximum(np.bincount(arm), 1))[arm]
    follows = arm[1:] == arm[:-1]
    spread = float(np.sum(centred**2))
    if spread <= SAME**2 * float(np.sum(chances**2)) or not follows.any():
        return []
    alike = float(np.sum((centred[1:] * centred[:-1])[follows])) / spread
    if alike * np.sqrt(np.sum(follows)) <= DOUBTFUL_Z:
        return []
    return [
        "Propensities change along the log, as those of a policy that learns: intervals are too narrow then (95%"
        " intervals held 86 to 88 times in 100 short logs of Thompson sampling)."
    ]


def _weighted_rate(weights: FloatArray, rewards: FloatArray, found: Estimate) -> Estimate:
    """The inverse-propensity estimate of rewards 0 and 1: the rate of rewards, times the weight that they have."""
    counted = weights * (rewards if np.any(weights * rewards) else 1.0)
    weight = float(np.sum(weights * counted) / np.sum(counted))
    low, high = wilson(found.value / weight, len(rewards))
    return found._replace(interval=(weight * low, weight * high))


def _mean(values: FloatArray) -> Estimate:
    return Estimate.around(float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values))))
