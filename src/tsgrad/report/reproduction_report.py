"""The report of a reproduction: what one of the paper's settings gave, held against what the paper prints."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tsgrad.experiments import Results, Row, Training, read_results, read_seconds
from tsgrad.report import training_charts
from tsgrad.report.concerns import end_worse, still_falling
from tsgrad.report.contents import Concern, Fact, Picture, Report, Section, Table, TableRow
from tsgrad.report.meaning import arm_labels, problem_words
from tsgrad.report.meta_parameters import meta_parameter_section
from tsgrad.report.outcome import Limit, Outcome, Outcomes
from tsgrad.report.recipe import recipe_words
from tsgrad.report.rivals import spoken_rival
from tsgrad.report.sections import gain_section, limit_section, ranking_picture
from tsgrad.report.words import duration, fixed, listing, measured

PLAIN, OURS = spoken_rival("TS"), "our recipe"
NULLS_COINCIDE = 2.0  # average distance of two curves in standard errors of a point: 1.13 where they are one


def reproduction_report(folder: str | Path) -> Report:
    """The report of one setting, from its `results.json`."""
    results = read_results(Path(folder) / "results.json")
    outcomes = outcomes_of(results)
    labels = arm_labels(results.problem, len(results.rows[0].pulls))
    sections = [
        Section("Against the paper", paper_sentences(results), [paper_table(results), ranking_picture(outcomes)]),
        Section("How training went", training_sentences(results), training_pictures(results, outcomes)),
    ]
    if outcomes.limit is not None:
        sections.append(limit_section(outcomes, outcomes.limit))
    trained = _training_of(results, shown_row(results))
    sections += [
        gain_section(outcomes, labels),
        meta_parameter_section(trained.start, _end(trained, shown_row(results)), labels),
    ]
    return Report(
        title=capital(results.title),
        subtitle=f"A setting of the paper, reproduced{' in part' if results.fraction < 1 else ''}, seed {results.seed}",
        headline=headline(outcomes, results),
        key_figures=outcomes.key_figures(),
        concerns=reproduction_concerns({"": results}),
        sections=sections,
        facts=facts(results, read_seconds(folder)),
        configuration="",
        version=results.versions["tsgrad"],
    )


def shown_row(results: Results) -> Row:
    """The trained policy that a report is about: what training hands back, by our own recipe where it was run.

    It is not chosen by its regret on the evaluation episodes, which would flatter it.
    """
    rows = {row.name: row for row in results.rows}
    for training in ("stable", "mean/self", "mean/oracle"):
        for name in (f"{training} (selected)", training):
            if name in rows:
                return rows[name]
    return next(row for row in results.rows if row.group == "trained")


def spoken_row(row: Row) -> str:
    """A row's name in sentences and figures."""
    return spoken_rival(row.name) if row.group == "rival" else spoken_training(row.name)


def spoken_training(name: str) -> str:
    """A training's name in sentences and figures."""
    return name.replace("stable", OURS)


def outcomes_of(results: Results) -> Outcomes:
    """The rows of a reproduction as every report needs them."""
    policies = {
        spoken_row(row): Outcome(
            row.regret,
            row.standard_error,
            row.gain,
            row.gain_standard_error,
            np.asarray(row.regret_over_time),
            np.asarray(row.pulls),
        )
        for row in results.rows
    }
    bound = results.bound
    limit = None if bound is None else Limit(bound.kind, bound.regret, bound.standard_error)
    rivals = [spoken_row(row) for row in results.rows if row.group == "rival"]
    return Outcomes(policies, spoken_row(shown_row(results)), PLAIN, limit, others=rivals)


def headline(outcomes: Outcomes, results: Results) -> str:
    """The gain in words, and the best that the paper prints."""
    shown = shown_row(results)
    recipe = f" by {OURS}" if shown.group == "stable" else ""
    subject = f"The policy trained with {shown.metric}/{shown.baseline}{recipe}"
    printed = {row.name: row.printed for row in results.rows if row.group == "trained" and row.printed is not None}
    if not printed:
        return outcomes.headline(subject)
    best = min(printed, key=lambda name: printed[name])
    return f"{outcomes.headline(subject)} The best trained policy in the paper loses {printed[best]:.1f} ({best})."


