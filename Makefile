# Everything starts here: `make demo` and `make test` set up what they need.
PYTHON ?= python3.11
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: demo test lint types layers pytest bench mutants docs clean

demo: $(STAMP)
	mkdir -p out
	$(BIN)/certiformer bound trauger.thm4.1 Bw=1 Bc=2 L_sigma=1 Bv=1.5 Bx=1 C=0.5 n=1e6 d=64
	$(BIN)/certiformer bound binomial errors=35 n=4780 delta=0.05
	$(BIN)/certiformer bound trauger.thm4.1 Bw=1 Bc=1 L_sigma=1 Bv=1 Bx=1 C=20 d=64 --sweep n=1e1:1e9:60 --plot out/theorem_4_1.png > /dev/null
	@echo "The figure is in out/theorem_4_1.png"

test: lint types layers pytest

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

layers: $(STAMP)
	$(BIN)/lint-imports

pytest: $(STAMP)
	HYPOTHESIS_PROFILE=ci $(BIN)/python -m pytest -n 2 -q

bench: $(STAMP)
	$(BIN)/python -m benchmarks

mutants: $(STAMP)
	$(BIN)/python tools/mutants.py

docs: $(STAMP)
	$(BIN)/python tools/generate_docs.py

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[cluster,dev]'
	touch $(STAMP)

clean:
	rm -rf .venv out dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
