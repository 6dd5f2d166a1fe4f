# `make run` serves the product with a demo agent; `make test` checks everything. Neither needs root when what
# they need is there; nothing is installed outside .venv but missing Debian packages for the tests, as root.
PYTHON ?= python3
HOST ?= 127.0.0.1
PORT ?= 8000
VENV := .venv
BIN := $(VENV)/bin

.PHONY: run test lint format bench screenshots docs clean

run: $(VENV)/.run
	$(BIN)/python scripts/run.py --host $(HOST) --port $(PORT)

test: $(VENV)/.test
	$(BIN)/python scripts/test.py $(ARGS)

lint: $(VENV)/.test
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/python -m mypy && $(BIN)/lint-imports --no-logo

format: $(VENV)/.test
	$(BIN)/ruff check --fix . && $(BIN)/ruff format .

bench: $(VENV)/.test
	for name in cycles latency page memory history outbox; do $(BIN)/python bench/$$name.py || exit 1; done

screenshots: $(VENV)/.test
	$(BIN)/python scripts/screenshots.py

docs: $(VENV)/.run
	$(BIN)/python manage.py api_docs

clean:
	rm -rf $(VENV) var

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
		|| { echo "Python 3.11 or newer is needed: set PYTHON to one, as in make run PYTHON=python3.11" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) \
		|| { rm -rf $(VENV); echo "Python's venv is missing: apt-get install python3-venv" >&2; exit 1; }

$(VENV)/.run: requirements.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

$(VENV)/.test: requirements.txt requirements-dev.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@ $(VENV)/.run
