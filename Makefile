# What a person and CI run. `make` alone prints the list. Environments are in .venvs; a stamp file marks each finished
# step, so that a second run goes straight to the tests.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:

PYTHON ?= $(firstword $(shell command -v python3.11 || command -v python3) python3)
PYTEST_ARGS ?= -q -n auto
BENCH_ARGS ?=
COUNT ?= 500
SEED ?= 1000
HARNESS_ARGS ?=
VENVS := .venvs
NEWEST := $(VENVS)/newest/bin
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check

# Cargo and maturin must see one interpreter, else pyo3 is built anew at each change between them.
export PYO3_PYTHON := $(CURDIR)/$(NEWEST)/python

PACKAGE := Cargo.toml Cargo.lock pyproject.toml README.md LICENSE \
	$(shell find crates python -type f -not -name '*.so' -not -path '*/__pycache__/*')

.PHONY: help
help: ## print this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

.PHONY: demo
demo: $(VENVS)/demo/.package ## make an environment, install the package and run its demo
	$(VENVS)/demo/bin/remit demo

.PHONY: test
test: system test-rust proofs lint test-pins test-newest ## everything CI runs: lints and tests, on both version sets

.PHONY: test-rust
test-rust: $(VENVS)/newest/.host ## the Rust tests
	if cargo nextest --version >/dev/null 2>&1; then \
		cargo nextest run --locked --workspace --no-tests=pass && cargo test --locked --workspace --doc; \
	else \
		cargo test --locked --workspace; \
	fi

.PHONY: test-pins
test-pins: $(VENVS)/pins/.wheel ## the Python tests on the oldest supported LangGraph
	$(VENVS)/pins/bin/python -m pytest $(PYTEST_ARGS) --ignore tests/proof

.PHONY: kill-points
kill-points: $(VENVS)/newest/.wheel ## effects under SIGKILL at every persistence operation and effect boundary; prints the table
	REMIT_EVERY_POINT=1 $(NEWEST)/python -m pytest -q -s tests/contract/test_effects_killed.py

.PHONY: test-newest
test-newest: $(VENVS)/newest/.wheel ## the Python tests on the newest supported LangGraph
	$(NEWEST)/python -m pytest $(PYTEST_ARGS)

.PHONY: lint
lint: $(VENVS)/newest/.tools $(VENVS)/newest/.wheel ## formatting, lints, types, and the stubs against the binary
	cargo fmt --all -- --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	$(NEWEST)/ruff check .
	$(NEWEST)/ruff format --check .
	$(NEWEST)/mypy --strict
	$(NEWEST)/pyright --pythonpath $(NEWEST)/python
	@# From another directory, so that the installed module is compared. Without a stub, stubtest would say "success".
	test -f python/remit/_core.pyi
	cd $(VENVS) && newest/bin/python -m mypy.stubtest remit._core

.PHONY: proofs
proofs: ## scan the proofs, check their names and types; discharges nothing
	$(PYTHON) proof/audit.py scan
	$(PYTHON) proof/audit.py typecheck

.PHONY: verify
verify: ## verify the core and all machines: make verify VERUS=path/to/verus
	$(PYTHON) proof/audit.py verify $(VERUS)

.PHONY: verify-negative
verify-negative: ## the verifier must reject each wrong rule: VERUS=path/to/verus
	$(PYTHON) proof/audit.py negative $(VERUS)

CHAOS_ARGS ?= --schedules 300

.PHONY: chaos
chaos: system $(VENVS)/newest/.wheel ## hundreds of schedules of competing workers, killed, stopped and failing, against a reference
	$(NEWEST)/python tests/chaos/chaos.py --backend sqlite $(CHAOS_ARGS)
	$(NEWEST)/python tests/chaos/chaos.py --backend postgres $(CHAOS_ARGS)

.PHONY: hosts
hosts: system $(VENVS)/newest/.wheel ## the gate between hosts: three network namespaces, a partition, a bad network (as root)
	$(NEWEST)/python -m pytest -q -rs tests/hosts

.PHONY: bench
bench: system $(VENVS)/newest/.wheel ## time the interrupt protocol, stock against wrapped
	$(NEWEST)/python benchmarks/python/protocol.py $(BENCH_ARGS)
	$(NEWEST)/python benchmarks/python/protocol.py --gate $(BENCH_ARGS)

$(VENVS)/dbos/.made: harness/envs/dbos-3.4.0.txt
	$(PYTHON) -m venv --clear $(VENVS)/dbos
	$(VENVS)/dbos/bin/python $(PIP_INSTALL) -r $<
	touch $@

