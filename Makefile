# Every target makes its own environment from nothing but python3 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready

.PHONY: demo test fuzz man test-browser lint types docs bench accuracy locale test-engine clean

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
	$(BIN)/python -m pytest -n auto

# New examples for every property, and real inputs broken in new ways: SERVERIGHT_FUZZ times the usual number, each in every reader.
FUZZ ?= 20
fuzz: $(STAMP)
	SERVERIGHT_FUZZ=$(FUZZ) $(BIN)/python -m pytest --hypothesis-profile=fuzz -m hypothesis
	SERVERIGHT_FUZZ=$(FUZZ) $(BIN)/python -m pytest tests/fuzz

# A real Chromium (Debian's package) on every view of the page.
test-browser: $(STAMP)
	$(BIN)/python -m pytest tests/web -m browser

# Real servers on a busy machine may lose a port or a deadline once: what failed is tried once more.
# A real vLLM on the CPU: 3.5 GB once, then about fifteen minutes on two cores. It wants Python 3.11.
ENGINE := .engine
ENGINE_STAMP := $(ENGINE)/.ready
ENGINE_PYTHON ?= $(shell command -v python3.11 || echo $(PYTHON))

$(ENGINE_STAMP): requirements-engine.txt
	test -x $(ENGINE)/bin/python || $(ENGINE_PYTHON) -m venv $(ENGINE)
	$(ENGINE)/bin/python -m pip install --quiet -r requirements-engine.txt
	$(ENGINE)/bin/python -m pip uninstall --quiet -y torchvision torchcodec torchaudio
	touch $@

test-engine: $(STAMP) $(ENGINE_STAMP)
	timeout --signal=INT 1800 $(BIN)/python -m pytest tests/engine -m engine || timeout --signal=INT 1200 $(BIN)/python -m pytest tests/engine -m engine --last-failed --last-failed-no-failures none

locale: $(STAMP)
	$(BIN)/python -m tools.locale

accuracy: $(STAMP)
	$(BIN)/python -m tools.accuracy

bench: $(STAMP)
	$(BIN)/python -m benchmarks

# A sample of small faults in the pure layers, each of which some test must notice: about an hour and a half on two cores.
mutate: $(STAMP)
	$(BIN)/python -m tools.mutate

# the manual page, from the verbs themselves; wheels carry it as share/man/man1/serveright.1
man: $(STAMP)
	$(BIN)/python -m tools.man

docs: $(STAMP)
	$(BIN)/python -m tools.docs

clean:
	rm -rf $(VENV) .engine .build site dist
