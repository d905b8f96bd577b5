# `make test` is the gate, and what continuous integration runs. Every tool comes from a module with its exact version (tests/tools/pinned);
# what is built lands in the go command's cache and in bin/.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
IMAGE ?= ghcr.io/reroll-dev/reroll:$(VERSION)
FUZZTIME ?= 60s
FUZZ_HISTORIES ?= 300
BENCHFLAGS ?=
CHAOS_SEED ?= 0
CHAOS_SHAPES ?= serve:2m,roles:26m,ha:3m
CHAOS_REPORT ?=
FLEET_CUT_SECONDS ?= 300
FLEET_KILLS ?= 20
THOUSAND_MEMBERS ?= 1000
THOUSAND_CUT_SECONDS ?= 300
THOUSAND_KILLS ?= 1000
THOUSAND_RECORDS ?= 20000
TESTFLAGS ?=
FLAKES_PACKAGES ?= ./dispatcher ./reloader/queue ./api ./cmd/reroll
FLAKES_RUN ?= .
FLAKES_COUNT ?= 5
FLAKES_AT_ONCE ?= 4

# The same in the Dockerfile and .goreleaser.yaml: two builds of one version are equal byte by byte, wherever they were made.
build_flags = -trimpath -buildvcs=false -ldflags "-s -w -buildid= -X main.version=$(VERSION)"

# The executable of a pinned tool; built at the first use.
tool = $$(cd tests/tools/pinned && go tool -n $(1))
# Nested modules: tools, and the parts of the test rig.
modules = $$(git ls-files -co --exclude-standard '*go.mod' | xargs -n1 dirname | sort)
product = $$(go list ./... | grep -v /tests)

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z%-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## Install with apt-get what make test calls and this machine lacks
	@tests/setup.sh gate

.PHONY: build
build: ## Build bin/reroll, static
	CGO_ENABLED=0 go build $(build_flags) -o bin/reroll ./cmd/reroll

goreleaser = go run github.com/goreleaser/goreleaser/v2@v2.15.1

.PHONY: release
release: ## Publish a release of the tag that is checked out, as a draft; the release workflow runs it
	$(goreleaser) release --clean --release-notes bin/notes.md

.PHONY: release-check
release-check: ## Check .goreleaser.yaml
	$(goreleaser) check

.PHONY: chart
chart: ## Package the chart: bin/reroll-<version>.tgz; with VERSION=1.2.3-rc.1 as that version
	$(call tool,helm.sh/helm/v4/cmd/helm) package helm/reroll --destination bin $(if $(filter command line,$(origin VERSION)),--version $(VERSION) --app-version $(VERSION))

.PHONY: kube
kube: ## Build the real Kubernetes parts that tests and demo start (minutes at first, then cached); KUBE_VERSION=1.33 takes an older Kubernetes, also for the tests
	go run ./tests/kube/cmd/kube-parts

.PHONY: demo
demo: setup kube ## Show a real API server, real audit events and rolling workloads; DEMO_EXIT=1 checks and ends
	go run ./tests/demo

.PHONY: test
test: ## Run the gate, which every change must pass: about ten minutes; it prints the seconds of each stage
	@tests/gate/gate.sh

.PHONY: quick
quick: ## Under a minute: format, vet, and the unit tests of packages that differ from main and of those that import them
	@tests/gate/quick.sh

.PHONY: land
land: ## Run the gate on a clean checkout of branch work, and then move main there
	@tests/gate/land.sh

gotestsum = $(call tool,gotestsum) --format pkgname --format-hide-empty-pkg

# What the gate leaves out: tests of the tag nightly, and packages that the gate does not name. Those that start programs run alone.
.PHONY: test-all
test-all: test check-modules kube ## Run everything: the gate, then all tests with the race detector, and those of the whole one after another; hours
	tests/setup.sh nightly
	$(gotestsum) -- -tags nightly -race -timeout 60m $(product)
	$(gotestsum) -- -tags nightly -timeout 60m ./dispatcher/plan
	$(gotestsum) -- -tags nightly -count=1 -p 1 -timeout 90m $(TESTFLAGS) ./tests/...

