"""Pages of evidence, from the files that benchmarks write: no number is typed, each has the command that makes it."""

import ast
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from markdown_tables import any_tables
from measurement_tables import MEASUREMENT_TABLES
from regret_tables import REGRET_TABLES, no_index_summary

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
RESULTS = BENCHMARKS / "results"
SHARED = {
    "live_client",
    "live_postgresql",
    "measure",
    "ray_processes",
    "small_commands",
}  # imported by benchmarks, none themselves
RECIPE_ROWS = {
    "standard": "standard: 10 arms, 500 steps",
    "hetero": "heteroscedastic: 5 arms, 50 steps",
    "many": "many: 20 arms, 20 steps",
    "bernoulli": "two Bernoulli arms, 50 steps",
}
# The programs of each page, in order, by the headings of their results.
RESULTS_PROGRAMS = {
    "any_problem": "Problems drawn at random",
    "reproduction": "The paper's trained rows, by seed",
    "no_index": "Where no index is known",
    "long_horizon": "Ten thousand steps",
    "conditions": "Batches, delays and floors",
    "published_bernoulli": "A published table of Bernoulli arms",
    "pretrained": "Pretrained policies",
    "live_robust": "An uncertain prior",
}
SPEED_PROGRAMS = {
    "cma_es": "Regret against seconds",
    "score": "The conditional score",
    "batches": "Gradients of batches",
    "gradient": "One gradient, on both engines",
    "scaling": "Growth of time and memory",
    "rivals": "Rivals",
    "runtime": "Decisions in production",
    "live_load": "The service under load",
    "workers": "Workers of Ray",
}
RELIABILITY_PROGRAMS = {
    "coverage": "Confidence intervals and false alarms",
    "reliability": "Races, kills and interrupts",
    "live_kill": "A service that is killed",
    "live_fit": "Fitted priors",
    "live_fuzz": "Malformed requests and files",
}
TABLES = {**REGRET_TABLES, **MEASUREMENT_TABLES}
PAGES = {"results": RESULTS_PROGRAMS, "speed": SPEED_PROGRAMS, "reliability": RELIABILITY_PROGRAMS}


class Written(NamedTuple):
    """One file of results: the program and the part of it, the command, the version, and what was found."""

    program: str
    part: str
    command: str
    version: str
    results: Any


def all_written() -> list[Written]:
    """Every file of results; parts are called "program, part" or just "program"."""
    found = []
    for path in sorted(RESULTS.glob("*.json")):
        content = json.loads(path.read_text())
        program = Path(content["command"].split()[1]).stem
        part = content["part"].partition(", ")[2] or content["part"]
        found.append(Written(program, part, content["command"], content["version"], content["results"]))
    return found


def evidence_pages() -> dict[str, str]:
    """The text of every page, by its path in the site."""
    return {
        "evidence/index.md": index_page(),
        "evidence/results.md": results_page(),
        "evidence/speed.md": _page("Speed", SPEED_PROGRAMS),
        "evidence/reliability.md": _page("Reliability", RELIABILITY_PROGRAMS),
    }


