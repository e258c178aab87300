"""Optimistic Gittins indices: the value of one more look, with a discount that grows with time."""

from typing import Literal

import equinox as eqx
import numpy as np

from tsgrad.arrays import FloatArray
from tsgrad.checks import check_choice
from tsgrad.policies.rivals.base import TabledArm, TableRival, normal_pdf
from tsgrad.problems import BetaArm, NormalArm
from tsgrad.problems.tabled import reached_cells
from tsgrad.registry import register

_NEWTON_STEPS = 60  # far more than are taken: they stop where nothing moves


@register("optimistic-gittins")
class OptimisticGittins(TableRival):
    """Plays the largest v that solves v = (1 - g) m + g E[max(theta, v)] (Gutin and Farias, 2016, one step ahead).

    The discount g is 1 - 1/t with `discount="elapsed"`, as published, or 1 - 1/(T - t + 1) with `discount="left"`,
    which knows the horizon and stops exploring in time. For Gaussian arms v = m + beta(g) s, beta = g (beta Phi(beta)
    + phi(beta)).

    Close to the finite-horizon Gittins index with "left" where all arms are equally noisy, at no cost; it does not
    look at the noise, and so overrates arms whose rewards say little.

        >>> print(optimistic_bonus(np.array([0.5, 0.9, 0.99, 0.998])).round(5))
        [0.27603 0.90146 1.72078 2.23112]
    """

    discount: Literal["elapsed", "left"] = eqx.field(static=True)

    def __init__(self, discount: str = "elapsed") -> None:
        self.discount = check_choice("discount", discount, ("elapsed", "left"))  # type: ignore[assignment]

    def discounts(self, horizon: int) -> FloatArray:
        """The discount at each step, [T]."""
        elapsed = 1 - 1 / np.arange(1.0, horizon + 1)
        return elapsed if self.discount == "elapsed" else elapsed[::-1].copy()

    def row(self, arm: TabledArm, horizon: int) -> FloatArray:
        discounts = self.discounts(horizon)
        match arm:
            case NormalArm():
                return np.outer(optimistic_bonus(discounts), arm.stds(horizon))
            case BetaArm():
                return beta_row(arm, discounts)


def beta_row(arm: BetaArm, discounts: FloatArray) -> FloatArray:
    """What the index of a Bernoulli arm adds to its posterior mean, [T, cell]."""
    horizon = len(discounts)
    a, b = arm.counts(horizon)
    mean = a / (a + b)
    row = np.zeros((horizon, len(a)))
    root = mean.copy()
    # A cell's index grows with the discount: the one before is where to start.
    for step in np.argsort(discounts).tolist():
        seen = reached_cells(step)
        root[seen] = optimistic_beta_index(a[seen], b[seen], discounts[step], root[seen])
        row[step, seen] = root[seen] - mean[seen]
    return row


def optimistic_bonus(discounts: FloatArray) -> FloatArray:
    """beta(g) = g (beta Phi(beta) + phi(beta)), by Newton's method; 0 at g = 0."""
    from scipy import special

    beta = np.zeros_like(discounts)
    for _ in range(_NEWTON_STEPS):
        excess = beta - discounts * (beta * special.ndtr(beta) + normal_pdf(beta))
        beta = beta - excess / (1 - discounts * special.ndtr(beta))
    return beta


def optimistic_beta_index(a: FloatArray, b: FloatArray, discount: float, start: FloatArray) -> FloatArray:
    """The v of Beta(a, b) arms, by Newton's method from below: the excess is concave in v, so no step overshoots."""
    from scipy import special

    mean = a / (a + b)
    v = start
    for _ in range(_NEWTON_STEPS):
        below = special.betainc(a, b, v)
        optimum = v * below + mean * (1 - special.betainc(a + 1, b, v))
        excess = v - discount * optimum - (1 - discount) * mean
        moved: FloatArray = np.minimum(v - excess / (1 - discount * below), 1.0)
        settled = np.max(np.abs(moved - v)) < 1e-12
        v = moved
        if settled:
            break
    return v
