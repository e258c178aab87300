"""The report of a training run, from its folder: the run is read, its policies are tried on fresh episodes."""

import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tsgrad.checks import check_path
from tsgrad.estimate import Estimator, gradient
from tsgrad.evaluate import Comparison, Rivals, applicable_rivals, compare, rivals_of_experiments
from tsgrad.evaluate.digits import INTERVAL_Z, decimals, decimals_at, fixed, interval
from tsgrad.evaluate.rivals import PLAIN as RUN_PLAIN
from tsgrad.live import robustness as measured
from tsgrad.live.scenarios import has_scenarios
from tsgrad.policies import BonusSurface, Policy, Thompson
from tsgrad.problems import AnyProblem, FiniteArms
from tsgrad.registry import to_data
from tsgrad.report import training_charts
from tsgrad.report.concerns import end_worse, no_gain, still_falling, suspicious_gradients
from tsgrad.report.conditions_section import WITHOUT, conditions_section
from tsgrad.report.contents import Concern, Fact, Picture, Report, Section
from tsgrad.report.meta_parameters import bonus_section, meta_parameter_section
from tsgrad.report.robustness_section import robustness_section
from tsgrad.report.sections import comparison_section, gain_section, headline, key_figures, limit_section
from tsgrad.report.summary import Words, summary_section
from tsgrad.report.traffic import traffic_picture
from tsgrad.report.words import arm_labels, duration, problem_title, problem_words, recipe_words, spoken_rival
from tsgrad.simulation import WorkloadOptions, simulate
from tsgrad.streams import Purpose
from tsgrad.training import Configuration, Run, RunFolder, read_seconds, training_curve, validation_curve
from tsgrad.training.run import TRAINED as RUN_TRAINED

EPISODES = 10_000
EXAMPLES = 255  # experiments, of which the median one is shown
MOST_SHOWN = 50_000  # steps times arms of an experiment whose traffic is shown: beliefs of all of them are kept
TRUSTED_EPISODES = 4096
PLAIN, START, TRAINED, LAST = "Thompson sampling", "start of training", "trained policy", "end of training"


