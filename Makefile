# Each target sets up what it needs: a virtual environment with pinned packages, and the package itself.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test check bench

demo: $(READY)
	rm -rf runs/demo
	$(BIN)/tsgrad train examples/hetero.toml --out runs/demo
	$(BIN)/tsgrad compare runs/demo --episodes 100000 --seed 1

test: $(READY)
	$(BIN)/python -m pytest -n 2 --dist loadscope

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest --doctest-modules src

bench: $(READY)
	$(BIN)/python benchmarks/gradient.py

$(READY): requirements.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --requirement requirements.txt
	$(BIN)/pip install --quiet --no-build-isolation --no-deps --editable .
	touch $(READY)