.PHONY: bench-effect
bench-effect: system $(VENVS)/newest/.wheel $(VENVS)/dbos/.made ## time an effect beside a bare call and beside a step of DBOS
	$(NEWEST)/python benchmarks/python/effect.py --dbos $(VENVS)/dbos/bin/python $(BENCH_ARGS)

.PHONY: bench-pending
bench-pending: system $(VENVS)/newest/.wheel ## time the listing of open questions beside much history, with its index and without
	$(NEWEST)/python benchmarks/python/pending.py $(BENCH_ARGS)

.PHONY: race
race: system $(VENVS)/newest/.wheel ## racers for one answer: how many fire, and how long a refusal takes
	$(NEWEST)/python benchmarks/python/race.py

.PHONY: bench-model
bench-model: $(VENVS)/newest/.wheel ## time the complete search of seven million states, on one core
	cargo build --locked --quiet --release -p remit-model
	$(NEWEST)/python benchmarks/python/scaled.py

.PHONY: model
model: ## count every pinned run of models/ anew, and hold the core against the model
	cargo run --locked --quiet --release -p remit-model -- all
	cargo run --locked --quiet --release -p remit-model -- conform

.PHONY: model-scaled
model-scaled: ## the three complete searches of seven million states, pinned
	cargo test --locked --release -p remit-model --features scaled --test pinned scaled

.PHONY: model-traces
model-traces: $(VENVS)/newest/.wheel ## replay COUNT more random traces of the model on LangGraph, from SEED on
	cargo run --locked --quiet --release -p remit-model -- traces $(COUNT) $(SEED) > $(VENVS)/traces.jsonl
	REMIT_TRACES=$(VENVS)/traces.jsonl $(NEWEST)/python -m pytest $(PYTEST_ARGS) tests/model/test_traces.py

.PHONY: model-planted
model-planted: $(VENVS)/newest/.host ## plant faults in copies of the core; the model must catch each
	$(NEWEST)/python crates/remit-model/planted.py

.PHONY: mutants
mutants: ## change the core, one operator at a time; its tests must notice (needs cargo-mutants, and most of an hour)
	cargo mutants --package remit-core

.PHONY: model-proof
model-proof: $(VENVS)/newest/.host ## prove the contract for runs of any size with z3 and cvc5; see each fault break the proof
	$(NEWEST)/python models/smt/prove.py

.PHONY: harness
harness: system dist/.built ## play the contract on every framework, and make the matrix (3.4 GB of environments)
	$(NEWEST)/python harness/run.py $(HARNESS_ARGS)

.PHONY: harness-check
harness-check: system dist/.built ## the same, compared with the committed results
	$(NEWEST)/python harness/run.py --check $(HARNESS_ARGS)

.PHONY: harness-test
harness-test: system $(VENVS)/newest/.wheel ## the tests of the harness and of `remit conform`
	$(NEWEST)/python -m pytest $(PYTEST_ARGS) tests/harness tests/conform

.PHONY: wheel
wheel: dist/.built ## build the wheel into dist/

.PHONY: clean
clean: ## remove the environments, the wheel and all build output
	rm -rf $(VENVS) dist target proof/target .pytest_cache .hypothesis .mypy_cache .ruff_cache

.PHONY: system
system:
	@PYTHON=$(PYTHON) .ci/system

# The demo is installed as a user would: pip builds the package itself.
$(VENVS)/demo/.package: $(PACKAGE) requirements/newest.txt
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/python $(PIP_INSTALL) --constraint requirements/newest.txt '.[cli,sqlite]'
	touch $@

$(VENVS)/%/.host: requirements/%.txt requirements/test.txt
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/python $(PIP_INSTALL) -r requirements/$*.txt -r requirements/test.txt
	touch $@

$(VENVS)/newest/.tools: requirements/tools.txt $(VENVS)/newest/.host
	$(@D)/bin/python $(PIP_INSTALL) -r $<
	touch $@

# One wheel for every environment: what is tested is what ships.
dist/.built: $(PACKAGE) $(VENVS)/newest/.tools
	rm -rf dist
	$(NEWEST)/maturin build --quiet --release --locked --interpreter $(NEWEST)/python --out dist
	touch $@

$(VENVS)/%/.wheel: dist/.built $(VENVS)/%/.host
	$(@D)/bin/python $(PIP_INSTALL) --force-reinstall --no-deps dist/*.whl
	$(@D)/bin/python -m pip check
	touch $@

# Make must not delete the stamps as intermediate files.
.SECONDARY:
