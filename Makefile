# The commands of README.md. Each sets up what it needs: Debian packages, CMake, the build.
JOBS ?= $(shell nproc)
# Half of the time a test waits: for fsync, for a process, for a clock.
TESTS ?= $(shell expr 2 \* $(JOBS))
BUILD = build
ASAN = build/asan
TSAN = build/tsan
# Programs of others that tests run; of all builds.
AGENTS = build/agents
SEQUENCES ?= 20000
HISTORIES ?= 5000

# For ctest, of `make test`, `asan-test` and `tsan-rooms`.
CTEST_ARGS ?=

.PHONY: help run build test asan-test tsan-test tsan-rooms torture-bits torture-door bigtable-test npm-test soak demo bench deb deb-test container-test format clean

help:
	@echo 'make run        build tallyd and start it on config/example.toml (Ctrl-C stops it)'
	@echo 'make test       build everything and run all tests'
	@echo 'make build      build/tallyd alone, optimised'
	@echo 'make soak       $(SEQUENCES) random histories of a store, $(HISTORIES) of schemas, against models, on all cores'
	@echo 'make demo       fill a running tallyd with two weeks of four worlds, and query it'
	@echo 'make bench      measure it and its peers, the loads alone some 40 minutes; BENCH=--quick tries it in some seven'
	@echo 'make asan-test  all tests under AddressSanitizer and UndefinedBehaviorSanitizer'
	@echo 'make tsan-test  all tests under ThreadSanitizer; tsan-rooms those of the rooms that share memory'
	@echo 'make torture-bits  every byte of every file of a small store flipped, every file cut at every length'
	@echo 'make torture-door  10,000 hostile peers of each kind, and what one that means well sees meanwhile'
	@echo 'make bigtable-test  the engine on Bigtable: over a tablet server of ours, and the emulator'
	@echo "make npm-test   npm's client of InfluxDB writes to it; with npm and Node.js"
	@echo 'make deb        build/tallyd_VERSION_ARCHITECTURE.deb, with units, manual page and completion'
	@echo 'make deb-test   installs and removes it in a bare Debian, as root, with debootstrap'
	@echo 'make container-test  builds the image around build/tallyd with podman, as root, and tries it'
	@echo 'make format     clang-format over the sources'
	@echo 'make clean      remove build/'

run: build
	@cat examples/first-steps.sh
	@exec $(BUILD)/tallyd serve --config config/example.toml

build: $(BUILD)/build.ninja
	@.ci/setup build
	@ninja -C $(BUILD) -j $(JOBS) tallyd

test: $(BUILD)/build.ninja
	@.ci/setup test
	@.ci/agents $(AGENTS)
	@ninja -C $(BUILD) -j $(JOBS)
	@ctest --preset release -j $(TESTS) $(CTEST_ARGS)

asan-test: $(ASAN)/build.ninja
	@.ci/setup test
	@.ci/agents $(AGENTS)
	@ninja -C $(ASAN) -j $(JOBS)
	@ctest --preset asan -j $(TESTS) $(CTEST_ARGS)

tsan-test: $(TSAN)/build.ninja
	@.ci/setup test
	@ninja -C $(TSAN) -j $(JOBS)
	@ctest --preset tsan -j $(TESTS) -LE rooms

# Rooms whose memory several threads share, built alone; all of it is tsan-test.
tsan-rooms: $(TSAN)/build.ninja
	@.ci/setup test
	@ninja -C $(TSAN) -j $(JOBS) rooms_test
	@ctest --preset tsan -j $(TESTS) -L rooms $(CTEST_ARGS)

# Each run takes every JOBS-th case.
torture-bits: $(BUILD)/build.ninja
	@.ci/setup test
	@ninja -C $(BUILD) -j $(JOBS) storage_test
	@seq 0 $$(($(JOBS) - 1)) | xargs -P $(JOBS) -I{} env TALLYD_TORTURE={}/$(JOBS) \
	  $(BUILD)/storage_test --gtest_filter='TortureTest.*' --gtest_brief=1

