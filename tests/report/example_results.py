"""A small reproduction with real numbers in it: short trainings in a setting of the paper."""

import platform
from importlib.metadata import version

import numpy as np

import tsgrad as tg
from tsgrad.experiments import Bound, CurvePoint, NullCurves, PullsAt, Results, Row, Training, setting_named
from tsgrad.registry import to_data

PAIRS = ("obs/null", "mean/null", "bayes/null", "mean/oracle", "mean/self")


def plain(policy):
    return {name: np.asarray(value).tolist() for name, value in policy.meta_parameters().items()}


def example_results(*, setting="hetero", pairs=PAIRS, iterations=10, episodes=256, evaluation_episodes=1000) -> Results:
    """Trains pairs of the paper and compares what they end with; every number is computed."""
    paper = setting_named(setting)
    problem = paper.problem
    trainings, policies = [], {"TS": tg.Thompson()}
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
        policies |= {pair: run.last, f"{pair} (selected)": run.policy}
        history = [
            CurvePoint(
                iteration=row.iteration,
                regret=row.regret,
                standard_error=row.regret_standard_error,
                validation_regret=row.validation_regret,
            )
            for row in run.history
        ]
        trainings.append(
            Training(
                name=pair,
                metric=metric,
                baseline=baseline,
                recipe="paper",
                folder=f"runs/{metric}-{baseline}",
                settings=options,
                history=history,
                start=plain(run.start),
                last=plain(run.last),
                selected=plain(run.policy),
                improved=run.improved,
                gain=run.gain,
                gain_standard_error=run.gain_standard_error,
            )
        )
    compared = tg.compare(problem, policies, horizon=paper.horizon, episodes=evaluation_episodes, seed=1, bound="FH")
    rows = [_row(name, compared, paper) for name in (*policies.keys() - {"TS"}, "TS")]
    rows.sort(key=lambda row: (row.group != "trained", row.name))
    return Results(
        setting=paper.name,
        title=paper.title,
        problem=to_data(problem),
        horizon=paper.horizon,
        fraction=iterations / paper.iterations,
        seed=0,
        evaluation_seed=1,
        evaluation_episodes=evaluation_episodes,
        engine="native",
        versions={"tsgrad": version("tsgrad"), "python": platform.python_version()},
        trainings=trainings,
        rows=rows,
        pulls_during_training=_pulls(problem, trainings[-1], paper.horizon, run),
        null_curves=NullCurves(largest_distance=1.5, mean_distance=0.4, mean_standard_error=0.3),
        bound=Bound(kind="FH", regret=compared.bound.regret, standard_error=compared.bound.standard_error),
    )


def _row(name, compared, paper):
    pair, _, selected = name.partition(" ")
    is_rival = name == "TS"
    printed = (paper.rivals if is_rival else paper.trained)[pair]
    regret, error = compared.regret[name], compared.standard_error[name]
    z = (regret - printed.regret) / np.hypot(error, printed.standard_error)
    gain, gain_error = compared.difference("TS", name)
    metric, _, baseline = pair.partition("/")
    return Row(
        name=name,
        group="rival" if is_rival else "trained",
        algorithm="TS" if is_rival else "Trained TS",
        metric=None if is_rival else metric,
        baseline=None if is_rival else baseline,
        policy=None if is_rival else "selected" if selected else "last",
        regret=regret,
        standard_error=error,
        gain=gain,
        gain_standard_error=gain_error,
        printed=printed.regret,
        printed_standard_error=printed.standard_error,
        z=z,
        verdict="same" if abs(z) < 2 else "better" if z < 0 else "worse",
        regret_over_time=compared.regret_over_time[name].tolist(),
        pulls=compared.pulls[name].tolist(),
    )


def _pulls(problem, training, horizon, run):
    found = []
    for iteration, policy in ((1, run.start), (len(training.history), run.last)):
        played = tg.simulate(problem, policy, horizon=horizon, episodes=512, seed=0)
        found.append(PullsAt(iteration=iteration, pulls=played.pulls.tolist()))
    return found