def run_report(
    folder: str | Path,
    *,
    episodes: int = EPISODES,
    seed: int = 0,
    rivals: bool = True,
    robustness: bool | None = False,
    without: str | Path | None = None,
    arms: Sequence[str] | None = None,
    unit: str = "reward",
) -> Report:
    """Reads a finished run and plays its policies, and with `rivals` all that apply, on `episodes` fresh episodes.

    With `robustness`, where things are not as assumed, too; None is for runs without conditions, where that is quick.
    `without` is the folder of a run of the same problem that was trained without these conditions: what ignoring them
    costs. `arms` are the names of arms, `unit` what a reward is one of.
    """
    folder = check_path("folder", folder)
    run, configuration = RunFolder(folder).run(), RunFolder(folder).configuration()
    problem, horizon = run.problem, configuration.training.horizon
    others = applicable_rivals(problem, run.conditions.users(horizon)) if rivals else None
    policies: dict[str, Policy] = {
        PLAIN: Thompson(),
        START: run.start,
        TRAINED: run.trained,
        LAST: run.last,
        **({} if run.chosen in (RUN_TRAINED, RUN_PLAIN) else {spoken_rival(run.chosen): run.policy}),
        **({} if without is None else {WITHOUT: RunFolder(check_path("without", without)).run().policy}),
        **{spoken_rival(name): rival for name, rival in ({} if others is None else others.ready).items()},
        **({} if others is None or run.conditions.trivial else rivals_of_experiments(problem)),
    }
    comparison = _evaluate(problem, policies, configuration, episodes=episodes, seed=seed)
    data = to_data(problem)
    number = problem.truth.arms if isinstance(problem.truth, FiniteArms) else None
    words = Words.of(problem, arms, unit)
    played = simulate(
        problem,
        run.trained,
        horizon=horizon,
        episodes=EXAMPLES,
        seed=seed,
        conditions=run.conditions,
        trajectories=number is not None and horizon * number <= MOST_SHOWN,
    )
    trust = (
        measured(run, episodes=TRUSTED_EPISODES, seed=seed)
        if (run.conditions.trivial if robustness is None else robustness) and has_scenarios(problem)
        else None
    )
    labels = arm_labels(data, number or 0)
    estimator = configuration.build_estimator(problem)
    remark = f"{_chosen(run)}{_remark(comparison, others)}"
    sections = [comparison_section(comparison, TRAINED, remark=remark)]
    if comparison.bound is not None:
        sections.append(limit_section(comparison, TRAINED, comparison.bound))
    if not run.conditions.trivial:
        sections.append(conditions_section(run.conditions, comparison, TRAINED, played))
    if trust is not None:
        sections.append(robustness_section(trust, episodes=TRUSTED_EPISODES))
    sections += [
        gain_section(comparison, TRAINED, labels),
        bonus_section(run.trained, least_left=int(run.conditions.sizes(horizon)[-1]))
        if isinstance(run.trained, BonusSurface)
        else meta_parameter_section(
            run.start.meta_parameters(),
            run.trained.meta_parameters(),
            labels,
            from_plain=START not in comparison.policies,
        ),
        _training(run, comparison),
    ]
    said = "" if run.conditions.trivial else f"{run.conditions.words(horizon)}. "
    return Report(
        title=problem_title(data, horizon, number),
        subtitle=f"{said}{type(run.start).__name__}, trained with {estimator.name} over "
        f"{len(run.history) - 1:,} iterations",
        headline=headline(comparison, TRAINED, "The trained policy"),
        key_figures=key_figures(comparison, TRAINED),
        concerns=_concerns(run, configuration, estimator, comparison),
        sections=sections,
        facts=_facts(folder, data, configuration, estimator, comparison),
        configuration=(folder / "config.toml").read_text(encoding="utf-8"),
        version=version("tsgrad"),
        summary=[
            summary_section(
                problem,
                run.conditions,
                comparison,
                TRAINED,
                words,
                played,
                _not_tried(problem) if trust is None else trust,
                traffic_picture(problem, played, words.arms),
            )
        ],
    )


def _not_tried(problem: AnyProblem) -> str:
    """How to find out what is left of the gain where assumptions are wrong. A page doesn't say where it was made: it is
    sent around, and the same run has the same page wherever it is.
    """
    if not has_scenarios(problem):
        return "What is left of the gain then is not known for problems of this kind."
    return "This page has not tried: `tsgrad report DIR --robustness`, with the folder of the run, says it here."


def _remark(comparison: Comparison, others: Rivals | None) -> str:
    """How the trained policy stands to its rivals, and which of them are missing, with the reason; or how to have them
    on the page.
    """
    if others is None:
        return "`tsgrad report` adds the rivals that apply to this problem."
    names: dict[str, list[str]] = {}  # by the reason, without its details: many share one
    for name, refusal in others.left_out.items():
        names.setdefault(refusal.reason, []).append(spoken_rival(name))
    reasons = "; ".join(f"{', '.join(missing)} ({reason})" for reason, missing in names.items())
    missing = f" Left out: {reasons}." if reasons else ""
    return (_against_rivals(comparison) + missing).strip()


def _chosen(run: Run) -> str:
    """Which policy the run deploys, where it is another than the trained one."""
    if run.chosen == RUN_TRAINED:
        return ""
    return f"The policy of this run is {spoken_rival(run.chosen)}, which had the least regret at the end of training. "


def _against_rivals(comparison: Comparison) -> str:
    """How the trained policy stands to the best of its rivals, if there are any."""
    rivals = [name for name in comparison.names if name not in (PLAIN, START, TRAINED, LAST, WITHOUT)]
    if not rivals:
        return ""
    best = min(rivals, key=lambda name: comparison.regret[name])
    excess, error = comparison.difference(TRAINED, best)
    if abs(excess) <= INTERVAL_Z * error:
        return f"The best of the rivals, {best}, is as good as the trained policy within chance."
    return (
        f"The best of the rivals, {best}, has {fixed(abs(excess), decimals(error))}"
        f" {'less' if excess > 0 else 'more'} regret than the trained policy"
        f" (95% confidence interval {interval(abs(excess), error)})."
    )


