"""Pretrained policies: one for each family of problems, without training."""

from importlib import resources

from tsgrad.checks import check_choice
from tsgrad.policies.bonus import Bonus
from tsgrad.policies.saved import load

FAMILIES = ("gaussian", "bernoulli")


def pretrained(family: str) -> Bonus:
    """A policy that was trained over random problems, and plays any bandit of its family.

    Args:
        family: "gaussian" for `GaussianBandit` (2 to 50 arms, horizons from 5 to 1,000, priors from a hundredth to a
            hundred times as wide as the noise) or "bernoulli" for `BernoulliBandit` (the same, with Beta priors of
            means from 0.01 to 0.9). Beyond these ranges it plays as at their ends: with ten Gaussian arms and ten
            thousand steps, worse than plain Thompson sampling. Train for such horizons.

    Returns:
        The policy. Training for your own problem and horizon can only improve on it.

    Raises:
        BadInput: if there is none for the family.

    >>> from tsgrad.problems import GaussianBandit
    >>> from tsgrad.policies import Thompson
    >>> from tsgrad.simulation import simulate
    >>> where = {"horizon": 50, "episodes": 2000, "seed": 0}
    >>> ours, plain = (
    ...     simulate(GaussianBandit(arms=10), policy, **where).regret.mean()
    ...     for policy in (pretrained("gaussian"), Thompson())
    ... )
    >>> bool(ours < 0.75 * plain)
    True

    """
    check_choice("family", family, FAMILIES)
    policy: Bonus = load(str(resources.files("tsgrad.policies") / "shipped" / f"{family}.json")).policy
    return policy
