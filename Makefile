# Every target makes its own environment from nothing but python3 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready

.PHONY: demo test lint types docs bench accuracy locale test-engine clean

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[web,mcp,live]' -r requirements-dev.txt
	touch $@

demo: $(STAMP)
	$(BIN)/serveright plan Qwen/Qwen3.6-27B --gpu 2xh200 --concurrency 32

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

types: $(STAMP)
	$(BIN)/pyright

test: $(STAMP) lint types
	$(BIN)/python -m pytest

locale: $(STAMP)
	$(BIN)/python -m tools.locale

accuracy: $(STAMP)
	$(BIN)/python -m tools.accuracy

bench: $(STAMP)
	$(BIN)/python -m benchmarks

docs: $(STAMP)
	$(BIN)/python -m tools.docs

clean:
	rm -rf $(VENV) .engine .build site dist
