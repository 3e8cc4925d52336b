# SPDX-License-Identifier: Apache-2.0
#
# The front door: `make` lists what there is. CMake does the building (CMakePresets.json); what a target
# needs is installed first where it is missing (scripts/deps.sh). Builds are in build/<preset>.

PREFIX ?= /usr/local
DESTDIR ?=
SEED ?= 1

# Two million operations, or twenty; with SEEDS as many runs as are asked for, whatever they come to.
ifdef SEEDS
SIM := --seed $(SEED) --seeds $(SEEDS)
else ifdef LONG
SIM := --seed $(SEED) --seeds 11000 --least-ops 20000000 --coverage
else
SIM := --seed $(SEED) --seeds 1100 --least-ops 2000000 --coverage
endif
SECONDS ?= 60

.PHONY: help
help: ## show this list
	@echo 'make TARGET, where TARGET is one of'
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)$$/  \1|\2/p' $(MAKEFILE_LIST) | \
	    while IFS='|' read -r name text; do printf '%-13s %s\n' "$$name" "$$text"; done

.PHONY: demo
demo: build ## build, and show two contenders, ls, and a killed holder on the embedded store
	@test -f scripts/demo.sh || { echo 'make demo: scripts/demo.sh is missing' >&2; exit 1; }
	@HOLDFAST=$(CURDIR)/build/release/bin/holdfast PATH="$(CURDIR)/build/release/bin:$$PATH" \
	    scripts/demo.sh

.PHONY: build
build: ## build the library and the command, optimised, in build/release
	@scripts/deps.sh build
	@scripts/build.sh release -DCMAKE_INSTALL_PREFIX=$(PREFIX)

.PHONY: check
check: ## build with asserts, and run all tests, on real servers too
	@scripts/deps.sh build test
	@scripts/test.sh dev

.PHONY: asan
asan: ## run all tests under the address and undefined-behaviour sanitizers
	@scripts/deps.sh build test
	@scripts/test.sh asan

.PHONY: tsan
tsan: ## run all tests under the thread sanitizer
	@scripts/deps.sh build test
	@scripts/test.sh tsan

.PHONY: sim
sim: ## run the library in simulated worlds full of faults; LONG=1: ten times as many; SEED=1 SEEDS=1000
	@scripts/deps.sh build test
	@scripts/build.sh dev
	@build/dev/bin/holdfast-sim $(SIM) --shrink --jobs $$(nproc)
	@$(if $(SEEDS),,build/dev/bin/holdfast-sim-mutants --mutants --jobs $$(nproc))

.PHONY: fuzz
fuzz: ## feed the parsers and the core with inputs that a fuzzer makes: SECONDS=60 a target; SEED=1, 0 draws one
	@scripts/deps.sh build test fuzz
	@scripts/build.sh fuzz
	@tests/fuzz/run -t $(SECONDS) -s $(SEED)

.PHONY: chaos
chaos: ## kill, stop and cut off real processes on real servers, and check what they saw: 5 minutes
	@scripts/deps.sh build test
	@scripts/build.sh dev
	@build/dev/bin/chaos all
	@build/dev/bin/chaos broken

.PHONY: interop
interop: ## run beside the real Redisson (Java 17, Maven), and redis-py and its like; LONG=1: counters for 30 s
	@scripts/deps.sh build test
	@scripts/build.sh dev
	@tests/interop/run -t $(if $(LONG),30,5) $(KINDS) || [ $$? -eq 77 ]
	@$(if $(KINDS),,tests/interop/strings/run -t $(if $(LONG),30,5) || [ $$? -eq 77 ])

.PHONY: models
models: ## prove the models of leases, late packets and waiters with Spin, and that their mutants fail
	@scripts/deps.sh build models
	@tests/models/run -j $$(nproc)

.PHONY: lint
lint: ## check format, warnings of clang, clang-tidy, cppcheck, scripts, man pages, headers
	@scripts/deps.sh build lint
	@scripts/lint.sh

.PHONY: bench
bench: ## measure, against baselines in the same run
	@test -f bench/run || { echo 'make bench: bench/run is missing' >&2; exit 1; }
	@scripts/deps.sh build bench
	@scripts/build.sh release -DCMAKE_INSTALL_PREFIX=$(PREFIX) -DHF_BENCH=ON
	@bench/run

.PHONY: bench-peers
bench-peers: ## measure beside other locks on Redis, half an hour, and write docs/benchmarks.md
	@scripts/deps.sh build bench peers
	@scripts/build.sh release -DCMAKE_INSTALL_PREFIX=$(PREFIX) -DHF_BENCH=ON
	@bench/peers/run

.PHONY: install
install: build ## install what build made: PREFIX=/usr/local, DESTDIR=
	@rm -f build/release/install_manifest.txt # of root, after "sudo make install"
	@DESTDIR=$(DESTDIR) cmake --install build/release

.PHONY: format
format: ## bring all C files into the format that lint checks
	@scripts/deps.sh lint
	@git ls-files -z -- '*.c' '*.h' '*.cc' '*.hpp' | xargs -0 clang-format -i

.PHONY: clean
clean: ## remove build/
	rm -rf build
