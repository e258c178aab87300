"""What may be wrong with a run: training that did not settle, gradients that can't be trusted, a gain not shown."""

from collections.abc import Sequence

import numpy as np

from tsgrad.arrays import FloatArray
from tsgrad.evaluate.digits import INTERVAL_Z, decimals_at, fixed, interval, measured
from tsgrad.report.contents import Concern

STILL_FALLING = 0.01  # of the regret at the start: what the last quarter of training must not have gained
END_WORSE = 0.02  # of the selected policy's regret: how much worse the end of training may be
END_WORSE_Z = 3.0
NOISIER = 100.0  # times the largest standard error of a gradient at the start; runs that settle stay below
FEWEST_CHECKS = 8  # to compare quarters of them


def no_gain(gain: float, standard_error: float) -> list[Concern]:
    """A gain whose 95% confidence interval reaches zero.

    >>> [concern.title for concern in no_gain(0.1, 0.2)], no_gain(10.0, 0.2)
    (['No gain is shown'], [])
    """
    if gain > INTERVAL_Z * standard_error:
        return []
    text = (
        f"The 95% confidence interval of the gain, {interval(gain, standard_error)}, reaches zero. "
        "Train longer, or with more episodes per iteration; the family of policies may also have nothing to gain here."
    )
    return [Concern("No gain is shown", text)]


def still_falling(checks: Sequence[float]) -> list[Concern]:
    """Regrets on validation episodes, in order, whose last quarter is clearly below the quarter before.

    >>> [concern.title for concern in still_falling([20, 19, 18, 17, 16, 15, 14, 13])]
    ['Training had not converged']
    >>> still_falling([20, 16, 15, 15, 15, 15, 15, 15])
    []
    """
    if len(checks) < FEWEST_CHECKS:
        return []
    quarter = len(checks) // 4
    before, last = np.mean(checks[-2 * quarter : -quarter]), np.mean(checks[-quarter:])
    if before - last <= STILL_FALLING * checks[0]:
        return []
    digits = decimals_at(checks[0], least=2)
    text = (
        f"Regret on validation episodes still fell by {fixed(float(before - last), digits)} from the third to the last "
        "quarter of training: more iterations are likely to gain more."
    )
    return [Concern("Training had not converged", text)]


def end_worse(selected_regret: float, excess: float, standard_error: float) -> list[Concern]:
    """An end of training that is clearly worse than the policy selected on the way.

    >>> [concern.title for concern in end_worse(15.4, 1.2, 0.1)], end_worse(15.4, 0.1, 0.05)
    (['The end of training is worse than the policy selected'], [])
    """
    if excess <= END_WORSE_Z * standard_error or excess <= END_WORSE * selected_regret:
        return []
    text = (
        f"The last policy loses {measured(excess, standard_error)} more than the one selected on validation episodes, "
        "which is what this report is about. Training did not settle: lower the learning rate, or let a schedule "
        "bring it down."
    )
    return [Concern("The end of training is worse than the policy selected", text)]


def suspicious_gradients(names: Sequence[str], start: FloatArray, end: FloatArray) -> list[Concern]:
    """Standard errors of the gradient [P], at the start and at the end of training, that exploded or vanished.

    >>> names = ["decay[0]", "decay[1]"]
    >>> [concern.title for concern in suspicious_gradients(names, np.array([1.0, 1.0]), np.array([0.0, 500.0]))]
    ['Gradients became noisy', 'Meta-parameters are at their bounds']
    """
    found = []
    growth = end / max(float(np.max(start)), np.finfo(float).tiny)
    noisy = np.flatnonzero(growth > NOISIER)
    if noisy.size:
        others = f", and {noisy.size - 1} more are like it" if noisy.size > 1 else ""
        text = (
            f"At the end of training the gradient of `{names[int(np.argmax(growth))]}` has {np.max(growth):.0f} times "
            f"the largest standard error of the start{others}. Sampling has nearly no variance left there, and late "
            "steps were mostly noise: use more episodes per iteration, a rate that falls to zero, or `clip_norm`."
        )
        found.append(Concern("Gradients became noisy", text))
    stuck = np.flatnonzero((start > 0) & (end == 0))
    if stuck.size:
        listed = ", ".join(f"`{names[index]}`" for index in stuck[:4]) + ", …" * (stuck.size > 4)
        text = (
            f"Training no longer moves {listed}: the law of the arm has reached the bounds within which its score can "
            "be computed. That is harmless where an arm is to be played greedily, and a sign of a learning rate too "
            "high elsewhere."
        )
        found.append(Concern("Meta-parameters are at their bounds", text))
    return found
