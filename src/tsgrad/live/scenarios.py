"""What may differ from what a policy was trained for: prior, noise, horizon, arms, delays, drift."""

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from tsgrad.checks import BadInput
from tsgrad.policies import Policy, SamplingPolicy, prepared, with_arms
from tsgrad.policies.own_clock import with_own_clock
from tsgrad.problems import (
    AnyProblem,
    Context,
    DriftingArms,
    IndependentArms,
    Misspecified,
    check_varies,
    drift_spread,
    has_variations,
    with_arms_taken,
    with_noise,
    with_shifted_means,
    with_strength,
)
from tsgrad.simulation import EVERY_USER, Conditions

FACTORS = {"a quarter of": 0.25, "half of": 0.5, "twice": 2.0, "four times": 4.0}
LATER = (0.05, 0.2)  # of the horizon
MOST_STEPS_LATER = 50
DRIFTS = {"half a standard deviation": 0.5, "a standard deviation": 1.0}
MOST_LISTED_USERS = 10_000  # whose walks are followed one by one where arms drift


class Scenario(NamedTuple):
    """A sentence that says what differs from the assumptions, and what is played then; policies may change, too."""

    said: str
    problem: AnyProblem
    horizon: int
    conditions: Conditions = EVERY_USER
    policy: Policy | None = None  # as it is then, where it is another
    reference: Policy | None = None


def scenarios(
    problem: AnyProblem,
    horizon: int,
    conditions: Conditions = EVERY_USER,
    policy: Policy | None = None,
    reference: Policy | None = None,
) -> Iterator[Scenario]:
    """All scenarios, as assumed first. Each changes one thing; everything else is as assumed, the conditions too.

    Given a policy, also with more arms, and with another horizon that the policy does not know of.
    """
    model = judged(problem)
    if not conditions.masks_alone:
        # No kernel plays them: as a pair of truth and model, what is compiled serves for other truths, too.
        problem = Misspecified(truth=problem.truth, model=model)
    yield Scenario("As assumed", problem, horizon, conditions)
    yield from _other_truths(problem, horizon, conditions)
    for said, factor in (("Stopped half way", 0.5), ("Run on for as long again", 2.0)):
        steps = max(int(horizon * factor), 1)
        other = lasting(conditions, horizon, steps)
        yield Scenario(f"{said}, known to the policy", problem, steps, other)
        if isinstance(policy, SamplingPolicy):
            users = conditions.users(horizon)
            unaware, plain = (_unaware(one, users) for one in (policy, reference))
            yield Scenario(f"{said}, unknown to the policy", problem, steps, other, unaware, plain)
    yield from _other_arms(problem, horizon, conditions, policy)
    late = sorted({min(max(1, round(share * horizon)), MOST_STEPS_LATER) for share in LATER})
    for steps in late:
        said = f"Rewards {steps} {'steps' if steps > 1 else 'step'} later than planned"
        yield Scenario(said, problem, horizon, delayed(conditions, steps, most=late[-1]))
    users = conditions.users(horizon)
    if conditions.every_user or (conditions.allocation == "independent" and users <= MOST_LISTED_USERS):
        for said, deviations in DRIFTS.items():
            walk = deviations / np.sqrt(users) * drift_spread(model)
            if not has_variations(problem.truth):
                break
            assert isinstance(problem.truth, IndependentArms)
            drifting = Misspecified(truth=DriftingArms(base=problem.truth, step_std=walk), model=model)
            yield Scenario(f"Arms drift, by {said} in all", drifting, horizon, conditions)


def has_scenarios(problem: AnyProblem) -> bool:
    """Whether it is known what a problem would be if its prior were another."""
    return has_variations(problem.model)


def judged(problem: AnyProblem) -> Any:
    """The model of a problem that scenarios are known for; refused where they are not."""
    check_varies(problem.model)
    return problem.model


def _other_truths(problem: AnyProblem, horizon: int, conditions: Conditions) -> Iterator[Scenario]:
    """Changes of the truth, where it is one that they are known for; the model is what policies believe in still."""
    model = problem.model

    def changed(said: str, change: Callable[[Any], Any]) -> Iterator[Scenario]:
        truth = change(problem.truth) if has_variations(problem.truth) else None
        if truth is not None:
            yield Scenario(said, Misspecified(truth=truth, model=model), horizon, conditions)

    for said, factor in FACTORS.items():
        yield from changed(f"Prior worth {said} what was assumed", functools.partial(with_strength, factor=factor))
    for said, side in (("lower", -1.0), ("higher", 1.0)):
        shift = functools.partial(with_shifted_means, deviations=side)
        made = abs(_shift_made(model, shift(model)))
        by = "a standard deviation" if made > 0.995 else f"{made:.2g} standard deviations, as far as there is room"
        yield from changed(f"Arms {said} by {by}", shift)
    for said, factor in (("half of", 0.5), ("twice", 2.0)):
        yield from changed(f"Noise {said} what was assumed", functools.partial(with_noise, factor=factor))