def paper_sentences(results: Results) -> list[str]:
    """How many rows agree with the paper."""
    known = [row for row in results.rows if row.verdict is not None]
    counted = {verdict: sum(row.verdict == verdict for row in known) for verdict in ("better", "same", "worse")}
    rivals = [row for row in results.rows if row.group == "rival" and row.z is not None]
    sentences = [
        f"All policies played the same {results.evaluation_episodes:,} episodes, none of which took part in training. "
        f"Of {len(known)} rows that the paper prints, {counted['same']} are the same within two combined standard "
        f"errors, {counted['better']} better and {counted['worse']} worse.",
    ]
    if rivals:
        furthest = max(rivals, key=lambda row: abs(row.z or 0.0))
        sentences.append(
            f"Of the rivals, {spoken_row(furthest)} is furthest from its printed value, at z = "
            f"{fixed(furthest.z or 0.0, 1)}."
        )
    return [" ".join(sentences)]


def paper_table(results: Results) -> Table:
    """The paper's table, with what it prints beside what was found."""
    rows, shown = [], shown_row(results)
    for row in results.rows:
        printed = ["", "", "", ""]
        if row.printed is not None and row.z is not None:
            printed = [
                fixed(row.printed, 2),
                fixed(row.printed_standard_error or 0.0, 2),
                fixed(row.z, 1),
                row.verdict or "",
            ]
        cells = [
            row.algorithm,
            f"{row.metric}/{row.baseline}" if row.metric else "",
            {"last": "end of training", "selected": "selected"}.get(row.policy or "", ""),
            fixed(row.regret, 2),
            fixed(row.standard_error, 2),
            *printed,
        ]
        rows.append(TableRow(cells, strong=row.regret == results.best.regret, ours=row == shown))
    return Table(
        caption=f"Regret in the {results.title}, and in the paper",
        columns=["algorithm", "estimator", "policy", "regret", "s.e.", "paper", "s.e.", "z", "verdict"],
        rows=rows,
        note="z is the difference from the printed value over the combined standard error; within two of them a row is "
        "called the same. The paper tabulates the end of training; the policy selected on validation episodes stands "
        "beside it. The least regret is in bold.",
        text_columns=3,
    )


def training_sentences(results: Results) -> list[str]:
    """Whether the curves of the null baselines coincide, as the paper says they do."""
    null = results.null_curves
    ratio = null.mean_distance / null.mean_standard_error if null.mean_standard_error else math.inf
    verdict = "they coincide" if ratio < NULLS_COINCIDE else "they do not coincide"
    return [
        f"The three curves without a baseline are {fixed(null.mean_distance, 2)} apart on average and "
        f"{fixed(null.largest_distance, 2)} at most, where a point of a curve has a standard error of "
        f"{fixed(null.mean_standard_error, 2)}: {verdict}."
    ]


def training_pictures(results: Results, outcomes: Outcomes, *, prefix: str = "") -> list[Picture]:
    """Learning curves of all trainings, and how the pulls moved in one of them."""
    curves = {spoken_training(training.name): _curve(training) for training in results.trainings}
    rivals = {spoken_row(row): row.regret for row in results.rows if row.group == "rival"}
    hidden = training_charts.rivals_off_the_chart(curves, rivals)
    away = f" Not drawn, being far above: {', '.join(f'{name} ({fixed(rivals[name], 1)})' for name in hidden)}."
    longest = max(len(curve.regret) for curve in curves.values())
    limit = outcomes.limit
    strong = spoken_training(_training_of(results, shown_row(results)).name)
    lines = [*rivals.values(), *([] if limit is None else [limit.regret])]
    beyond = " Curves that leave the frame went further." if training_charts.leave_the_frame(curves, lines) else ""
    pictures = [
        Picture(
            name=f"{prefix}learning-curves",
            caption=f"Regret on training batches, averaged over {training_charts.averaging_window(longest)} "
            "iterations. Dashed lines are rivals on the evaluation episodes." + (away if hidden else "") + beyond,
            alternative="Learning curves; regret at the end: "
            + ", ".join(f"{name} {fixed(float(curve.regret[-1]), 1)}" for name, curve in curves.items())
            + ".",
            draw=lambda width: training_charts.learning_curves(
                curves, rivals=rivals, strong=strong, bound=None if limit is None else limit.regret, width=width
            ),
        )
    ]
    if results.pulls_during_training:
        pulls = {point.iteration: np.asarray(point.pulls) for point in results.pulls_during_training}
        pictures.append(
            Picture(
                name=f"{prefix}pulls-during-training",
                caption="Average pulls per arm in the training batch of an iteration (mean/self), arms sorted.",
                alternative="Pulls per arm, the most pulled first: "
                + "; ".join(f"iteration {when}: {listing(np.sort(each)[::-1])}" for when, each in pulls.items())
                + ".",
                draw=lambda width: training_charts.pulls_during_training(pulls, width=width),
            )
        )
    return pictures


