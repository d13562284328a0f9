# Every target sets up what it needs in .venv, once, and installs nothing outside it.
# A stamp file per extra depends on pyproject.toml, so that a second call starts at once.

PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
STAMPS := $(VENV)/.stamps
# Two workers: the tests themselves use threads, and more workers only fight over the cores.
WORKERS ?= 2
ROW    ?=
PORT   ?= 8000
# the revision that bench-old-new compares with
OLD    ?= faaf473

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# Two installs into one environment at once would trip over each other, whatever -j says.
.NOTPARALLEL:
# Every target with a line of help is a command, not a file.
.PHONY: $(shell sed -nE 's/^([a-z-]+):.*## .*/\1/p' $(MAKEFILE_LIST))

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(STAMPS)/venv:
	@command -v $(PYTHON) >/dev/null || { echo "mercer needs Python 3.11 or newer; '$(PYTHON)' was not found (try: make PYTHON=/path/to/python3)" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("mercer needs Python 3.11 or newer, this is " + sys.version.split()[0] + "; choose another with: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	@mkdir -p $(STAMPS)
	@touch $@

# One stamp per extra: .venv/.stamps/cli is older than pyproject.toml exactly when it has to be made again.
$(STAMPS)/%: pyproject.toml | $(STAMPS)/venv
	$(PY) -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@

# Compiled loops are kept beside the package: once here, and neither tests nor first calls wait for them.
$(STAMPS)/compiled: $(STAMPS)/dev
	$(VENV)/bin/mercer compile
	@touch $@

setup: $(STAMPS)/dev $(STAMPS)/compiled  ## make .venv with everything for development, compiled loops too

DEMO := build/demo

demo: $(STAMPS)/cli  ## from a real table to a model, a test and a report, then predictions
	$(PY) examples/demo_table.py $(DEMO)
	@echo
	$(VENV)/bin/mercer fit $(DEMO)/penguins.csv
	@echo
	$(VENV)/bin/mercer fit $(DEMO)/penguins.csv --target "Body Mass (g)" --id "Individual ID" --out $(DEMO)/results
	@echo
	$(VENV)/bin/mercer predict $(DEMO)/results $(DEMO)/penguins-new.csv --interval 0.9 --skip-missing --out $(DEMO)/results/new.csv
	@head -4 $(DEMO)/results/new.csv
	@echo
	@echo "Look at $(DEMO)/results/report.html in a browser; the predictions are in $(DEMO)/results/new.csv"

proofs: $(STAMPS)/cli  ## proofs and counter-examples for a set of expressions
	$(PY) examples/is_it_a_kernel.py

test: lint typecheck $(STAMPS)/compiled  ## ruff, mypy, tests and doctests
	$(PY) -m pytest -n $(WORKERS) --dist loadfile

test-slow: $(STAMPS)/dev  ## the tests marked slow, and only those
	$(PY) -m pytest -n $(WORKERS) --dist loadfile -m slow

test-cluster: $(STAMPS)/dev  ## workers killed in the middle of every kind of fit, checkpoints after kill -9, files larger than memory
	$(PY) -m pytest -n 0 -m "slow or not slow" tests/cluster

# An environment of its own with every dependency at the lower bound of pyproject.toml, in the oldest Python where that is here.
# Wheels only: an old version without one for this Python would be compiled for an hour, or fail in a way that is not ours.
OLDEST := build/oldest
OLDEST_PYTHON = $(shell python3.11 -c 'print("python3.11")' 2>/dev/null || echo $(PYTHON))
OLDEST_TESTS  = tests/kernels tests/gram tests/linalg tests/numeric tests/inputs tests/estimators tests/persist tests/cli/test_app.py

$(OLDEST)/ready: pyproject.toml scripts/lower_bounds.py
	$(OLDEST_PYTHON) -m venv --clear $(OLDEST)
	$(OLDEST)/bin/python scripts/lower_bounds.py > $(OLDEST)/bounds.txt
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check --only-binary :all: \
	  --constraint $(OLDEST)/bounds.txt --editable '.[dev]'
	@touch $@

# Compiled loops go elsewhere, since those of two numbas in one folder replace each other. *as_sklearn.py reads scikit-learn's
# own tests, which are others in every version.
test-oldest: $(OLDEST)/ready  ## a fast part of the tests with every dependency at its lower bound
	NUMBA_CACHE_DIR=$(CURDIR)/$(OLDEST)/compiled $(OLDEST)/bin/python -m pytest -n $(WORKERS) --dist loadfile \
	  --ignore-glob '*as_sklearn.py' $(OLDEST_TESTS)

dist: $(STAMPS)/release  ## wheel and sdist into dist, each installed outside the tree in a fresh environment and tried there
	rm -rf dist
	$(VENV)/bin/pyproject-build --outdir dist
	$(PY) -m twine check --strict dist/*
	$(PY) scripts/check_dist.py dist

SITE := build/site

docs: $(STAMPS)/compiled $(STAMPS)/docs  ## the documentation site with its gallery; warnings are errors, no network
	$(PY) -m sphinx -b html -n -W --keep-going -d build/doctrees docs $(SITE)
	@echo "Look at $(SITE)/index.html, or: make show-docs"

show-docs: docs  ## serve the documentation site on this machine alone: make show-docs PORT=8000
	$(PY) -m http.server $(PORT) --bind 127.0.0.1 --directory $(SITE)

test-docs: docs  ## the site and its links, reports, pages and the lab in a browser, the chapters' examples, every script of examples/
	$(PY) -m pytest -n $(WORKERS) -m site tests/site
	$(PY) -m pytest -rs -m browser tests/browser
	$(PY) -m pytest -n $(WORKERS) --doctest-glob='*.md' docs/lectures
	$(PY) -m pytest -n $(WORKERS) -m slow tests/lectures/test_every_example.py

lint: $(STAMPS)/dev  ## ruff check
	$(PY) -m ruff check .

typecheck: $(STAMPS)/dev  ## mypy, strict on src
	$(PY) -m mypy

format: $(STAMPS)/dev  ## let ruff sort imports and format the code
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

# One process at a time and nothing else running: a benchmark beside a test run measures the test run.
# In quotes, because a name may hold a * that is meant for the rows: make bench ROW='sum-*'.
CHOSEN = $(foreach name,$(ROW),--row '$(name)')

bench: $(STAMPS)/bench  ## race against the peers; make bench ROW=name for one row
	$(PY) -m benchmarks $(CHOSEN)

bench-long: $(STAMPS)/bench  ## the rows that take minutes
	$(PY) -m benchmarks --long $(CHOSEN)

bench-small: $(STAMPS)/dev  ## small models beside scikit-learn's: fit, predict, predict one row
	$(PY) -m benchmarks.small

bench-untuned: $(STAMPS)/bench  ## classification and Gaussian processes on data that nothing was tuned on
	$(PY) -m benchmarks.untuned

bench-gp: $(STAMPS)/bench $(STAMPS)/bench-gp  ## the rows against Gaussian process peers
	$(PY) -m benchmarks --group gp $(CHOSEN)

bench-old-new: $(STAMPS)/bench  ## this tree against an older revision, alternating: make bench-old-new OLD=v0.1.0
	$(PY) -m benchmarks.old_new $(OLD) $(CHOSEN)

show-large: $(STAMPS)/dev  ## memory of fits on millions of rows, and what plan says of large fits
	$(PY) -m benchmarks.large_memory
	$(PY) -m benchmarks.large_plan

fuzz-load: $(STAMPS)/dev  ## 20,000 forged model files, with bounds checks on and off; only mercer's errors
	$(PY) -m pytest -q -s -m slow tests/persist/test_forged.py

show-plan: $(STAMPS)/dev  ## what plan says of every route against the measured peak
	$(PY) -m benchmarks.plan_memory

show-memory: $(STAMPS)/dev  ## peak memory of the large Gram and of K @ v without K
	$(PY) -m benchmarks.memory

show-attack: $(STAMPS)/dev  ## 100,000 random attacks on the prover, no false answer
	$(PY) -m tests.validity.attack

show-mmd: $(STAMPS)/bench  ## level and power of the two-sample tests, thousands of draws
	$(PY) -m pytest -s -q -m slow tests/twosample

show-gp: $(STAMPS)/bench  ## test errors, densities and interval coverage of Gaussian processes on real tables, resumable
	$(PY) -m benchmarks.gp_quality

show-pca: $(STAMPS)/bench  ## denoising, components as features and novelty scores of kernel PCA beside published ones, resumable
	$(PY) -m benchmarks.pca_quality

show-graphs: $(STAMPS)/bench $(STAMPS)/graphs  ## accuracy of graph kernels on real sets beside published ones, resumable
	$(PY) -m benchmarks.graph_quality

show-ridge: $(STAMPS)/bench  ## test errors and interval coverage of ridge on real tables
	$(PY) -m benchmarks.ridge_quality

show-strings: $(STAMPS)/bench  ## errors and areas of string kernels on real strings beside published ones, resumable
	$(PY) -m benchmarks.string_quality

show-tables: $(STAMPS)/bench  ## TableRegressor and TableClassifier beside tuned gradient boosting on real tables, resumable
	$(PY) -m benchmarks.table_quality
	$(PY) -m benchmarks.table_quality --task classification

show-shell: $(STAMPS)/bench  ## mercer fit and predict on real tables beside tuned gradient boosting, seconds to the report; resumable
	$(PY) -m benchmarks.shell_quality
	$(PY) -m benchmarks.shell_large

show-svm: $(STAMPS)/bench  ## SVC beside LIBSVM on real data: dual objectives, predictions, test errors; resumable
	$(PY) -m benchmarks.svm_quality

show-walk: $(STAMPS)/dev  ## the files that a call passes through, in order
	$(PY) -m benchmarks.walk

show-lab: $(STAMPS)/dev  ## milliseconds from an event to the new picture of the lab, in chromium
	$(PY) -m benchmarks.lab_speed

clean:  ## remove .venv and every cache
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist docs/api docs/gallery docs/repository docs/sg_execution_times.rst
	find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
