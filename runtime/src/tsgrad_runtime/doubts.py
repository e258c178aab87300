"""Doubts: whether an arm is what its prior hardly allows, or something else foretells rewards better than the model.

Both are told falsely with a stated chance at most, ever in an experiment: however often one looks, whichever arms are
played and however rare rewards are.

An arm is doubted when it is believed to be as good, or as bad, as a priori has a chance of p at most. The posterior
chance that it is at least so good is a martingale that starts at p, and is 1/e or more when the posterior mean is there
(of a log-concave law): that ever happens with a chance of e p at most.

Rivals of the model foretell every reward too: from recent rewards alone, with a weaker prior, or with a bias. The ratio
of the chances that a rival and the model gave to all rewards so far is a martingale that starts at one; the chance that
it ever reaches 1 / p is p at most.

All this is exact for independent arms and linear rewards; for binary rewards with features it is as good as the
approximate posterior. Rewards must come in an order that has nothing to do with what they are.
"""

import abc
import math
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np

from tsgrad_runtime.checks import FloatArray
from tsgrad_runtime.laws import NormalLaw, ProductLaw
from tsgrad_runtime.models import Belief, IndependentArms, LinearRewards, Model, NormalPrior
from tsgrad_runtime.shares import log_tail_chances

_WEAK = 1 / 16  # of a prior's strength: means are believed to be four times as far from their centre
_KEPT = tuple(1 - 1 / memory for memory in (64, 512))  # of what is known, from one reward to the next
_SHIFTS = (-1.0, -0.3, 0.3, 1.0)  # of real rewards, in their standard deviations; of the log-odds of binary ones


class Doubt(NamedTuple):
    """What is wrong, with which arm (None for all of them), whether its rewards are higher than the model says, and the
    logarithm of the chance that this would ever be said if the model were right, at most.
    """

    kind: Literal["arm", "prior", "drift", "bias"]
    arm: int | None
    higher: bool | None
    log_chance: float


class Doubts(abc.ABC):
    """Rivals of a model."""

    @abc.abstractmethod
    def see(self, model: Model, belief: Belief, features: FloatArray | None, arm: Any, reward: float) -> None:
        """One more reward, foretold by the belief before it."""

    @abc.abstractmethod
    def rivals(self, model: Model) -> int:
        """How many there are."""

    @abc.abstractmethod
    def found(self, model: Model, belief: Belief) -> Iterator[Doubt]:
        """One for each rival that has anything to say, by a belief that has learned all rewards."""

    def strongest(self, model: Model, belief: Belief, features: FloatArray | None) -> Doubt | None:
        """The least likely of all doubts, as if it were the only one that is looked at; None where there is none.

        Half of its chance is that of arms, half that of rivals.
        """
        tails, rivals = list(_tails(model, belief, features)), math.log(2 * self.rivals(model))
        all_of_them = [doubt._replace(log_chance=doubt.log_chance + math.log(2 * (len(tails) or 1))) for doubt in tails]
        all_of_them += [doubt._replace(log_chance=doubt.log_chance + rivals) for doubt in self.found(model, belief)]
        return min(all_of_them, key=lambda doubt: doubt.log_chance, default=None)


def _tails(model: Model, belief: Belief, features: FloatArray | None) -> Iterator[Doubt]:
    """Two for each arm: that it is too bad, and that it is too good; none of an arm that is certain a priori."""
    before, now = (_of_arms(model, some, features) for some in (model.prior(), belief))
    if before is None or now is None:
        return
    _, below, above = before.reach()
    open_arms = np.flatnonzero(below + above > 0).tolist()
    log_chances = 1 + log_tail_chances(before, now.reach()[0])
    for higher, row in enumerate(log_chances.tolist()):
        for arm in open_arms:
            yield Doubt("arm", arm, bool(higher), row[arm])


def _of_arms(model: Model, belief: Belief, features: FloatArray | None) -> ProductLaw | None:
    """What is believed of each arm by itself; None where it depends on a context, or every vector is an arm."""
    if isinstance(model, IndependentArms):
        return model.posterior(belief, None)
    if model.contexts or model.arms is None or not isinstance(model, NormalPrior):
        return None
    assert features is not None
    law = model.posterior(belief, features)
    return NormalLaw(features @ law.mean, np.linalg.norm(features @ law.root, axis=1))


