"""What a gradient estimator may read of one episode."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Integer

from tsgrad.policies import SamplingPolicy
from tsgrad.problems import AnyProblem, Problem
from tsgrad.simulation import Instance, Observed, Trajectory, draw_instance, redraw_instance, regret, rollout
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
    problem: AnyProblem, policy: SamplingPolicy, address: Address, *, horizon: int, rollouts: int, world: str
) -> tuple[Episode, Float[Array, ""]]:
    """The episode at an address, and the regret of the runs that were played in its true instance.

    With world "posterior" the first run is all that touches the true instance.
    """
    instance = draw_instance(problem, address, horizon)
    if world == "true":
        runs = _runs(problem.model, policy, instance, address, jnp.arange(rollouts, dtype=jnp.uint32))
        lost = jax.vmap(lambda arms: regret(instance, arms))(runs.arm)
        return Episode(problem.model, policy, instance, runs, address), jnp.sum(lost) / rollouts
    live = rollout(problem.model, policy, instance, address, jnp.uint32(0))
    return from_live_run(problem.model, policy, live, address, rollouts), jnp.sum(regret(instance, live.arm))


def from_live_run(model: Problem, policy: SamplingPolicy, live: Trajectory, address: Address, rollouts: int) -> Episode:
    """The episode of which one run is known, and nothing else: the other runs, and every metric and baseline, see an
    instance redrawn from what that run saw.
    """
    observed = Observed(live.arm, live.reward)
    redrawn = redraw_instance(model, live.context, live.final_belief, observed, address)
    runs = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], live)
    if rollouts > 1:
        others = _runs(model, policy, redrawn, address, jnp.arange(1, rollouts, dtype=jnp.uint32))
        runs = jax.tree.map(lambda one, more: jnp.concatenate([one, more]), runs, others)
    return Episode(model, policy, redrawn, runs, address)


def _runs(
    model: Problem, policy: SamplingPolicy, instance: Instance, address: Address, numbers: Integer[Array, "R"]
) -> Trajectory:
    return jax.vmap(lambda number: rollout(model, policy, instance, address, number))(numbers)
