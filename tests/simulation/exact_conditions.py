"""Expected reward of two Bernoulli arms under conditions, every outcome enumerated: what simulations are held against.

Written without the library's transition: users, counts, delays and floors are spelled out.
"""

import functools
import itertools

import jax
import numpy as np
from scipy import special, stats

import tsgrad as tg
from exact import beta_choice
from tsgrad.policies import Clock, parameter_vector, with_parameters
from tsgrad.problems.bernoulli import BernoulliBelief


def chances_of_counts(share, users, allocation):
    """The law of how many of the users get arm 0."""
    counts = np.arange(users + 1)
    if allocation == "independent":
        return stats.binom.pmf(counts, users, share)
    low = np.floor(users * share + 1e-12)
    return np.maximum(0, 1 - np.abs(counts - users * share)) if low != users * share else (counts == low).astype(float)


@functools.partial(jax.jit, static_argnames="users")
def law_at(problem, policy, belief, t, users):
    return policy.law(problem, belief, None, tg.Context(), Clock(t, users))


def value(problem, policy, horizon, *, batch=1, allocation="independent", delay=(1.0,), floor=0.0, after=0):
    """E of the total reward. `delay` are chances of 0, 1, .. steps; what they lack of one is never seen."""
    users = batch * horizon
    chances = [*delay, 1 - sum(delay)]

    @functools.cache
    def share(seen, t):
        counts = np.array(seen, float)
        law = law_at(problem, policy, BernoulliBelief(*counts), 1 + (t - 1) * batch, users)
        return floor + (1 - 2 * floor) * beta_choice(law)[0]

    def means(known):
        successes, failures = (np.array(side, float) for side in known)
        alpha, beta = problem.alpha + successes, problem.beta + failures
        return alpha / (alpha + beta)

    def add(known, more):
        return tuple(tuple(np.add(old, new)) for old, new in zip(known, more, strict=True))

    nothing = ((0, 0), (0, 0))

    def outcomes(counts, known):
        """(chance, successes of each arm) of users of each arm, given all that happened, whether seen or not."""
        laws = []
        for arm, count in enumerate(counts):
            alpha, beta = problem.alpha[arm] + known[0][arm], problem.beta[arm] + known[1][arm]
            won = np.arange(count + 1)
            log = special.betaln(alpha + won, beta + count - won) - special.betaln(alpha, beta)
            laws.append(special.binom(count, won) * np.exp(log))
        for won in itertools.product(*(range(count + 1) for count in counts)):
            yield laws[0][won[0]] * laws[1][won[1]], won

    def splits(total):
        """(chance, parts): how `total` things fall on the delays."""
        for parts in itertools.product(range(total + 1), repeat=len(chances)):
            if sum(parts) == total:
                yield stats.multinomial.pmf(parts, total, chances), parts

    @functools.cache
    def from_here(t, happened, seen, waiting):
        """Reward from step t on; `waiting` is what will be seen after 1, 2, .. further steps."""
        if t > horizon:
            for late in waiting:
                seen = add(seen, late)
            arm = int(np.argmax(means(seen)))
            return after * means(happened)[arm]
        total = 0.0
        for first, chance in enumerate(chances_of_counts(share(seen, t), batch, allocation)):
            if chance < 1e-15:
                continue
            counts = (first, batch - first)
            total += chance * np.dot(counts, means(happened))
            for likely, won in outcomes(counts, happened):
                lost = tuple(np.subtract(counts, won))
                later = add(happened, (won, lost))
                for split_chance, pieces in arrivals((*won, *lost)):
                    if split_chance < 1e-15:
                        continue
                    queue = [add(a, b) for a, b in zip((*waiting, nothing), pieces[:-1], strict=True)]
                    now = add(seen, queue[0])
                    total += chance * likely * split_chance * from_here(t + 1, later, now, tuple(queue[1:]))
        return total

    @functools.cache
    def arrivals(numbers):
        """[(chance, evidence of each delay)] of (won of arm 0, of arm 1, lost of arm 0, of arm 1)."""
        found = []
        for combination in itertools.product(*(list(splits(number)) for number in numbers)):
            chance = np.prod([one for one, _ in combination])
            parts = np.array([part for _, part in combination])  # [4, delays]
            found.append((chance, [((a, b), (c, d)) for a, b, c, d in parts.T]))
        return found

    return float(from_here(1, nothing, nothing, (nothing,) * (len(delay) - 1)))


def gradient(problem, policy, horizon, step=1e-3, **conditions):
    """Central differences of the enumerated value; their error is below 1e-5 at this step."""
    with jax.enable_x64(True):
        vector = parameter_vector(policy)
        slopes = []
        for direction in np.eye(len(vector)) * step:
            up, down = (
                value(problem, with_parameters(policy, vector + sign * direction), horizon, **conditions)
                for sign in (1, -1)
            )
            slopes.append((up - down) / (2 * step))
        return np.array(slopes)