def doubts_of(model: Model) -> Doubts:
    """Those that belong to a model."""
    return IndependentDoubts() if isinstance(model, IndependentArms) else VectorDoubts()


class _Recent:
    """What is known of an arm by recent rewards alone: the belief forgets, back to the prior."""

    def __init__(self, kept: float, statistics: int) -> None:
        self.kept, self.statistics, self.log_foretold = kept, [0.0] * statistics, 0.0


class IndependentDoubts(Doubts):
    """Of arms that teach nothing about each other: memories that fade, of each arm and of all of them together, and a
    weaker prior of all.
    """

    def __init__(self) -> None:
        self._recent: dict[int, tuple[_Recent, ...]] = {}

    def see(self, model: Model, belief: Belief, features: FloatArray | None, arm: Any, reward: float) -> None:
        assert isinstance(model, IndependentArms)
        if arm not in self._recent:
            self._recent[arm] = tuple(_Recent(kept, model.statistics) for kept in _KEPT)
        evidence = model.evidence(arm, reward)
        for memory in self._recent[arm]:
            after = [old + new for old, new in zip(memory.statistics, evidence, strict=True)]
            memory.log_foretold += model.log_evidence(arm, after) - model.log_evidence(arm, memory.statistics)
            memory.statistics = [memory.kept * one for one in after]

    def rivals(self, model: Model) -> int:
        return len(_KEPT) * ((model.arms or 0) + 1) + 1

    def found(self, model: Model, belief: Belief) -> Iterator[Doubt]:
        assert isinstance(model, IndependentArms)
        now = model.moments(belief, None)[0]
        weaker, together = 0.0, [0.0] * len(_KEPT)
        for arm, memories in self._recent.items():
            statistics: list[float] = belief[0][:, arm].tolist()
            own = model.log_evidence(arm, statistics)
            weaker += model.log_evidence(arm, statistics, _WEAK) - own
            for number, memory in enumerate(memories):
                together[number] += memory.log_foretold - own
                faded = belief[0].copy()
                faded[:, arm] = memory.statistics
                higher = bool(model.moments((faded,), None)[0][arm] > now[arm])
                yield Doubt("drift", arm, higher, own - memory.log_foretold)
        yield Doubt("prior", None, None, -weaker)
        for log_ratio in together:
            yield Doubt("drift", None, None, -log_ratio)


class VectorDoubts(Doubts):
    """Of arms that are known by features: for each, rewards that are always higher or lower than foretold; and a weaker
    prior of the vector, where rewards are linear.
    """

    def __init__(self) -> None:
        self._shifted: dict[int, list[float]] = {}

    def see(self, model: Model, belief: Belief, features: FloatArray | None, arm: Any, reward: float) -> None:
        if model.arms is None:
            return
        mean, std = (float(values[arm]) for values in model.moments(belief, features))
        ratios = self._shifted.setdefault(arm, [0.0] * len(_SHIFTS))
        if model.rewards == "binary":
            gains = [shift * reward - math.log1p(mean * math.expm1(shift)) for shift in _SHIFTS]
        else:
            assert isinstance(model, LinearRewards)
            z = (reward - mean) / math.hypot(std, model.seen(features, arm)[1])
            gains = [shift * z - shift**2 / 2 for shift in _SHIFTS]
        self._shifted[arm] = [old + new for old, new in zip(ratios, gains, strict=True)]

    def rivals(self, model: Model) -> int:
        return len(_SHIFTS) * (model.arms or 0) + 1

    def found(self, model: Model, belief: Belief) -> Iterator[Doubt]:
        for arm, ratios in self._shifted.items():
            for shift, ratio in zip(_SHIFTS, ratios, strict=True):
                yield Doubt("bias", arm, shift > 0, -ratio)
        if isinstance(model, LinearRewards):
            yield Doubt("prior", None, None, -model.log_gain_of_weaker(belief, _WEAK))
