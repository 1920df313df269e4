# The two commands of a fresh checkout: `make demo` and `make test`. `make` alone lists all. CONTRIBUTING.md has a table of
# the tiers `quick`, `test` and `thorough`.
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
export PIP_QUIET := 1
# Each process of a test would compile the whole package again.
unexport PYTHONDONTWRITEBYTECODE

RUST_MIN := $(shell sed -n 's/^rust-version = "\(.*\)"$$/\1/p' Cargo.toml)
RUST_INSTALL = $(if $(shell command -v rustup),rustup update stable,install rustup (package of your distribution, or \
	rust-lang.org/tools/install), then: rustup default stable)

# Debian packages that only tests need, and the program of each that is looked for.
TEST_PACKAGES := strace:strace chromium:chromium e2fsprogs:mkfs.ext4 btrfs-progs:mkfs.btrfs xfsprogs:mkfs.xfs
# The same for `make bench-peers`; PEERS holds its options, such as PEERS="--only cached --rounds 9".
PEER_PACKAGES := fio:fio e2fsprogs:mkfs.ext4
PEERS ?=
# Options of `make bench-devices`, such as DEVICES="--rounds 10 --folder /mnt/scratch".
DEVICES ?=
# Processes of the Python tests, and threads of Rust tests in `make quick`: more than processors, because many tests wait.
WORKERS ?= $(shell expr 2 '*' "$$(nproc)")
# `make quick` tests what differs from this commit, with what is not committed yet.
BASE ?= HEAD
CHANGED = $(shell { git diff --name-only $(BASE) --; git ls-files --others --exclude-standard; } 2>/dev/null)
# Most tests of mileage-profile are in mileage-drive.
CHANGED_CRATES = $(sort $(foreach path,$(filter crates/%,$(CHANGED)),$(word 2,$(subst /, ,$(path)))) \
	$(if $(filter crates/mileage-profile/%,$(CHANGED)),mileage-drive))
# The everyday build has no link-time optimisation; wheels and benchmarks have.
BUILD ?= --profile dev
# What a build says is shown when it fails.
MATURIN = quietly() { log=$$(mktemp); "$$@" >"$$log" 2>&1 || { cat "$$log" >&2; rm -f -- "$$log"; return 1; }; \
	rm -f -- "$$log"; }; quietly $(BIN)/maturin develop --locked
CARGO_OUT := $(or $(CARGO_TARGET_DIR),target)

export STEPS_BEGAN := $(or $(STEPS_BEGAN),$(shell date +%s))
# One line per step of a build, with the seconds since `make` was called.
step = @printf '[%3d s] %s\n' "$$(($$(date +%s) - $(STEPS_BEGAN)))" '$(1)'

.PHONY: help install mutants demo quick quick-lint quick-rust quick-python test-all thorough durations test test-rust test-rust-rest test-python test-python-rest test-rest lint lint-rust lint-python stubs check-stubs bench bench-judge bench-peers bench-devices bench-tools bench-scale bench-import bench-page bench-start wheel check-wheel docs fuzz-import fuzz-folder kills pictures packages \
	need-rust need-lints need-python clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Compiles while packages are fetched.
BUILD_BOTH = $(MAKE) --no-print-directory -j 2

# Prints how long a part took: $(call timed,NAME,COMMAND).
timed = @start=$$SECONDS; $(2); echo "time of $(1): $$((SECONDS - start)) s"

install: ## build into .venv; afterwards .venv/bin/mileage is the command
	@$(BUILD_BOTH) $(STAMPS)/installed

demo: install ## build, then ask of a published change on a virtual drive: was it the drive or the host?
	@if [ -e "$(DEMO)/plan.json" ]; then rm -rf -- "$(DEMO)"; fi
	@$(BIN)/mileage run drive-or-host --out "$(DEMO)"

quick: need-rust need-python ## formats, lints, types, fast tests, and the tests of what changed since BASE; one to four minutes
	@$(BUILD_BOTH) $(STAMPS)/dev
	$(call at_once,quick-lint quick-rust,$(MAKE) --no-print-directory quick-python)

quick-python: $(STAMPS)/dev
	@$(BIN)/pytest -q -n "$$(nproc)" --tier=quick "--changed=$(CHANGED)"

quick-lint: $(STAMPS)/dev
	@$(MAKE) --no-print-directory lint-python
	@if [ -n "$(CHANGED_CRATES)" ]; then \
		cargo fmt --all --check; \
		$(CLIPPY) --quiet $(addprefix -p ,$(CHANGED_CRATES)) --all-targets -- -D warnings; \
	fi

