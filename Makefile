# One line a target: each calls the command that a person can type too. ENV names the environment.
.DEFAULT_GOAL := help
.PHONY: help setup engine up preview down fidelity test slow crashes lint fuzz goldens bench docs
ENV ?= dev
FLEET := .venv/bin/fleet
# Tests at a time (0: in one process): two, where Linux lets two datacentres watch their files.
WORKERS ?= $(shell [ "$$(cat /proc/sys/fs/inotify/max_user_instances 2>/dev/null || echo 0)" -ge 512 ] && echo 2 || echo 0)
# One pool that does not come up keeps no other from it.
export PULUMI_CONTINUE_ON_ERROR := true

help:  ## what there is to call
	@sed -n 's/^\([a-z]*\): .*## /make \1\t/p' Makefile | expand -t 16

setup:  ## the Python environment from the lock file (and Debian packages that it needs, when root)
	@sh engine/setup.sh

engine: setup  ## find or build pulumi, its kubernetes provider and the control-plane binaries
	@$(FLEET) engine build

up: setup  ## bring ENV (default dev) up and print its table
	@$(FLEET) up --env $(ENV)

preview: setup  ## say what `make up` would change
	@$(FLEET) preview --env $(ENV)

down: setup  ## remove ENV, or list what is protected
	@$(FLEET) down --env $(ENV)

test: engine  ## all tests but the slow ones, with a summary of what was skipped and why
	@.venv/bin/python -m pytest -m "not slow" -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(ARGS)

slow: engine  ## the slow tests: moves between sites, every force-new path through the engine, faults
	@.venv/bin/python -m pytest -m "slow and not crashes" $(ARGS)

crashes: engine  ## engine, providers and program killed at 30 points, recovered, counted (about half an hour)
	@.venv/bin/python -m pytest -s -m crashes $(ARGS)

fidelity: setup  ## changes whose class the providers' sources give, by cloud, type and class; each difference
	@.venv/bin/python -m pytest tests/fidelity $(ARGS)

lint: setup  ## ruff and mypy
	@.venv/bin/ruff check . && .venv/bin/ruff format --check . && .venv/bin/mypy .

fuzz: setup  ## random specs for two minutes: a plan or an error of ours, or it says what broke
	@.venv/bin/python -m tests.fuzz $(ARGS)

goldens: setup  ## record the golden files again, docs/recipes among them; read the diff in review
	@RECORD_GOLDENS=1 .venv/bin/python -m pytest -q tests/pure/test_bad_input.py tests/wiring/test_recipes.py $(ARGS)

bench: engine  ## measure what the README promises
	@.venv/bin/python -m bench $(ARGS)

docs: setup  ## write the generated files of docs/ anew
	@$(FLEET) schema > docs/fleet.schema.json
