"""The report of a reproduction: what one of the paper's settings gave, compared with what the paper prints."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tsgrad.evaluate import Comparison
from tsgrad.evaluate.digits import fixed, measured
from tsgrad.experiments import (
    STABLE,
    STEPS,
    Findings,
    Moment,
    Results,
    Row,
    Training,
    algorithm,
    policy_name,
    read_results,
)
from tsgrad.report import sections, training_charts
from tsgrad.report.concerns import end_worse, still_falling
from tsgrad.report.contents import Concern, Fact, Picture, Report, Section, Table, TableRow
from tsgrad.report.meta_parameters import meta_parameter_section
from tsgrad.report.words import arm_labels, capital, duration, listing, problem_words, recipe_words, spoken_rival
from tsgrad.training import read_seconds, training_curve, validation_curve

OURS = "our recipe"
PREFERRED = (STABLE, "mean/self", "mean/oracle")  # trainings that a report is about, the first that is there
MOMENTS = {"last": "end of training", "selected": "selected"}
NULLS_COINCIDE = 2.0  # average distance of two curves in standard errors of a point: 1.13 where they are one


def reproduction_report(folder: str | Path) -> Report:
    """The report of one setting, from its `results.json`."""
    results = read_results(Path(folder) / "results.json")
    comparison, shown = spoken_comparison(results), shown_row(results)
    trained = spoken_row(shown)
    first = results.measured(shown).pulls
    labels = arm_labels(results.problem, 0 if first is None else len(first))
    told = [
        Section(
            "Against the paper",
            paper_sentences(results),
            [*paper_tables(results), sections.ranking_picture(comparison, trained)],
        ),
        Section("How training went", training_sentences(results), training_pictures(results)),
    ]
    if comparison.bound is not None:
        told.append(sections.limit_section(comparison, trained, comparison.bound))
    training = _training_of(results, shown)
    rivals = [spoken_row(row) for row in results.rows if row.group == "rival"]
    told += [
        sections.gain_section(comparison, trained, labels, drawn=rivals),
        meta_parameter_section(training.start, _end(training, shown), labels),
    ]
    return Report(
        title=capital(results.title),
        subtitle=f"A setting of the paper, reproduced{' in part' if results.fraction < 1 else ''}, seed {results.seed}",
        headline=headline(results),
        key_figures=sections.key_figures(comparison, trained),
        concerns=reproduction_concerns({"": results}),
        sections=told,
        facts=facts(results, read_seconds(folder)),
        configuration="",
        version=results.versions["tsgrad"],
    )


def shown_row(results: Results) -> Row:
    """The trained policy that a report is about: what training hands back, by our own recipe where it was run.

    It is not chosen by its regret on the evaluation episodes, which would flatter it.
    """
    moments: tuple[Moment, ...] = ("selected", "last")
    wanted = (results.row_of(training, moment) for training in PREFERRED for moment in moments)
    trained = (row for row in results.rows if row.group == "trained")
    return next(row for row in (*wanted, *trained) if row is not None)


def spoken_row(row: Row) -> str:
    """A row's name in sentences and figures."""
    if row.moment is None:
        return spoken_rival(row.name)
    return policy_name(OURS, row.moment) if row.group == "stable" else row.name


def spoken_training(training: Training) -> str:
    """A training's name in sentences and figures."""
    return OURS if training.recipe == "stable" else training.name


def spoken_comparison(results: Results) -> Comparison:
    """The comparison under the names of sentences and figures."""
    return results.comparison.renamed({row.name: spoken_row(row) for row in results.rows})


def headline(results: Results) -> str:
    """The gain in words, and the best that the paper prints."""
    shown = shown_row(results)
    training = _training_of(results, shown)
    recipe = f" by {OURS}" if shown.group == "stable" else ""
    subject = f"The policy trained with {training.metric}/{training.baseline}{recipe}"
    told = sections.headline(spoken_comparison(results), spoken_row(shown), subject)
    printed = {row.name: row.printed.regret for row in results.rows if row.group == "trained" and row.printed}
    if not printed:
        return told
    best = min(printed, key=lambda name: printed[name])
    return f"{told} The best trained policy in the paper has regret {printed[best]:.1f} ({best})."


