"""The reference, from the code: public names, commands, keys of a configuration, the policy file."""

import ast
import inspect
import json
import re
import typing
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
STUB = ROOT / "src" / "tsgrad" / "__init__.pyi"
SCHEMA = ROOT / "runtime" / "src" / "tsgrad_runtime" / "policy.schema.json"
RUNTIME = ROOT / "runtime" / "src" / "tsgrad_runtime" / "__init__.py"

# By the folder in which a name is defined: the title of its page, and what the page is about.
AREAS = {
    "problems": ("Problems", "Bandits: what is unknown, what a pull pays, and what is believed."),
    "policies": ("Policies", "Sampling policies that training can move, and what policies of your own derive from."),
    "rivals": ("Rivals", "Policies to compare with. None of them is trained by policy gradient."),
    "laws": ("Laws", "Distributions that a policy draws from."),
    "simulation": ("Simulation", "Playing episodes, under the conditions in which an experiment is run."),
    "estimate": ("Estimators", "Gradients of expected reward in the meta-parameters."),
    "evaluate": ("Comparison and bounds", "Policies on common episodes, limits on regret, checks of a model."),
    "training": ("Training", "From a start to a tuned policy."),
    "live": ("Live experiments", "Priors from past data, evaluation on logs, retuning."),
    "experiments": ("Sweeps", "One training for every combination of values of some fields."),
    "report": ("Reports", "Pages about runs."),
    "testing": ("Checks for your own classes", "What every problem and policy must pass."),
    "foundations": ("Randomness, names and errors", "Addresses of random numbers, names in files, errors."),
}


class PublicName(NamedTuple):
    """A name of `tsgrad`, and the module that it comes from."""

    name: str
    module: str

    @property
    def area(self) -> str:
        """The page that it is on."""
        return self.module if self.module in AREAS else "foundations"


def _imported(path: Path) -> list[PublicName]:
    """The names that a module imports from its neighbours, in order."""
    return [
        PublicName(alias.name, (node.module or alias.name).rpartition(".")[2])
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]


def _modules(folder: Path) -> set[str]:
    return {path.stem for path in folder.glob("*.py")}


def library_names() -> list[PublicName]:
    """The public names of `tsgrad`; rivals are told from other policies by the folder in which they are."""
    rivals = {name for name, _ in _imported(ROOT / "src" / "tsgrad" / "policies" / "rivals" / "__init__.py")}
    return [
        PublicName(name, "rivals" if module == "policies" and name in rivals else module)
        for name, module in _imported(STUB)
    ]


def runtime_names() -> list[str]:
    """The public names of `tsgrad_runtime`."""
    return [name for name, module in _imported(RUNTIME) if module in _modules(RUNTIME.parent)]


def public_names() -> list[str]:
    """All that must be in the reference, with the package it belongs to."""
    return [f"tsgrad.{found.name}" for found in library_names()] + [
        f"tsgrad_runtime.{name}" for name in runtime_names()
    ]


def reference_pages() -> dict[str, str]:
    """The text of every page, by its path in the site."""
    names = library_names()
    pages = {
        f"reference/{area}.md": _page(title, about, (f"tsgrad.{found.name}" for found in names if found.area == area))
        for area, (title, about) in AREAS.items()
    }
    about = "`tsgrad-runtime` plays policy files with NumPy alone."
    return {
        "reference/index.md": _index(names),
        **pages,
        "reference/runtime.md": _page("The runtime", about, (f"tsgrad_runtime.{name}" for name in runtime_names())),
        "reference/commands.md": commands_page(),
        "reference/configuration.md": configuration_page(),
        "reference/policy-file.md": policy_file_page(),
    }


def _page(title: str, about: str, names: Iterable[str]) -> str:
    return "\n\n".join([f"# {title}", about, *(f"::: {name}" for name in names)]) + "\n"