# make suite-fleet, suite-chaos, suite-nats …
suite-%: kube ## Run one folder of tests/ whole, with what only nights run: make suite-fleet
	$(gotestsum) -- -tags nightly -count=1 -p 1 -timeout 60m $(TESTFLAGS) ./tests/$*/...

.PHONY: storm
storm: kube ## Change 3,000 Secrets of 2,000 workloads at once, under a rate limit
	$(gotestsum) -- -count=1 -v -timeout 30m $(TESTFLAGS) -run TestStorm ./tests/torment

# A test of the whole may enter the gate once it has passed this.
.PHONY: soak
soak: kube ## Run tests over and over next to a busy loop on each core: make soak SOAK=./tests/watch RUN=TestX
	@loops=; trap 'kill $$loops' EXIT; \
	for core in $$(seq $$(nproc)); do timeout 1h sh -c 'while :; do :; done' & loops="$$loops $$!"; done; \
	go run ./tests/line/cmd/rig go test -count=50 -timeout 60m -run '$(or $(RUN),.)' $(SOAK)

# A test that fails once in fifty runs does so sooner where four of it want two processors.
.PHONY: flakes
flakes: ## Run packages' own tests over and over with the race detector, several at once, and list those that fail; FLAKES_PACKAGES, _RUN, _COUNT, _AT_ONCE
	@dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; found=0; \
	for package in $$(go list $(FLAKES_PACKAGES)); do \
	  rm -f "$$dir"/*; go test -race -c -o "$$dir/own.test" $$package || { found=1; continue; }; \
	  if [ ! -e "$$dir/own.test" ]; then continue; fi; \
	  echo "$$package: $(FLAKES_AT_ONCE) at once, $(FLAKES_COUNT) times each"; \
	  for i in $$(seq $(FLAKES_AT_ONCE)); do \
	    (cd $$(go list -f '{{.Dir}}' $$package) && exec "$$dir/own.test" -test.run '$(FLAKES_RUN)' -test.count $(FLAKES_COUNT) -test.timeout 60m >"$$dir/$$i.log" 2>&1) || touch "$$dir/failed" & \
	  done; \
	  wait; \
	  if [ -e "$$dir/failed" ]; then found=1; grep -hE '^ *--- FAIL|^panic:|DATA RACE|_test\.go:[0-9]+:' "$$dir"/*.log | sort | uniq -c || true; fi; \
	done; exit $$found

.PHONY: conformance
conformance: kube ## Run the conformance suite about Stakater Reloader on a real API server; docs/compatibility.md is made of it
	go test -tags nightly -count=1 -timeout 60m $(TESTFLAGS) ./tests/conformance/...

.PHONY: kube-version
kube-version: kube ## Run the demo, the conformance suite and the admission tests; with KUBE_VERSION=1.33 on that Kubernetes instead of the newest
	DEMO_EXIT=1 go run ./tests/demo
	$(gotestsum) -- -tags nightly -count=1 -p 1 -timeout 60m $(TESTFLAGS) ./tests/admission ./tests/conformance/...

.PHONY: check
check: check-format check-vet check-static check-workflows check-words check-generated check-dashboard ## Format, vet, static analysis, workflows, words, generated files

.PHONY: check-format
check-format:
	@files=$$(git ls-files -co --exclude-standard '*.go' | xargs $(call tool,gofumpt) -l -modpath github.com/reroll-dev/reroll -lang go1.26); \
	if [ -n "$$files" ]; then printf 'not formatted (make format fixes it):\n%s\n' "$$files"; exit 1; fi

.PHONY: format
format: ## Format all Go files
	git ls-files -co --exclude-standard '*.go' | xargs $(call tool,gofumpt) -w -modpath github.com/reroll-dev/reroll -lang go1.26

.PHONY: check-vet
check-vet:
	go vet -tags nightly ./...

# ST1000 and ST1020 to ST1022: packages and exported names are documented, and the comment starts with the name.
.PHONY: check-static
check-static:
	$(call tool,staticcheck) -checks all -tags nightly ./...

# Not part of check: what is published tomorrow would stop changes that have nothing to do with it.
.PHONY: vulnerabilities
vulnerabilities: ## List the published vulnerabilities of what the program calls; asks vuln.go.dev
	$$(cd tests/tools/govulncheck && go tool -n govulncheck) ./cmd/reroll

# Without the linters that it calls if a machine happens to have them.
.PHONY: check-workflows
check-workflows:
	$$(cd tests/tools/actionlint && go tool -n actionlint) -shellcheck= -pyflakes= .github/workflows/*.yaml

.PHONY: check-modules
check-modules:
	@for dir in $(modules); do echo "module $$dir"; (cd $$dir && go mod verify >/dev/null && go mod tidy -diff); done

# Phrases of a literal translation, which plain English does not have.
translated = [Ww]hoever|[Aa]new|[Bb]eside|[Mm]end(s|ed|ing)?|look(s|ed) after|for long|go(es)? on|(is|are|was|were|be|been) told|tells? (of|apart)|told of|(is|are|was|were) to be

# What no file may hold: unfinished work, waiting by the clock in tests, a developer's own folders, phrases that readers stumble over, and misspelt words.
.PHONY: check-words
check-words:
	@! git grep --untracked -InwE '$(translated)' -- '*.md' helm '*.go' ':!*_test.go' ':!tests'
	@! git grep --untracked -InwE '[Nn]obody|[Ss]omebody|[Ss]omeone|[Nn]o one' -- '*.md' helm
	@! git grep --untracked -InE '\b(TO[D]O|FIX[M]E|XX[X])\b' -- ':!*.sum'
	@! git grep --untracked -InE 'time\.Slee[p]\(' -- '*_test.go'
	@! git grep --untracked -InE '(^|[^A-Za-z0-9._/-])/(root|work|home)/[A-Za-z.]' -- ':!*.sum'
	@spell=$$(cd tests/tools/spelling && go tool -n misspell); git ls-files -co --exclude-standard '*.md' | xargs "$$spell" -error -locale UK -i artifacts,color && \
	git ls-files -co --exclude-standard '*.go' '*.ts' '*.tsx' '*.yaml' '*.tpl' ':!helm/reroll/crds' ':!*_test.go' ':!**/testdata/**' | xargs "$$spell" -error

# Generates in place and compares before with after, so that it judges uncommitted work as well.
.PHONY: check-generated
check-generated:
	@sums() { git ls-files -co --exclude-standard -z | xargs -0 sha256sum 2>/dev/null | sort -k2; }; \
	before=$$(sums); go generate ./...; after=$$(sums); \
	if [ "$$before" != "$$after" ]; then echo 'generated files were out of date (now fixed):'; \
	diff <(echo "$$before") <(echo "$$after") | awk '/^>/ {print $$3}'; exit 1; fi

# What npm has installed in a folder is as new as its lock file, or is installed again.
npm_ci = if [ ! $(1)/node_modules/.package-lock.json -nt $(1)/package-lock.json ]; then (cd $(1) && npm ci --ignore-scripts); fi

.PHONY: dashboard
dashboard: ## Build the dashboard from api/ui/src into api/ui/dist (needs Node)
	@$(call npm_ci,api/ui)
	cd api/ui && npm run --silent build

.PHONY: format-dashboard
format-dashboard: ## Format the sources of the dashboard (needs Node)
	@$(call npm_ci,api/ui)
	cd api/ui && npm run --silent format

# Builds in place and compares, as check-generated does. Without Node, its output cannot have changed.
.PHONY: check-dashboard
check-dashboard:
	@if ! command -v npm >/dev/null; then echo 'no npm here: the dashboard is not built again (make setup installs it)'; exit 0; fi; \
	$(call npm_ci,api/ui); \
	sums() { (cd api/ui/dist && sha256sum *); }; \
	before=$$(sums); (cd api/ui && npm run --silent check && npm run --silent build); after=$$(sums); \
	if [ "$$before" != "$$after" ]; then echo 'api/ui/dist was out of date (now fixed):'; diff <(echo "$$before") <(echo "$$after"); exit 1; fi

.PHONY: dashboard-preview
dashboard-preview: ## Serve the dashboard over a made-up fleet in which something changes every few seconds
	go run ./tests/ui/preview

.PHONY: screenshots
screenshots: ## Take the pictures in docs/images, light and dark, of the dashboard over the made-up fleet (needs Node and Chromium)
	@$(call npm_ci,tests/ui)
	cd tests/ui && npx playwright test --project pictures

.PHONY: ui
ui: ## Test the dashboard over the made-up fleet in a browser (needs Node, and Chromium in /usr/bin or in CHROMIUM)
	@$(call npm_ci,tests/ui)
	cd tests/ui && npx playwright test --project tests

.PHONY: bench
bench: kube ## Measure on the rig and print the figures, each next to a bare loop in the same run
	go test -run '^$$' -bench 'Decode' -benchmem -count 5 ./ingest/audit
	go test -run '^$$' -bench . -benchmem -count 5 ./reloader/dialect
	go test -run '^$$' -bench Thousand -benchtime 5s ./api
	go test -tags nightly -run '^$$' -bench Forwarders -benchtime 1x ./tests/thousand
	go test -tags nightly -run '^$$' -bench . -benchtime 1x -timeout 60m ./tests/bench $(BENCHFLAGS)

.PHONY: chaos
chaos: kube ## Torment Reroll for 31 minutes and count what is lost and doubled; CHAOS_SEED=n repeats, CHAOS_SHAPES=roles:5m is less, CHAOS_REPORT=file keeps the report
	$(gotestsum) -- -tags nightly -count=1 -timeout 60m ./tests/chaos
	go run ./tests/chaos -seed $(CHAOS_SEED) -shapes $(CHAOS_SHAPES) -report "$(CHAOS_REPORT)"

.PHONY: fleet
fleet: kube ## Three clusters and a hub: one is cut off for five minutes, and the hub's leader is killed twenty times
	FLEET_CUT_SECONDS=$(FLEET_CUT_SECONDS) FLEET_KILLS=$(FLEET_KILLS) \
	$(gotestsum) -- -tags nightly -count=1 -v -timeout 60m $(TESTFLAGS) ./tests/fleet

.PHONY: thousand
thousand: ## A hub of three servers for 1,000 clusters for ten minutes, and 1,000 kills while 20,000 records are stored; THOUSAND_MEMBERS=20 THOUSAND_CUT_SECONDS=30 THOUSAND_KILLS=30 THOUSAND_RECORDS=600 are less
	THOUSAND_MEMBERS=$(THOUSAND_MEMBERS) THOUSAND_CUT_SECONDS=$(THOUSAND_CUT_SECONDS) THOUSAND_KILLS=$(THOUSAND_KILLS) THOUSAND_RECORDS=$(THOUSAND_RECORDS) \
	$(gotestsum) -- -tags nightly -count=1 -v -timeout 60m $(TESTFLAGS) ./tests/thousand

.PHONY: fuzz
fuzz: ## Try FUZZ_HISTORIES random histories on the model of the dispatcher, and fuzz every target for FUZZTIME (default 60s) each; what it finds wrong goes to testdata/fuzz, and is listed in the end
	@found=; \
	echo "TestModel with $(FUZZ_HISTORIES) histories of its own; MODEL_SEED=n repeats one"; \
	MODEL_HISTORIES=$(FUZZ_HISTORIES) go test -count=1 -timeout 60m -run '^TestModel$$' ./dispatcher || found="dispatcher TestModel\n"; \
	for dir in $$(git grep --untracked -lE '^func Fuzz' -- '*_test.go' | xargs -n1 dirname | sort -u); do \
	  for target in $$(grep -hoE '^func Fuzz[A-Za-z0-9_]*' "$$dir"/*_test.go | cut -c6-); do \
	    echo "$$dir $$target"; \
	    go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 50x "./$$dir" || found="$$found$$dir $$target\n"; \
	  done; \
	done; \
	if [ -n "$$found" ]; then printf "\nfound something wrong:\n$$found"; exit 1; fi

.PHONY: docker
docker: ## Build the container image
	DOCKER_BUILDKIT=1 docker build --build-arg VERSION=$(VERSION) --build-arg REVISION=$$(git rev-parse HEAD) -t $(IMAGE) .

.PHONY: node
node: kube ## Run the chart in containers of a real node: kubelet, containerd, kube-proxy, CoreDNS; as root
	tests/setup.sh node
	NODE_TEST=1 $(gotestsum) -- -tags nightly -count=1 -timeout 60m $(TESTFLAGS) ./tests/node

.PHONY: clean
clean: ## Remove what was built inside the repository
	rm -rf bin reroll-data
