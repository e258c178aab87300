"""The report of a training run, from its folder: the run is read, its policies are tried on fresh episodes."""

import json
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from tsgrad.checks import BadInput
from tsgrad.estimate import gradient
from tsgrad.evaluate import Comparison, compare
from tsgrad.experiments import read_seconds
from tsgrad.policies import SamplingPolicy, Thompson, load
from tsgrad.problems import AnyProblem, FiniteArms
from tsgrad.registry import to_data
from tsgrad.report import training_charts
from tsgrad.report.concerns import end_worse, no_gain, still_falling, suspicious_gradients
from tsgrad.report.contents import Concern, Fact, Picture, Report, Section
from tsgrad.report.meaning import arm_labels, problem_title, problem_words
from tsgrad.report.meta_parameters import meta_parameter_section
from tsgrad.report.outcome import Limit, Outcome, Outcomes
from tsgrad.report.recipe import recipe_words
from tsgrad.report.rivals import applicable_rivals
from tsgrad.report.sections import comparison_section, gain_section, limit_section
from tsgrad.report.words import INTERVAL_Z, decimals, duration, fixed, interval
from tsgrad.streams import Purpose
from tsgrad.training import Configuration, HistoryRow, read_configuration

EPISODES = 10_000
PLAIN, START, TRAINED, LAST = "Thompson sampling", "start of training", "trained policy", "end of training"


def run_report(folder: str | Path, *, episodes: int = EPISODES, seed: int = 0, rivals: bool = True) -> Report:
    """Reads a finished run and plays its policies, and with `rivals` all that apply, on `episodes` fresh episodes."""
    folder = Path(folder)
    if not (folder / "config.toml").exists():
        raise BadInput(f"{folder} holds no run: there is no config.toml in it")
    if not (folder / "policy.json").exists():
        raise BadInput(f"{folder} holds no finished run: finish it with 'tsgrad resume {folder}'")
    configuration = read_configuration(folder / "config.toml")
    problem = configuration.build_problem()
    start = configuration.build_policy(problem)
    policies: dict[str, Any] = {
        PLAIN: Thompson(),
        START: start,
        TRAINED: load(folder / "policy.json"),
        LAST: load(folder / "last.json"),
        **(applicable_rivals(problem, configuration.training.horizon) if rivals else {}),
    }
    comparison = _evaluate(problem, policies, configuration, episodes=episodes, seed=seed)
    outcomes = _outcomes(comparison)
    history = _read_history(folder / "history.jsonl")
    data = to_data(problem)
    arms = problem.truth.arms if isinstance(problem.truth, FiniteArms) else None
    labels = arm_labels(data, arms or 0)
    sections = [comparison_section(outcomes, episodes=episodes, seed=seed, remark=_remark(comparison))]
    if outcomes.limit is not None:
        sections.append(limit_section(outcomes, outcomes.limit))
    sections += [
        gain_section(outcomes, labels),
        meta_parameter_section(
            start.meta_parameters(),
            policies[TRAINED].meta_parameters(),
            labels,
            from_plain=START not in outcomes.policies,
        ),
        _training(history, outcomes),
    ]
    return Report(
        title=problem_title(data, configuration.training.horizon, arms),
        subtitle=f"{type(start).__name__}, trained with {configuration.estimator.build().name} over "
        f"{configuration.training.iterations:,} iterations",
        headline=outcomes.headline("The trained policy"),
        key_figures=outcomes.key_figures(),
        concerns=_concerns(problem, start, policies[LAST], configuration, comparison, history),
        sections=sections,
        facts=_facts(folder, data, configuration, episodes=episodes, seed=seed),
        configuration=(folder / "config.toml").read_text(encoding="utf-8"),
        version=version("tsgrad"),
    )


def _remark(comparison: Comparison) -> str:
    """How the trained policy stands to the best of its rivals; or how to have them on the page."""
    rivals = [name for name in comparison.names if name not in (PLAIN, START, TRAINED, LAST)]
    if not rivals:
        return "`tsgrad report` adds the rivals that apply to this problem."
    best = min(rivals, key=lambda name: comparison.regret[name])
    excess, error = comparison.difference(TRAINED, best)
    if abs(excess) <= INTERVAL_Z * error:
        return f"The best of the rivals, {best}, is as good as the trained policy within chance."
    return (
        f"The best of the rivals, {best}, loses {fixed(abs(excess), decimals(error))} "
        f"{'less' if excess > 0 else 'more'} than the trained policy (95% interval {interval(abs(excess), error)})."
    )


def _evaluate(
    problem: AnyProblem, policies: dict[str, Any], configuration: Configuration, *, episodes: int, seed: int
) -> Comparison:
    """All policies on the same episodes; without the start where that is plain Thompson sampling."""
    settings = configuration.training
    found = compare(
        problem,
        policies,
        horizon=settings.horizon,
        episodes=episodes,
        seed=seed,
        engine="jax" if settings.engine == "jax" else "auto",
        precision=settings.precision,
        chunk=settings.chunk,
    )
    if found.difference(PLAIN, START) != (0.0, 0.0):
        return found
    return found._replace(episodes={name: episodes for name, episodes in found.episodes.items() if name != START})


