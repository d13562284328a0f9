# Every target installs what it needs into .venv once, and nothing outside it.
# A stamp file per extra depends on pyproject.toml, so a second call starts at once.

PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
STAMPS := $(VENV)/.stamps
# Two workers: the tests themselves use threads, and more workers compete for the cores.
WORKERS ?= 2
ROW    ?=
PORT   ?= 8000
# The revision that bench-old-new compares with: version 0.2.0.
OLD    ?= d71c9a1
# Which claims `make evidence` runs: ids or sections, and the largest cost (quick, minutes, long).
ONLY   ?=
COST   ?=

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# Two installations into one environment must not run at the same time, whatever -j says.
.NOTPARALLEL:
# These are commands, not files: every target with a line of help, and two steps of others.
.PHONY: lint typecheck $(shell sed -nE 's/^([a-z-]+):.*## .*/\1/p' $(MAKEFILE_LIST))

help:  ## list the targets
	@awk '/^##@ /{print "\n" substr($$0, 5)} /^[a-z%-]+:.*## /{name=$$0; sub(/:.*/, "", name); sub(/.*## /, ""); sub(/%/, "NAME", name); printf "  make %-14s %s\n", name, $$0}' $(MAKEFILE_LIST)

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

# Compiled loops are kept beside the package, so tests and first calls do not wait for the compiler.
$(STAMPS)/compiled: $(STAMPS)/dev
	$(VENV)/bin/mercer compile
	@touch $@

##@ Every day

setup: $(STAMPS)/dev $(STAMPS)/compiled  ## make .venv with everything for development, compiled loops included
	@echo "Run the checks before each commit: $(VENV)/bin/pre-commit install (pip install pre-commit), or: make check"

# Parts of the suite that need no data set, no browser and no cluster: about 80 s of processor time, 40 s on two idle cores.
FAST_TESTS = tests/test_architecture.py tests/test_public_names.py tests/test_registry.py tests/test_writing.py \
  tests/test_geometry.py tests/linalg tests/numeric tests/selection tests/validity/test_certificates.py \
  tests/kernels/test_base.py tests/kernels/test_stationary.py tests/estimators/ridge/test_kernel_ridge.py \
  tests/benchmarks/test_evidence.py tests/benchmarks/test_house.py --ignore tests/linalg/box_qp

CPU_TESTS = $(FAST_TESTS) tests/grams tests/estimators/ridge tests/estimators/gp/test_gaussian_process.py \
  tests/estimators/svm/test_svc.py tests/twosample/test_chunks.py tests/twosample/test_exactness.py

check: lint typecheck  ## lint, format, types and a fast part of the tests, in less than 100 s
	$(PY) -m ruff format --check src tests benchmarks examples scripts
	$(PY) -m pytest -q -n $(WORKERS) --dist loadfile $(FAST_TESTS)

format: $(STAMPS)/dev  ## sort imports and format the code
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

lint: $(STAMPS)/dev
	$(PY) -m ruff check .

typecheck: $(STAMPS)/dev
	$(PY) -m mypy

DEMO := build/demo

demo: $(STAMPS)/cli  ## from a real table to a model, a report and predictions
	$(PY) examples/demo_table.py $(DEMO)
	@echo
	$(VENV)/bin/mercer fit $(DEMO)/penguins.csv
	@echo
	$(VENV)/bin/mercer fit $(DEMO)/penguins.csv --target "Body Mass (g)" --id "Individual ID" --out $(DEMO)/results
	@echo
	$(VENV)/bin/mercer predict $(DEMO)/results $(DEMO)/penguins-new.csv --interval 0.9 --skip-missing --out $(DEMO)/results/new.csv
	@head -4 $(DEMO)/results/new.csv
	@echo
	@echo "Open $(DEMO)/results/report.html in a browser; the predictions are in $(DEMO)/results/new.csv"

clean:  ## remove .venv, build products and every cache
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist docs/api docs/gallery docs/repository docs/sg_execution_times.rst
	find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

##@ Tests and packages

test: lint typecheck $(STAMPS)/compiled  ## lint, types, all tests and doctests: what a change has to pass
	$(PY) -m pytest -n $(WORKERS) --dist loadfile

test-slow: $(STAMPS)/dev  ## the tests marked slow, and only those
	$(PY) -m pytest -n $(WORKERS) --dist loadfile -m slow

# Other BLAS kernels, instruction sets, numbers of threads and random orders; the settings are listed in the script.
test-cpus: $(STAMPS)/compiled  ## the fast part of the tests under other processors' instructions, threads and orders
	$(PY) scripts/test_cpus.py -n $(WORKERS) --dist loadfile $(CPU_TESTS)