def _index(names: list[PublicName]) -> str:
    lines = [
        "# Reference",
        "",
        "Every public name; `import tsgrad as tg` offers all but those of the runtime. In examples, the name that they",
        "are about has no `tg.` in front.",
        "",
        "An argument that can't be used raises [`BadInput`][tsgrad.BadInput], a `ValueError`, before anything runs:",
        "the message is one line with the argument, the value and what would be right. The command line prints that",
        "line and exits with code 2.",
        "",
    ]
    for area, (title, about) in AREAS.items():
        links = (f"[`{found.name}`][tsgrad.{found.name}]" for found in names if found.area == area)
        lines += [f"**[{title}]({area}.md).** {about}", "", ", ".join(links), ""]
    links = (f"[`{name}`][tsgrad_runtime.{name}]" for name in runtime_names())
    lines += ["**[The runtime](runtime.md).** Plays policy files with NumPy alone.", "", ", ".join(links), ""]
    lines += [
        "[Commands](commands.md), [keys of a configuration](configuration.md), [the policy file](policy-file.md)."
    ]
    return "\n".join(lines) + "\n"


def commands_page() -> str:
    """Every command with its arguments and options, as `--help` has them."""
    import typer
    from typer.cli import get_docs_for_click

    from tsgrad.cli import app

    command = typer.main.get_command(app)
    text = get_docs_for_click(obj=command, ctx=typer.Context(command), name="tsgrad")
    completion = (
        "\nShell completion: `tsgrad --install-completion` for the shell in use, "
        "`tsgrad --show-completion` to see what it would install. `python -m tsgrad` is the same command.\n"
    )
    # The list of commands repeats the contents of the page, cut short; headings must not skip a level.
    text = re.sub(r"(?m)^\*\*Commands\*\*:\n\n(?:\* .*\n)+", "", text)
    text = re.sub(r"(?m)^(#+) `(.*)`$", lambda found: f"{found[1].replace('###', '##')} {found[2]}", text)
    return text.replace("# tsgrad\n", "# Commands\n", 1) + completion


def configuration_page() -> str:
    """Every key of a configuration: tables of settings from their models, kinds from the registry."""
    from tsgrad.estimate import BASELINES, METRICS
    from tsgrad.policies import SamplingPolicy
    from tsgrad.problems import AnyProblem
    from tsgrad.registry import kinds, registered_class
    from tsgrad.simulation import Conditions
    from tsgrad.training.configuration import POLICY_FAMILIES, Configuration
    from tsgrad.training.settings import EstimatorSettings, TrainingSettings

    def described(base: type) -> list[str]:
        classes = [(kind, registered_class(kind)) for kind in kinds(base)]
        return [
            f"| `{kind}` | {_arguments(cls)} | {_first_sentence(cls)} |"
            for kind, cls in classes
            if cls.__module__.startswith("tsgrad.")
        ]

    header = ["| kind | keys | meaning |", "|---|---|---|"]
    return "\n".join(
        [
            "# Configuration",
            "",
            "A configuration is a TOML file with the tables below; `[problem]` and `[training]` must be there.",
            "Unknown keys are errors. A run folder keeps the file with every default spelled out.",
            "",
            *_settings_table(Configuration, "The tables"),
            "## problem",
            "",
            "`kind` names the problem; the other keys are the arguments of its class.",
            "",
            *header,
            *described(AnyProblem),
            "",
            "## policy",
            "",
            "Without it, the family that is best for the problem is trained. Families, which start as plain Thompson",
            "sampling:",
            "",
            "| kind | keys |",
            "|---|---|",
            *(f"| `{kind}` | {_codes(family.keys)} |" for kind, family in POLICY_FAMILIES.items()),
            "",
            "Any sampling policy with its meta-parameters spelled out, as in a policy file:",
            "",
            *header,
            *described(SamplingPolicy),
            "",
            *_settings_table(EstimatorSettings, "estimator"),
            f"Metrics: {_codes(METRICS)}. Baselines: {_codes(BASELINES)}. Those you register may be named, too.",
            "",
            "## conditions",
            "",
            f"Keys: {_arguments(Conditions)}. [`tsgrad.Conditions`][] says what they mean.",
            "",
            *_settings_table(TrainingSettings, "training"),
        ]
    )


