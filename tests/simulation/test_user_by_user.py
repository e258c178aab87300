"""A week of 140,000 users with a least share and clicks a day late, user by user, written without the library's
transition: what it costs is what `simulate` says, which counts users and draws sums.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import tsgrad as tg
from false_alarms import z_bound
from tsgrad.policies import Clock, parameter_vector, prepared, with_parameters
from tsgrad.problems.bernoulli import BernoulliBelief

USERS, DAYS, ARMS, FLOOR = 20_000, 7, 10, 0.02
PROBLEM = tg.BernoulliBandit(alpha=2.0, beta=498.0, arms=ARMS)


@eqx.filter_jit
def law_at(policy, wins, losses, t):
    return policy.law(PROBLEM, BernoulliBelief(wins, losses), None, tg.Context(), Clock(t, USERS * DAYS))


def regret_of_a_week(policy, generator):
    """One experiment: every user's draw, every user's click."""
    rates = generator.beta(2.0, 498.0, ARMS)
    seen, waiting, earned = np.zeros((2, ARMS), np.float32), np.zeros((2, ARMS), np.float32), 0.0
    for day in range(DAYS):
        law = law_at(policy, *map(jnp.asarray, seen), jnp.int32(1 + day * USERS))
        draws = generator.normal(size=(USERS, ARMS)) * np.asarray(law.scale, float) + np.asarray(law.location, float)
        arm = draws.argmax(axis=1)
        by_chance = generator.random(USERS) < ARMS * FLOOR
        arm[by_chance] = generator.integers(ARMS, size=by_chance.sum())
        clicks = generator.random(USERS) < rates[arm]
        earned += rates[arm].sum()
        seen = seen + waiting  # yesterday's clicks are known tonight
        won, shown = np.bincount(arm, clicks, ARMS), np.bincount(arm, minlength=ARMS)
        waiting = np.stack([won, shown - won]).astype(np.float32)
    return USERS * DAYS * rates.max() - earned


@pytest.mark.long
def test_a_week_user_by_user_costs_what_simulation_says():
    """150 weeks against 8,192: a false alarm once in 1,000 seeds."""
    policy = tg.BonusThompson(PROBLEM)
    size = len(parameter_vector(policy))
    moved = with_parameters(policy, 0.2 * np.random.default_rng(1).normal(size=size))
    generator = np.random.default_rng(2)
    slow = [regret_of_a_week(prepared(moved, PROBLEM, USERS * DAYS), generator) for _ in range(150)]
    conditions = tg.Conditions(batch=USERS, delay=1, floor=FLOOR)
    found = tg.simulate(PROBLEM, moved, horizon=DAYS, episodes=8192, seed=3, conditions=conditions).regret
    error = np.hypot(np.std(slow) / np.sqrt(len(slow)), np.std(found) / np.sqrt(len(found)))
    assert abs(np.mean(slow) - np.mean(found)) < z_bound(1) * error
    assert error < 0.05 * np.mean(found)