test-cluster: $(STAMPS)/dev  ## killed workers, checkpoints after kill -9, files larger than memory
	$(PY) -m pytest -n 0 -m "slow or not slow" tests/cluster

# A separate environment with every dependency at the lower bound of pyproject.toml, in the oldest Python that is installed.
# Wheels only: an old version without a wheel for this Python would have to be compiled.
OLDEST := build/oldest
OLDEST_PYTHON = $(shell python3.11 -c 'print("python3.11")' 2>/dev/null || echo $(PYTHON))
OLDEST_TESTS  = tests/kernels tests/grams tests/linalg tests/numeric tests/inputs tests/estimators tests/persist tests/cli/test_app.py

$(OLDEST)/ready: pyproject.toml scripts/lower_bounds.py
	$(OLDEST_PYTHON) -m venv --clear $(OLDEST)
	$(OLDEST)/bin/python scripts/lower_bounds.py > $(OLDEST)/bounds.txt
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check --only-binary :all: \
	  --constraint $(OLDEST)/bounds.txt --editable '.[dev]'
	@touch $@

# Compiled loops go to another folder, because two versions of numba would replace each other's files. *as_sklearn.py runs
# scikit-learn's own tests, which differ between its versions.
test-oldest: $(OLDEST)/ready  ## a part of the tests with every dependency at its lower bound
	NUMBA_CACHE_DIR=$(CURDIR)/$(OLDEST)/compiled $(OLDEST)/bin/python -m pytest -n $(WORKERS) --dist loadfile \
	  --ignore-glob '*as_sklearn.py' $(OLDEST_TESTS)

dist: $(STAMPS)/release  ## wheel and sdist into dist, each installed in a fresh environment and tried there
	rm -rf dist
	$(VENV)/bin/pyproject-build --outdir dist
	$(PY) -m twine check --strict dist/*
	$(PY) scripts/check_dist.py dist

##@ Documentation

SITE := build/site

docs: $(STAMPS)/compiled $(STAMPS)/docs  ## the documentation site with its gallery; warnings are errors
	$(PY) -m sphinx -b html -n -W --keep-going -d build/doctrees docs $(SITE)
	@echo "Open $(SITE)/index.html, or run: make show-docs"

show-docs: docs  ## serve the documentation site on this machine: make show-docs PORT=8000
	$(PY) -m http.server $(PORT) --bind 127.0.0.1 --directory $(SITE)

test-docs: docs  ## the site, reports and the lab in a browser, chapters, notebooks, every example script
	$(PY) -m pytest -n $(WORKERS) -m site tests/site
	$(PY) -m pytest -rs -m browser tests/browser
	$(PY) -m pytest -n $(WORKERS) --doctest-glob='*.md' docs/lectures
	$(PY) -m pytest -n $(WORKERS) -m slow tests/lectures/test_every_example.py

##@ Measurements

evidence: $(STAMPS)/dev $(STAMPS)/bench  ## check stale claims, write docs/evidence.md: make evidence ONLY='ridge-*' COST=quick
	$(PY) -m benchmarks.evidence $(foreach name,$(ONLY),--only '$(name)') $(if $(COST),--cost $(COST))

# One process at a time and nothing else running: a benchmark beside a test run measures the test run.
# In quotes, because a name may hold a * that is meant for the rows: make bench ROW='sum-*'.
CHOSEN = $(foreach name,$(ROW),--row '$(name)')

bench: $(STAMPS)/bench  ## speed beside other libraries; make bench ROW=name for one row
	$(PY) -m benchmarks $(CHOSEN)

bench-long: $(STAMPS)/bench  ## the rows that take minutes
	$(PY) -m benchmarks --long $(CHOSEN)

bench-gp: $(STAMPS)/bench $(STAMPS)/bench-gp  ## the rows beside other Gaussian process libraries
	$(PY) -m benchmarks --group gp $(CHOSEN)

bench-small: $(STAMPS)/dev  ## small models beside scikit-learn's: fit, predict, predict one row
	$(PY) -m benchmarks.small

bench-untuned: $(STAMPS)/bench  ## classification and Gaussian processes on data that nothing was tuned on
	$(PY) -m benchmarks.untuned

bench-old-new: $(STAMPS)/bench  ## this tree against version 0.2.0: make bench-old-new OLD=d71c9a1 ROW='svc-*'
	$(PY) -m benchmarks.old_new $(OLD) $(CHOSEN)

show: $(STAMPS)/dev  ## list what make show-NAME can print: walks, house, attacks, quality on real data, memory
	@$(PY) -m benchmarks.show

# The names and their commands are one table, in benchmarks/show.py.
show-%: $(STAMPS)/dev $(STAMPS)/bench
	$(PY) -m benchmarks.show $*