def reproduction_concerns(reproduced: Mapping[str, Results]) -> list[Concern]:
    """What may be wrong in the settings that were reproduced, each concern once, with all that it concerns."""
    found: list[Concern] = []
    partly = sorted({results.fraction for results in reproduced.values() if results.fraction < 1})
    if partly:
        text = f"Only {listing(partly)} of the paper's iterations and episodes were run: a first look, no reproduction."
        found.append(Concern("A fraction of the paper's effort", text))
    falling, worse = [], []
    for setting, results in reproduced.items():
        for training in results.trainings:
            name = f"{setting} {spoken_training(training.name)}".strip()
            checks = [point.validation_regret for point in training.history if point.validation_regret is not None]
            falling += [name] * bool(still_falling(checks))
            last, selected = _at_the_end(results, training, "last"), _at_the_end(results, training, "selected")
            if last is not None and selected is not None:
                excess = last.regret - selected.regret
                error = math.hypot(last.gain_standard_error, selected.gain_standard_error)
                worse += [f"{name} by {measured(excess, error)}"] * bool(end_worse(selected.regret, excess, error))
    if falling:
        text = f"Regret on validation episodes still fell clearly at the end of training: {', '.join(falling)}."
        found.append(Concern("Training had not converged", text))
    if worse:
        text = (
            "At the end of training, which is what the paper tabulates, these are worse than the policies selected on "
            f"validation episodes: {', '.join(worse)}. Training with this recipe does not settle."
        )
        found.append(Concern("The end of training is worse than the policy selected", text))
    return found


def _at_the_end(results: Results, training: Training, policy: str) -> Row | None:
    """The row of a training: of the policy at its end, or of the one selected."""
    rows = [row for row in results.rows if row.policy == policy and _is_of(row, training)]
    return rows[0] if rows else None


def _is_of(row: Row, training: Training) -> bool:
    return row.name.removesuffix(" (selected)") == training.name


def facts(results: Results, seconds: dict[str, float]) -> list[Fact]:
    """What was run, and how long it took."""
    paper = next((training for training in results.trainings if training.recipe == "paper"), results.trainings[0])
    listed = [
        Fact("Problem", problem_words(results.problem)),
        Fact("Horizon", f"{results.horizon} steps"),
        Fact("Trainings", ", ".join(spoken_training(training.name) for training in results.trainings)),
        Fact("Paper's recipe", recipe_words(paper.settings, rollouts=None)),
        *(
            Fact("Our recipe", recipe_words(training.settings, rollouts=training.settings.get("rollouts")))
            for training in results.trainings
            if training.recipe == "stable"
        ),
        Fact("Seeds", f"{results.seed} (training), {results.evaluation_seed} (evaluation)"),
        Fact("Evaluation", f"{results.evaluation_episodes:,} episodes"),
        Fact("Engine", results.engine),
        Fact("Versions", ", ".join(f"{name} {number}" for name, number in results.versions.items())),
    ]
    if seconds:
        listed.append(Fact("Time", duration(sum(seconds.values())), clock=True))
    return listed


def _curve(training: Training) -> training_charts.Curve:
    points = [(point.iteration, point.regret) for point in training.history if point.regret is not None]
    return training_charts.Curve(*(np.array(axis, dtype=float) for axis in zip(*points, strict=True)))


def _training_of(results: Results, row: Row) -> Training:
    return next(training for training in results.trainings if _is_of(row, training))


def _end(training: Training, row: Row) -> dict[str, Any]:
    return training.selected if row.policy == "selected" else training.last


def capital(text: str) -> str:
    """A text with a capital first."""
    return text[:1].upper() + text[1:]