def _other_arms(problem: AnyProblem, horizon: int, conditions: Conditions, policy: Policy | None) -> Iterator[Scenario]:
    """Two arms fewer, the last ones; two more, like the last ones, where the policy can play them."""
    model = judged(problem)
    fewer = _without_last(conditions, horizon, model.arms, 2)
    if fewer is not None:
        yield Scenario("Two arms fewer, the last ones", problem, horizon, fewer)
    floor = 0.0 if conditions.floor is None else float(conditions.floor)
    if policy is None or conditions.available is not None or model.arms < 2 or floor * (model.arms + 2) > 1:
        return
    numbers = np.append(np.arange(model.arms), [model.arms - 2, model.arms - 1])
    more, wider = with_arms_taken(model, numbers), with_arms(policy, model.arms, numbers)
    try:
        prepared(wider, more, conditions.users(horizon))
    except BadInput:
        return  # it knows its arms by their number
    truth = with_arms_taken(problem.truth, numbers) if has_variations(problem.truth) else None
    if truth is None:
        return
    same = problem.truth is model
    larger = more if same else Misspecified(truth=truth, model=more)
    yield Scenario("Two arms more, like the last ones", larger, horizon, conditions, wider)


def _unaware(policy: Policy | None, users: int) -> Policy | None:
    """The policy as it plays without knowing that the horizon has changed; itself where it makes no use of it."""
    if not isinstance(policy, SamplingPolicy) or not policy.uses_clock:
        return policy
    return with_own_clock(policy, users)


# Conditions


def _without_last(conditions: Conditions, horizon: int, arms: int, fewer: int) -> Conditions | None:
    """Conditions in which the last arms are missing; None where a step would have no arm left, or none a choice."""
    there = np.ones((horizon, arms), bool) if conditions.available is None else conditions.mask(horizon)
    kept = there & (np.arange(arms) < arms - fewer)
    return _with(conditions, available=kept) if arms - fewer >= 2 and kept.any(axis=1).all() else None


def lasting(conditions: Conditions, horizon: int, steps: int) -> Conditions:
    """The same conditions for another number of steps: cut, or continued as at the last step.

    >>> lasting(Conditions(batch=[5, 3]), 2, 4).batch
    (5, 3, 3, 3)
    """
    numbers = np.minimum(np.arange(steps), horizon - 1)
    changes: dict[str, Any] = {}
    if isinstance(conditions.batch, tuple):
        changes["batch"] = np.asarray(conditions.batch)[numbers].tolist()
    if conditions.available is not None:
        changes["available"] = conditions.mask(horizon)[numbers]
    return _with(conditions, **changes)


def delayed(conditions: Conditions, steps: int, *, most: int) -> Conditions:
    """The same conditions, with rewards that are seen so many steps later; `most` at most.

    Chances of the same length whatever the delay, so that one compilation serves all of them.

        >>> delayed(Conditions(delay=[0.5, 0.5]), 2, most=3).delay.tolist()
        [0.0, 0.0, 0.5, 0.5, 0.0]
        >>> delayed(Conditions(), 1, most=2).delay.tolist()
        [0.0, 1.0, 0.0]
    """
    planned = np.eye(conditions.delay + 1)[-1] if isinstance(conditions.delay, int) else conditions.delay
    return _with(conditions, delay=np.concatenate([np.zeros(steps), planned, np.zeros(most - steps)]))


def _with(conditions: Conditions, **changes: Any) -> Conditions:
    return Conditions(**{**conditions.table, **changes})


def _shift_made(model: Any, shifted: Any) -> float:
    """By how many standard deviations of the prior the arms of a model were moved, on average."""
    prior, nothing = model.prior(1), Context()
    before, after = (one.arm_moments(prior, nothing) for one in (model, shifted))
    return float(np.mean((np.asarray(after.mean) - np.asarray(before.mean)) / np.asarray(before.std)))
