# make demo   sets up, and shows what cmi does on a page: build/demo/index.html
# make test-fast   sets up and runs the faster tests: under three minutes on two cores
# make test   sets up and runs every test, on all cores
# make lint   ruff and mypy
# make docs   builds the site of the docs, build/docs/index.html; a warning or a broken link is an error
# make docs-external   asks the web whether the docs' links to other sites work
# make setup-locked   sets up with the versions and hashes of requirements.lock: Python 3.11 on Linux
# make lock           writes requirements.lock anew
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin

PIP := -m pip --disable-pip-version-check

.PHONY: setup setup-locked lock demo test test-fast lint docs docs-external clean

setup: $(VENV)/.ready

# torch goes first and by its exact version, so that nothing else picks another build of it. basic-pitch comes without what it
# asks for: that would be TensorFlow, and only its ONNX file is used.
$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV) || python3 -m venv $(VENV)
	$(BIN)/python -P $(PIP) install --quiet -c constraints.txt torch
	$(BIN)/python -P $(PIP) install --quiet -c constraints.txt -e '.[dev,listen]'
	$(BIN)/python -P $(PIP) install --quiet --no-deps basic-pitch==0.4.0
	touch $@

# Whatever has another hash is not installed. torch comes last and without one: its builds (CPU, CUDA) differ from machine to
# machine, and so does what they need; what else it needs is there by then.
setup-locked: requirements.lock
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -P $(PIP) install --quiet --require-hashes --no-deps -r requirements.lock
	$(BIN)/python -P $(PIP) install --quiet -c constraints.txt torch
	$(BIN)/python -P $(PIP) install --quiet --no-deps --no-build-isolation -e .
	touch $(VENV)/.ready

lock:
	$(PYTHON) -m venv build/lock
	build/lock/bin/python -P $(PIP) install --quiet pip-tools
	build/lock/bin/pip-compile --quiet --generate-hashes --strip-extras --no-annotate --no-header --no-emit-index-url \
	  --no-emit-find-links --no-emit-trusted-host --unsafe-package torch --unsafe-package cmi --extra dev --extra listen \
	  --build-deps-for editable --constraint constraints.txt --output-file requirements.lock pyproject.toml
	sed -i '/^#/d' requirements.lock
	build/lock/bin/python -P $(PIP) download --quiet --no-deps --dest build/lock basic-pitch==0.4.0
	printf 'basic-pitch==0.4.0 --hash=sha256:%s\n' $$(sha256sum build/lock/basic_pitch-0.4.0* | cut -d' ' -f1) >> requirements.lock

demo: setup
	$(BIN)/cmi demo build/demo

# Tests stay in their order and a worker that is done takes over from another, so that few fixtures are made twice.
PYTEST := $(BIN)/python -m pytest -n auto --dist worksteal

test: setup
	$(PYTEST)

test-fast: setup
	$(PYTEST) -m 'not slow'

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

SPHINX := $(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet

docs: $(VENV)/.docs-ready
	$(SPHINX) -b html docs build/docs
	$(BIN)/python docs/check_site.py build/docs

docs-external: $(VENV)/.docs-ready
	$(SPHINX) -b linkcheck docs build/docs-links

$(VENV)/.docs-ready: $(VENV)/.ready
	$(BIN)/python -P $(PIP) install --quiet -c constraints.txt -e '.[docs]'
	touch $@

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
