PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
export SGTB_DATA ?= ../shared/data

.PHONY: setup demo test coverage test-lowest test-sanitized fuzz-models fuzz-files kill-commands fuzz-wikitext check-wheel docs site starter table2 bench bench-quick bench-versions baseline-env digests bench-kb bench-kb-quick bench-linker bench-linker-quick bench-spacy bench-serve bench-serve-slow bench-serve-quick bench-batch bench-batch-quick test-faults test-soak fuzz-service clean

setup: $(VENV)/.ready

# What the compiled core is built from. The package is installed again when one of them changes.
CORE := pyproject.toml CMakeLists.txt $(wildcard src/sgtb/native/*.cpp src/sgtb/native/*.hpp)
PIP  := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# Not in isolation, and with a directory that stays: only what changed is compiled.
INSTALL := $(PIP) --no-build-isolation --config-settings=build-dir=build/{wheel_tag} --editable

COMPILER := command -v "$${CXX:-c++}" || command -v g++ || command -v clang++
NO_COMPILER := No C++ compiler found: apt-get install g++ (Debian, Ubuntu), dnf install gcc-c++ (Fedora), or xcode-select --install (macOS)
HEADERS := import os, sysconfig; exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))
NO_HEADERS := No Python.h found: apt-get install python3-dev (Debian, Ubuntu) or dnf install python3-devel (Fedora)

# --upgrade pip: the one that comes with some Pythons cannot do editable installs from pyproject.
# setuptools and wheel: without build isolation, requirements that have no wheel are built with them.
$(VENV)/.tools: pyproject.toml
	@{ $(COMPILER); } >/dev/null || { echo "$(NO_COMPILER)" >&2; exit 1; }
	@$(PYTHON) -c '$(HEADERS)' || { echo "$(NO_HEADERS)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade pip
	$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' > $(VENV)/build-requires.txt
	$(PIP) 'cmake>=3.26' 'ninja>=1.11' setuptools wheel --requirement $(VENV)/build-requires.txt
	touch $@

# The package alone, for those who only look at the demo.
$(VENV)/.installed: $(VENV)/.tools $(CORE)
	$(INSTALL) .
	touch $@

# The package with all that tests and benchmarks need.
$(VENV)/.ready: $(VENV)/.tools $(CORE)
	$(INSTALL) '.[dev]'
	touch $(VENV)/.installed $@

# A name that means two things, and names that tell which. The README shows what is printed.
DEMO := Jordan passed, Pippen scored, and the Bulls beat Utah again. In Amman the king of Jordan watched them on television; in Petra nobody did.

demo: $(VENV)/.installed
	$(BIN)/sgtb link --reasons "$(DEMO)"
	$(BIN)/sgtb explain "$(DEMO)" Utah

# Two at a time; the tests of a file stay together, for they share what is slow to make.
SIDE_BY_SIDE := -n 2 --dist loadfile

test: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/mypy
	$(BIN)/python -m pytest $(SIDE_BY_SIDE)

# The floor is in pyproject.toml, at [tool.coverage.report].
coverage: setup
	$(BIN)/python -m pytest $(SIDE_BY_SIDE) --cov --cov-report=term:skip-covered

# The oldest versions of our requirements, in an environment of its own.
LOWEST       := build/lowest
LOWEST_TESTS := tests/core tests/kb tests/boosting/data tests/boosting/trees tests/boosting/search tests/boosting/test_model_file.py

test-lowest:
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check .
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check pytest hypothesis scikit-learn \
		$$($(LOWEST)/bin/python -c 'import tomllib; print(*(r.replace(">=", "==") for r in tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"]))')
	$(LOWEST)/bin/python -m pytest -q $(LOWEST_TESTS)

# Tests with a core that is built with AddressSanitizer, UBSan and checked containers: twins, borders,
# damaged files and random input of all kernels. Tests of behaviour, of disks and of memory run
# without it, in `make test`. The core is installed into an environment of its own, which has all
# else from the other.
SANITIZED       := build/sanitized
SANITIZED_TESTS := tests/native tests/kb/build/test_list_build.py tests/kb/test_check.py tests/kb/test_damage.py tests/kb/test_fuzzy_index.py \
	tests/boosting/data tests/boosting/explain tests/boosting/search tests/boosting/trees \
	tests/boosting/test_explanation_border.py tests/boosting/test_document_order.py tests/boosting/test_model_file.py \
	tests/boosting/test_naive.py tests/boosting/test_probabilities.py tests/boosting/test_search.py \
	tests/linking/candidates tests/linking/entities tests/linking/features tests/linking/mentions/test_mention_tagger.py tests/linking/mentions/test_name_search.py \
	tests/linking/test_features_border.py tests/linking/test_ranking_border.py tests/linking/test_problem_packing.py \
	tests/linking/test_reason_ranking.py tests/pages/test_cased_text.py \
	tests/text/test_decimal_rows.py tests/text/test_tokenization.py tests/text/test_vector_file.py \
	tests/wikipedia/build/test_page_counters.py tests/wikipedia/test_wikitext_fuzz.py tests/wikipedia/wikitext/test_markup.py
SANITIZED_SKIPS := -m 'not slow' -k 'not disk and not memory' --ignore tests/linking/entities/test_fact_store.py \
	--ignore tests/linking/features/test_feature_group.py
FUZZ_SECONDS    ?= 20

$(SANITIZED)/.ready: $(VENV)/.ready
	$(BIN)/python -m venv --without-pip $(SANITIZED)/venv
	$(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > "$$($(SANITIZED)/venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/base.pth"
	$(BIN)/python -m pip --python $(SANITIZED)/venv/bin/python install --quiet --disable-pip-version-check --no-deps --no-build-isolation --config-settings=build-dir=$(SANITIZED)/cmake --config-settings=cmake.define.SGTB_SANITIZE=ON --editable .
	touch $@

# Python allocates with malloc, and its own leaks are none of ours. libstdc++ is loaded first, or
# exceptions would go past the sanitizer. pytest must not capture what is printed before an abort.
SANITIZED_PYTHON = env SGTB_SANITIZED=1 PYTHONMALLOC=malloc ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
	LD_PRELOAD="$$($${CXX:-c++} -print-file-name=libasan.so) $$($${CXX:-c++} -print-file-name=libstdc++.so)" \
	$(SANITIZED)/venv/bin/python

test-sanitized: $(SANITIZED)/.ready
	$(SANITIZED_PYTHON) -m pytest --capture=sys $(SIDE_BY_SIDE) $(SANITIZED_SKIPS) $(SANITIZED_TESTS)
	@if $(HAS_FUZZER); then $(MAKE) -j 2 fuzz-models fuzz-wikitext; \
	else echo 'no clang++ with libFuzzer: wikitext is not fuzzed'; $(MAKE) fuzz-models; fi

fuzz-models: $(SANITIZED)/.ready
	$(SANITIZED_PYTHON) -m tests.fuzz.model_files --seconds $(FUZZ_SECONDS)
	$(SANITIZED_PYTHON) -m tests.fuzz.damaged_files --mutations 2000

# Mutations of everything that reads files, and commands killed at random moments; `make test` has short ones.
fuzz-files: setup
	$(BIN)/python -m tests.fuzz.damaged_files --mutations 20000

kill-commands: setup
	$(BIN)/python -m tests.fuzz.killed_commands --moments 100

HAS_FUZZER := echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' | clang++ -fsanitize=fuzzer -x c++ - -o /dev/null 2>/dev/null

fuzz-wikitext: $(VENV)/.tools
	$(BIN)/cmake -S . -B build/fuzz -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja -DCMAKE_CXX_COMPILER=clang++ -DSGTB_FUZZ=ON >/dev/null
	$(BIN)/cmake --build build/fuzz
	mkdir -p build/fuzz/corpus
	build/fuzz/wikitext_fuzzer -max_total_time=$(FUZZ_SECONDS) -timeout=10 -max_len=4096 -print_final_stats=1 -verbosity=0 -artifact_prefix=build/fuzz/ -dict=tests/fuzz/wikitext.dict build/fuzz/corpus tests/fuzz/wikitext_seeds

# Each fault of a linking job at ten moments; `make test` has one.
test-faults: setup
	SGTB_FAULT_MOMENTS=10 $(BIN)/python -m pytest tests/jobs/test_faults.py tests/jobs/test_network.py

# Random requests to a service, and its memory over time; and so many to the API and each protocol.
SOAK_SECONDS  ?= 600
FUZZ_REQUESTS ?= 10000

test-soak: setup
	$(BIN)/python -m tests.fuzz.service_requests --seconds $(SOAK_SECONDS)

fuzz-service: setup
	$(BIN)/python -m tests.fuzz.service_requests --requests $(FUZZ_REQUESTS)
	SCHEMA_EXAMPLES=$$(($(FUZZ_REQUESTS) / 8)) $(BIN)/python -m pytest -q tests/serving/test_schema.py

# A wheel made of the source distribution, tried in an environment that has nothing else.
check-wheel: setup
	rm -rf build/wheel
	$(BIN)/python -c 'from scikit_build_core.build import build_sdist; build_sdist("build/wheel")' >/dev/null
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir build/wheel build/wheel/sgtb-*.tar.gz
	SGTB_WHEEL=$$(echo build/wheel/sgtb-*.whl) $(BIN)/python -m pytest tests/test_wheel.py

# The knowledge base and model that ship, from the entities and texts beside them.
starter: setup
	$(BIN)/python -m experiments.starter

# What the pages show of commands and code, as it is today. Read the difference before committing.
docs: setup
	$(BIN)/python -m tools.command_reference > docs/reference/cli.md
	$(BIN)/python -m tools.decision_picture > docs/design/decision.svg
	$(BIN)/python -m tests.refresh_docs
	$(BIN)/python -m tests.helpers.first_hour
	$(BIN)/python -m tools.notebook_outputs

# The documentation site, in build/site.
site: setup
	$(BIN)/mkdocs build --strict

# The paper's Table 2, from the raw files in SGTB_DATA.
table2: setup
	$(BIN)/python -m experiments aida --data $(SGTB_DATA) --seeds 3 --refit

bench: setup
	$(BIN)/python -m benchmarks.learner
	$(BIN)/python -m benchmarks.kb
	$(BIN)/python -m benchmarks.linker
	$(BIN)/python -m benchmarks.versions --history

# The version that `make bench` and `make bench-versions` compare this one with, in its own checkout
# and environment: the last one before the modules were moved.
REV      ?= 069692b
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

bench-batch: setup
	$(BIN)/python -m benchmarks.batch

bench-batch-quick: setup
	$(BIN)/python -m benchmarks.batch --quick

bench-spacy: setup
	$(BIN)/python -m benchmarks.spacy_component

bench-serve: setup
	$(BIN)/python -m benchmarks.serve

# Good clients alone and beside 500 slow ones.
bench-serve-slow: setup
	$(BIN)/python -m benchmarks.serve --slow 500

bench-serve-quick: setup
	$(BIN)/python -m benchmarks.serve --quick

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .schemathesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
