# Every target does all its own set-up: Python 3.11 or newer, git and make are enough to start with.
# Node adds the tests against the real npm servers; without it they are skipped, and say so.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEMO_READY := $(VENV)/.demo-ready
NEW_ENOUGH := import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Halflap needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Set PYTHON=/path/to/python3.11.")
DSPY_READY := $(VENV)/.dspy-ready
NODE_READY := tests/real/node_modules/.ready
SUITE_READY := tests/conformance/node_modules/.ready
# MCP clients that other people wrote: from npm in one folder, from PyPI in an environment each.
CLIENTS_READY := tests/real/clients/node_modules/.ready
CLIENTS := $(VENV)/clients
# A browser for the tests of the page: Chromium is Debian's package (apt-get install chromium), or CHROMIUM=/path.
BROWSER_READY := tests/web/node_modules/.ready
fastmcp := "fastmcp[code-mode]==4.1.2"
sdk_of_2025 := mcp==1.23.3
langchain := langchain-mcp-adapters==0.3.2 langchain==1.4.7
PYTHON_CLIENTS := $(addprefix $(CLIENTS)/,fastmcp sdk_of_2025 langchain)
# The JSON Schema test suite comes with the source of a package that we do not use otherwise.
SUITE := $(VENV)/json-schema-suite
SUITE_SOURCE := jsonschema==4.26.0
# Packages that users name in execution.modules; only one slow test and one page of the docs need them.
PACKAGES_READY := $(VENV)/.packages-ready
CHECKS := $(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports
# Most of a test's time is waiting for processes that it started: twice as many workers as there are cores at the least.
PYTEST := $(BIN)/python -m pytest -n 4 --dist worksteal
# Whoever wants no bytecode waits for it to be made anew by each of the thousand processes that the tests start.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test test-failed test-all golden check bench soak docs format setup clean help

help:
	@echo "make demo      what Halflap does, on bundled servers"
	@echo "make test      the tests, about three minutes"
	@echo "make check     ruff, mypy --strict, import contracts"
	@echo "make golden    rewrite what the acceptance tests compare with"
	@echo "make docs      the pages that follow from the code: reference, errors, settings"
	@echo "make bench     every performance claim, as a ratio in one run"
	@echo "make soak      ten minutes of mixed load over HTTP"
	@echo "make conformance  the official suite of MCP, against our front and our client"
	@echo "make test-all  everything, the slow tests and the benchmarks' bounds too"

setup: $(READY)

$(READY): pyproject.toml
	@$(PYTHON) -c '$(NEW_ENOUGH)'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Setting up $(VENV) …"
	@$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	@$(BIN)/python -m pip install --quiet --editable ".[all]" --group dev
	@touch $@

$(DEMO_READY): pyproject.toml
	@$(PYTHON) -c '$(NEW_ENOUGH)'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing Halflap into $(VENV) …"
	@$(BIN)/python -m pip install --quiet --editable ".[tokens]"
	@touch $@

# DSPy programs are tested with DSPy; nothing else needs its 323 MB, so neither the demo nor the checks wait for it.
$(DSPY_READY): $(READY)
	@echo "Installing DSPy …"
	@$(BIN)/python -m pip install --quiet --editable ".[all,dspy]"
	@touch $@

# The real servers from npm. Absent Node is not an error: the tests that need them say that they were skipped.
$(NODE_READY): tests/real/package.json tests/real/package-lock.json
	@if command -v npm >/dev/null 2>&1; then \
		echo "Installing the real servers from npm …"; \
		npm ci --prefix tests/real --no-audit --no-fund --silent && touch $@ \
			|| echo "npm could not install them; the tests that need them will be skipped."; \
	else \
		echo "npm is not there; the tests against the npm servers will be skipped."; \
	fi

$(CLIENTS_READY): tests/real/clients/package.json tests/real/clients/package-lock.json
	@if command -v npm >/dev/null 2>&1; then \
		echo "Installing MCP clients from npm …"; \
		npm ci --prefix tests/real/clients --no-audit --no-fund --silent && touch $@ \
			|| echo "npm could not install them; the tests that need them will be skipped."; \
	else \
		echo "npm is not there; the tests of its MCP clients will be skipped."; \
	fi

$(BROWSER_READY): tests/web/package.json tests/web/package-lock.json $(READY)
	@echo "Installing what drives a browser …"
	@$(BIN)/python -m pip install --quiet playwright==1.65.2 \
		&& npm ci --prefix tests/web --no-audit --no-fund --silent && touch $@ \
		|| echo "It could not be installed; the tests of the page in a browser will be skipped."

$(PYTHON_CLIENTS): Makefile
	@echo "Installing the MCP client $(notdir $@) …"
	@rm -rf $@ && $(PYTHON) -m venv $@
	@$@/bin/python -m pip install --quiet $($(notdir $@)) && touch $@ \
		|| { rm -rf $@; echo "It could not be installed; the tests that need it will be skipped."; }

$(SUITE): $(READY)
	@echo "Fetching the JSON Schema test suite …"
	@rm -rf $@.part && mkdir -p $@.part
	@{ $(BIN)/python -m pip download --quiet --no-deps --no-binary jsonschema --dest $@.part $(SUITE_SOURCE) >/dev/null 2>&1 \
		&& tar -xzf $@.part/*.tar.gz -C $@.part --strip-components=2 --wildcards '*/json/tests/draft2020-12' '*/json/tests/draft7' \
		&& rm -f $@.part/*.tar.gz && mv $@.part $@; } \
		|| echo "It could not be fetched; the tests that need it will be skipped."

# The demo needs Halflap and a tokenizer, not the tools for developing it.
$(PACKAGES_READY): $(READY)
	@echo "Installing pandas and matplotlib …"
	@$(BIN)/python -m pip install --quiet pandas matplotlib && touch $@ \
		|| echo "They could not be installed; the tests that need them will be skipped."

demo: $(DEMO_READY)
	@$(BIN)/halflap demo

check: $(READY)
	@$(CHECKS)

test: $(DSPY_READY) $(NODE_READY) $(SUITE)
	@$(PYTEST) -m "not slow"

# Only what failed in the last run, one at a time; fails if nothing is known to have failed.
test-failed: $(DSPY_READY) $(NODE_READY) $(SUITE)
	@$(BIN)/python -m pytest -m "not slow" --last-failed --last-failed-no-failures none

# After an intended change of behaviour: rewrite what the acceptance tests compare with, then review the diff.
golden: $(DSPY_READY) $(NODE_READY)
	@HALFLAP_GOLDEN=write $(PYTEST) $(patsubst %,tests/acceptance/test_%.py,commands mcp_tools config_problems) -k as_agreed
	@git diff --stat -- tests/acceptance/golden

test-all: check $(DSPY_READY) $(NODE_READY) $(SUITE) $(PACKAGES_READY) $(CLIENTS_READY) $(PYTHON_CLIENTS) $(BROWSER_READY)
	@HALFLAP_THOROUGH=1 $(PYTEST)
	@$(MAKE) --no-print-directory bench

# The official suite needs a newer Node than most machines have; npm has that, too.
$(SUITE_READY): tests/conformance/package.json tests/conformance/package-lock.json
	@echo "Installing the conformance suite …"
	@npm ci --prefix tests/conformance --no-audit --no-fund --silent && touch $@

conformance: $(READY) $(SUITE_READY)
	@$(BIN)/python tests/conformance/run.py

bench: $(READY) $(DSPY_READY) $(CLIENTS)/fastmcp
	@set -e; for file in bench/bench_*.py; do $(BIN)/python $$file; done

soak: $(READY)
	@$(BIN)/python bench/soak.py

docs: $(READY)
	@$(BIN)/python docs/generate.py

format: $(READY)
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

clean:
	rm -rf $(VENV) tests/real/node_modules tests/real/clients/node_modules tests/web/node_modules tests/conformance/node_modules tests/conformance/results .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
