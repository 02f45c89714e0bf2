# Two commands do everything: `make demo` and `make test`. `make help` lists the rest.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STATIC := backend/headrace_server/static
ARGS ?=

.PHONY: help setup demo test check lint types imports unit ui-check e2e screenshots soak bench format openapi clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(VENV)/.installed frontend/node_modules/.installed $(STATIC)/index.html ## Install everything and build the dashboard

demo: setup ## Train a small GPT on two CPU ranks with the dashboard live; ARGS="--steps 80 --exit --no-browser"
	@$(BIN)/headrace demo $(ARGS)

test: setup check unit e2e ## Everything a contributor needs to believe a change

check: lint types imports ui-check ## Lint, format, types, import rules, generated files

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed
	$(BIN)/mypy loader/headrace backend/headrace_server

imports: $(VENV)/.installed
	$(BIN)/lint-imports

ui-check: $(VENV)/.installed frontend/node_modules/.installed tests/e2e/node_modules/.installed
	$(BIN)/headrace-server openapi | cmp - frontend/src/api/openapi.json \
	  || { echo "frontend/src/api/openapi.json is stale: run make openapi"; exit 1; }
	cd frontend && npm run --silent lint && npm run --silent format:check && npm run --silent typecheck \
	  && npx --no-install prettier --check ../tests/e2e && npm run --silent api:check && PYTHON=../$(BIN)/python npm run --silent plotly:check && npm run --silent test
	cd tests/e2e && npm run --silent typecheck

unit: $(VENV)/.installed ## Python tests: unit, property, contract, torchrun, database; ARGS="-n 0 -s" for one process, with figures
	@$(BIN)/pytest tests --ignore=tests/e2e -n 4 --dist loadfile $(ARGS) || tests/again_alone.sh $$? $(BIN)/pytest

e2e: setup tests/e2e/node_modules/.installed ## Browser tests in real Chromium
	$(BIN)/pytest tests/e2e $(ARGS)

screenshots: setup tests/e2e/node_modules/.installed ## Pictures of every page in both themes into docs/images
	$(BIN)/python -m tests.e2e.screenshots $(ARGS)

soak: $(VENV)/.installed ## An hour of kills, rescales, outages and edits; ARGS="--minutes 5 --seed 1"
	$(BIN)/python -m tests.distributed.soak $(ARGS)

bench: $(VENV)/.installed ## Next to a plain read of the same bytes, and beside other loaders; ARGS=--quick; ARGS=--check finds slower paths
	$(BIN)/python -m benchmarks $(ARGS)

format: $(VENV)/.installed frontend/node_modules/.installed ## Put every file into the project's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	cd frontend && npm run --silent format

openapi: $(VENV)/.installed frontend/node_modules/.installed ## Write the API's description and the client's types anew
	$(BIN)/headrace-server openapi > frontend/src/api/openapi.json
	cd frontend && npm run --silent api:generate

clean: ## Remove what make made
	rm -rf $(VENV) frontend/node_modules tests/e2e/node_modules $(STATIC)

$(VENV)/.installed: requirements-dev.txt loader/pyproject.toml backend/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Headrace needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1). Set PYTHON=…"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

frontend/node_modules/.installed: frontend/package-lock.json
	@command -v node >/dev/null || { echo "Headrace needs Node.js 20 or newer to build the dashboard"; exit 1; }
	cd frontend && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

tests/e2e/node_modules/.installed: tests/e2e/package-lock.json
	cd tests/e2e && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

$(STATIC)/index.html: frontend/node_modules/.installed $(shell find frontend/src frontend/public frontend/index.html frontend/vite.config.ts -type f 2>/dev/null)
	cd frontend && npm run --silent build
