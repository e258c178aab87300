"""The manual: every public name in its reference, every page in its navigation, every link at its target."""

import doctest
import enum
import inspect
import itertools
import re
import sys
import tomllib
from pathlib import Path

import griffe
import pytest
import yaml

import tsgrad as tg
import tsgrad_runtime

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS / "scripts"))

import docstrings  # noqa: E402
import evidence  # noqa: E402
import hooks  # noqa: E402
import markdown_tables  # noqa: E402
import reference  # noqa: E402

REFERENCE = reference.reference_pages()
GENERATED = {**REFERENCE, **evidence.evidence_pages(), "changelog.md": (ROOT / "CHANGELOG.md").read_text()}
WRITTEN = {path.relative_to(DOCS).as_posix(): path.read_text() for path in DOCS.rglob("*.md")}


def navigated(entries):
    for entry in entries:
        target = next(iter(entry.values())) if isinstance(entry, dict) else entry
        yield from navigated(target) if isinstance(target, list) else [target]


def test_every_public_name_is_in_the_reference_once():
    shown = [name for page in REFERENCE.values() for name in re.findall(r"^::: ([\w.]+)$", page, flags=re.MULTILINE)]
    public = [f"tsgrad.{name}" for name in tg.__all__] + [f"tsgrad_runtime.{name}" for name in tsgrad_runtime.__all__]
    assert sorted(shown) == sorted(public)


def test_functions_are_not_taken_for_their_modules():
    extensions = griffe.load_extensions(str(DOCS / "scripts" / "docstrings.py"))
    package = griffe.load("tsgrad", search_paths=[str(ROOT / "src")], extensions=extensions)
    assert package["pretrained"].target_path == "tsgrad.policies.pretrained.pretrained"
    assert package["gradient"].target_path == "tsgrad.estimate.gradient"
    assert package["train"].target_path == "tsgrad.training.train"


def test_every_public_name_has_a_docstring():
    assert not [name for name in tg.__all__ if not (getattr(tg, name).__doc__ or "").strip()]


def public(kind):
    """Public names with what they stand for, functions or classes."""
    found = [(name, getattr(package, name)) for package in (tg, tsgrad_runtime) for name in package.__all__]
    return [(name, thing) for name, thing in found if kind(thing)]


def has_an_example(name, docstring):
    """In its docstring, or in a block of a page: both are run by tests."""
    return ">>> " in docstring or any(re.search(rf"\btg\.{name}\b", page) for page in WRITTEN.values())


@pytest.mark.parametrize(("name", "function"), public(inspect.isroutine))
def test_functions_say_what_they_take_return_and_raise(name, function):
    docstring = inspect.getdoc(function)
    signature = inspect.signature(function)
    assert ("Args:" in docstring) == bool(signature.parameters)
    assert ("Returns:" in docstring) == (signature.return_annotation not in (None, "None"))
    never = ("engines", "largest", "parameter_names", "parameter_vector")
    assert ("Raises:" in docstring) == (name not in never)
    # A ledger is needed to retune: its example is the command, in the guide to live experiments.
    assert has_an_example(name, docstring) or name == "retune"


@pytest.mark.parametrize(("name", "cls"), public(inspect.isclass))
def test_classes_have_an_example_and_records_name_their_fields(name, cls):
    docstring = inspect.getdoc(cls)
    if inspect.isabstract(cls) or issubclass(cls, Exception | enum.Enum):
        return
    if has_an_example(name, docstring):
        return
    fields = getattr(cls, "_fields", None) or getattr(cls, "__dataclass_fields__", None) or cls.__slots__
    listed = docstring.partition("Attributes:")[2]
    assert not [field for field in fields if not field.startswith("_") and f"    {field}: " not in listed]


def test_every_page_is_in_the_navigation():
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    assert sorted(navigated(site["nav"])) == sorted({*WRITTEN, *GENERATED})


def prose(text):
    """A page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", sorted({*WRITTEN, *GENERATED}))
def test_pages_can_be_heard(page):
    """One title, headings that skip no level, and a heading for every column of a table."""
    text = prose({**WRITTEN, **GENERATED}[page])
    levels = [len(marks) for marks in re.findall(r"^(#+) ", text, re.MULTILINE)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(deeper <= level + 1 for level, deeper in itertools.pairwise(levels))
    for header in re.findall(r"^\|(.*)\|\n\|-", text, re.MULTILINE):
        assert all(cell.strip() for cell in header.split("|")), header


def anchors(text):
    headings = re.findall(r"^#+ (.*)$", prose(text), re.MULTILINE)
    named = {heading: re.search(r"\{#([\w-]+)\}$", heading) for heading in headings}
    return {
        name.group(1) if name else re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
        for heading, name in named.items()
    }


@pytest.mark.parametrize(
    "document", [*(f"docs/{page}" for page in sorted(WRITTEN)), "README.md", "CONTRIBUTING.md", "CHANGELOG.md"]
)
def test_links_lead_somewhere(document):
    path = ROOT / document
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text()):
        if target.startswith(("http://", "https://")):
            continue
        name, _, anchor = target.partition("#")
        found = (path.parent / name).resolve() if name else path
        page = found.relative_to(DOCS).as_posix() if found.is_relative_to(DOCS) else None
        assert found.exists() or page in GENERATED, target
        if anchor:
            assert anchor in anchors(found.read_text() if found.exists() else GENERATED[page]), target


def test_every_figure_has_its_words_and_both_widths():
    for page, text in WRITTEN.items():
        for alternative, target in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", text):
            assert len(alternative) > 40, target
            drawn = (DOCS / page).parent / target
            assert drawn.exists()
            assert drawn.with_name(f"{drawn.stem}-narrow.svg").exists()


def test_versions_go_together():
    library, runtime = (
        tomllib.loads((ROOT / path).read_text())["project"] for path in ("pyproject.toml", "runtime/pyproject.toml")
    )
    assert library["version"] == runtime["version"]
    assert f"tsgrad-runtime=={runtime['version']}" in library["dependencies"]
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == library["version"]
    assert f"\n## {library['version']}\n" in (ROOT / "CHANGELOG.md").read_text()


def test_results_of_the_readme_are_those_of_the_evidence():
    readme = (ROOT / "README.md").read_text()
    for line in (*evidence.results_table(), *evidence.no_index_table()):
        assert line in readme


@pytest.mark.parametrize("page", [name for name in GENERATED if name.startswith("evidence/")])
def test_every_table_of_evidence_has_the_command_that_makes_it(page):
    for section in re.split(r"^(?=##? )", GENERATED[page], flags=re.MULTILINE):
        command = re.search(r"\bpython benchmarks/\w+\.py|\btsgrad reproduce", section)
        assert command or "|---" not in section, section[:80]


def test_every_result_is_shown():
    places = {"recipe", *(program for programs in evidence.PAGES.values() for program in programs)}
    for found in evidence.all_written():
        assert found.program in places
        assert any(found.command in page for page in GENERATED.values())


@pytest.mark.parametrize("script", [docstrings, hooks, markdown_tables, reference])
def test_examples_of_scripts(script):
    assert not doctest.testmod(script).failed


def test_examples_in_docstrings_become_blocks_of_code():
    text = "It adds.\n\n    >>> 1 + 1\n    2\n\nMore."
    assert docstrings.fenced(text) == "It adds.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nMore."
