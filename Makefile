# The two commands of a fresh checkout: `make demo` and `make test`. `make` alone lists all.
# Needs Rust (cargo, rustfmt, clippy), Python 3.11 or later with venv, gcc and make; the rest is fetched into .venv.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

PYTHON ?= python3
DEMO ?= demo-study
VENV := .venv
BIN := $(VENV)/bin
STAMPS := .build
CRATES := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock
# One interpreter for every build, or cargo rebuilds the binding each time the caller changes.
export PYO3_PYTHON := $(abspath $(BIN)/python)
export VIRTUAL_ENV := $(abspath $(VENV))
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1

# Debian packages that only tests need, and the program of each that is looked for.
TEST_PACKAGES := strace:strace chromium:chromium e2fsprogs:mkfs.ext4 btrfs-progs:mkfs.btrfs xfsprogs:mkfs.xfs
# The same for `make bench-peers`; PEERS holds its options, such as PEERS="--only cached --rounds 9".
PEER_PACKAGES := fio:fio e2fsprogs:mkfs.ext4
PEERS ?=
# Options of `make bench-devices`, such as DEVICES="--rounds 10 --folder /mnt/scratch".
DEVICES ?=
CARGO_OUT := $(or $(CARGO_TARGET_DIR),target)

.PHONY: help mutants demo test test-rust test-python lint lint-rust lint-python stubs check-stubs bench bench-judge bench-peers bench-devices bench-scale bench-import bench-page fuzz-import pictures packages \
	need-rust need-lints need-python clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(STAMPS)/installed ## build what is missing, run the default study on a virtual drive, print the verdict
	@if [ -e "$(DEMO)/plan.json" ]; then rm -rf -- "$(DEMO)"; fi
	@$(BIN)/mileage run --out "$(DEMO)"

test: lint test-rust test-python ## everything that must hold: lints, types, stubs, Rust and Python tests

test-rust: need-rust packages ## Rust tests (the binding crate has no logic; Python tests it)
	cargo test --locked --workspace --exclude mileage-python
	cargo test --locked --workspace --exclude mileage-python --bench '*'

test-python: $(STAMPS)/dev packages ## Python tests, on the installed package
	$(BIN)/pytest

lint: lint-rust lint-python check-stubs ## format, clippy, ruff, mypy, generated stubs

lint-rust: need-lints $(STAMPS)/venv
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings

lint-python: $(STAMPS)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

stubs: $(STAMPS)/dev ## write python/mileage/_core.pyi from the compiled core
	@mkdir -p $(STAMPS)/stubs
	$(BIN)/maturin generate-stubs --quiet --locked --profile release --out $(STAMPS)/stubs
	cp $(STAMPS)/stubs/mileage/_core.pyi python/mileage/_core.pyi

check-stubs: $(STAMPS)/dev
	@mkdir -p $(STAMPS)/stubs
	$(BIN)/maturin generate-stubs --quiet --locked --profile release --out $(STAMPS)/stubs
	@diff -u python/mileage/_core.pyi $(STAMPS)/stubs/mileage/_core.pyi \
	|| { echo "python/mileage/_core.pyi is not what the core says; run: make stubs" >&2; exit 1; }

bench: need-rust ## Rust benchmarks (the same code runs small in `make test`)
	cargo bench --locked --workspace --exclude mileage-python --benches

bench-judge: $(STAMPS)/installed ## a million samples judged: processor time and memory, beside the goal
	@$(BIN)/python -m benchmarks.judgement

bench-scale: $(STAMPS)/dev ## A study of 36,000 runs: planned, killed twice, finished, asked; 8 minutes
	$(BIN)/python -m benchmarks.scale

bench-import: $(STAMPS)/dev ## a gigabyte of fio's logs imported: time and memory, beside the goal; a minute
	$(BIN)/python -m benchmarks.importing

bench-page: $(STAMPS)/dev packages ## The page of 414 cells x 10 runs and of 36,000 runs: size, time to make it, scrolling; 20 minutes, 4 GB
	$(BIN)/python -m benchmarks.page

