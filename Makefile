# Everything starts here: `make demo` and `make test` set up what they need.
# The first Python of at least 3.11 that runs: a name may stand for one that is not installed.
RUNS := -c "import sys; sys.exit(sys.version_info < (3, 11))" 2>/dev/null
FOUND = $(shell for one in python3.11 python3.12 python3.13 python3.14 python3; do $$one $(RUNS) && echo $$one && break; done)
PYTHON ?= $(or $(FOUND),$(error Python 3.11 or newer was not found: name one, as in PYTHON=/usr/bin/python3.12))
BIN := .venv/bin
STAMP := .venv/.installed

SEED := $(or $(SEED),$(shell date +%s))

.PHONY: demo test lint types layers pytest random deep proofs real harnesses bench mutants reproduction verify-runs docs audit release versions picture ratios claimed clean

demo: $(STAMP)
	mkdir -p out
	$(BIN)/certiformer demo --out out
	@echo "Open out/report.html in a browser."

test: lint types layers pytest

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

layers: $(STAMP)
	$(BIN)/lint-imports

pytest: $(STAMP)
	HYPOTHESIS_PROFILE=fixed $(BIN)/python -m pytest -n 2 -q --durations=25

# Property tests with examples of this SEED, another one each time unless it is given.
random: $(STAMP)
	HYPOTHESIS_PROFILE=random $(BIN)/python -m pytest -n 2 -q -m "hypothesis and not deep and not real" --hypothesis-seed=$(SEED)

# What takes too long for every change: long simulations, and property tests with many examples.
deep: $(STAMP)
	$(BIN)/python -m pytest -n 2 -q -m deep --timeout 7200
	HYPOTHESIS_PROFILE=deep $(BIN)/python -m pytest -n 2 -q -m "hypothesis and not deep and not real" --timeout 7200 --hypothesis-seed=$(SEED)

# What needs the proof assistant Coq (coqc): the library, certificates, refutations, and what must be refused.
proofs: $(STAMP)
	$(BIN)/python -m pytest -q -m coq --durations=5 tests/auditing/test_proof_kernel.py

# What needs the network: real checkpoints and data, the reference library that families are compared with, and the
# frameworks that are not installed elsewhere: without them their tests are skipped.
real: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[real]'
	$(BIN)/python -m pytest -q -m real --timeout 1800
	$(BIN)/python -m pytest -q tests/certification/test_frameworks.py
	$(BIN)/python tools/generate_checkpoints.py
	$(MAKE) harnesses

# The evaluation harnesses themselves, in an environment of their own: they need other versions than ours.
harnesses:
	test -x build/harnesses/bin/python || $(PYTHON) -m venv build/harnesses
	build/harnesses/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[harnesses]'
	build/harnesses/bin/python -m pytest -q -m real -W ignore::ResourceWarning --timeout 1800 tests/real/test_logs.py

# RELEASE=DIR: a checkout of the release that bounds are compared with; AUTHORS=DIR: of enesarda22/nonasymptotic-transformer.
# What is measured is kept in build/, so that a run that was stopped goes on where it was; a whole run takes it away.
# PyTorch is only compared with: 2.13.0 from the default index brings CUDA along (several GB) where there is no CPU build.
bench: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[bench]'
	$(BIN)/python -m benchmarks $(if $(RELEASE),--release $(RELEASE)) $(if $(AUTHORS),--authors $(AUTHORS)) --keep build/bench.json --write docs/benchmarks.md

# The demo's certificates, alone and shared, beside the previous release and what was asked for.
bench-certificates: $(STAMP)
	$(BIN)/python -m benchmarks.certificates --majority

mutants: $(STAMP)
	$(BIN)/python tools/mutants.py

# Tables and figures again from the published runs in docs/reproduction/runs; nothing is run.
reproduction: $(STAMP)
	$(BIN)/python tools/generate_reproduction.py redraw

# Two whole published runs of every file, of the present version, done again: up to an hour. Never part of `make test`.
verify-runs: $(STAMP)
	$(BIN)/certiformer reproduce all --from docs/reproduction/runs --verify 2

# Tables in the pages, then the site in site/, which needs no network to be read. The audit is run again only if asked for.
docs: $(STAMP) build/audit.json
	$(BIN)/python tools/generate_reproduction.py
	$(BIN)/python tools/generate_docs.py
	PYTHONPATH=tools $(BIN)/python -m website
	PYTHONPATH=tools $(BIN)/python -m website.check
	@echo "Open site/index.html in a browser."

audit build/audit.json: $(STAMP)
	$(BIN)/python tools/generate_audit.py

# What would be released: wheel and source built, each installed in a fresh environment, the demo run.
release: $(STAMP)
	$(BIN)/python tools/release_check.py --write docs/install.md

# Every Python that this machine has, with the newest and the lowest dependencies that are allowed.
versions: $(STAMP)
	PYTHONPATH=tools $(BIN)/python tools/versions.py --write docs/install.md

# The picture of the README, from the certificates of the demo.
picture: $(STAMP)
	$(BIN)/python tools/generate_picture.py

# The page that puts usual intervals and ours before the same populations: about ten minutes.
claimed: $(STAMP)
	$(BIN)/python tools/generate_claimed.py

ratios: $(STAMP)
	$(BIN)/python tools/generate_ratios.py

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[all,dev]'
	touch $(STAMP)

clean:
	rm -rf .venv out dist build site .mypy_cache .ruff_cache .pytest_cache .hypothesis
