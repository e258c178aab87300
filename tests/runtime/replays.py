"""Every policy that can be played, on problems small enough for many beliefs, and the replay of simulated episodes."""

from functools import partial

import numpy as np

import tsgrad as tg
from tsgrad.policies import parameter_vector, with_parameters
from tsgrad_runtime.artefact import read_artefact
from tsgrad_runtime.conditions import left_to_chance
from tsgrad_runtime.policies import Scene
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
    "RL2": ("bernoulli", partial(tg.RL2, hidden=3)),
    "SoftElim": ("bernoulli", lambda _: tg.SoftElim()),
    "thompson, logistic": ("logistic", lambda _: tg.Thompson()),
    "gittins, gaussian": ("gaussian", lambda _: tg.FiniteHorizonGittins()),
    "gittins, bernoulli": ("bernoulli", lambda _: tg.FiniteHorizonGittins()),
    "optimistic gittins": ("bernoulli", lambda _: tg.OptimisticGittins("left")),
    "bayes ucb, bernoulli": ("bernoulli", lambda _: tg.BayesUCB()),
    "bayes ucb, contexts": ("contexts", lambda _: tg.BayesUCB(0.9)),
    "knowledge gradient": ("gaussian", lambda _: tg.KnowledgeGradient()),
    "relaxation": ("gaussian", lambda _: tg.RelaxationSampling("FH")),
    "scaled, gaussian": ("gaussian", lambda _: tg.ScaledThompson(0.7)),
    "scaled, poisson": ("poisson", lambda _: tg.ScaledThompson(0.7)),
    "greedy": ("contexts", lambda _: tg.Greedy()),
    "uniform": ("bernoulli", lambda _: tg.Uniform()),
    "satisficing": ("gaussian", lambda _: tg.SatisficingThompson(0.4)),
    "top two": ("bernoulli", lambda _: tg.TopTwoThompson()),
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


def replayed(case, path, *, horizon, episodes, seed=0, floor=0.0):
    """(beliefs looked at, decisions that differ) when the runtime plays simulated episodes again, step by step.

    With a `floor`, every arm that is there has that share at least.
    """
    name, build = POLICIES[case]
    problem = PROBLEMS[name]
    policy = moved(build(problem), seed)
    tg.write_policy(path, policy, problem=problem, horizon=horizon)
    artefact = read_artefact(path)
    available = open_arms(problem, horizon, seed)
    played = tg.simulate(
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
    arms, rewards = np.asarray(played.arm), np.asarray(played.reward)
    features = None if played.context.features is None else np.asarray(played.context.features)
    fixed = getattr(artefact.model, "features", None)
    different = 0
    for episode in range(episodes):
        where = {"seed": seed, "purpose": Purpose.EVALUATION, "episode": episode}
        noise, coins = (Noise.of(stream=stream, **where) for stream in (Stream.POLICY, Stream.FLOOR))
        belief, memory = artefact.model.prior(), artefact.policy.start(artefact.model)
        for t in range(1, horizon + 1):
            seen = fixed if features is None else features[episode, t - 1]
            mask = None if available is None else available[t - 1]
            scene = Scene(artefact.model, belief, memory, seen, mask, t, horizon)
            arm, theirs = artefact.policy.arm(scene, noise, t), arms[episode, t - 1]
            by_chance = left_to_chance(floor, coins, t, mask, problem.arms) if floor else None
            arm = arm if by_chance is None else by_chance
            different += not np.allclose(arm, theirs, rtol=1e-9, atol=1e-9)
            theirs = theirs if np.ndim(theirs) else int(theirs)
            reward = float(rewards[episode, t - 1])
            belief = artefact.model.update(belief, seen, theirs, reward)
            memory = artefact.policy.remember(artefact.model, memory, seen, theirs, reward)
    return horizon * episodes, different
