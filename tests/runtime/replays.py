"""Every policy that can be played, on problems small enough for many beliefs, and the replay of simulated episodes."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import tsgrad as tg
from tsgrad.policies import parameter_vector, prepared, with_parameters
from tsgrad_runtime.artefact import Artefact, read_artefact
from tsgrad_runtime.conditions import conditions_of, left_to_chance
from tsgrad_runtime.laws import CategoricalLaw, ProductLaw
from tsgrad_runtime.policies import Scene
from tsgrad_runtime.policies.base import Sampling
from tsgrad_runtime.streams import Noise, Purpose, Stream

PROBLEMS = {
    "gaussian": tg.GaussianBandit(prior_mean=[0.3, 0.0, -0.2], prior_std=[1.0, 0.5, 2.0], noise_std=[0.5, 1.0, 3.0]),
    "bernoulli": tg.BernoulliBandit(alpha=[1.0, 3.0, 0.7], beta=[1.0, 2.0, 2.2]),
    "poisson": tg.PoissonBandit(shape=[2.0, 3.0, 0.7], rate=[1.0, 2.0, 0.5]),
    "unknown variance": tg.UnknownVarianceBandit(prior_mean=[0.0, 0.5], shape=[2.0, 3.0]),
    "linear": tg.LinearBandit(
        features=[[1.0, 0.0, 0.5], [0.0, 1.0, 0.5], [1.0, 1.0, 0.0], [0.2, 0.1, 1.0]],
        prior_mean=[0.1, 0.0, -0.3],
        prior_covariance=[[1.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 2.0]],
        noise_std=[0.5, 1.0, 1.0, 2.0],
    ),
    "contexts": tg.LinearBandit(features=tg.GaussianContexts(arms=4, dimension=3)),
    "ball": tg.BallBandit(dimension=3, prior_mean=[0.5, 0.0, 0.0]),
    "logistic": tg.LogisticBandit(features=tg.GaussianContexts(arms=3, dimension=2), prior_mean=[0.5, 0.0]),
}
POLICIES = {
    **{f"reshaped, {name}": (name, tg.ReshapedThompson) for name in PROBLEMS},
    **{
        f"recurrent, {name}": (name, partial(tg.RecurrentThompson, hidden=3)) for name in PROBLEMS if name != "logistic"
    },
    "recurrent, free": ("gaussian", partial(tg.RecurrentThompson, form="free", hidden=3)),
    **{f"bonus, {name}": (name, partial(tg.BonusThompson, degree=3)) for name in PROBLEMS if name != "ball"},
    "bonus below a ceiling": ("bernoulli", lambda _: tg.pretrained("bernoulli")),
    "RL2": ("bernoulli", partial(tg.RL2, hidden=3)),
    "SoftElim": ("bernoulli", lambda _: tg.SoftElim()),
    **{f"thompson, {name}": (name, lambda _: tg.Thompson()) for name in PROBLEMS},
    "gittins, gaussian": ("gaussian", lambda _: tg.FiniteHorizonGittins()),
    "gittins, bernoulli": ("bernoulli", lambda _: tg.FiniteHorizonGittins()),
    "optimistic gittins": ("bernoulli", lambda _: tg.OptimisticGittins("left")),
    "bayes ucb, bernoulli": ("bernoulli", lambda _: tg.BayesUCB()),
    "bayes ucb, gaussian": ("gaussian", lambda _: tg.BayesUCB()),
    "bayes ucb, contexts": ("contexts", lambda _: tg.BayesUCB(0.9)),
    "knowledge gradient": ("gaussian", lambda _: tg.KnowledgeGradient()),
    "relaxation": ("gaussian", lambda _: tg.RelaxationSampling("FH")),
    "relaxation, V-Zero": ("gaussian", lambda _: tg.RelaxationSampling("V-Zero")),
    "relaxation, INDEX": ("gaussian", lambda _: tg.RelaxationSampling("INDEX")),
    "scaled, gaussian": ("gaussian", lambda _: tg.ScaledThompson(0.7)),
    "scaled, poisson": ("poisson", lambda _: tg.ScaledThompson(0.7)),
    "greedy": ("contexts", lambda _: tg.Greedy()),
    "greedy, bernoulli": ("bernoulli", lambda _: tg.Greedy()),
    "uniform": ("bernoulli", lambda _: tg.Uniform()),
    "satisficing": ("gaussian", lambda _: tg.SatisficingThompson(0.4)),
    "top two": ("bernoulli", lambda _: tg.TopTwoThompson()),
    "A/B test": ("gaussian", lambda _: tg.ABTest()),
    "explore then commit": ("contexts", lambda _: tg.ExploreThenCommit(users=4)),
    "successive elimination": ("bernoulli", lambda _: tg.SuccessiveElimination(width=1.0)),
    "batch knowledge gradient": ("bernoulli", lambda _: tg.BatchKnowledgeGradient(sizes=[2.0] * 100, after=30)),
    "residual horizon": ("gaussian", lambda _: tg.ResidualHorizon(after=30)),
}


def moved(policy, seed):
    """The policy with other meta-parameters, where it has any: at those it starts from, much of it has no effect."""
    if not isinstance(policy, tg.SamplingPolicy) or not parameter_vector(policy).size:
        return policy
    vector = parameter_vector(policy)
    return with_parameters(policy, vector + np.random.default_rng(seed).normal(0, 0.3, vector.shape))


def open_arms(problem, horizon, seed):
    """Which arms can be played at each step: four in five, and one at least; None where every vector is an arm."""
    if not isinstance(problem, tg.FiniteArms):
        return None
    generator = np.random.default_rng(seed)
    available = generator.random((horizon, problem.arms)) < 0.8
    available[np.arange(horizon), generator.integers(problem.arms, size=horizon)] = True
    return available


class Played(NamedTuple):
    """Simulated episodes of a policy, and the policy as the runtime reads it. `available` is [T, K] or None."""

    problem: Any
    policy: Any
    artefact: Artefact
    trajectories: Any
    available: Any
    horizon: int
    seed: int

    def scenes(self):
        """(episode, scene) of every decision, in order, with the belief that the runtime has by what was played."""
        arms, rewards = np.asarray(self.trajectories.arm), np.asarray(self.trajectories.reward)
        features = self.trajectories.context.features
        features = None if features is None else np.asarray(features)
        model, policy = self.artefact.model, self.artefact.policy
        fixed = getattr(model, "features", None)
        given = None if self.available is None else {"available": self.available.tolist()}
        conditions = conditions_of(given, self.horizon, model.arms)
        for episode in range(len(arms)):
            belief, memory = model.prior(), policy.start(model)
            for t in range(1, self.horizon + 1):
                seen = fixed if features is None else features[episode, t - 1]
                there = () if conditions is None else (conditions.available[t - 1], conditions.arms_left[t - 1])
                mask, left = there or (None, None)
                yield episode, Scene(model, belief, memory, seen, mask, t, self.horizon, left)
                arm = arms[episode, t - 1]
                arm = arm if np.ndim(arm) else int(arm)
                reward = float(rewards[episode, t - 1])
                belief = model.update(belief, seen, arm, reward)
                memory = policy.remember(model, memory, seen, arm, reward)


def played(case, path, *, horizon, episodes, seed=0, floor=0.0):
    """Episodes of a policy; with a `floor`, every arm that is there has that share at least."""
    name, build = POLICIES[case]
    problem = PROBLEMS[name]
    policy = moved(build(problem), seed)
    tg.write_policy(path, policy, problem=problem, horizon=horizon)
    available = open_arms(problem, horizon, seed)
    trajectories = tg.simulate(
        problem,
        policy,
        horizon=horizon,
        episodes=episodes,
        seed=seed,
        trajectories=True,
        precision="float64",
        engine="jax",
        conditions=tg.Conditions(available=available, floor=floor),
    ).trajectories
    return Played(problem, policy, read_artefact(path), trajectories, available, horizon, seed)


def replayed(case, path, *, horizon, episodes, seed=0, floor=0.0):
    """(beliefs looked at, decisions that differ) when the runtime plays simulated episodes again, step by step."""
    found = played(case, path, horizon=horizon, episodes=episodes, seed=seed, floor=floor)
    return horizon * episodes, differing(found, floor)


def differing(found, floor=0.0):
    """How many decisions differ when the runtime plays simulated episodes again."""
    arms = np.asarray(found.trajectories.arm)
    different, last = 0, None
    for episode, scene in found.scenes():
        if episode != last:
            where = {"seed": found.seed, "purpose": Purpose.EVALUATION, "episode": episode}
            noise, coins = (Noise.of(stream=stream, **where) for stream in (Stream.POLICY, Stream.FLOOR))
            last = episode
        arm = found.artefact.policy.arm(scene, noise, scene.t)
        by_chance = left_to_chance(floor, coins, scene.t, scene.available, found.problem.arms) if floor else None
        arm = arm if by_chance is None else by_chance
        different += not np.allclose(arm, arms[episode, scene.t - 1], rtol=1e-9, atol=1e-9)
    return different


def has_exact_shares(found):
    """Whether both sides have the chances of arms without drawing: for laws of independent arms, and over arms."""
    _, scene = next(found.scenes())
    policy = found.artefact.policy
    return isinstance(policy, Sampling) and isinstance(policy.law(scene), ProductLaw | CategoricalLaw)


def shares_apart(found):
    """The largest difference of the chance of an arm between the runtime and the simulator, over all beliefs."""
    ready = prepared(found.policy, found.problem, found.horizon)
    conditions = tg.Conditions(available=found.available)

    def of_step(belief, memory, context, t):
        clock = conditions.clock(t, found.horizon)
        return ready.shares(found.problem.model, belief, memory, conditions.applied(context, t), clock)

    with jax.enable_x64(True):
        steps = found.trajectories
        of_episode = jax.vmap(of_step)
        theirs = jax.jit(lambda *all_steps: jax.lax.map(lambda one: of_episode(*one), all_steps))(
            steps.belief, steps.memory, steps.context, jnp.asarray(steps.t)
        )
    theirs, generator = np.asarray(theirs), np.random.default_rng(0)
    return max(
        np.max(np.abs(found.artefact.policy.shares(scene, generator) - theirs[episode, scene.t - 1]))
        for episode, scene in found.scenes()
    )
