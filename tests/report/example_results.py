"""A small reproduction with real numbers in it: short trainings in a setting of the paper."""

import platform
from importlib.metadata import version

import numpy as np

import tsgrad as tg
from tsgrad.experiments import Findings, NullCurves, PullsAt, Results, Training, setting_named
from tsgrad.experiments.assembly import paper_rows
from tsgrad.experiments.plan import Plan
from tsgrad.registry import to_data

PAIRS = ("obs/null", "mean/oracle", "mean/self")


def plain(policy):
    return {name: np.asarray(value).tolist() for name, value in policy.meta_parameters().items()}


def example_results(*, setting="hetero", pairs=PAIRS, iterations=10, episodes=256, evaluation_episodes=1000) -> Results:
    """Trains pairs of the paper and compares what they end with; every number is computed."""
    paper = setting_named(setting)
    problem = paper.problem
    trainings, policies = [], {}
    options = {"episodes": episodes, "iterations": iterations, "learning_rate": 0.05, "seed": 0}
    for pair in pairs:
        metric, _, baseline = pair.partition("/")
        run = tg.train(
            problem,
            tg.ReshapedThompson(problem),
            tg.Estimator(metric, baseline),
            horizon=paper.horizon,
            check_every=max(1, iterations // 10),
            validation_episodes=512,
            **options,
        )
        policies |= {pair: run.last, f"{pair} (selected)": run.trained}
        trainings.append(
            Training(
                name=pair,
                metric=metric,
                baseline=baseline,
                recipe="paper",
                folder=f"runs/{metric}-{baseline}",
                settings=options,
                history=[row._replace(meta_parameters={}) for row in run.history],
                start=plain(run.start),
                last=plain(run.last),
                selected=plain(run.trained),
            )
        )
    policies["TS"] = tg.Thompson()
    where = {"horizon": paper.horizon, "episodes": evaluation_episodes, "seed": 1}
    comparison = tg.compare(problem, policies, **where, reference="TS", bound="FH")
    found = Findings(trainings=trainings, comparison=comparison, rows=paper_rows(Plan(name=setting), comparison))
    return Results(
        **dict(found),
        as_printed=found,
        setting=paper.name,
        title=paper.title,
        problem=to_data(problem),
        fraction=iterations / paper.iterations,
        seed=0,
        engine="native",
        versions={"tsgrad": version("tsgrad"), "python": platform.python_version()},
        pulls_during_training=_pulls(problem, trainings[-1], paper.horizon, run),
        null_curves=NullCurves(largest_distance=1.5, mean_distance=0.4, mean_standard_error=0.3),
    )


def _pulls(problem, training, horizon, run):
    found = []
    for iteration, policy in ((1, run.start), (len(training.history), run.last)):
        played = tg.simulate(problem, policy, horizon=horizon, episodes=512, seed=0)
        found.append(PullsAt(iteration=iteration, pulls=played.pulls.tolist()))
    return found
