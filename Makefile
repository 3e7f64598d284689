# Everything a developer types, and what .ci/run calls. `make help` lists it.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# The linters and benchstat are pinned and kept in ./bin, where a machine that has them does not build them again.
GOLANGCI_LINT_VERSION := v2.15.0
GOFUMPT_VERSION := v0.12.0
BENCHSTAT_VERSION := v0.0.0-20260908200009-22c9c6c9d4da
BIN := $(CURDIR)/bin
BENCHSTAT := $(BIN)/benchstat-$(BENCHSTAT_VERSION)
TOOLS := $(BIN)/golangci-lint-$(GOLANGCI_LINT_VERSION) $(BIN)/gofumpt-$(GOFUMPT_VERSION)

LONGEST := ./journal/redisjournal ./test/main ./test/streams ./test/api ./link ./bench ./executor ./dashboard ./agent ./backend/local/mcptool ./queue
TEST_FLAGS ?=
FUZZ_TIME ?= 20s
BENCH_FLAGS ?= --sweep all --stored 10,1000000
BASE ?= HEAD~1
GUARD_FLAGS ?=

.PHONY: fixture help setup test test/race test/fault test/api test/peers test/stores test/streams test/deploy test/compose test/browser record soak lint tidy tools fmt docs cases rows bench bench/guard bench/go fuzz build clean

help: ## List the targets
	@grep -E '^[a-z/]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

setup: ## Install what the tests need (redis-server)
	@scripts/setup.sh

# The packages whose tests take longest are named first: go test takes them in this order, and none of them is left to run alone
# at the end. One more than there are processors runs at a time: a fifth of its time a package of these waits for something.
# go vet has looked at all before: -vet=off keeps go test from doing the same again, on packages built another way.
test: setup ## Vet and test everything with the race detector
	go vet ./...
	go test -race -vet=off -p $$(($$(getconf _NPROCESSORS_ONLN) + 1)) -timeout 15m $(TEST_FLAGS) $(LONGEST) ./...

test/race: test ## The same: every test run uses the race detector

# What the tag changes is looked at here; all the rest is `make test`'s, and `make lint` looks at everything with the tag.
FAULT := ./internal/config/... ./internal/faultpoint/... ./test/fault/... ./test/harness/...

test/fault: setup ## Kill, freeze and restart real processes, with one node per task and with eight
	go vet -tags faultpoint $(FAULT)
	go test -vet=off -tags faultpoint -timeout 20m $(TEST_FLAGS) ./internal/faultpoint/... ./test/fault/...
	PAWL_TEST_NODES_PER_TASK=8 go test -vet=off -tags faultpoint -timeout 20m $(TEST_FLAGS) ./test/fault/...

test/api: setup ## Send 20,000 requests generated from the API's document and print which answers they got
	go test -count 1 -v -vet=off -timeout 5m -run Generated $(TEST_FLAGS) ./test/api -requests 20000

test/peers: setup ## Talk to published MCP and model servers (npm, Node 20 or newer)
	@scripts/setup-peers.sh
	go vet -tags peers ./test/peers/...
	go test -vet=off -tags peers -timeout 10m $(TEST_FLAGS) ./test/peers/...

test/deploy: setup ## Run compose.yaml as plain processes; check the manifests, the units and the static binaries
	cd test/deploy && go vet ./... && go test -vet=off -timeout 10m $(TEST_FLAGS) ./...

test/compose: setup ## Build the image and run compose.yaml on a container engine, which on a Debian it installs and starts (as root)
	cd test/deploy && go vet -tags engine ./... && \
		../../scripts/engine.sh go test -tags engine -count 1 -v -vet=off -timeout 40m -run ContainerEngine $(TEST_FLAGS) ./...

test/browser: setup ## Do in a real Chromium what a person on call does; leaves pictures of all pages in bin/screenshots
	@scripts/setup-browser.sh
	cd test/browser && go vet ./... && go test -vet=off -timeout 10m $(TEST_FLAGS) ./...

test/stores: ## Run what stands on Redis against every release of Redis and Valkey that Debian packages; takes about half an hour
	@scripts/test-stores.sh $(STORES)

test/streams: setup ## 5,000 event streams on one API process, each cut off and resumed on another; takes about three minutes
	SOAK=1 go test -v -count 1 -timeout 15m $(TEST_FLAGS) ./test/streams/