def _settings_table(model: Any, title: str) -> list[str]:
    rows = [
        f"| `{name}` | {_type_words(field.annotation)} | {_default(field)} | {_limits(field)}{field.description} |"
        for name, field in model.model_fields.items()
    ]
    return [f"## {title}", "", "| key | type | default | meaning |", "|---|---|---|---|", *rows, ""]


def _type_words(annotation: Any) -> str:
    """A type as people write it in TOML.

    >>> _type_words(int | None), _type_words(typing.Literal["a", "b"])
    ('integer', '`"a"`, `"b"`')
    """
    words = {int: "integer", float: "number", str: "string", bool: "boolean"}
    if typing.get_origin(annotation) is typing.Literal:
        return ", ".join(f'`"{value}"`' for value in typing.get_args(annotation))
    if typing.get_origin(annotation) is dict or (inspect.isclass(annotation) and annotation not in words):
        return "table"
    choices = [choice for choice in typing.get_args(annotation) if choice is not type(None)]
    return " or ".join(_type_words(choice) for choice in choices) or words[annotation]


def _default(field: Any) -> str:
    if field.is_required():
        return "must be given"
    return "" if field.default is None or field.default == {} else f"`{json.dumps(field.default)}`"


def _limits(field: Any) -> str:
    signs = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
    limits = [(limit, name) for limit in field.metadata for name in signs if hasattr(limit, name)]
    found = [f"{signs[name]} {getattr(limit, name):,}" for limit, name in limits]
    return f"({', '.join(found)}) " if found else ""


def _arguments(cls: type) -> str:
    return _codes(name for name in inspect.signature(cls).parameters) or "none"


def _codes(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _first_sentence(cls: type) -> str:
    first = inspect.cleandoc(cls.__doc__ or "").split("\n\n")[0].replace("\n", " ")
    return re.split(r"(?<=[.:;]) ", first)[0].rstrip(":;").replace("|", "\\|")


def policy_file_page() -> str:
    """The fields of a policy file, from its schema."""
    schema = json.loads(SCHEMA.read_text())
    required = set(schema["required"])
    rows = [
        f"| `{name}` | {field.get('type', 'string')} | {'yes' if name in required else ''} | {_about(field)} |"
        for name, field in schema["properties"].items()
    ]
    return "\n".join(
        [
            "# The policy file",
            "",
            "What `Run.save` and `tsgrad.write_policy` write, and `tsgrad.load`, `tsgrad serve` and `tsgrad_runtime`",
            "read: JSON, checked against this schema and its own checksum.",
            "",
            "| field | type | required | meaning |",
            "|---|---|---|---|",
            *rows,
            "",
            "## An example",
            "",
            "Plain Thompson sampling, as `tsgrad.write_policy` writes it:",
            "",
            "```json",
            _example_file(),
            "```",
            "",
            "## The schema",
            "",
            "```json",
            SCHEMA.read_text().rstrip(),
            "```",
            "",
        ]
    )


def _example_file() -> str:
    """The policy file of plain Thompson sampling for two named arms."""
    import tempfile

    from tsgrad import BernoulliBandit, Thompson, write_policy

    problem = BernoulliBandit(alpha=2.0, beta=40.0, arms=2)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy.json"
        write_policy(path, Thompson(), problem=problem, horizon=1000, arms=["red", "blue"])
        return json.dumps(json.loads(path.read_text()), indent=1)


def _about(field: dict[str, Any]) -> str:
    if "enum" in field:
        return f"always {_codes(field['enum'])}"
    inner = _codes(field.get("properties", {}))
    return "; ".join(filter(None, [field.get("description", ""), f"with {inner}" if inner else ""]))
