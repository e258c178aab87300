"""The exact Bayes-optimal policy's regret, for two Bernoulli arms, by dynamic programming."""

import numpy as np

from tsgrad.checks import BadInput, check_count
from tsgrad.problems import BetaArm, Problem, TabledArms

LONGEST = 100  # steps; time grows with the fourth power, memory with the third


def has_known_optimum(problem: Problem, horizon: int) -> bool:
    """Whether `optimal_regret` can be asked for."""
    return _two_coins(problem) is not None and horizon <= LONGEST


def optimal_regret(problem: Problem, *, horizon: int) -> float:
    """The expected regret of the policy that no policy can beat, for two Bernoulli arms and up to 100 steps.

    >>> from tsgrad.problems import BernoulliBandit
    >>> f"{optimal_regret(BernoulliBandit(arms=2), horizon=10):.4f}"
    '0.6449'
    """
    coins = _two_coins(problem)
    if coins is None or not isinstance(problem, TabledArms):
        got = f"{type(problem).__name__} with {getattr(problem, 'arms', 'no number of')} arms"
        raise BadInput(f"problem must be a BernoulliBandit with 2 arms for its exact optimum, got {got}: use a bound")
    horizon = check_count("horizon", horizon, least=1, most=LONGEST)
    return horizon * problem.expected_best_mean() - optimal_reward(coins, horizon=horizon)


def _two_coins(problem: Problem) -> tuple[BetaArm, BetaArm] | None:
    """The arms of a problem that has two, and both of them beta arms."""
    match problem.tabled_arms() if isinstance(problem, TabledArms) else []:
        case [BetaArm() as first, BetaArm() as second]:
            return first, second
    return None


def optimal_reward(coins: tuple[BetaArm, BetaArm], *, horizon: int) -> float:
    """The expected total reward of the Bayes-optimal policy for two Bernoulli arms.

    V_n[pulls of the first arm, its successes, successes of the second arm] is the value of what is left after n steps;
    the second arm has had the other n pulls. Each step back needs the one after it only.
    """
    one, other = coins
    value = np.zeros((horizon + 1,) * 3)
    for steps in range(horizon - 1, -1, -1):
        pulls, first, second = np.ogrid[: steps + 1, : steps + 1, : steps + 1]
        # More successes than pulls never come about, and are never read from where they do not: any value will do.
        chances = (
            np.minimum((one.alpha + first) / (one.alpha + one.beta + pulls), 1),
            np.minimum((other.alpha + second) / (other.alpha + other.beta + steps - pulls), 1),
        )
        later = value[: steps + 2, : steps + 2, : steps + 2]
        play_first = _bet(chances[0], later[1:, 1:, :-1], later[1:, :-1, :-1])
        play_second = _bet(chances[1], later[:-1, :-1, 1:], later[:-1, :-1, :-1])
        value = np.maximum(play_first, play_second)
    return float(value[0, 0, 0])


def _bet(chance: np.ndarray, won: np.ndarray, lost: np.ndarray) -> np.ndarray:
    return np.asarray(chance * (1 + won) + (1 - chance) * lost)
