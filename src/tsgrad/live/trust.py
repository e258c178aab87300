"""How far a gain can be trusted: what is left of it where the assumptions are wrong."""

from typing import NamedTuple

from tsgrad.checks import BadInput, check_count, check_type
from tsgrad.evaluate import compare
from tsgrad.live.scenarios import scenarios
from tsgrad.policies import Policy, Saved, Thompson
from tsgrad.problems import AnyProblem
from tsgrad.simulation import Conditions
from tsgrad.training import Run

UNCLEAR = "no clear gain"
SURE = 2.0  # standard errors from which a gain or a loss is one


class Kept(NamedTuple):
    """What is left of a gain in one scenario."""

    said: str
    regret_of_reference: float
    gain: float
    standard_error: float
    share_assumed: float | None = None  # what `share` is where all is as assumed; None for that itself

    @property
    def share(self) -> float:
        """The gain as a share of the reference's regret."""
        return self.gain / self.regret_of_reference if self.regret_of_reference else 0.0

    @property
    def verdict(self) -> str:
        """Whether there is a gain beyond chance."""
        if self.gain > SURE * self.standard_error:
            return "a gain"
        return "a loss" if self.gain < -SURE * self.standard_error else UNCLEAR

    def __str__(self) -> str:
        left = "" if self.share_assumed is None else f" ({self.share_assumed:.1%} as assumed)"
        lost = self.verdict == "a loss"
        gain, share = (abs(number) if lost else number for number in (self.gain, self.share))
        amount = f"{gain:.3g} (s.e. {self.standard_error:.2g}), {share:.1%} of the regret{left}"
        return f"{self.said}: {self.verdict}{':' if self.verdict == UNCLEAR else ' of'} {amount}."


class Robustness(NamedTuple):
    """What is left of a gain in every scenario. Prints as one sentence each, and what follows.

    Attributes:
        scenarios: what is left in each; as assumed first.

    """

    scenarios: list[Kept]

    @property
    def losses(self) -> list[Kept]:
        """Where the gain turns into a loss, of the scenarios in which something is not as assumed."""
        return [kept for kept in self.scenarios[1:] if kept.verdict == "a loss"]

    @property
    def verdict(self) -> str:
        """Where the gain turns into a loss, in a sentence."""
        assumed, others = self.scenarios[0], self.scenarios[1:]
        least = min(others, key=lambda kept: kept.share)
        where = "; ".join(_in_a_sentence(kept.said) for kept in self.losses)
        if assumed.verdict != "a gain":
            also = (
                f", and a loss in {len(self.losses)} of {len(others)} other scenarios: {where}" if self.losses else ""
            )
            return f"There is {assumed.verdict} even if all is as assumed{also}."
        if self.losses:
            return f"The gain turns into a loss in {len(self.losses)} of {len(others)} scenarios: {where}."
        return (
            f"In none of {len(others)} scenarios does the gain turn into a loss; least is left of it,"
            f" {least.share:.1%} of the regret, in this one: {_in_a_sentence(least.said)}."
        )

    def __str__(self) -> str:
        return "\n".join([*map(str, self.scenarios), self.verdict])


def robustness(
    policy: Run | Saved | Policy,
    problem: AnyProblem | None = None,
    *,
    horizon: int | None = None,
    conditions: Conditions | None = None,
    reference: Policy | None = None,
    episodes: int = 4096,
    seed: int = 0,
) -> Robustness:
    """What is left of a policy's gain where prior, noise, horizon, arms or delays are not as assumed, or arms drift.

    Args:
        policy: what was tuned: a finished run, what `tsgrad.load` gives, or a policy.
        problem: what it was tuned for, a Gaussian, Bernoulli or Poisson bandit; a run or a file knows its own.
        horizon: what it was tuned for, likewise.
        conditions: how the experiment is run, likewise.
        reference: what the gain is over; plain Thompson sampling unless given.
        episodes: how many fresh ones a scenario is played on.
        seed: of the episodes.

    Returns:
        The gain in each scenario, on the same episodes for both policies. A policy that does not know the new horizon
        plays for its own, and after that as at its last step. With fewer arms, the last two are missing; with more,
        the two added are like the last two. Regret is against the best arm of each step.

    Raises:
        BadInput: if the problem is not a Gaussian, Bernoulli or Poisson bandit, or problem and horizon are not known.

    `tsgrad.robustness(run)` takes some twenty seconds for Gaussian arms, two or three minutes for Bernoulli and Poisson
    arms or under conditions, most of it to compile. What it looks at:

        >>> import tsgrad as tg
        >>> [scenario.said for scenario in scenarios(tg.GaussianBandit(arms=2), horizon=10)][:2]
        ['As assumed', 'Prior worth a quarter of what was assumed']

    """
    check_type("policy", policy, Run | Saved | Policy, remedy="such as tsgrad.load('policy.json')")
    tuned = _known(policy)
    problem = tuned.problem if problem is None else problem
    horizon = tuned.horizon if horizon is None else horizon
    conditions = Conditions.from_table(tuned.conditions) if conditions is None else conditions
    if problem is None or horizon is None:
        missing = "problem" if problem is None else "horizon"
        raise BadInput(f"{missing} must be given: {type(tuned.policy).__name__} doesn't say what it was tuned for")
    check_type("problem", problem, AnyProblem, remedy="such as tsgrad.BernoulliBandit(arms=3)")
    check_count("horizon", horizon, least=2)
    check_type("conditions", conditions, Conditions, remedy="such as tsgrad.Conditions(batch=100)")
    plain = Thompson() if reference is None else reference
    check_type("reference", plain, Policy, remedy="such as tsgrad.Thompson()")
    kept: list[Kept] = []
    for scenario in scenarios(problem, horizon, conditions, tuned.policy, plain):
        found = compare(
            scenario.problem,
            {"reference": scenario.reference or plain, "policy": scenario.policy or tuned.policy},
            horizon=scenario.horizon,
            conditions=scenario.conditions,
            episodes=episodes,
            seed=seed,
            bound=None,
        )
        gain, error = found.difference("reference", "policy")
        kept.append(Kept(scenario.said, found.regret["reference"], gain, error, kept[0].share if kept else None))
    return Robustness(kept)


def _known(policy: Run | Saved | Policy) -> Saved:
    """A policy, and what it says of what it was tuned for."""
    if isinstance(policy, Saved):
        return policy
    if isinstance(policy, Run):
        return Saved(policy.policy, policy.problem, policy.provenance["horizon"], policy.conditions.table)
    return Saved(policy, None, None)


def _in_a_sentence(said: str) -> str:
    return said[:1].lower() + said[1:]
