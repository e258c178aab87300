"""Tables of measurements: for each program in `benchmarks` about time or reliability, its results as tables."""

import statistics
from collections.abc import Callable, Mapping
from typing import Any

from markdown_tables import Parts, any_table, one_row_each, percent, table, text


def score(parts: Parts) -> list[str]:
    """One row for each setting and policy: the score of the draw over the conditional score."""
    lead = "How many times as much the score of the draw has as the conditional score:"
    return [lead, "", *one_row_each("setting, policy", parts)]


def coverage(parts: Parts) -> list[str]:
    """One row for each share: how often an interval held, or a test raised a false alarm."""
    rows = [
        [f"{part}: {what}", percent(share)]
        for part, found in parts.items()
        for what, share in found.items()
        if isinstance(share, float)
    ]
    return table(["what", "share of repeats"], rows)


def live_fit(parts: Parts) -> list[str]:
    """One row for each family and parameter of its prior."""
    rows = [
        [name, f"{found['held']:,} of {found['logs']:,}", percent(found["held"] / found["logs"])]
        for results in parts.values()
        for name, found in results.items()
    ]
    return table(["family, parameter", "95% intervals that hold", "share"], rows)


def cma_es(parts: Parts) -> list[str]:
    """One row for each moment, two columns for each setting: medians over seeds."""
    seeds = min(len(results["training"]) for results in parts.values())
    moments = list(dict.fromkeys(moment for results in parts.values() for moment in results["training"][0]))

    def median(results: Mapping[str, Any], learner: str, moment: str) -> str:
        found = [curve[moment] for curve in results[learner] if moment in curve]
        return f"{statistics.median(found):.2f}" if found else ""

    learners = {"training": "tsgrad", "CMA-ES": "CMA-ES"}
    columns = [f"{setting}, {title}" for setting in parts for title in learners.values()]
    rows = [
        [
            f"{float(moment):g}",
            *(median(results, learner, moment) for results in parts.values() for learner in learners),
        ]
        for moment in moments
    ]
    gittins = "; ".join(f"{setting} {results['Gittins']:.2f}" for setting, results in parts.items())
    return [
        f"Regret of the policy found so far, median of {seeds} seeds. Gittins index on the same episodes: {gittins}.",
        "",
        *table(["seconds", *columns], rows),
    ]


def batches(parts: Parts) -> list[str]:
    """One row for each size of batch and gradient; what a batch costs in time and memory."""
    lines = []
    for results in parts.values():
        if "megabytes" in results:
            told = [f"{megabytes:,.0f} MB for {size} users" for size, megabytes in results["megabytes"].items()]
            lines += [f"The most memory of a process that computes one gradient: {', '.join(told)}.", ""]
            continue
        rows = [
            [
                text(row["users"]),
                row["gradient"],
                text(row["variance"]),
                percent(row["bias"]),
                f"{row['standard errors of 10,000']:.2f}",
            ]
            for row in results["rows"]
        ]
        columns = ["users per batch", "metric, gradient", "variance (trace)", "off by", "largest error"]
        lines += [
            "The largest error is that of a meta-parameter, in standard errors of an estimate from 10,000 episodes;"
            f" from {results['episodes']:,} episodes it is known to {(10_000 / results['episodes']) ** 0.5:.2g}.",
            "",
            *table(columns, rows),
            "",
            *_seconds(results["seconds"]),
            f"Ratio: {results['ratio']:.2f}.",
            "",
        ]
    return lines


def gradient(parts: Parts) -> list[str]:
    """One row for each setting and pair: milliseconds, then ratios."""
    lines = []
    for results in parts.values():
        found = {name: entry for name, entry in results.items() if isinstance(entry, Mapping)}
        first = next(iter(found.values()))
        ratios = [name for name in first if name != "seconds"]
        rows = [
            [
                name,
                *(f"{1000 * seconds:.1f}" for seconds in entry["seconds"].values()),
                *(f"{entry[ratio]:.2f}" for ratio in ratios),
            ]
            for name, entry in found.items()
        ]
        columns = ["setting, estimator", *(f"{who}, ms" for who in first["seconds"]), *ratios]
        lines += [*table(columns, rows), ""]
        lines += [f"Instructions: {results['instructions']}; peak memory {results['peak gigabytes']:.2f} GB.", ""]
    return lines