record: ## Record transcripts of real models; needs OPENAI_API_KEY and OPENAI_MODEL, or the same of ANTHROPIC
	go test -count 1 -run RecordedTranscripts ./backend/local/openai ./backend/local/anthropic -record

fixture: setup ## Store what the programs write, as fixture NAME=2 of test/upgrade: later ones must go on with it for ever
	go test -count 1 -v -timeout 30m -run WriteFixture ./test/upgrade -write $(NAME)

soak: setup ## The long runs: a backlog of 10,000 for a minute, a worker killed at every Redis call, minutes of random attacks
	SOAK=1 go test -v -tags faultpoint -timeout 30m -run 'Backlog|AnyTwo|UnderAttack' $(TEST_FLAGS) ./test/fault/

lint: tools tidy ## Run the linters; check the format and the lists of dependencies
	$(BIN)/golangci-lint-$(GOLANGCI_LINT_VERSION) run --timeout 10m ./...
	cd test/deploy && $(BIN)/golangci-lint-$(GOLANGCI_LINT_VERSION) run --timeout 10m ./...
	cd test/browser && $(BIN)/golangci-lint-$(GOLANGCI_LINT_VERSION) run --timeout 10m ./...
	@files="$$($(BIN)/gofumpt-$(GOFUMPT_VERSION) -l .)"; \
	if [ -n "$$files" ]; then echo "gofumpt would change:"; echo "$$files"; exit 1; fi

tidy: ## Check that go.mod and go.sum of the tested modules are as go mod tidy leaves them
	@for dir in . test/deploy test/browser; do (cd $$dir && go mod tidy -diff); done

fmt: tools ## Format the code
	$(BIN)/gofumpt-$(GOFUMPT_VERSION) -w .

tools: $(TOOLS) ## Install the pinned linters into ./bin

$(BIN)/golangci-lint-$(GOLANGCI_LINT_VERSION):
	GOBIN=$(BIN) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
	mv $(BIN)/golangci-lint $@

$(BIN)/gofumpt-$(GOFUMPT_VERSION):
	GOBIN=$(BIN) go install mvdan.cc/gofumpt@$(GOFUMPT_VERSION)
	mv $(BIN)/gofumpt $@

docs: ## Write the pages that the code generates: docs/configuration.md, docs/cli.md, docs/agents.schema.json, docs/cases.md
	go test ./internal/config -run Manual -update
	go test ./cmd/pawl -run Manual -update
	go test ./agent -run SchemaPage -update
	go test ./test/cases -update

cases: ## Check that every case of docs/cases.md is named by a test
	go test -count 1 ./test/cases

rows: ## Check that every row of the contract of backends has its test, and that a test fails when any of its texts changes; takes minutes
	go test -tags mutate -count 1 -timeout 30m -run 'TestEveryRow|TestEachMutatedText' ./backend

bench: setup ## Measure beside a raw Asynq chain and write docs/performance.md; leave the machine alone meanwhile
	go build -o $(BIN)/ ./cmd/pawl
	$(BIN)/pawl bench $(BENCH_FLAGS) --write docs/performance.md

bench/guard: setup $(BENCHSTAT) ## Compare the path of a step with the commit before (BASE=HEAD~1): fail on more round trips, bytes, allocations
	go run ./bench/guard --base $(BASE) --benchstat $(BENCHSTAT) $(GUARD_FLAGS)

$(BENCHSTAT):
	GOBIN=$(BIN) go install golang.org/x/perf/cmd/benchstat@$(BENCHSTAT_VERSION)
	mv $(BIN)/benchstat $@

bench/go: setup ## Run the benchmarks of the packages
	go test -run '^$$' -bench . -benchmem -timeout 20m $(TEST_FLAGS) ./...

fuzz: ## Run every fuzz test for FUZZ_TIME (20s)
	@grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -r -n1 dirname | sort -u | while read -r dir; do \
		for name in $$(grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$$dir"/*_test.go | sed 's/func //'); do \
			echo "go test -fuzz $$name $$dir"; go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZ_TIME) "$$dir"; \
		done; \
	done

build: ## Build the programs into ./bin
	go build -o $(BIN)/ ./cmd/...

clean: ## Remove ./bin
	rm -rf $(BIN)
