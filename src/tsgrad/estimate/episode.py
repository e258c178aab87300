"""What a gradient estimator may read of one episode."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Integer

from tsgrad.policies import SamplingPolicy
from tsgrad.problems import Bandit, Problem
from tsgrad.simulate import Instance, Observed, Trajectory, draw_instance, redraw_instance, regret, rollout
from tsgrad.streams import Address


class Episode(eqx.Module):
    """One instance, and R runs of the policy through it.

    `runs` has [R, T] first. All runs share the world and the reward noise; each has its own policy noise, so that
    what another run did is independent of this run's draws given the instance.
    """

    model: Problem
    policy: SamplingPolicy
    instance: Instance
    runs: Trajectory
    address: Address

    @property
    def left(self) -> Integer[Array, "T"]:
        """How many steps are left at each step, that one included."""
        return self.instance.horizon - self.instance.times + 1

    def first(self, rollouts: int) -> "Episode":
        """The same episode, with its first runs only."""
        runs = jax.tree.map(lambda leaf: leaf[:rollouts], self.runs)
        return Episode(self.model, self.policy, self.instance, runs, self.address)


def play(
    problem: Bandit, policy: SamplingPolicy, address: Address, *, horizon: int, rollouts: int, world: str
) -> tuple[Episode, Float[Array, ""]]:
    """The episode at an address, and the regret of the runs that were played in its true instance.

    With world "posterior" the first run is all that touches the true instance: the others, and every metric and
    baseline, see one redrawn from what that run saw.
    """
    instance = draw_instance(problem, address, horizon)

    def run(within: Instance, number: Integer[Array, ""]) -> Trajectory:
        return rollout(problem.model, policy, within, address, number)

    numbers = jnp.arange(rollouts, dtype=jnp.uint32)
    if world == "true":
        runs = jax.vmap(lambda number: run(instance, number))(numbers)
        lost = jax.vmap(lambda arms: regret(instance, arms))(runs.arm)
        return Episode(problem.model, policy, instance, runs, address), jnp.sum(lost) / rollouts
    live = run(instance, numbers[0])
    lost = regret(instance, live.arm)
    redrawn = redraw_instance(problem, instance, live.final_belief, Observed(live.arm, live.reward), address)
    runs = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], live)
    if rollouts > 1:
        others = jax.vmap(lambda number: run(redrawn, number))(numbers[1:])
        runs = jax.tree.map(lambda one, more: jnp.concatenate([one, more]), runs, others)
    return Episode(problem.model, policy, redrawn, runs, address), jnp.sum(lost)
