# make demo   sets up, and shows what cmi does on a page: build/demo/index.html
# make test   sets up and runs every test
# make lint   ruff and mypy
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin

.PHONY: setup demo test lint clean

setup: $(VENV)/.ready

# torch goes first and by its exact version, so that nothing else picks another build of it. basic-pitch comes without what it
# asks for: that would be TensorFlow, and only its ONNX file is used.
$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV) || python3 -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,listen]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps basic-pitch==0.4.0
	touch $@

demo: setup
	$(BIN)/cmi demo build/demo

test: setup
	$(BIN)/python -m pytest

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
