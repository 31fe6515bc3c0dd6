# One word per job, the same at home and in CI. Needs Rust, Python 3.11, gcc and make; everything else is installed into
# .tools and .venv by the first job that wants it.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
PY := .venv/bin/python
JOBS ?= 2
READY := ready: $(PY) FILE runs a file that imports bakeoff, bakeoff.gym or gymnasium

.PHONY: help env test test-full lint fmt bench bench-htsim bench-ratios bench-emu bench-linux bench-gym bench-schemes docs lock deny clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

env: ## prepare .venv with the tools of a developer
	@scripts/prepare.sh dev
	@$(if $(filter env,$(MAKECMDGOALS)),echo "$(READY)" >&2,:)

test: env ## the tests that a change must pass, Rust and Python
	cargo test --locked --workspace
	$(PY) -m pytest -m "realtime and not slow"
	$(PY) -m pytest -n $(JOBS) -m "not realtime and not slow"

test-full: env ## all tests, the slow ones and the release build's too
	cargo test --locked --workspace --release -- --include-ignored
	$(PY) -m pytest -m realtime
	$(PY) -m pytest -n $(JOBS) -m "not realtime"

lint: env ## formatting, lints, types, stubs, locks and generated pages; changes nothing
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	$(PY) -m ruff format --check
	$(PY) -m ruff check
	$(PY) -m mypy
	$(PY) -m mypy.stubtest bakeoff._core
	$(PY) scripts/reference.py --check

fmt: env ## format the sources, and mend what the linter can mend
	cargo fmt --all
	$(PY) -m ruff check --fix-only --quiet
	$(PY) -m ruff format

bench: env ## packets per CPU second, beside ns-3
	$(PY) benches/run.py

bench-htsim: env ## packets per CPU second, beside htsim (needs a checkout: HTSIM=.../csg-htsim/sim)
	$(PY) benches/htsim.py

bench-ratios: env ## user CPU of schemes beside CUBIC's
	$(PY) benches/ratios.py

bench-emu: env ## the emulated world beside a plain TUN loop (needs root)
	$(PY) benches/emu.py

bench-linux: env ## the linux world beside ns-3 (needs a kernel: bakeoff kernel build)
	$(PY) benches/linux.py

bench-gym: env ## steps per CPU of many Gymnasium environments beside one
	$(PY) benches/gym.py

bench-schemes: env ## user CPU of schemes in Python beside the core's
	$(PY) benches/schemes.py

docs: env ## write docs/reference from the code
	$(PY) scripts/reference.py

lock: ## compile requirements/*.txt from pyproject.toml; UPGRADE=1 moves to the newest versions
	@scripts/lock.sh $(if $(UPGRADE),--upgrade)

deny: ## licences and advisories of the Rust dependencies (needs cargo-deny)
	cargo deny --locked check

clean: ## remove what the jobs above made, but for results/
	rm -rf .venv .tools .tools.lock target python/bakeoff/_core*.so python/bakeoff/_guest python/bakeoff/_emulator
