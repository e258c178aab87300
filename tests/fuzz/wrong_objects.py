"""Public functions with wrong objects: each takes them, or says BadInput. A program of its own, without the checks of
shapes that tests have, which would speak first.
"""

import random
import sys

import numpy as np
from fuzz_cases import WRONG

import tsgrad as tg

PROBLEM = tg.GaussianBandit(arms=2)
POLICY = tg.ReshapedThompson(PROBLEM)
WHERE = {"horizon": 2, "episodes": 2, "seed": 0}
FEATURES = [[1.0, 0.0], [0.0, 1.0]]
RECORD = tg.Recorded(
    context=None, pseudo_action=np.zeros((40, 2, 2)), arm=np.zeros((40, 2), int), reward=np.zeros((40, 2))
)


@tg.register("fuzzed")
class Fuzzed(tg.Baseline):
    """A baseline to register."""

    def values(self, metric, episode, metrics):
        return 0 * metrics


# A call of each that is right, but for its costs: whatever is wrong must be told before anything is computed. Arguments
# are replaced by wrong objects, one or two at a time.
CALLS = {
    "simulate": (tg.simulate, {"problem": PROBLEM, "policy": tg.Thompson(), "trajectories": False, **WHERE}),
    "workload": (
        tg.Workload,
        {**WHERE, "purpose": tg.Purpose.TRAINING, "iteration": 0, "first_episode": 0, "precision": "float32"},
    ),
    "options of a workload": (
        tg.simulate,
        {"problem": PROBLEM, "policy": tg.Thompson(), **WHERE, "chunk": 1, "conditions": tg.Conditions()},
    ),
    "engine": (tg.simulate, {"problem": PROBLEM, "policy": tg.Thompson(), **WHERE, "engine": "native"}),
    "gradient": (
        tg.gradient,
        {"problem": PROBLEM, "policy": POLICY, "estimator": tg.Estimator("mean", "oracle"), **WHERE},
    ),
    "episode_gradients": (
        tg.episode_gradients,
        {"problem": PROBLEM, "policy": POLICY, "estimators": {"a": tg.Estimator("mean", "oracle")}, **WHERE},
    ),
    "estimator": (
        tg.Estimator,
        {"metric": "q", "baseline": "self", "lookaheads": 2, "rollouts": 2, "single_time": False, "world": "true"},
    ),
    "compare": (
        tg.compare,
        {"problem": PROBLEM, "policies": {"a": tg.Thompson(), "b": tg.Greedy()}, **WHERE, "reference": "a"},
    ),
    "options of a comparison": (
        tg.compare,
        {
            "problem": PROBLEM,
            "policies": {"a": tg.Thompson()},
            **WHERE,
            "confidence": 0.9,
            "bound": "perfect",
            "to_precision": None,
            "most_episodes": 10,
            "timing": False,
        },
    ),
    "regret_bound": (tg.regret_bound, {"problem": PROBLEM, "horizon": 2, "kind": "FH", "episodes": 512, "seed": 0}),
    "diagnose": (tg.diagnose, {"problem": PROBLEM, "policy": POLICY, "episodes": "many", "horizon": 2, "level": 0.05}),
    "gradient_from_episodes": (
        tg.gradient_from_episodes,
        {
            "problem": PROBLEM,
            "policy": POLICY,
            "estimator": tg.Estimator("obs", "null"),
            "episodes": RECORD._replace(reward=None),
            "seed": 0,
        },
    ),
    "recorded_gradients": (
        tg.recorded_gradients,
        {"problem": PROBLEM, "policy": POLICY, "estimators": {}, "episodes": RECORD, "seed": 0},
    ),
    "train": (
        tg.train,
        {"problem": PROBLEM, "policy": tg.Greedy(), "horizon": 2, "episodes": 2, "iterations": 1, "seed": 0},
    ),
    "settings of a training": (
        tg.train,
        {
            "problem": PROBLEM,
            "policy": tg.Greedy(),
            "horizon": 2,
            "learning_rate": 0.1,
            "schedule": "cosine",
            "optimizer": "adam",
            "clip_norm": 1.0,
            "check_every": 1,
            "validation_episodes": 2,
            "engine": "auto",
            "precision": "float32",
            "chunk": 1,
        },
    ),
    "workers": (tg.simulate, {"problem": PROBLEM, "policy": tg.Thompson(), **WHERE, "workers": tg.LocalWorkers()}),
    "workers of a gradient": (
        tg.gradient,
        {"problem": PROBLEM, "policy": POLICY, "estimator": "none", "workers": tg.LocalWorkers(), **WHERE},
    ),
    "workers of a training": (
        tg.train,
        {"problem": PROBLEM, "policy": tg.Greedy(), "horizon": 2, "workers": tg.LocalWorkers(), "out": "taken"},
    ),
    "sweep": (
        tg.sweep,
        {
            "configuration": {"problem": {"kind": "gaussian", "arms": 2}, "training": {"horizon": 2}},
            "axes": {"problem.arms": []},
            "out": "swept",
            "resume": False,
            "workers": tg.LocalWorkers(),
            "progress": print,
        },
    ),
    "fit_prior": (
        tg.fit_prior,
        {
            "log": {"arm": list("aabbcc"), "reward": [0, 1, 1, 1, 0, 0]},
            "family": "bernoulli",
            "arm": "arm",
            "reward": "reward",
            "experiment": None,
            "pulls": None,
            "noise_std": None,
        },
    ),
    "evaluate_log": (
        tg.evaluate_log,
        {
            "log": {"arm": list("abab"), "reward": [0, 1, 1, 1], "propensity": [0.5] * 4},
            "target": {"a": 0.5, "b": 0.5},
            "policy": None,
            "arm": "arm",
            "reward": "reward",
            "propensity": "propensity",
            "reward_model": None,
            "replays": 2,
            "seed": 0,
        },
    ),
    "retune": (
        tg.retune,
        {"folder": "nowhere", "ledger": "none", "out": "retuned", "training": {"iterations": 1}, "episodes": 2},
    ),
    "robustness": (
        tg.robustness,
        {
            "policy": tg.Thompson(),
            "problem": PROBLEM,
            "horizon": 2,
            "conditions": tg.Conditions(),
            "reference": tg.Greedy(),
            "episodes": "many",
            "seed": 0,
        },
    ),
    "resume": (tg.resume, {"out": "nowhere", "workers": tg.LocalWorkers()}),
    "load": (tg.load, {"path": "nowhere.json"}),
    "write_run_report": (tg.write_run_report, {"folder": "nowhere", "episodes": 2, "seed": 0}),
    "gaussian": (tg.GaussianBandit, {"prior_mean": 0.0, "prior_std": 1.0, "noise_std": 1.0, "arms": 2}),
    "bernoulli": (tg.BernoulliBandit, {"alpha": 1.0, "beta": 1.0, "arms": 2}),
    "poisson": (tg.PoissonBandit, {"shape": 1.0, "rate": 1.0, "arms": 2}),
    "unknown variance": (
        tg.UnknownVarianceBandit,
        {"prior_mean": 0.0, "prior_weight": 1.0, "shape": 2.0, "rate": 1.0, "arms": 2},
    ),
    "linear": (
        tg.LinearBandit,
        {"features": FEATURES, "prior_mean": 0.0, "prior_covariance": 1.0, "noise_std": 1.0},
    ),
    "logistic": (tg.LogisticBandit, {"features": FEATURES, "prior_mean": 0.0, "prior_covariance": 1.0}),
    "ball": (tg.BallBandit, {"dimension": 2, "prior_mean": 0.0, "prior_covariance": 1.0, "noise_std": 1.0}),
    "gaussian contexts": (tg.GaussianContexts, {"arms": 2, "dimension": 2}),
    "given contexts": (tg.GivenContexts, {"features": [FEATURES]}),
    "misspecified": (tg.Misspecified, {"truth": PROBLEM, "model": PROBLEM}),
    "conditions": (
        tg.Conditions,
        {
            "batch": 2,
            "allocation": "independent",
            "delay": [0.5, 0.25],
            "floor": 0.1,
            "available": [[True, False]],
            "after": 10,
        },
    ),
    "drifting": (tg.DriftingArms, {"base": PROBLEM, "step_std": 0.1}),
    "uncertain": (tg.UncertainPrior, {"base": tg.BernoulliBandit(arms=2), "values": [[1.0, 1.0], [2.0, 8.0]]}),
    "reshaped": (
        lambda problem, shared: tg.ReshapedThompson(problem, shared=shared),
        {"problem": PROBLEM, "shared": True},
    ),
    "bonus": (tg.BonusThompson, {"problem": PROBLEM, "degree": 2}),
    "rl2": (tg.RL2, {"problem": "none", "hidden": 2, "seed": 0}),
    "recurrent": (tg.RecurrentThompson, {"problem": "none", "form": "free", "hidden": 2, "seed": 0}),
    "index": (tg.IndexPolicy, {"table": np.zeros((1, 1, 2)), "spread": None}),
    "bayes-ucb": (tg.BayesUCB, {"quantile": 0.5}),
    "optimistic": (tg.OptimisticGittins, {"discount": "left"}),
    "information": (tg.InformationDirected, {"gain": "variance"}),
    "relaxation": (tg.RelaxationSampling, {"penalty": "FH"}),
    "satisficing": (tg.SatisficingThompson, {"tolerance": 0.1}),
    "scaled": (tg.ScaledThompson, {"factor": 0.5}),
    "top two": (tg.TopTwoThompson, {"beta": 0.5}),
    "soft elimination": (tg.SoftElim, {"log_confidence_scale": 0.0}),
    "explore, then commit": (tg.ExploreThenCommit, {"users": 10}),
    "successive elimination": (tg.SuccessiveElimination, {"width": 1.0}),
    "batch knowledge gradient": (tg.BatchKnowledgeGradient, {"sizes": [2, 2], "after": 1}),
    "residual horizon": (tg.ResidualHorizon, {"after": 1}),
    "check_applies": (tg.check_applies, {"rival": tg.KnowledgeGradient(), "problem": PROBLEM}),
    "pretrained": (tg.pretrained, {"family": "gaussian"}),
    "write_policy": (
        tg.write_policy,
        {
            "path": "policy.json",
            "policy": POLICY,
            "problem": PROBLEM,
            "horizon": 2,
            "arms": ["a", "b"],
            "lineage": [],
            "expected": {"regret": 1.0},
        },
    ),
    "register": (lambda kind, cls: tg.register(kind)(cls), {"kind": "fuzzed", "cls": Fuzzed}),
    "parameter_names": (tg.parameter_names, {"policy": POLICY}),
    "parameter_vector": (tg.parameter_vector, {"policy": POLICY}),
    "with_parameters": (tg.with_parameters, {"policy": POLICY, "vector": np.zeros(8)}),
    "address": (tg.Address.of, {"seed": 0, "purpose": tg.Purpose.TRAINING, "iteration": 0, "episode": 0}),
    "comparison": (tg.Comparison.from_json, {"path": "nowhere.json"}),
    "variance_study": (
        tg.variance_study,
        {"problem": PROBLEM, "policy": POLICY, "estimators": {}, **WHERE, "precision": "none"},
    ),
    "check_problem": (tg.testing.check_problem, {"problem": None, "horizon": 2, "seed": 0}),
    "check_policy": (tg.testing.check_policy, {"policy": None, "problem": PROBLEM, "horizon": 2, "seed": 0}),
}


def fuzzed(name, rng):
    """The call with one or two wrong objects in it."""
    function, arguments = CALLS[name]
    replaced = rng.sample(sorted(arguments), k=min(len(arguments), rng.choice([1, 1, 2])))
    wrong = {argument: rng.choice(WRONG) for argument in replaced}
    return lambda: function(**{**arguments, **wrong}), wrong


def main(size: int) -> None:
    """All functions in turn, 270 times `size` calls; what is neither taken nor refused is printed."""
    names, refused = list(CALLS), 0
    for case in range(270 * size):
        name = names[case % len(names)]
        call, wrong = fuzzed(name, random.Random(f"{name} {size} {case}"))
        try:
            call()
        except tg.BadInput:
            refused += 1
        except Exception as error:
            print(f"case {case}, {name} with {wrong}: {type(error).__name__}: {error!s:.200}")
    print(f"{refused} refused")


if __name__ == "__main__":
    main(int(sys.argv[1]))
