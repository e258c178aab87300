# Each target sets up what it needs: a virtual environment with pinned packages, and the package itself.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test test-all check docs figures wheels bench live obp browser postgresql picture sanitize sanitize-address sanitize-thread

demo: $(READY)
	rm -rf runs/demo
	$(BIN)/tsgrad reproduce hetero --out runs/demo

test: $(READY)
	$(BIN)/python -m pytest -n 2 --dist worksteal

# With what is long and rare.
test-all: $(READY)
	$(BIN)/python -m pytest -n 2 --dist worksteal -m ""

# Examples are small: XLA would take longer to optimise them than to run them.
check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	JAX_DISABLE_MOST_OPTIMIZATIONS=1 XLA_FLAGS=--xla_cpu_use_fusion_emitters=false \
	    $(BIN)/python -m pytest -n 2 --dist worksteal --doctest-modules src runtime/src

# The manual, in site/: warnings are errors, broken links among them. NO_MKDOCS_2_WARNING leaves out an advertisement.
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# The figures of the manual; about a minute.
figures: $(READY)
	for figure in $(filter-out %/drawing.py %/readme.py,$(wildcard docs/scripts/figures/*.py)); do $(BIN)/python $$figure || exit 1; done

# What is uploaded: sources and wheels of both distributions, for this platform. A wheel of Python 3.12 serves all later
# ones. One that came out without its kernels is not a wheel of a platform, and auditwheel refuses it. With pyenv, name
# both first: PYENV_VERSION=3.11.7:3.12.1 make wheels. Compiling takes some three minutes for each.
PYTHONS ?= python3.11 python3.12
wheels: $(READY)
	rm -rf wheels
	$(BIN)/python -m build --quiet --outdir wheels runtime
	$(BIN)/python -m build --quiet --sdist --outdir wheels .
	for python in $(PYTHONS); do \
	    $$python -m pip wheel --quiet --no-deps --wheel-dir wheels/built wheels/tsgrad-*.tar.gz || exit 1; done
	for wheel in wheels/built/*.whl; do \
	    PATH="$(BIN):$$PATH" $(BIN)/auditwheel repair --wheel-dir wheels "$$wheel" || exit 1; done
	rm -r wheels/built

bench: $(READY)
	$(BIN)/python benchmarks/gradient.py
	$(BIN)/python benchmarks/scaling.py
	$(BIN)/python benchmarks/rivals.py

# What the tests of reports open pages in; without it they are skipped.
browser:
	{ command -v chromium && command -v chromedriver; } > /dev/null || \
	    (apt-get update -q && apt-get install -y -q --no-install-recommends chromium chromium-driver fonts-liberation)

# The sample of the Open Bandit Dataset, and the estimators that ours are held against, as obp ships them; without it
# their tests are skipped. Nothing that it depends on is needed.
OBP := runs/obp/obp/version.py
obp: $(OBP)
$(OBP): | $(READY)
	$(BIN)/pip install --quiet --no-deps --upgrade --target runs/obp obp==0.4.1

# From that sample to a policy and back. Of obp itself nothing runs.
live: $(READY) $(OBP)
	$(BIN)/python examples/open_bandit.py runs/obp/obp/dataset/obd/random/men/men.csv

# What the tests of ledgers start a server of; without it they are skipped.
postgresql:
	{ command -v initdb || ls /usr/lib/postgresql/*/bin/initdb; } > /dev/null 2>&1 || \
	    (apt-get update -q && apt-get install -y -q --no-install-recommends postgresql)

# The picture in the README: what its five lines of Python gain on five arms of very different noise; some ten seconds.
picture: $(READY)
	$(BIN)/python docs/scripts/figures/readme.py

# The native tests with kernels built for a sanitizer, in an environment beside: addresses and undefined behaviour, then
# threads, there those tests that leave JAX alone: its own threads are slow under it, and not ours to judge. What a
# sanitizer says as it ends a process must not be captured. Its memory can't be limited.
SANITIZED := .venv-sanitize
sanitize:
	$(MAKE) sanitize-address
	$(MAKE) sanitize-thread

sanitize-address: $(READY)
	$(call install-sanitized,address)
	LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" \
	    ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
	    $(SANITIZED)/bin/python -m pytest tests/native -k "not memory"

sanitize-thread: $(READY)
	$(call install-sanitized,thread)
	LD_PRELOAD="$$(gcc -print-file-name=libtsan.so)" \
	    TSAN_OPTIONS=halt_on_error=1:suppressions=tests/native/others_races.txt \
	    $(SANITIZED)/bin/python -m pytest -s tests/native -k "(kernels or all_open or no_choice or instruction) and not memory"

define install-sanitized
$(PYTHON) -m venv --clear $(SANITIZED)
$(BIN)/python -c "import sysconfig; print(sysconfig.get_path('purelib'))" \
    > "$$($(SANITIZED)/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/dependencies.pth"
$(SANITIZED)/bin/python -m pip install --quiet --no-build-isolation --no-deps --force-reinstall \
    --config-settings=cmake.define.TSGRAD_SANITIZE=$(1) ./runtime .
endef

$(READY): requirements.txt pyproject.toml runtime/pyproject.toml CMakeLists.txt $(wildcard src/tsgrad/native/*.?pp)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --requirement requirements.txt
	$(BIN)/pip install --quiet --no-build-isolation --no-deps --editable runtime --editable .
	touch $(READY)