def rivals(parts: Parts) -> list[str]:
    """One row for each rival: time per decision, and regret in each setting that it played."""
    lines = []
    for results in parts.values():
        found = {name: entry for name, entry in results.items() if isinstance(entry, Mapping)}
        time = "microseconds per decision"
        settings = list(dict.fromkeys(key for entry in found.values() for key in entry if key != time))

        def regret(entry: Mapping[str, Any] | None) -> str:
            return f"{entry['regret']:.2f} ({entry['standard error']:.2f})" if entry else ""

        rows = [
            [name, text(entry[time]), *(regret(entry.get(setting)) for setting in settings)]
            for name, entry in found.items()
        ]
        columns = ["rival", time, *(f"regret, {setting} (standard error)" for setting in settings)]
        lines += [
            *table(columns, rows),
            "",
            f"The table of the standard setting took {results['table, seconds']:.0f} s.",
        ]
    return lines


def scaling(parts: Parts) -> list[str]:
    """One row for each size that grows."""
    lines = []
    for results in parts.values():
        found = {name: entry for name, entry in results.items() if isinstance(entry, Mapping)}
        factors = list(next(iter(found.values()))["time / linear"])
        rows = [
            [name, *(f"{entry['time / linear'][factor]:.2f}" for factor in factors), f"{entry['megabytes added']:.1f}"]
            for name, entry in found.items()
        ]
        columns = ["what grows", *(f"× {factor}" for factor in factors), "megabytes added"]
        lines += ["Time, over what linear growth would give:", "", *table(columns, rows), ""]
        lines += any_table({name: value for name, value in results.items() if name not in found})
    return lines


def workers(parts: Parts) -> list[str]:
    """What Ray gains, costs and survives."""
    lines = []
    for name, results in parts.items():
        lines += [f"### {name.capitalize()}", ""]
        if name == "speed":
            gain, same = f"{results['two workers over one']:.2f}", text(results["same bits"])
            lines += [f"One gradient of {results['episodes']:,} episodes:", "", *_seconds(results["seconds"])]
            lines += [f"Two workers are {gain} times as fast as one. Same bits: {same}.", ""]
        elif name == "overhead":
            lines += [*_costs(results), ""]
        elif name == "scale":
            lines += [*_costs(results["costs"]), "", "Seconds of a training, computed from these costs:", ""]
            lines += [*any_table(results["sizes"]), ""]
        else:
            lines += [*any_table(results), ""]
    return lines


def _costs(costs: Mapping[str, float]) -> list[str]:
    return table(["what Ray costs", "milliseconds"], [[name, f"{1000 * value:.2f}"] for name, value in costs.items()])


def reliability(parts: Parts) -> list[str]:
    """Races, kills and interrupts: one row for each command that was disturbed."""
    titles = {"race": "Starts at one moment", "kill": "Killed (SIGKILL)", "interrupt": "Interrupted (SIGINT)"}
    lines = []
    for kind, title in titles.items():
        found = {name: results for name, results in parts.items() if name.split(", ")[0] == kind}
        rows = {name.partition(", ")[2]: results for name, results in found.items()}
        if rows:
            lines += [f"### {title}", "", *(any_table(rows[""]) if "" in rows else one_row_each("command", rows)), ""]
    return lines


def _seconds(seconds: Mapping[str, float]) -> list[str]:
    return [*table(["work", "seconds"], [[name, f"{value:.3f}"] for name, value in seconds.items()]), ""]


MEASUREMENT_TABLES: dict[str, Callable[[Parts], list[str]]] = {
    "batches": batches,
    "cma_es": cma_es,
    "coverage": coverage,
    "gradient": gradient,
    "live_fit": live_fit,
    "reliability": reliability,
    "rivals": rivals,
    "scaling": scaling,
    "score": score,
    "workers": workers,
}