def _evaluate(
    problem: AnyProblem, policies: dict[str, Policy], configuration: Configuration, *, episodes: int, seed: int
) -> Comparison:
    """All policies on the same episodes; without the start where that is plain Thompson sampling."""
    workload = configuration.build_workload(episodes=episodes, seed=seed)
    found = compare(problem, policies, engine=configuration.engine_of_others, **workload)
    return found if found.difference(PLAIN, START) != (0.0, 0.0) else found.without(START)


def _training(run: Run, comparison: Comparison) -> Section:
    measured = training_curve(run.history)
    curve = training_charts.Curve.through(measured)
    checks = validation_curve(run.history)
    selected = min(checks, key=lambda check: check[1])
    rivals = {name: regret for name, regret in comparison.regret.items() if name not in (TRAINED, LAST)}
    digits = decimals_at(comparison.regret[PLAIN])
    hidden = training_charts.rivals_off_the_chart({"training": curve}, rivals)
    away = f" Not drawn, being far above: {', '.join(f'{name} ({fixed(rivals[name], digits)})' for name in hidden)}."
    window = training_charts.averaging_window(len(measured))
    averaged = f", averaged over {window} iterations" if window > 1 else ""
    picture = Picture(
        name="learning-curve",
        caption=f"Regret on training batches{averaged} (line), on validation episodes (circles), and the policy "
        "selected (star). Dashed lines are other policies on the evaluation episodes." + (away if hidden else ""),
        alternative=f"Learning curve: regret on validation episodes from {fixed(checks[0][1], digits)} at the start "
        f"to {fixed(selected[1], digits)} at iteration {selected[0]}, {fixed(checks[-1][1], digits)} at the end.",
        draw=lambda width: training_charts.learning_curves(
            {"training": curve},
            rivals=rivals,
            checks=training_charts.Curve.through(checks),
            selected=selected,
            bound=None if comparison.bound is None else comparison.bound.regret,
            width=width,
        ),
    )
    text = (
        f"Training keeps the policy that does best on validation episodes, here that of iteration {selected[0]:,}, and "
        "compares it with rivals that need no training on further episodes, used for nothing else."
    )
    if run.warm_up:
        steps = run.warm_up[-1].provenance["horizon"]
        text += f" Its iterations begin with the policy that was tuned on {steps:,} steps before."
    return Section("How training went", [text], [picture])


def _concerns(run: Run, configuration: Configuration, estimator: Estimator, comparison: Comparison) -> list[Concern]:
    settings = configuration.training
    batch = configuration.build_workload(episodes=settings.episodes, seed=settings.seed)
    fresh: WorkloadOptions = {**batch, "purpose": Purpose.EVALUATION}
    at_start, at_end = (
        gradient(run.problem, policy, estimator, engine=settings.engine, **fresh) for policy in (run.start, run.last)
    )
    return [
        *no_gain(*comparison.difference(PLAIN, TRAINED)),
        *still_falling([regret for _, regret in validation_curve(run.history)]),
        *end_worse(comparison.regret[TRAINED], *comparison.difference(LAST, TRAINED)),
        *suspicious_gradients(at_start.names, at_start.standard_error, at_end.standard_error),
    ]


def _facts(
    folder: Path, problem: dict[str, Any], configuration: Configuration, estimator: Estimator, comparison: Comparison
) -> list[Fact]:
    settings = configuration.training
    conditions = configuration.build_conditions()
    facts = [
        Fact("Problem", problem_words(problem)),
        Fact("Horizon", f"{settings.horizon} steps"),
        *([] if conditions.trivial else [Fact("Conditions", conditions.words(settings.horizon))]),
        Fact("Policy", str(configuration.policy["kind"])),
        Fact("Estimator", estimator.name),
        Fact("Training", f"{recipe_words(settings.model_dump(), rollouts=estimator.rollouts)}; seed {settings.seed}"),
        Fact("Validation", f"{settings.validation_episodes:,} episodes, every {settings.check_every} iterations"),
        Fact("Evaluation", f"{comparison.episodes:,} episodes, seed {comparison.seed}"),
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