# The report is what it prints; docs/RESULTS.md has the last one. TORTURE="--connections 1000 header"
# is smaller.
torture-door: build
	@tests/torture_door.py --tallyd $(BUILD)/tallyd $(TORTURE)

# What needs Google's emulator is skipped where it is not installed; TALLYD_BIGTABLE_SECONDS=1800 is half
# an hour of faults.
EMULATOR ?= $(firstword $(wildcard /usr/lib/google-cloud-sdk/platform/bigtable-emulator/cbtemulator))
bigtable-test: $(BUILD)/build.ninja
	@.ci/setup test
	@ninja -C $(BUILD) -j $(JOBS) tallyd tablet_server tablet_test storage_test
	@tests/bigtable/beside_emulator "$(EMULATOR)" $(BUILD)/tablet_test --gtest_brief=1
	@TALLYD_BIGTABLE_HISTORIES=2000 $(BUILD)/storage_test --gtest_filter='*Bigtable*' --gtest_brief=1
	@TALLYD=$(BUILD)/tallyd BIGTABLE_EMULATOR="$(EMULATOR)" TALLYD_BIGTABLE_ANSWERS=2000 \
	  python3 -B -m unittest -v tests.e2e.test_bigtable tests.e2e.test_bigtable_copy \
	  tests.e2e.test_bigtable_nightly tests.e2e.test_bigtable_answers

npm-test: build
	@npm install --silent --no-audit --no-fund --prefix $(AGENTS) @influxdata/influxdb-client@1.35.0
	@TALLYD=$(BUILD)/tallyd python3 -B tests/npm_client.py

# Each core takes every JOBS-th test of 20 histories. A difference names its seed, which runs again by
#   TALLYD_MODEL_SEED=SEED build/storage_test --gtest_filter='*ModelTest*/0'
#   TALLYD_SEED=SEED build/api_test --gtest_filter='*SchemaModelTest*'
# Those of schemas lie in memory, where there is a /dev/shm: on a disk they would wait for it.
soak: $(BUILD)/build.ninja
	@.ci/setup test
	@ninja -C $(BUILD) -j $(JOBS) storage_test api_test
	@seq 0 $$(($(JOBS) - 1)) | TALLYD_MODEL_SEQUENCES=$(SEQUENCES) GTEST_TOTAL_SHARDS=$(JOBS) \
	  xargs -P $(JOBS) -I SHARD env GTEST_SHARD_INDEX=SHARD nice $(BUILD)/storage_test \
	  --gtest_filter='*ModelTest*' --gtest_print_time=1
	@seq 0 $$(($(JOBS) - 1)) | TALLYD_HISTORIES=$(HISTORIES) GTEST_TOTAL_SHARDS=$(JOBS) \
	  TMPDIR=$(firstword $(TMPDIR) $(wildcard /dev/shm) /tmp) \
	  xargs -P $(JOBS) -I SHARD env GTEST_SHARD_INDEX=SHARD nice $(BUILD)/api_test \
	  --gtest_filter='*SchemaModelTest*' --gtest_print_time=1

demo: build
	@exec examples/demo

bench: $(BUILD)/build.ninja
	@.ci/setup test
	@ninja -C $(BUILD) -j $(JOBS) bench_programs
	@bench/all $(BENCH)

deb: build
	@.ci/setup test
	@.ci/deb/build $(BUILD)/tallyd $(BUILD)

# The report is what it prints; docs/RESULTS.md has the last one.
deb-test: deb
	@.ci/setup deb
	@.ci/deb/try $$(ls -t $(BUILD)/tallyd_*.deb | head -n 1)

container-test: build
	@.ci/setup container
	@.ci/container_test $(BUILD)/tallyd

$(BUILD)/build.ninja:
	@.ci/setup test
	@cmake --preset release

$(ASAN)/build.ninja:
	@.ci/setup test
	@cmake --preset asan

$(TSAN)/build.ninja:
	@.ci/setup test
	@cmake --preset tsan

format:
	@.ci/setup format
	@git ls-files '*.h' '*.cc' | xargs clang-format -i

clean:
	@rm -rf $(BUILD)
