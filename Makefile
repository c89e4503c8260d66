# Everything starts with the set-up, which is quick when there is nothing to do.
.DEFAULT_GOAL := help
.PHONY: help demo test fuzz soak lock audit bench stacks calibrate-statistics reference-hashes fidelity validation second-clock sensitivities docs picture site wheel places image setup clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-21s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## race four transports over a lossy path and write a report (set-up included)
	scripts/setup.sh demo
	.venv/bin/netwarp demo

test: setup ## run every test lane (set-up included)
	scripts/test.sh

# Cases of seeds SEED, SEED + 1, …: a failure names the seed that repeats it with RUNS=1.
SEED ?= $(shell date +%s)
RUNS ?= 500
MUTANTS ?= $(shell expr 3 '*' $(RUNS))
fuzz: setup ## run RUNS random studies from SEED on, and three times as many broken ones
	NETWARP_FUZZ_SEED=$(SEED) NETWARP_FUZZ_RUNS=$(RUNS) NETWARP_FUZZ_MUTANTS=$(MUTANTS) \
		.venv/bin/python -m pytest -q -n auto tests/fuzz

soak: setup ## fuzz with fresh seeds for an hour, watch memory, descriptors, guests and scratch, and write a report
	.venv/bin/python scripts/soak.py $(ARGS)

bench: setup ## measure what runs and commands cost; ARGS=--networks: of networks of hosts; ARGS=--peers: against ns-3, and Shadow if it is installed
	.venv/bin/python -m bench $(ARGS)

stacks: setup ## build the other QUIC implementations (Go, CMake and a C++ compiler), each in its pinned version
	for manifest in stacks/*/stack.toml; do .venv/bin/netwarp stack build $$(basename $$(dirname $$manifest)) || exit 1; done

calibrate-statistics: setup ## feed samples of known truth through the statistics: error rates, coverage, power
	.venv/bin/python scripts/calibrate_statistics.py

reference-hashes: setup ## note the records' hashes of the studies to start from, after a change that alters records
	.venv/bin/python scripts/reference_hashes.py

fidelity: setup ## hold runs in virtual time against closed forms, and write docs/fidelity.md
	.venv/bin/python scripts/fidelity.py

validation: ## hold published numbers against what `netwarp reproduce` left, and write docs/validation.md and its picture
	scripts/setup.sh python
	.venv/bin/python scripts/validation.py $(ARGS)

second-clock: setup ## hold virtual time against a stock kernel in QEMU; ARGS=ROOT with its packages unpacked; writes docs/second-clock.md
	.venv/bin/python scripts/second_clock.py $(ARGS)

sensitivities: setup ## judge first claims of all sources with packets in bunches and, ARGS='--kernel 6.12', on other kernels; writes docs/sensitivities.md
	.venv/bin/python scripts/sensitivities.py $(ARGS)

docs: ## regenerate the key reference and the endpoint's wire types from the models
	scripts/setup.sh python
	.venv/bin/python scripts/generate_docs.py
	.venv/bin/python scripts/generate_wire.py
	.venv/bin/python scripts/generate_options.py
	.venv/bin/python scripts/generate_map.py

lock: ## lock the newest Python packages that pyproject.toml allows, with their hashes, into locks/
	scripts/lock.sh

audit: setup ## look for advisories about what is locked, as far as registries carry them
	.venv/bin/python scripts/audit.py

picture: setup ## take the README's pictures: of the demo's report, and of the local pages (needs Chromium)
	.venv/bin/netwarp demo --out netwarp-out/picture
	.venv/bin/python scripts/report_picture.py netwarp-out/picture/report.html
	.venv/bin/python scripts/ui_picture.py

site: ## build docs/ as a web site in site/, readable without a server
	scripts/setup.sh python
	.venv/bin/pip install --quiet --disable-pip-version-check --require-hashes --requirement locks/site.txt
	NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --quiet

wheel: ## build the two wheels of a release, netwarp and netwarp-kernel, into dist/ (set-up included)
	scripts/setup.sh demo
	.venv/bin/python scripts/wheels.py $(ARGS)

places: wheel ## try the wheels in empty roots, in containers and where something is missing (as root, with debootstrap)
	.venv/bin/python scripts/places.py $(ARGS)

image: wheel ## build the image of the Containerfile, with podman or docker, from the wheels
	scripts/image.sh $(ARGS)

setup: ## install packages, make .venv, build the endpoint and the guest kernel, for tests too
	scripts/setup.sh all

clean: ## remove what was made in this directory (built kernels stay in the user's cache)
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache
	find src tests scripts bench -name __pycache__ -type d -prune -exec rm -rf {} +
