# `make help` lists the targets. The two most comprehensive are `make run` and `make test`.

GO       ?= go
BIN      := bin/lockstorm
# A shim that makes a node's clock jump. It is preloaded into redis-server; it is written in C,
# for Linux.
STORE    ?= store
# More flags for lockstorm run, such as: make run RUN='--locks set-nx-px --faults failover'
RUN      ?=
PACKAGES := ./...
# Without cgo, one compilation of the packages serves the program, its image, the linters and the tests.
# Only the race detector needs cgo.
export CGO_ENABLED ?= 0
# Compiling takes two thirds of the time without debugging information, and with a collector that works less often.
export GOFLAGS ?= -gcflags=all=-dwarf=false '-toolexec=env GOGC=1000'

.DEFAULT_GOAL := help
.PHONY: help setup browser build lint test thorough test-examples test-shards test-history test-chaos bench run report corpus clients docs soundness weight image images up down clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## make sure that a redis-server of 6.2 or later is there, and the clients in other languages; install what is not
	@./scripts/ensure-redis
	@./scripts/ensure-clients

browser: ## make sure that a Chromium is there, for the tests of report.html; install it if not
	@./scripts/ensure-chromium

build: ## build bin/lockstorm
	@[ -e $(BIN) ] || echo "building $(BIN); the first build compiles its libraries too, which takes one to two minutes on two cores"
	$(GO) build -o $(BIN) ./cmd/lockstorm

lint: ## gofmt, go vet and staticcheck
	@files=$$(git ls-files '*.go') && unformatted=$$(gofmt -l $$files) || exit 1; \
	if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet $(PACKAGES)
	GOGC=400 $(GO) tool staticcheck $(PACKAGES)

test: setup browser ## all tests but the long ones; on real Redis too, on containers where Docker runs, and of report.html in Chromium
	@GO='$(GO)' PACKAGES='$(PACKAGES)' ./scripts/test

thorough: setup browser ## the long tests too, with every named schedule: after a change of the checker, the simulation or the faults
	@GO='$(GO)' PACKAGES='$(PACKAGES)' ./scripts/test thorough

test-examples: ## the modules below examples/, as a newcomer runs them (some 2 minutes)
	@GO='$(GO)' ./scripts/test-examples

test-shards: ## a campaign in containers, one for each shard, and the manifests for Kubernetes
	@GO='$(GO)' ./scripts/test-shards

test-history: ## bugs of public projects: found in the broken version, and not in the fixed one (10 to 20 minutes)
	@GO='$(GO)' ./scripts/test-history

test-chaos: setup build ## what the simulation finds has to show on real Redis too, and nothing else (some 4 minutes)
	@STORE=$(STORE) LOCKS=$(LOCKS) FAULTS=$(FAULTS) TRIALS=$(TRIALS) SEED=$(SEED) ./scripts/test-chaos

bench: ## speed of the parts, and of the simulation
	$(GO) test -run '^$$' -bench . -benchtime 200ms $(PACKAGES)

# Exit code 2 says that some cells are undecided; the report names them. On a busy machine that is
# no reason for make to fail.
run: build ## compare every recipe under every fault in the simulation; says where the report is
	$(BIN) run --store $(STORE) $(RUN) || [ $$? -eq 2 ]

report: build ## render the last stored campaign again
	$(BIN) report $(STORE)/latest

corpus: build ## write the corpus anew from thorough runs, or add the recipes LOCKS (some 6 minutes for all)
	$(BIN) corpus make $(if $(LOCKS),--locks $(LOCKS))

clients: setup build ## write the table of docs/libraries-other-languages.md: clients in other languages under every fault (10 to 20 minutes)
	./scripts/client-faults $(BIN) docs/libraries-other-languages.md

docs: build ## write docs/recipes.md, docs/documents.md and the matrix of docs/matrix.md, by a run that must find what recipes declare and nothing else
	$(BIN) run --thorough --store $(STORE) --name docs --expect --shrink 0
	$(BIN) report --recipes docs/recipes.md $$(ls -d $(STORE)/docs/*/ | tail -1)
	COLUMNS= $(BIN) report $$(ls -d $(STORE)/docs/*/ | tail -1) | ./scripts/matrix-page docs/matrix.md
	$(BIN) answer --page docs/documents.md

soundness: build ## a long run of the cells that are declared clean: nothing may be violated (15 to 20 minutes)
	$(BIN) run --store $(STORE) --name soundness --thorough --clean --expect --shrink 0 --duration 2s --trials 1800 $(RUN)

weight: ## lines of product, tests and examples in each folder; SINCE=<revision> prints what that had, too
	@./scripts/weight $(SINCE)

image: ## build lockstorm/lockstorm:local, which has nothing but a static lockstorm
	@GO='$(GO)' ./scripts/image

images: ## build local images of this machine's redis-server and of toxiproxy, for where no registry is reached
	@./scripts/local-images

up: ## start the lab of docker-compose.yml; returns when it is healthy (docs/lab.md)
	@./scripts/lab up

down: ## remove the lab, with its data
	@./scripts/lab down

clean: ## remove what was built; stored campaigns stay
	rm -rf bin
	$(GO) clean -testcache
