"""Pages of evidence, from the files that benchmarks write: no number is typed, each has the command that makes it."""

import ast
import json
import statistics
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
RESULTS = BENCHMARKS / "results"
SHARED = {"measure", "live_client", "live_postgresql"}  # what benchmarks have in common, no benchmarks themselves
RECIPE_ROWS = {
    "standard": "standard: 10 arms, 500 steps",
    "hetero": "heteroscedastic: 5 arms, 50 steps",
    "many": "many: 20 arms, 20 steps",
    "bernoulli": "two Bernoulli arms, 50 steps",
}


def evidence_pages() -> dict[str, str]:
    """The text of every page, by its path in the site."""
    return {
        "evidence/index.md": index_page(),
        "evidence/results.md": results_page(),
        "evidence/measurements.md": measurements_page(),
    }


def index_page() -> str:
    """Which benchmarks there are, and whether their results are here."""
    made = {_script(result) for result in _all_results()}
    rows = []
    for path in _scripts():
        name = path.stem
        where = "results.md" if name == "recipe" else f"measurements.md#{name.replace('_', '-')}"
        rows.append(f"| `{path.name}` | {_summary(path)} | {f'[here]({where})' if name in made else ''} |")
    return "\n".join(
        [
            "# Evidence",
            "",
            "Claims of this manual come from programs in `benchmarks/`. Each prints what it finds and writes it to",
            "`benchmarks/results/`, with the command that was run; these pages are made from those files.",
            "Regrets are on common episodes and their differences are paired; times are ratios measured in one run.",
            "",
            "| program | what it measures | results |",
            "|---|---|---|",
            *rows,
            "",
            "`tsgrad reproduce all --out runs/paper` makes every table and figure of the paper.",
            "",
        ]
    )


def results_table() -> list[str]:
    """The recipe of `tsgrad.train` as it comes, against the paper and the best index; lines of Markdown."""
    from tsgrad.experiments import SETTINGS

    lines = [
        "| setting | plain Thompson sampling | best in the paper | tuned, best to worst seed | Gittins index | limit |",
        "|---|---|---|---|---|---|",
    ]
    for name, title in RECIPE_ROWS.items():
        path = RESULTS / f"recipe-{name}.json"
        if not path.exists():
            continue
        found = json.loads(path.read_text())["results"]
        places = 3 if found["Thompson"] < 10 else 1
        best, worst = (f"{end(found['regret']):.{places}f}" for end in (min, max))
        printed = f"{min(row.regret for row in SETTINGS[name].trained.values()):.1f}" if name in SETTINGS else ""
        tuned = best if best == worst else f"{best} to {worst}"
        plain, gittins, limit = (f"{found[key]:.{places}f}" for key in ("Thompson", "Gittins", "limit"))
        lines.append(f"| {title} | {plain} | {printed} | **{tuned}** | {gittins} | {limit} |")
    return lines


def results_page() -> str:
    """Training by default against what the paper prints, and the best index known."""
    errors = [
        f"{json.loads(path.read_text())['results']['standard error'][0]:.3f}" for path in RESULTS.glob("recipe-*.json")
    ]
    return "\n".join(
        [
            "# Against the paper",
            "",
            "Mean regret per episode; less is better. *Tuned* is `tsgrad.train(problem, horizon=...)` with its",
            "defaults, for seeds 0 to 4, on 100,000 fresh episodes that are the same for all policies. *Best in the",
            "paper* is the best trained policy it prints. *Gittins index* is the finite-horizon index, as good as",
            "optimal for independent arms. No policy can go below the *limit*; it may be out of reach.",
            "",
            *results_table(),
            "",
            f"Paired standard errors of the difference from the index: {min(errors)} to {max(errors)}.",
            "",
            "    python benchmarks/recipe.py",
            "",
            "## Every table and figure of the paper",
            "",
            "`tsgrad reproduce all --out runs/paper` trains with each of the paper's estimators, plays its rivals",
            "and writes tables, figures and a report, with the printed value beside each. `--fraction 0.05` is a",
            "first look.",
            "",
            *_printed_tables(),
        ]
    )


