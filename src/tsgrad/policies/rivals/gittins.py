"""The finite-horizon Gittins index: what an arm is worth by itself, with the decisions that are left."""

import numpy as np

from tsgrad.arrays import FloatArray
from tsgrad.policies.rivals.base import TabledArm, TableRival
from tsgrad.policies.rivals.gittins_bernoulli import bernoulli_indices
from tsgrad.policies.rivals.gittins_gaussian import gaussian_bonuses
from tsgrad.policies.rivals.kept_table import kept_table
from tsgrad.problems import BetaArm, NormalArm
from tsgrad.problems.tabled import beta_cells, reached_cells
from tsgrad.registry import register

_EDITION = 3  # of what is kept on disk; raise it when the numbers change


@register("finite-horizon-gittins")
class FiniteHorizonGittins(TableRival):
    """Plays the arm with the largest price at which it would still be worth starting, were it the only one.

    The price solves the optimal stopping of one arm against one that surely pays it, with T - t + 1 decisions left
    (Bradt, Johnson and Karlin, 1956; Kaufmann, 2018; Lattimore, 2016). For Gaussian arms it is m + b(pulls, left).
    Indices are exact to 1e-5 prior standard deviations for Gaussian arms, to 0.005 of them and 1e-4 for Bernoulli
    arms, computed once and kept on disk; Gaussian arms take seconds for T = 500, Bernoulli arms a minute for T = 200.

    The strongest policy known for independent arms that is not the optimum itself: it weighs noise, what is left to
    learn and the time to use it. Not optimal, because arms are valued as if each were alone.

        >>> import tsgrad as tg
        >>> policy = FiniteHorizonGittins().prepare(tg.GaussianBandit(arms=3), horizon=2)
        >>> print(policy.table.round(6).tolist())
        [[[0.195183, 0.0], [0.0, 0.0]]]
    """

    def row(self, arm: TabledArm, horizon: int) -> FloatArray:
        match arm:
            case NormalArm():
                return normal_row(arm, horizon)
            case BetaArm():
                return beta_row(arm, horizon)


def normal_row(arm: NormalArm, horizon: int) -> FloatArray:
    """What the index of a Gaussian arm adds to its posterior mean, [T, pulls]."""
    ratio = (arm.prior_std / arm.noise_std) ** 2
    name = f"gittins-gaussian-{_EDITION}-{ratio.hex()}"
    bonuses = kept_table(name, horizon, lambda steps: gaussian_bonuses(ratio, steps), rank=2)
    row = np.zeros((horizon, horizon))
    for step in range(horizon):
        row[step, : step + 1] = arm.noise_std * bonuses[: step + 1, horizon - step - 1]
    return row


def beta_row(arm: BetaArm, horizon: int) -> FloatArray:
    """What the index of a Bernoulli arm adds to its posterior mean, [T, cell]."""
    name = f"gittins-bernoulli-{_EDITION}-{arm.alpha.hex()}-{arm.beta.hex()}"
    indices = kept_table(name, horizon, lambda steps: bernoulli_indices(arm.alpha, arm.beta, steps), rank=3)
    successes, failures = beta_cells(horizon)
    mean = (arm.alpha + successes) / (arm.alpha + arm.beta + successes + failures)
    cells = successes.astype(int), failures.astype(int)
    row = np.zeros((horizon, len(mean)))
    for step in range(horizon):
        seen = reached_cells(step)
        row[step, seen] = indices[horizon - step - 1][cells][seen] - mean[seen]
    return row