pictures: $(STAMPS)/dev packages ## docs/pictures again, from runs of the built-in studies; some minutes
	$(BIN)/python docs/make_pictures.py

fuzz-import: $(STAMPS)/dev ## 100,000 damaged result files: none fails but by a refusal; minutes
	$(BIN)/python -m tests.formats.test_hostile 100000

bench-peers: need-rust need-python ## Mileage beside fio, bare loops and other load generators that are here; 6 minutes
	@$(MAKE) --no-print-directory packages TEST_PACKAGES="$(PEER_PACKAGES)"
	cargo build --quiet --locked --release -p mileage-engine --examples
	@mkdir -p "$(CARGO_OUT)"
	@$(PYTHON) -m benchmarks.peers --engine "$(CARGO_OUT)/release/examples" --folder "$(CARGO_OUT)" $(PEERS)

bench-devices: need-python ## hdparm and dd beside Mileage on one loop device held to 200 MiB/s, in turn; needs root, 4 minutes
	@$(BIN)/python -m benchmarks.devices --gib 3 --mib 512 --limit 200 $(DEVICES)

mutants: need-rust ## plant the kept bugs in the virtual drives, one by one, and see each caught (some minutes of CPU time)
	$(PYTHON) crates/mileage-drive/mutants/run.py

packages: ## Debian packages that only tests need: installed when root, named when not
	@missing=""; \
	for pair in $(TEST_PACKAGES); do \
		PATH="$$PATH:/usr/sbin:/sbin" command -v "$${pair#*:}" >/dev/null || missing="$$missing $${pair%%:*}"; \
	done; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "installing$$missing"; \
		export DEBIAN_FRONTEND=noninteractive; \
		{ apt-get -qq update && apt-get -qq install -y --no-install-recommends $$missing; } </dev/null >/dev/null \
		|| echo "could not install$$missing: what needs them is left out and named"; \
	else \
		echo "not installed:$$missing; what needs them is left out and named"; \
	fi

need-rust:
	@command -v cargo >/dev/null || { echo "cargo is missing: install Rust 1.89 or later" >&2; exit 2; }
	@command -v rustc >/dev/null || { echo "rustc is missing: install Rust 1.89 or later" >&2; exit 2; }
	@rustc --version >/dev/null || { echo "rustc does not run, for the reason above" >&2; exit 2; }
	@command -v cc >/dev/null || { echo "cc is missing: install gcc" >&2; exit 2; }

need-lints: need-rust
	@cargo fmt --version >/dev/null 2>&1 || { echo "cargo fmt is missing: rustup component add rustfmt" >&2; exit 2; }
	@cargo clippy --version >/dev/null 2>&1 || { echo "cargo clippy is missing: rustup component add clippy" >&2; exit 2; }

need-python:
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) is missing: install Python 3.11 or later" >&2; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	|| { echo "$(PYTHON) is $$($(PYTHON) --version); 3.11 or later is needed: make PYTHON=python3.11" >&2; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
	|| { echo "$(PYTHON) has no venv or pip: install python3-venv" >&2; exit 2; }

$(STAMPS)/venv: pyproject.toml | need-python
	@mkdir -p $(STAMPS)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet "maturin==1.16.0"
	@touch $@

$(STAMPS)/installed: $(STAMPS)/venv $(CRATES) | need-rust
	@echo "building the core and fetching what it needs; the first time takes a few minutes"
	$(BIN)/maturin develop --locked --release
	@touch $@

$(STAMPS)/dev: pyproject.toml | $(STAMPS)/installed
	$(BIN)/maturin develop --locked --release --quiet --extras dev
	@touch $@

clean: ## remove what was built here
	rm -rf -- target $(VENV) $(STAMPS) demo-study .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find python tests -name __pycache__ -type d -prune -exec rm -rf -- {} +
	rm -f -- python/mileage/_core*.so
