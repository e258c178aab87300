# Each target sets up what it needs: a virtual environment with pinned packages, and the package itself.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test check bench sanitize

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
	$(BIN)/python benchmarks/scaling.py
	$(BIN)/python benchmarks/rivals.py

# The native tests with kernels built for the address and undefined-behaviour sanitizers, in an environment beside.
SANITIZED := .venv-sanitize
sanitize: $(READY)
	$(PYTHON) -m venv --clear $(SANITIZED)
	$(BIN)/python -c "import sysconfig; print(sysconfig.get_path('purelib'))" \
	    > "$$($(SANITIZED)/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/dependencies.pth"
	$(SANITIZED)/bin/python -m pip install --quiet --no-build-isolation --no-deps --force-reinstall \
	    --config-settings=cmake.define.TSGRAD_SANITIZE=ON .
	LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" \
	    ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
	    $(SANITIZED)/bin/python -m pytest tests/native -k "not compiler and not flip and not float32"

$(READY): requirements.txt pyproject.toml CMakeLists.txt $(wildcard src/tsgrad/native/*.?pp)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --requirement requirements.txt
	$(BIN)/pip install --quiet --no-build-isolation --no-deps --editable .
	touch $(READY)
