"""The exact Bayes-optimal policy's regret, for two Bernoulli arms, by dynamic programming."""

import numpy as np

from tsgrad.checks import BadInput, check_count
from tsgrad.evaluate.best_mean import expected_best_mean
from tsgrad.problems import BernoulliBandit, Problem

LONGEST = 100  # steps; time grows with the fourth power, memory with the third


def has_known_optimum(problem: Problem, horizon: int) -> bool:
    """Whether `optimal_regret` can be asked for."""
    return isinstance(problem, BernoulliBandit) and problem.arms == 2 and horizon <= LONGEST


def optimal_regret(problem: Problem, *, horizon: int) -> float:
    """The expected regret of the policy that no policy can beat, for two Bernoulli arms and up to 100 steps.

    >>> f"{optimal_regret(BernoulliBandit(arms=2), horizon=10):.4f}"
    '0.6449'
    """
    if not isinstance(problem, BernoulliBandit) or problem.arms != 2:
        got = f"{type(problem).__name__} with {getattr(problem, 'arms', 'no number of')} arms"
        raise BadInput(f"problem must be a BernoulliBandit with 2 arms for its exact optimum, got {got}: use a bound")
    horizon = check_count("horizon", horizon, least=1, most=LONGEST)
    best = expected_best_mean(problem)
    assert best is not None
    return horizon * best - optimal_reward(problem, horizon=horizon)


def optimal_reward(problem: BernoulliBandit, *, horizon: int) -> float:
    """The expected total reward of the Bayes-optimal policy.

    V_n[pulls of the first arm, its successes, successes of the second arm] is the value of what is left after n steps;
    the second arm has had the other n pulls. Each step back needs the one after it only.
    """
    value = np.zeros((horizon + 1,) * 3)
    for steps in range(horizon - 1, -1, -1):
        pulls, first, second = np.ogrid[: steps + 1, : steps + 1, : steps + 1]
        # More successes than pulls never come about, and are never read from where they do not: any value will do.
        chances = (
            np.minimum((problem.alpha[0] + first) / (problem.alpha[0] + problem.beta[0] + pulls), 1),
            np.minimum((problem.alpha[1] + second) / (problem.alpha[1] + problem.beta[1] + steps - pulls), 1),
        )
        later = value[: steps + 2, : steps + 2, : steps + 2]
        play_first = _bet(chances[0], later[1:, 1:, :-1], later[1:, :-1, :-1])
        play_second = _bet(chances[1], later[:-1, :-1, 1:], later[:-1, :-1, :-1])
        value = np.maximum(play_first, play_second)
    return float(value[0, 0, 0])


def _bet(chance: np.ndarray, won: np.ndarray, lost: np.ndarray) -> np.ndarray:
    return np.asarray(chance * (1 + won) + (1 - chance) * lost)