quick-rust: need-rust
	@if [ -n "$(filter-out mileage-python,$(CHANGED_CRATES))" ]; then \
		RUST_TEST_THREADS=$(WORKERS) cargo test --quiet --locked $(addprefix -p ,$(filter-out mileage-python,$(CHANGED_CRATES))) --tests; \
	fi

test: need-rust need-python ## all lints, types, stubs, Rust and Python tests; ten minutes
	$(call timed,building,$(BUILD_BOTH) packages $(STAMPS)/dev)
	$(call timed,lints and tests,$(MAKE) --no-print-directory test-all)

thorough: test ## `make test`, then long random searches, mutants, damaged files, 500 kills, lost ranks; hours
	$(call timed,long random searches in Rust,PROPTEST_CASES=2000 MILEAGE_TEST_PROFILE=thorough $(MAKE) --no-print-directory test-rust)
	$(call timed,long random searches in Python,MILEAGE_TEST_PROFILE=thorough $(BIN)/pytest -q -n $(WORKERS) --tier=thorough --timeout 3600)
	$(call timed,mutants,$(MAKE) --no-print-directory mutants)
	$(call timed,damaged files,$(MAKE) --no-print-directory fuzz-import)
	$(call timed,kills,$(MAKE) --no-print-directory kills)
	$(call timed,damaged folders,$(MAKE) --no-print-directory fuzz-folder)
	$(call timed,lost ranks,for turn in $$(seq 30); do $(BIN)/pytest -q tests/execute/test_mpi_losses.py; done)

