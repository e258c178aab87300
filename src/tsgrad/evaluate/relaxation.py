"""Episodes in which every arm's rewards to come are known, and what policies that know them would earn."""

from collections.abc import Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, UInt32

from tsgrad.arrays import FloatArray
from tsgrad.problems import Context, IndependentArms
from tsgrad.simulation import Traced, Workload, over_blocks
from tsgrad.streams import Stream


def futures(problem: IndependentArms, workload: Workload) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Episodes block by block: the best arm's true mean [B], and the posterior mean of every arm after 0..T-1 pulls of
    it [B, T, K].
    """
    traced, left = workload.traced, workload.episodes
    for best, means in over_blocks(lambda block: _future_block(problem, traced, block), workload):
        yield best[:left], means[:left]
        left -= len(best)


@eqx.filter_jit
def _future_block(
    problem: IndependentArms, workload: Traced, block: UInt32[Array, ""]
) -> tuple[Float[Array, "B"], Float[Array, "B T K"]]:
    def episode(number: UInt32[Array, ""]) -> tuple[Float[Array, ""], Float[Array, "T K"]]:
        home = workload.address.with_episode(number)
        world = problem.draw_world(home.noise(Stream.BOUND))
        noise = home.noise(Stream.BOUND, look_ahead=1)
        arms = jnp.arange(problem.arms)

        def pulled(t: Any) -> Any:
            return problem.evidence(jax.vmap(lambda arm: problem.reward(world, Context(), arm, noise.step(t)))(arms))

        beliefs = jax.tree.map(
            lambda start, added: jnp.concatenate([start[None], start + jnp.cumsum(added, axis=0)]),
            problem.prior(workload.horizon),
            jax.vmap(pulled)(jnp.arange(1, workload.horizon)),
        )
        means = jax.vmap(lambda belief: problem.posterior_means(belief, Context()))(beliefs)
        return jnp.max(problem.means(world, Context())), means

    return jax.vmap(episode)(workload.episodes(block))


def best_counts_reward(means: FloatArray) -> FloatArray:
    """The largest sum_k sum_{j < n_k} means[:, j, k] over counts n_k that add up to T; [N, T, K] to [N].

    By max-plus convolution of the arms' cumulative sums, one arm after the other, O(K T^2) per episode. The sums are
    not concave in general, so that nothing faster than trying every count is exact.

        >>> best_counts_reward(np.array([[[1.0, 2.0], [5.0, 0.0]]]))  # the first arm twice
        array([6.])
    """
    episodes, horizon, arms = means.shape
    sums = np.zeros((arms, horizon + 1, episodes))
    np.cumsum(means.transpose(2, 1, 0), axis=1, out=sums[:, 1:])
    value = sums[0]
    term = np.empty_like(value)
    for gained in sums[1:-1]:
        joined = value.copy()
        for count in range(1, horizon + 1):
            with_count = np.add(value[:-count], gained[count], out=term[:-count])
            np.maximum(joined[count:], with_count, out=joined[count:])
        value = joined
    return np.asarray(value[-1] if arms == 1 else np.max(value[::-1] + sums[-1], axis=0))


def deviations(means: FloatArray, strength: FloatArray) -> FloatArray:
    """How far the arm with the largest last posterior mean strayed on its way there; [N, T, K] to [N], of mean zero.

    Given the last mean mu_n (n = T - 1), the expectation of an earlier one is mu_0 + w_j (mu_n - mu_0), with
    w_j = (j / n) (strength + n) / (strength + j); the other arms' rewards, which decide which arm it is, add nothing.
    """
    episodes, horizon, _ = means.shape
    pulls = np.arange(horizon)[:, None]
    weight = pulls / max(horizon - 1, 1) * (strength + horizon - 1) / (strength + pulls)
    arm = np.argmax(means[:, -1], axis=1)
    path = means[np.arange(episodes), :, arm]
    expected = path[:, :1] + weight.T[arm] * (path[:, -1:] - path[:, :1])
    return np.asarray(np.sum(path - expected, axis=1))