def _printed_tables() -> list[str]:
    """What the paper prints, from the settings that a reproduction compares with."""
    from tsgrad.experiments import SETTINGS

    names = list(SETTINGS)
    rows = dict.fromkeys(row for setting in SETTINGS.values() for row in (*setting.trained, *setting.rivals))
    lines = [
        "Printed regrets, with standard errors:",
        "",
        f"| | {' | '.join(names)} |",
        "|---" * (len(names) + 1) + "|",
    ]
    for row in rows:
        values = ({**setting.trained, **setting.rivals}.get(row) for setting in SETTINGS.values())
        cells = ("" if value is None else f"{value.regret:.2f} ({value.standard_error:.2f})" for value in values)
        lines.append(f"| {row} | {' | '.join(cells)} |")
    return [*lines, ""]


def measurements_page() -> str:
    """All other results, by the program that made them."""
    results = list(_all_results())
    lines = ["# Speed and reliability", "", "What the programs wrote, each with its command.", ""]
    for path in _scripts():
        own = [result for result in results if _script(result) == path.stem]
        if path.stem == "recipe" or not own:
            continue
        lines += [f"## {path.stem.replace('_', ' ')} {{#{path.stem.replace('_', '-')}}}", "", f"{_summary(path)}.", ""]
        for result in own:
            lines += [f"**{result['part']}**: `{result['command']}`", "", *_table(result["results"]), ""]
    return "\n".join(lines)


def _table(results: Any) -> list[str]:
    r"""Results as a table: one row for each entry, and one column for each key of its entries.

    >>> print("\n".join(_table({"a": {"x": 1.0, "y": 2.5}})))
    | | x | y |
    |---|---|---|
    | a | 1 | 2.5 |
    """
    if isinstance(results, dict):
        results = {f"{key}{_of_seeds(value)}": _typical(value) for key, value in results.items()}
        if any(isinstance(value, dict) for value in results.values()):
            results = {key: value if isinstance(value, dict) else {"": value} for key, value in results.items()}
    if not isinstance(results, dict) or not all(isinstance(value, dict) for value in results.values()):
        flat = results if isinstance(results, dict) else dict(enumerate(results))
        return ["| | |", "|---|---|", *(f"| {key} | {_cell(value)} |" for key, value in flat.items())]
    columns = list(dict.fromkeys(key for row in results.values() for key in row))
    rows = (f"| {name} | {' | '.join(_cell(row.get(key)) for key in columns)} |" for name, row in results.items())
    return [f"| | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|", *rows]


def _of_seeds(value: Any) -> str:
    """What is said of a row that stands for several seeds, each a record of its own."""
    return f" (median of {len(value)} seeds)" if _is_seeds(value) else ""


def _typical(value: Any) -> Any:
    """The median over seeds of each entry, where there are several."""
    if not _is_seeds(value):
        return value
    return {key: statistics.median(record[key] for record in value) for key in value[0]}


def _is_seeds(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(record, dict) for record in value)


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_cell(inner)}" for key, inner in value.items())
    if isinstance(value, list):
        return ", ".join(map(_cell, value))
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def _scripts() -> list[Path]:
    return [path for path in sorted(BENCHMARKS.glob("*.py")) if path.stem not in SHARED]


def _all_results() -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(RESULTS.glob("*.json"))]


def _script(result: dict[str, Any]) -> str:
    return Path(result["command"].split()[1]).stem


def _summary(path: Path) -> str:
    """The first sentence of a program's docstring."""
    first = (ast.get_docstring(ast.parse(path.read_text())) or "").split("\n\n")[0].replace("\n", " ")
    return first.rstrip(".").replace("|", "\\|")
