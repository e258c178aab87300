"""Families of priors: what arms of past experiments say about the arms to come, by marginal likelihood.

Each arm of each experiment is one unit, known by its pulls, the sum of its rewards and, where rewards are normal, their
squares about its mean. A family has the marginal likelihood of a unit, with the arm's own mean integrated out, in
coordinates that are free to move: a location and logarithms.
"""

from typing import Any

from tsgrad.checks import BadInput
from tsgrad.live.families.base import ArmFamily, Family, Units
from tsgrad.live.families.bernoulli import BetaBinomial
from tsgrad.live.families.gaussian import Normal
from tsgrad.live.families.poisson import GammaPoisson

__all__ = ["ArmFamily", "BetaBinomial", "Family", "GammaPoisson", "Normal", "Units", "family_of"]


def family_of(name: str, noise_std: Any) -> ArmFamily:
    """The family of rewards with this name."""
    if name != "gaussian" and noise_std is not None:
        raise BadInput(f"noise_std must be left out for family {name!r}: it is for 'gaussian'")
    return {"bernoulli": BetaBinomial, "poisson": GammaPoisson}.get(name, lambda: Normal(noise_std))()
