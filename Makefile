# The two commands that matter: `make demo` and `make test`. Everything installs itself into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Pins in constraints.txt; wheels only where there is a choice, so that nothing is compiled.
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --prefer-binary --constraint constraints.txt
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

.PHONY: help demo test test-all test-machines test-pythons fuzz bench check format clean

help:
	@echo "make demo      set up and run the main job once, on simulated outcomes"
	@echo "make test      set up and run the tests (no PyTorch, browser or harness needed)"
	@echo "make test-all  the same and the heavy tests; installs PyTorch, Ray, Inspect, Harbor, a browser and harnesses"
	@echo "make test-machines  what computes, as other processors would run it"
	@echo "make test-pythons   the tests with each newer Python that is here (3.12, 3.13)"
	@echo "make fuzz      damage logs of every format and read them, for SECONDS=60"
	@echo "make bench     measure ratios: against PyTorch, the naive form, bare products, growth with size"
	@echo "make check     ruff and mypy --strict"
	@echo "make format    apply ruff's formatting and fixes"
	@echo "make clean     remove the environment and what the commands wrote"

demo: $(VENV)/.core
	$(BIN)/hmrouter demo

test: $(VENV)/.dev
	$(ONE_THREAD) $(BIN)/pytest -n 2 --dist worksteal -m "not heavy"

test-all: $(VENV)/.bench browser harnesses
	$(ONE_THREAD) $(BIN)/pytest -n 2 --dist worksteal

# The parts that compute, with other BLAS kernels, SIMD widths and thread counts; one of them: make test-machines MACHINE=haswell
test-machines: $(VENV)/.dev
	$(BIN)/python tools/other_machines.py $(MACHINE)

# Each newer Python that is here, in an environment of its own; the heavy tests run with the first one only.
test-pythons:
	tools/other_pythons.sh

# Damaged logs under limits of memory and time; SEED=N makes the same inputs again.
SECONDS ?= 60
fuzz: $(VENV)/.dev
	$(ONE_THREAD) $(BIN)/python tools/fuzz.py $(SECONDS) $(SEED)

bench: $(VENV)/.bench
	$(ONE_THREAD) $(BIN)/python -m benchmarks

check: $(VENV)/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean:
	rm -rf $(VENV) .venv-3.* .venv-harbor-* .harnesses out .mypy_cache .ruff_cache .pytest_cache .hypothesis

# A real browser for the report's tests; without one (and without the right to install it) they are skipped.
.PHONY: browser
browser:
	@command -v chromium >/dev/null || { command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ] && \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y chromium >/dev/null; } || \
		echo "note: no chromium; the browser tests are skipped"

# The real harnesses that the heavy tests run, at pinned versions with a pinned Node; what cannot be had is said and skipped.
.PHONY: harnesses
harnesses: $(VENV)/.dev
	$(BIN)/python tools/harnesses.py

$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "error: Python 3.11 or newer is needed, $$($(PYTHON) --version) found; try: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml constraints.txt | $(BIN)/pip
	$(INSTALL) --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.core
	$(INSTALL) --editable '.[dev]'
	@touch $@

$(VENV)/.bench: $(VENV)/.dev
	$(INSTALL) --editable '.[dev,bench,embeddings,ray,inspect]' openai
	@touch $@