# Many tests wait for a device or a time limit, so other targets are made at the same time; their output follows.
# $(call at_once,TARGETS,COMMAND)
at_once = @logs=$$(mktemp -d); started=$$SECONDS; trap 'trap - INT TERM; kill 0' INT TERM; made=; \
	for part in $(1); do \
		{ "$(MAKE)" --no-print-directory $$part 2>&1 && echo "time of $$part: $$((SECONDS - started)) s"; } >"$$logs/$$part" & \
		made="$$made $$!"; \
	done; \
	status=0; $(2) || status=1; \
	for one in $$made; do wait "$$one" || status=1; done; \
	cat "$$logs"/*; rm -rf -- "$$logs"; \
	exit $$status

test-all:
	$(call at_once,lint test-rust,$(MAKE) --no-print-directory test-python)

# The unit tests of mileage-drive need a second build of the largest crate: `make test-rest` has them, and `make quick` after
# a change of that crate. Always the whole workspace: with other features the dependencies would be built again.
test-rust: $(STAMPS)/dev packages ## Rust tests: in tests/, and unit tests but for those of mileage-drive
	$(CARGO_TEST) --workspace --test '*'
	$(CARGO_TEST) --workspace --exclude mileage-drive --lib

LONG_RUST := a_shingled_disk_is_as_fast_as_one_that_is_simulated a_counter_of_duplicates_finds_the_nominal_share
test-rust-rest: $(STAMPS)/dev ## Rust tests: all unit tests, of documents, benchmarks on small sizes, the longest ones in full
	$(CARGO_TEST) --workspace --lib --benches --examples
	$(CARGO_TEST) --workspace --doc
	MILEAGE_TEST_PROFILE=thorough $(CARGO_TEST) --workspace --test '*' -- $(LONG_RUST)

test-python: $(STAMPS)/dev packages ## Python tests on the installed package
	$(BIN)/pytest -n $(WORKERS) --durations 20
	@$(BIN)/python -m tests.durations

test-rest: $(STAMPS)/dev packages ## what `make test` does not run: Rust, and the Python cases not drawn by the same MILEAGE_TEST_SEED
	$(call at_once,test-rust-rest,$(MAKE) --no-print-directory test-python-rest)

test-python-rest: $(STAMPS)/dev packages
	$(BIN)/pytest -n $(WORKERS) --tier rest
	@$(BIN)/python -m tests.durations

durations: $(STAMPS)/dev packages ## run all Python tests and accept their durations as the new reference
	$(BIN)/pytest -q -n $(WORKERS) --tier whole
	@$(BIN)/python -m tests.durations --accept

lint: lint-rust lint-python check-stubs ## format, clippy, rustdoc, ruff, mypy, generated stubs

# The settings of `maturin develop`: with others, clippy and tests would build pyo3 again, and so would the next maturin.
AS_MATURIN = PYO3_BUILD_EXTENSION_MODULE=1 \
	PYO3_CONFIG_FILE="$$(ls -t "$(abspath $(CARGO_OUT))"/maturin/pyo3-config-*.txt | head -n 1)"
CLIPPY = $(AS_MATURIN) cargo clippy --locked
CARGO_TEST = $(AS_MATURIN) cargo test --locked

lint-rust: need-lints $(STAMPS)/dev
	cargo fmt --all --check
	$(CLIPPY) --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --quiet --locked --workspace --no-deps

lint-python: $(STAMPS)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

stubs: $(STAMPS)/dev ## generate python/mileage/_core.pyi from the compiled core
	@mkdir -p $(STAMPS)/stubs
	$(BIN)/maturin generate-stubs --quiet --locked $(BUILD) --out $(STAMPS)/stubs
	cp $(STAMPS)/stubs/mileage/_core.pyi python/mileage/_core.pyi

check-stubs: $(STAMPS)/dev
	@mkdir -p $(STAMPS)/stubs
	$(BIN)/maturin generate-stubs --quiet --locked $(BUILD) --out $(STAMPS)/stubs
	@diff -u python/mileage/_core.pyi $(STAMPS)/stubs/mileage/_core.pyi \
	|| { echo "python/mileage/_core.pyi is not what the core says; run: make stubs" >&2; exit 1; }

bench: need-rust ## Rust benchmarks (`make test` runs the same code on small sizes)
	cargo bench --locked --workspace --exclude mileage-python --benches

bench-judge: $(STAMPS)/release ## judge a million samples: processor time and memory, next to the goal
	@$(BIN)/python -m benchmarks.judgement

bench-scale: $(STAMPS)/release ## a study of 36,000 runs: planned, killed twice, finished, queried; 8 minutes
	$(BIN)/python -m benchmarks.scale

bench-import: $(STAMPS)/release ## import a gigabyte of fio logs: time and memory, next to the goal; a minute
	$(BIN)/python -m benchmarks.importing

bench-page: $(STAMPS)/release packages ## the page of 414 cells and of 36,000 runs: size, time, scrolling; 20 minutes, 4 GB
	$(BIN)/python -m benchmarks.page

bench-start: $(STAMPS)/release ## processor time of three short commands, median of 20 runs each, next to the goals
	@$(BIN)/python -m benchmarks.start_up

wheel: $(STAMPS)/dev ## build the wheel with manual pages and completions into target/wheels
	@rm -rf -- $(STAMPS)/wheel && mkdir -p $(STAMPS)/wheel
	$(BIN)/maturin build --quiet --locked --release --out $(STAMPS)/wheel
	@# maturin packs no files for the prefix: they are added to what it built.
	@cd $(STAMPS)/wheel && $(VIRTUAL_ENV)/bin/wheel unpack *.whl && cd mileage-*/ \
		&& $(VIRTUAL_ENV)/bin/python -m mileage.cli.manual_pages "$$(basename "$$PWD").data/data/share"
	@$(BIN)/wheel pack --dest-dir $(CARGO_OUT)/wheels $(STAMPS)/wheel/mileage-*/
	@du -h $(CARGO_OUT)/wheels/*.whl

check-wheel: wheel ## install that wheel by pip and by pipx into clean environments, and use it, its manual and its completion
	bash tests/wheel.sh $(CARGO_OUT)/wheels

docs: $(STAMPS)/tools ## the documentation as a site in .build/site; a warning is an error
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict
	@echo ".build/site/index.html"

pictures: $(STAMPS)/dev packages ## make docs/pictures again from runs of the built-in studies; some minutes
	$(BIN)/python docs/make_pictures.py

kills: $(STAMPS)/dev packages ## kill -9 at 500 random instants: nothing lost, nothing left behind; half an hour
	$(BIN)/python -m tests.execute.kills 500

fuzz-import: $(STAMPS)/dev ## import 100,000 damaged result files: read or refused, never a crash; minutes
	$(BIN)/python -m tests.formats.test_hostile 100000

fuzz-folder: $(STAMPS)/dev ## open 20,000 damaged study folders: no traceback, no write outside; 20 minutes
	MILEAGE_REPORT=text $(BIN)/python -m tests.app.test_damaged_folders 20000

bench-peers: need-rust need-python ## compare with fio, bare loops and other installed load generators; 6 minutes
	@$(MAKE) --no-print-directory packages TEST_PACKAGES="$(PEER_PACKAGES)"
	cargo build --quiet --locked --release -p mileage-engine --examples
	@mkdir -p "$(CARGO_OUT)"
	@$(PYTHON) -m benchmarks.peers --engine "$(CARGO_OUT)/release/examples" --folder "$(CARGO_OUT)" $(PEERS)

bench-devices: $(STAMPS)/release ## compare with hdparm and dd on a loop device limited to 200 MiB/s; root, 4 minutes
	@$(BIN)/python -m benchmarks.devices --gib 3 --mib 512 --limit 200 $(DEVICES)

bench-tools: $(STAMPS)/release ## drop-in commands next to the iozone, ior, mdtest and fio in TOOLS=DIR; root, 10 minutes
	@$(BIN)/python -m benchmarks.dropin_speed --real "$(TOOLS)"

mutants: need-rust ## plant known bugs in the crates and check that a test catches each; some minutes
	$(PYTHON) crates/mutants.py

packages: ## Debian packages that only tests need: installed as root, listed otherwise
	@missing=""; \
	for pair in $(TEST_PACKAGES); do \
		PATH="$$PATH:/usr/sbin:/sbin" command -v "$${pair#*:}" >/dev/null || missing="$$missing $${pair%%:*}"; \
	done; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "installing$$missing"; \
		export DEBIAN_FRONTEND=noninteractive; \
		{ apt-get -qq update && apt-get -qq install -y --no-install-recommends $$missing; } </dev/null >/dev/null \
		|| echo "could not install$$missing: tests that need them are skipped and listed"; \
	else \
		echo "not installed:$$missing; tests that need them are skipped and listed"; \
	fi

need-rust:
	@for tool in cargo rustc; do \
		command -v $$tool >/dev/null || { \
			echo "$$tool is missing; Rust $(RUST_MIN) or later is needed. To install it: $(RUST_INSTALL)" >&2; exit 2; }; \
	done
	@rustc --version >/dev/null || { echo "rustc does not run, for the reason above" >&2; exit 2; }
	@found=$$(rustc --version | cut -d ' ' -f 2); \
	[ "$$(printf '%s\n' "$(RUST_MIN)" "$$found" | sort -V | head -n 1)" = "$(RUST_MIN)" ] || { \
		echo "found Rust $$found; $(RUST_MIN) or later is needed. To install it: $(RUST_INSTALL)" >&2; exit 2; }
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

$(STAMPS)/venv: pyproject.toml | need-rust need-python
	$(call step,making a virtual environment in $(VENV))
	@mkdir -p $(STAMPS)
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet "maturin==1.16.0"
	@touch $@

# What pyproject.toml names is fetched while the core is compiled: $(call fetch,EXTRAS). Modules are compiled when they
# are first imported; most never are.
fetch = @$(BIN)/python -c 'import sys, tomllib; \
	named = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	print(*named["dependencies"], *(line for key in sys.argv[1:] for line in named["optional-dependencies"][key]), sep="\n")' \
	$(1) > $@.part && $(BIN)/python -m pip install --quiet --no-compile -r $@.part && mv $@.part $@

$(STAMPS)/fetched: pyproject.toml | $(STAMPS)/venv
	$(call step,fetching the packages that it needs)
	$(call fetch,)

$(STAMPS)/tools: pyproject.toml | $(STAMPS)/venv
	$(call step,fetching the tools of the tests)
	$(call fetch,dev)

$(STAMPS)/core: $(STAMPS)/venv $(CRATES) | need-rust
	$(call step,building the core: two minutes the first time)
	@$(MATURIN) --skip-install $(BUILD)
	@touch $@

$(STAMPS)/installed: $(STAMPS)/core $(STAMPS)/fetched
	$(call step,installing)
	@$(MATURIN) $(BUILD)
	@rm -f $(STAMPS)/release
	@touch $@

$(STAMPS)/dev: $(STAMPS)/core $(STAMPS)/tools
	$(call step,installing)
	@$(MATURIN) $(BUILD)
	@rm -f $(STAMPS)/release
	@touch $@ $(STAMPS)/installed $(STAMPS)/fetched

# The extension as a wheel holds it, for benchmarks; what needs the one for development afterwards builds it again.
$(STAMPS)/release: $(STAMPS)/venv pyproject.toml $(CRATES) | need-rust
	$(call step,building the core with all optimisations)
	@$(MATURIN) --release --extras dev
	@rm -f $(STAMPS)/core $(STAMPS)/installed
	@touch $@

clean: ## remove build results
	rm -rf -- target $(VENV) $(STAMPS) demo-study .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find python tests -name __pycache__ -type d -prune -exec rm -rf -- {} +
	rm -f -- python/mileage/_core*.so