def index_page() -> str:
    """Which benchmarks there are, and where their results are."""
    made = {found.program for found in all_written()}
    places = {program: f"{page}.md#{_anchor(program)}" for page, programs in PAGES.items() for program in programs}
    places["recipe"] = "results.md"
    rows = [
        f"| `{path.name}` | {_paragraphs(path)[0].split('. ')[0].rstrip('.')} | "
        f"{f'[results]({places[path.stem]})' if path.stem in made else 'not kept'} |"
        for path in sorted(BENCHMARKS.glob("*.py"))
        if path.stem not in SHARED
    ]
    return "\n".join(
        [
            "# Evidence",
            "",
            "The claims of this manual come from the programs in `benchmarks/`. Each prints what it finds; those with",
            "*results* below also have them kept in `benchmarks/results/`, with the command that was run, and these",
            "pages are made from those files. Policies are compared on the same episodes, and differences between them",
            "are paired. Times depend on the machine; ratios of times are measured in one run.",
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
    found_by_setting = _parts("recipe")
    for name, title in RECIPE_ROWS.items():
        if name not in found_by_setting:
            continue
        found = found_by_setting[name]
        places = 3 if found["Thompson"] < 10 else 1
        best, worst = (f"{end(found['regret']):.{places}f}" for end in (min, max))
        printed = f"{min(row.regret for row in SETTINGS[name].trained.values()):.1f}" if name in SETTINGS else ""
        tuned = best if best == worst else f"{best} to {worst}"
        plain, gittins, limit = (f"{found[key]:.{places}f}" for key in ("Thompson", "Gittins", "limit"))
        lines.append(f"| {title} | {plain} | {printed} | **{tuned}** | {gittins} | {limit} |")
    return lines


def no_index_table() -> list[str]:
    """Tuned policies where no index is known, against the best rivals; lines of Markdown, none without results."""
    parts = _parts("no_index")
    return no_index_summary(parts) if parts else []


def results_page() -> str:
    """Training by default against what the paper prints, and the best index known; then regrets elsewhere."""
    recipes = _parts("recipe")
    errors = [f"{found['standard error'][0]:.3f}" for found in recipes.values()]
    exact = recipes["bernoulli"]["exact regret"]
    return "\n".join(
        [
            "# Against the paper and every rival",
            "",
            "Mean regret per episode; less is better. *Tuned* is `tsgrad.train(problem, horizon=...)` with its",
            "defaults, for seeds 0 to 4, on 100,000 fresh episodes that are the same for all policies. *Best in the",
            "paper* is the best trained policy it prints. *Gittins index* is the finite-horizon index, as good as",
            "optimal for independent arms. No policy can go below the *limit*; it may be out of reach.",
            "",
            *results_table(),
            "",
            f"Paired standard errors of the difference from the index: {min(errors)} to {max(errors)}.",
            "Two Bernoulli arms, over all states that they can be in rather than episodes:",
            f"{min(exact):.4f} to {max(exact):.4f}, where the optimum is {recipes['bernoulli']['limit']:.4f}.",
            "",
            *_commands("recipe"),
            "## Every table and figure of the paper",
            "",
            "`tsgrad reproduce all --out runs/paper` trains with each of the paper's estimators, plays its rivals",
            "and writes tables, figures and a report, with the printed value beside each. `--fraction 0.05` is a",
            "first look.",
            "",
            *_printed_tables(),
            *_sections(RESULTS_PROGRAMS),
        ]
    )


def _printed_tables() -> list[str]:
    """What the paper prints, from the settings that a reproduction compares with."""
    from tsgrad.experiments import SETTINGS

    names = list(SETTINGS)
    rows = dict.fromkeys(row for setting in SETTINGS.values() for row in (*setting.trained, *setting.rivals))
    lines = [
        "Regrets that the paper prints, with standard errors:",
        "",
        f"| policy | {' | '.join(names)} |",
        "|---" * (len(names) + 1) + "|",
    ]
    for row in rows:
        values = ({**setting.trained, **setting.rivals}.get(row) for setting in SETTINGS.values())
        cells = ("" if value is None else f"{value.regret:.2f} ({value.standard_error:.2f})" for value in values)
        lines.append(f"| {row} | {' | '.join(cells)} |")
    return [*lines, ""]


def _page(title: str, programs: dict[str, str]) -> str:
    """A page of nothing but results."""
    sections = _sections(programs) or ["No results are kept for this page; [the programs](index.md) are there.", ""]
    return "\n".join([f"# {title}", "", *sections])


def _sections(programs: dict[str, str]) -> list[str]:
    """For each program whose results are kept: what it measures, in its own words, its tables and its commands."""
    lines = []
    for program, title in programs.items():
        if parts := _parts(program):
            about = _paragraphs(BENCHMARKS / f"{program}.py")
            lines += [f"## {title} {{#{_anchor(program)}}}", ""]
            lines += [line for paragraph in about for line in (paragraph, "")]
            lines += [*TABLES.get(program, any_tables)(parts), "", *_commands(program)]
    return lines


def _parts(program: str) -> dict[str, Any]:
    """What a program found, by part."""
    return {found.part: found.results for found in all_written() if found.program == program}


def _commands(program: str) -> list[str]:
    """The commands that made a program's results, each once, with the version that they ran."""
    made = [found for found in all_written() if found.program == program]
    commands = dict.fromkeys(f"    {found.command}  # tsgrad {found.version}" for found in made)
    return [*commands, ""]


def _anchor(program: str) -> str:
    return program.replace("_", "-")


def _paragraphs(path: Path) -> list[str]:
    """A program's docstring without the command lines in it."""
    paragraphs = (ast.get_docstring(ast.parse(path.read_text())) or "").split("\n\n")
    return list(_prose(paragraphs))


def _prose(paragraphs: Iterable[str]) -> Iterable[str]:
    for paragraph in paragraphs:
        sentences = re.split(r"(?<=\.)\s+", paragraph.strip().replace("|", "\\|"))
        # What a program prints is what the tables show.
        told = [sentence for sentence in sentences if not sentence.startswith(("python ", "Prints", "Each prints"))]
        if told:
            yield " ".join(told).replace("\n", " ")