def paper_sentences(results: Results) -> list[str]:
    """How many rows agree with the paper."""
    known = [row for row in results.rows if row.verdict is not None]
    counted = {verdict: sum(row.verdict == verdict for row in known) for verdict in ("better", "same", "worse")}
    rivals = [row for row in results.rows if row.group == "rival" and row.z is not None]
    sentences = [
        f"Trainings follow the paper's recipe with {STEPS:g} of its learning rate, one factor for all settings; the "
        "second table has the rate as printed.",
        f"All policies played the same {results.comparison.episodes:,} episodes, none of which took part in training. "
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


def paper_tables(results: Results) -> list[Table]:
    """The paper's table, with what it prints beside what was found; and another of learning rates as printed."""
    return [
        _paper_table(
            results,
            caption=f"Regret in the {results.title}, and in the paper",
            note="z is the difference from the printed value over the combined standard error; within two of them a "
            "row is called the same. The paper tabulates the end of training; the policy selected on validation "
            "episodes stands beside it. The least regret is in bold.",
            shown=shown_row(results),
        ),
        _paper_table(
            results.as_printed,
            caption="With the learning rate as printed",
            note="The paper's recipe to the letter: here, steps of that length go further than the paper's, and as "
            "policies come to explore less, into noise.",
            shown=None,
        ),
    ]


def _paper_table(results: Findings, *, caption: str, note: str, shown: Row | None) -> Table:
    rows, best = [], results.comparison.regret[results.comparison.best]
    for row in results.rows:
        found, training = results.measured(row), results.training(row)
        printed = ["", "", "", ""]
        if row.printed is not None and row.z is not None:
            value, error = row.printed
            printed = [fixed(value, 2), fixed(error, 2), fixed(row.z, 1), row.verdict or ""]
        cells = [
            algorithm(row),
            "" if training is None else f"{training.metric}/{training.baseline}",
            MOMENTS.get(row.moment or "", ""),
            fixed(found.regret, 2),
            fixed(found.standard_error, 2),
            *printed,
        ]
        rows.append(TableRow(cells, strong=found.regret == best, ours=row == shown))
    return Table(
        caption=caption,
        columns=["algorithm", "estimator", "policy", "regret", "s.e.", "paper", "s.e.", "z", "verdict"],
        rows=rows,
        note=note,
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


def training_pictures(results: Results, *, prefix: str = "") -> list[Picture]:
    """Learning curves of all trainings, and how the pulls moved in one of them."""
    curves = {spoken_training(training): _curve(training) for training in results.trainings}
    rivals = {spoken_row(row): results.measured(row).regret for row in results.rows if row.group == "rival"}
    hidden = training_charts.rivals_off_the_chart(curves, rivals)
    away = f" Not drawn, being far above: {', '.join(f'{name} ({fixed(rivals[name], 1)})' for name in hidden)}."
    longest = max(len(curve.regret) for curve in curves.values())
    limit = results.comparison.bound
    strong = spoken_training(_training_of(results, shown_row(results)))
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
            name = f"{setting} {spoken_training(training)}".strip()
            checks = [regret for _, regret in validation_curve(training.history)]
            falling += [name] * bool(still_falling(checks))
            last, selected = results.row_of(training.name, "last"), results.row_of(training.name, "selected")
            if last is not None and selected is not None:
                least = results.measured(selected).regret
                excess = results.measured(last).regret - least
                gains = results.comparison.gains
                error = math.hypot(gains[last.name].standard_error, gains[selected.name].standard_error)
                worse += [f"{name} by {measured(excess, error)}"] * bool(end_worse(least, excess, error))
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


def facts(results: Results, seconds: dict[str, float]) -> list[Fact]:
    """What was run, and how long it took."""
    paper = next((training for training in results.trainings if training.recipe == "paper"), results.trainings[0])
    listed = [
        Fact("Problem", problem_words(results.problem)),
        Fact("Horizon", f"{results.comparison.horizon} steps"),
        Fact("Trainings", ", ".join(spoken_training(training) for training in results.trainings)),
        Fact("Paper's recipe", f"{recipe_words(paper.settings, rollouts=None)} ({STEPS:g} of the printed rate)"),
        *(
            Fact("Our recipe", recipe_words(training.settings, rollouts=training.settings.get("rollouts")))
            for training in results.trainings
            if training.recipe == "stable"
        ),
        Fact("Seeds", f"{results.seed} (training), {results.comparison.seed} (evaluation)"),
        Fact("Evaluation", f"{results.comparison.episodes:,} episodes"),
        Fact("Engine", results.engine),
        Fact("Versions", ", ".join(f"{name} {number}" for name, number in results.versions.items())),
    ]
    if seconds:
        listed.append(Fact("Time", duration(sum(seconds.values())), clock=True))
    return listed


def _curve(training: Training) -> training_charts.Curve:
    return training_charts.Curve.through(training_curve(training.history))


def _training_of(results: Results, row: Row) -> Training:
    return next(training for training in results.trainings if training.name == row.training)


def _end(training: Training, row: Row) -> dict[str, Any]:
    return training.selected if row.moment == "selected" else training.last
