"""Policies for more arms, or fewer: meta-parameters of arms go with them."""

import functools
from typing import Any

import jax
import numpy as np

from tsgrad.problems import with_arms_taken


@functools.singledispatch
def with_arms(policy: Any, arms: int, numbers: Any) -> Any:
    """The policy whose arms have the meta-parameters of the arms of these numbers; itself where they have no own.

    Args:
        policy: for so many `arms`.
        arms: how many it is for.
        numbers: of the arms that it is to have, each once or more often.

    A policy of your own that has other numbers beside those of its arms says it with `@with_arms.register`.

        >>> import tsgrad as tg
        >>> policy = tg.ReshapedThompson(tg.GaussianBandit(prior_mean=[1.0, 2.0]))
        >>> with_arms(policy, 2, [0, 1, 1]).prior_mean
        array([1., 2., 2.])

    """
    each = all(np.shape(leaf) == (arms,) for leaf in jax.tree.leaves(policy))
    return with_arms_taken(policy, numbers) if each else policy
