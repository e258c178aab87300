"""Every Python block of a document runs, in order, in one namespace; every TOML block is a configuration."""

import re
from pathlib import Path

import pytest

from tsgrad.training import read_configuration

ROOT = Path(__file__).parents[1]


def blocks(document, language):
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / document).read_text(), flags=re.DOTALL | re.MULTILINE)


PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
DOCUMENTS = ["README.md", "CONTRIBUTING.md", *PAGES]
LONG = {  # train beyond the native kernels, or what another page trains, too
    "docs/index.md",
    *(
        f"docs/guides/{name}.md"
        for name in ("add-a-policy", "add-a-problem", "conditions", "experiment", "problems", "wrong-model")
    ),
}
# take longer to compile than to run
FORMULAS = {"README.md", *(f"docs/guides/{name}.md" for name in ("add-a-policy", "add-a-problem", "conditions"))}


def marks(document):
    return [pytest.mark.long] * (document in LONG) + [pytest.mark.formulas] * (document in FORMULAS)


@pytest.mark.parametrize(
    "document",
    [pytest.param(document, marks=marks(document)) for document in DOCUMENTS if blocks(document, "python")],
)
def test_python_blocks(document, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # files that a block writes
    code = "\n".join(blocks(document, "python"))
    exec(compile(code, document, "exec"), {"__name__": "document"})


@pytest.mark.parametrize("document", [document for document in DOCUMENTS if blocks(document, "toml")])
def test_toml_blocks(document, tmp_path):
    for text in blocks(document, "toml"):
        (tmp_path / "config.toml").write_text(text)
        configuration = read_configuration(tmp_path / "config.toml")
        configuration.build_policy(configuration.build_problem())
        configuration.build_estimator(configuration.build_problem())


def test_the_first_documents_show_code():
    for document in ("README.md", "CONTRIBUTING.md"):
        assert blocks(document, "python")


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.toml")), ids=lambda path: path.name)
def test_example_configurations(example):
    configuration = read_configuration(example)
    configuration.build_policy(configuration.build_problem())
