PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
export SGTB_DATA ?= ../shared/data

.PHONY: setup demo test docs starter bench bench-quick bench-versions baseline-env digests bench-kb bench-kb-quick bench-linker bench-linker-quick bench-spacy bench-serve bench-serve-quick clean

setup: $(VENV)/.ready

# --upgrade pip: the one that comes with some Pythons cannot do editable installs from pyproject.
$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

# A name that means two things, and names that tell which. The README shows what is printed.
DEMO := Jordan passed, Pippen scored, and the Bulls beat Utah again. In Amman the king of Jordan watched them on television; in Petra nobody did.

demo: setup
	$(BIN)/sgtb link --reasons "$(DEMO)"
	$(BIN)/sgtb explain "$(DEMO)" Utah

# Two at a time; the tests of a file stay together, for they share what is slow to make.
SIDE_BY_SIDE := -n 2 --dist loadfile

test: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest $(SIDE_BY_SIDE)
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -m nojit $(SIDE_BY_SIDE)

# The knowledge base and model that ship, from the entities and texts beside them.
starter: setup
	$(BIN)/python -m sgtb.reproduce.starter

# What the pages show of commands and code, as it is today. Read the difference before committing.
docs: setup
	$(BIN)/python -m sgtb.cli.reference > docs/cli.md
	$(BIN)/python -m sgtb.cli.api_reference > docs/api.md
	$(BIN)/python -m sgtb.cli.decision_picture > docs/decision.svg
	$(BIN)/python -m tests.refresh_docs

bench: setup
	$(BIN)/python -m benchmarks.learner
	$(BIN)/python -m benchmarks.kb
	$(BIN)/python -m benchmarks.linker
	$(BIN)/python -m benchmarks.versions

# The last version before the compiled core, in an environment of its own: what
# `make bench` and `make bench-versions` compare this version with.
REV      ?= 1aca5d3
BASELINE := build/baseline
export SGTB_BASELINE_PYTHON ?= $(wildcard $(BASELINE)/.venv/bin/python)

baseline-env:
	git worktree add --force --detach $(BASELINE) $(REV)
	$(PYTHON) -m venv $(BASELINE)/.venv
	$(BASELINE)/.venv/bin/python -m pip install --quiet --disable-pip-version-check '$(BASELINE)[reproduce]'

bench-versions: setup
	$(BIN)/python -m benchmarks.versions

# The results that were recorded with the baseline, to the last bit.
DIGESTS := -m benchmarks.digests --against benchmarks/digests.json

digests: setup
	$(BIN)/python $(DIGESTS)
	SGTB_NATIVE=baseline $(BIN)/python $(DIGESTS) --threads 1 --no-cache

bench-quick: setup
	$(BIN)/python -m benchmarks.learner --quick

bench-kb: setup
	$(BIN)/python -m benchmarks.kb

bench-kb-quick: setup
	$(BIN)/python -m benchmarks.kb --quick

bench-linker: setup
	$(BIN)/python -m benchmarks.linker

bench-linker-quick: setup
	$(BIN)/python -m benchmarks.linker --quick

bench-spacy: setup
	$(BIN)/python -m benchmarks.spacy_component

bench-serve: setup
	$(BIN)/python -m benchmarks.serve

bench-serve-quick: setup
	$(BIN)/python -m benchmarks.serve --quick

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .schemathesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