def _outcomes(comparison: Comparison) -> Outcomes:
    bound = comparison.bound
    limit = None if bound is None else Limit(bound.kind, bound.regret, bound.standard_error)
    policies = {
        name: Outcome(
            comparison.regret[name],
            comparison.standard_error[name],
            *comparison.difference(PLAIN, name),
            comparison.regret_over_time[name],
            comparison.pulls[name],
        )
        for name in comparison.names
    }
    return Outcomes(policies, TRAINED, PLAIN, limit, others=list(policies))


def _read_history(path: Path) -> list[HistoryRow]:
    try:
        return [HistoryRow(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    except (OSError, ValueError, TypeError):
        raise BadInput(f"{path} is missing or damaged: train again") from None


def _checks(history: list[HistoryRow]) -> list[tuple[int, float]]:
    return [(row.iteration, row.validation_regret) for row in history if row.validation_regret is not None]


def _training(history: list[HistoryRow], outcomes: Outcomes) -> Section:
    measured = [(row.iteration, row.regret) for row in history if row.regret is not None]
    curve = training_charts.Curve(*(np.array(axis) for axis in zip(*measured, strict=True)))
    checks = _checks(history)
    selected = min(checks, key=lambda check: check[1])
    rivals = {name: found.regret for name, found in outcomes.policies.items() if name not in (TRAINED, LAST)}
    hidden = training_charts.rivals_off_the_chart({"training": curve}, rivals)
    away = f" Not drawn, being far above: {', '.join(f'{name} ({fixed(rivals[name], 1)})' for name in hidden)}."
    picture = Picture(
        name="learning-curve",
        caption=f"Regret on training batches, averaged over {training_charts.averaging_window(len(measured))} "
        "iterations (line), on validation episodes (circles), and the policy selected (star). Dashed lines are other "
        "policies on the evaluation episodes." + (away if hidden else ""),
        alternative=f"Learning curve: regret on validation episodes from {fixed(checks[0][1], 1)} at the start to "
        f"{fixed(selected[1], 1)} at iteration {selected[0]}, {fixed(checks[-1][1], 1)} at the end.",
        draw=lambda width: training_charts.learning_curves(
            {"training": curve},
            rivals=rivals,
            checks=training_charts.Curve(*(np.array(axis) for axis in zip(*checks, strict=True))),
            selected=selected,
            bound=None if outcomes.limit is None else outcomes.limit.regret,
            width=width,
        ),
    )
    text = (
        f"Training keeps the policy that does best on validation episodes, here that of iteration {selected[0]:,}, and "
        "hands it back if it beats the start on episodes of yet another kind."
    )
    return Section("How training went", [text], [picture])


def _concerns(
    problem: AnyProblem,
    start: SamplingPolicy,
    last: SamplingPolicy,
    configuration: Configuration,
    comparison: Comparison,
    history: list[HistoryRow],
) -> list[Concern]:
    settings = configuration.training
    at_start, at_end = (
        gradient(
            problem,
            policy,
            configuration.estimator.build(),
            horizon=settings.horizon,
            episodes=settings.episodes,
            seed=settings.seed,
            purpose=Purpose.EVALUATION,
            engine=settings.engine,
            precision=settings.precision,
            chunk=settings.chunk,
        )
        for policy in (start, last)
    )
    return [
        *no_gain(*comparison.difference(PLAIN, TRAINED)),
        *still_falling([regret for _, regret in _checks(history)]),
        *end_worse(comparison.regret[TRAINED], *comparison.difference(LAST, TRAINED)),
        *suspicious_gradients(at_start.names, at_start.standard_error, at_end.standard_error),
    ]


def _facts(
    folder: Path, problem: dict[str, Any], configuration: Configuration, *, episodes: int, seed: int
) -> list[Fact]:
    settings, estimator = configuration.training, configuration.estimator.build()
    facts = [
        Fact("Problem", problem_words(problem)),
        Fact("Horizon", f"{settings.horizon} steps"),
        Fact("Policy", str(configuration.policy["kind"])),
        Fact("Estimator", estimator.name),
        Fact("Training", f"{recipe_words(settings.model_dump(), rollouts=estimator.rollouts)}; seed {settings.seed}"),
        Fact("Validation", f"{settings.validation_episodes:,} episodes, every {settings.check_every} iterations"),
        Fact("Evaluation", f"{episodes:,} episodes, seed {seed}"),
        Fact("Engine", f"{settings.engine}, {settings.precision}"),
        Fact("Versions", software()),
    ]
    seconds = read_seconds(folder)
    if seconds:
        facts.append(Fact("Time", f"{duration(sum(seconds.values()))} of training", clock=True))
    return facts


def software() -> str:
    """The versions that were at work."""
    return ", ".join(
        [f"tsgrad {version('tsgrad')}", f"Python {platform.python_version()}"]
        + [f"{name} {version(name)}" for name in ("numpy", "jax")]
    )
